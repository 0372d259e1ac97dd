"""What public numbers say is impossible is said before anything is spent."""

import re
import warnings
from functools import partial

import numpy as np
import pytest

import tailguard as tg
from support.targets import FREE, takes_labels, target_for
from tailguard.gate.plan import Problem
from tailguard.privacy.books import MemoryBooks
from tailguard.solvers.newton.allocation import shares_for
from tailguard.solvers.newton.constant import CONSTANT_ONLY
from tailguard.solvers.newton.outlook import constant_hides, mu_of_fit, scales_hide
from tailguard.solvers.newton.solver import WhitenedNewton

LOW = {"epsilon": 0.1, "delta": 1e-7}
every_model = pytest.mark.parametrize("kind", FREE.values())


def records(kind, n_rows, seed=0):
    """Three columns of no use, and targets whose best constant is known."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 3))
    link = kind()._loss().link
    constant = np.log(4.0 if takes_labels(kind) else 5.0) if link.curved else 500.0
    spread = 0.0 if link.curved else 20.0 * rng.standard_normal(n_rows)
    return X, spread + target_for(kind, np.full(n_rows, constant), rng), constant


def warned(fit):
    """What a call returns and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        returned = fit()
    assert all(issubclass(each.category, tg.BudgetWarning) for each in caught)
    assert all(each.filename == __file__ for each in caught)
    return returned, [str(each.message) for each in caught]


@every_model
def test_where_nothing_can_be_seen_a_fit_is_refused_and_nothing_is_spent(kind):
    X, y, _ = records(kind, 40)
    ledger = MemoryBooks()
    with pytest.raises(tg.InputError, match=r"nothing was spent; about [\d,]+ records") as refused:
        kind(**LOW, ledger=ledger).fit(X, y)
    assert ledger.releases == ()
    assert "epsilon = 0.1" in str(refused.value)


@every_model
def test_where_no_scale_can_be_seen_the_budget_buys_the_best_constant(kind):
    found = []
    for seed in range(9):
        X, y, constant = records(kind, 900, seed)
        model, (warning,) = warned(partial(kind(**LOW, random_state=seed).fit, X, y))
        assert warning.startswith("only a constant is fitted: with this budget and 900 ")
        assert not model.coef_.any()
        assert np.isnan(model.conf_int()).all()
        assert any(
            note.startswith("no coefficient was fitted: the budget") for note in model.notes_
        )
        assert model.certificate_.unused.get("mu", 0.0) < 0.01 * model.certificate_.total.mu
        found.append(model.intercept_)
    assert CONSTANT_ONLY in model.plan_.settings
    near = 0.4 if kind()._loss().link.log else 0.2  # counts are cut at four of their scales
    assert np.median(np.abs(np.array(found) - constant)) < near * constant


@every_model
def test_what_is_said_to_be_enough_is_enough(kind):
    X, y, _ = records(kind, 700)
    plan = warned(lambda: kind(**LOW, random_state=0).fit(X, y))[0].plan_
    (text,) = plan.warnings
    n_rows = int(re.search(r"about ([\d,]+) records", text)[1].replace(",", ""))
    epsilon = float(re.search(r"or epsilon = ([\d.]+),", text)[1])
    for enough in (
        (Problem(plan.problem.loss, n_rows, 3, intercept=True), plan.guarantee),
        (plan.problem, tg.ApproxDP(epsilon, 1e-7)),
    ):
        assert WhitenedNewton().plan(*enough).warnings == ()
    fewer = Problem(plan.problem.loss, int(0.8 * n_rows), 3, intercept=True)
    assert WhitenedNewton().plan(fewer, plan.guarantee).warnings != ()


@every_model
def test_warnings_follow_public_numbers_alone(kind):
    X, y, _ = records(kind, 700)
    hostile = np.where(np.arange(700)[:, None] % 2 == 0, np.nan, 1e300 * X)
    told = [
        warned(lambda data=data: kind(**LOW, random_state=0).fit(data, y))[1]
        for data in (X, hostile, np.zeros_like(X))
    ]
    assert told[0] == told[1] == told[2]


def test_between_both_a_fit_goes_on_and_warns():
    loss = tg.losses.Squared()
    guarantee = tg.ApproxDP(**LOW)
    kinds = []
    for n_rows in (100, 900, 2000, 10_000):
        problem = Problem(loss, n_rows, 3, intercept=True)
        hidden = scales_hide(problem, guarantee, bulk=1.0), scales_hide(problem, guarantee)
        mu = mu_of_fit(problem, guarantee, shares_for(problem, guarantee.gaussian_mu()))
        kinds.append((*hidden, constant_hides(problem, mu)))
    assert kinds == [
        (True, True, True),
        (True, True, False),
        (False, True, False),
        (False, False, False),
    ]
    X, y, _ = records(tg.LinearRegression, 2000)
    model, (warning,) = warned(lambda: tg.LinearRegression(**LOW, random_state=0).fit(X, y))
    assert warning.startswith("little more than a constant is expected")
    assert len(model.plan_.stages) > 5
    assert f"warning: {warning}" in model.explain()


def test_without_an_intercept_there_is_no_constant_to_fit():
    X, y, _ = records(tg.LinearRegression, 600)
    with pytest.raises(tg.InputError, match="nothing was spent"):
        tg.LinearRegression(**LOW, fit_intercept=False).fit(X, y)


def test_the_best_constant_of_a_quantile_is_no_centre():
    X, y, _ = records(tg.LinearRegression, 600)
    with pytest.raises(tg.InputError, match="nothing was spent"):
        tg.QuantileRegression(level=0.9, **LOW).fit(X, y)


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: tg.mean(X, **LOW),
        lambda X, y: tg.SparseLinearRegression(n_nonzero=1, **LOW).fit(X, y),
    ],
    ids=["mean", "sparse"],
)
def test_other_methods_that_buy_scales_warn_too(fit):
    X, y, _ = records(tg.LinearRegression, 300)
    _, told = warned(lambda: fit(X, y))
    (fewest,) = {int(number) for text in told for number in re.findall(r"below the (\d+)", text)}
    assert 300 < fewest < 30_000
    X, y, _ = records(tg.LinearRegression, fewest)
    assert warned(lambda: fit(X, y))[1] == []


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y, **privacy: tg.mean(X, **privacy),
        lambda X, y, **privacy: tg.LinearRegression(**privacy).fit(X, y),
        lambda X, y, **privacy: tg.minimize(
            tg.losses.Squared(), X, y, constraint=tg.sets.L2Ball(1.0), **privacy
        ),
    ],
    ids=["mean", "estimator", "minimize"],
)
def test_a_delta_of_one_over_n_is_warned_of(fit):
    X, y, _ = records(tg.LinearRegression, 2000)
    assert warned(lambda: fit(X, y, epsilon=5.0, delta=4.9e-4))[1] == []
    assert warned(lambda: fit(X, y, epsilon=5.0, delta=5e-4))[1] == [
        "delta should be far below 1 / n = 0.0005; got 0.0005, at which publishing a whole record "
        "would keep the promise."
    ]


@pytest.mark.parametrize("mu", [1e-13, 1e-15])
def test_where_no_number_of_records_would_do_that_is_said(mu):
    X, y, _ = records(tg.LinearRegression, 300)
    ledger = MemoryBooks()
    with pytest.raises(tg.InputError, match=r"no number of records would do\.$"):
        tg.LinearRegression(guarantee=tg.GDP(mu), ledger=ledger).fit(X, y)
    assert ledger.reserved == MemoryBooks().reserved


OTHERS = {
    "mean": lambda X, y, **more: tg.mean(X, **more),
    "pure mean": lambda X, y, epsilon, delta, **more: tg.mean(
        X, guarantee=tg.PureDP(epsilon), **more
    ),
    "sparse": lambda X, y, **more: tg.SparseLinearRegression(n_nonzero=1, **more).fit(X, y),
}
every_other = pytest.mark.parametrize("name", OTHERS)


@every_other
@pytest.mark.parametrize("n_rows", [1, 5])
def test_other_methods_refuse_where_not_even_a_mean_could_be_seen(name, n_rows):
    X, y, _ = records(tg.LinearRegression, n_rows)
    ledger = MemoryBooks()
    with pytest.raises(tg.InputError, match=r"nothing was spent; about [\d,]+ records") as told:
        OTHERS[name](X, y, epsilon=0.5, delta=1e-6, ledger=ledger)
    assert ledger.reserved == MemoryBooks().reserved
    other = np.where(np.arange(3) == 1, np.nan, 1e300 * X)
    with pytest.raises(tg.InputError) as same:
        OTHERS[name](other, y, epsilon=0.5, delta=1e-6)
    assert str(same.value) == str(told.value)


@every_other
def test_what_other_methods_say_is_enough_is_enough(name):
    X, y, _ = records(tg.LinearRegression, 300)
    _, (told,) = warned(lambda: OTHERS[name](X, y, random_state=0, **LOW))
    fewest = int(re.search(r"below the (\d+) records", told)[1])
    epsilon = float(re.search(r"; epsilon = ([\d.]+) would do too$", told)[1])
    assert warned(lambda: OTHERS[name](X, y, random_state=0, epsilon=epsilon, delta=1e-7))[1] == []
    (told,) = warned(lambda: OTHERS[name](X, y, random_state=0, epsilon=0.9 * epsilon, delta=1e-7))[
        1
    ]
    assert int(re.search(r"below the (\d+) records", told)[1]) < fewest
