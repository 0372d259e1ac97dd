"""Hard thresholding: its recursion without noise, its cost, its support, its refusals."""

import math

import numpy as np
import pytest
from scipy.special import expit

import tailguard as tg
from support.spy import GENEROUS, run_over
from tailguard.gate import Gate, engine
from tailguard.gate.plan import Problem
from tailguard.privacy.accounting.zcdp import ZcdpAccountant
from tailguard.privacy.calibration import peeling_event
from tailguard.privacy.events import BoundedRange, Composed, Parallel, Pure, Repeated
from tailguard.privacy.flat_events import flatten
from tailguard.solvers.hard_thresholding import HardThresholding, std_of
from tailguard.solvers.registry import plan_for
from tailguard.solvers.sparse_choice import ALONE, UNSURE

BUDGET = tg.ApproxDP(1.0, 1e-6)
OF_THE_PAPER = {"feature_limit": 1e100, "choice_share": 0.0}


def design(seed, n_rows=20_000, n_features=1000, n_nonzero=5, noise=1.0, unit=1.0):
    """Student-t columns and noise, and weights of 1 and -1 on a random support."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3, size=(n_rows, n_features))
    support = np.sort(rng.choice(n_features, n_nonzero, replace=False))
    signs = rng.choice([-1.0, 1.0], n_nonzero)
    y = X[:, support] @ signs + noise * rng.standard_t(3, n_rows)
    return unit * X, y, support


def run(solver, X, y, *, guarantee=GENEROUS, seed=None, loss=None, intercept=False, **facts):
    problem = Problem(loss or tg.losses.Squared(), *X.shape, intercept, **facts)
    solution, gate, plan = run_over(solver, problem, X, y, guarantee, seed=seed)
    return solution, plan, gate


def ratio_of(plan):
    """Sensitivity of an entry over the scale of its noise."""
    return std_of(plan.settings["noise"]) / plan.settings["noise_over_sensitivity"]


def recursion(X, y, slope, *, n_steps, step, threshold, n_nonzero, intercept):
    """Tao et al. 2022, Algorithm 5 without noise, written apart; the constant is always kept."""
    n_rows, n_features = X.shape
    rows = np.column_stack([X, np.ones(n_rows)]) if intercept else X
    weights = np.zeros(rows.shape[1])
    for block in range(n_steps):
        part = slice(block * n_rows // n_steps, (block + 1) * n_rows // n_steps)
        entries = slope(rows[part] @ weights, y[part])[:, None] * rows[part]
        entries[np.abs(entries) > threshold] = 0.0
        weights = weights - step * entries.mean(axis=0)
        smallest = np.argsort(-np.abs(weights[:n_features]), kind="stable")[n_nonzero:]
        weights[smallest] = 0.0
    return weights


CASES = {
    "squared": (tg.losses.Squared(), lambda s, y: s - y, 0.3),
    "logistic": (tg.losses.Logistic(), lambda s, y: expit(s) - y, 1.5),
}


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n_nonzero", [2, 9])
@pytest.mark.parametrize("loss_name", CASES)
def test_without_noise_it_is_the_recursion_of_the_paper(loss_name, n_nonzero, intercept):
    loss, slope, step = CASES[loss_name]
    X, y, _ = design(1, n_rows=501, n_features=9, n_nonzero=2)
    y = y + 0.5 if loss_name == "squared" else (y > 0).astype(float)
    numbers = {"n_steps": 5, "threshold": 3.0}
    solver = HardThresholding(
        n_nonzero, step_size=step, feature_scale=1.0, target_scale=1.0, **numbers, **OF_THE_PAPER
    )
    solution, _, _ = run(solver, X, y, loss=loss, intercept=intercept)
    expected = recursion(
        X, y, slope, step=step, n_nonzero=n_nonzero, intercept=intercept, **numbers
    )
    np.testing.assert_allclose(solution.coef, expected[:9], atol=1e-9)
    assert solution.intercept == pytest.approx(expected[9] if intercept else 0.0, abs=1e-9)
    assert np.count_nonzero(solution.coef) == min(n_nonzero, 9)
    # Gradient descent under another name would keep all entries, or see all records each time.
    whole = recursion(X, y, slope, step=step, n_nonzero=9, intercept=intercept, **numbers)
    if n_nonzero < 9:
        assert np.abs(whole - expected).max() > 1e-3


def test_the_paper_s_recursion_in_private_units_is_the_same_up_to_units():
    # Scales differ by the noise of their bins, which many records make small.
    X, y, support = design(2, n_rows=40_000, n_features=30, n_nonzero=3)
    solver = HardThresholding(3, n_steps=4)
    plain, _, _ = run(solver, X, y, intercept=True)
    moved, _, _ = run(solver, 1024.0 * X, 5.0 + 4.0 * y, intercept=True)
    np.testing.assert_allclose(moved.coef, plain.coef / 256.0, rtol=1e-3)
    # Four steps leave a part of how far the private centre, read off bins, is from the best one.
    assert moved.intercept == pytest.approx(5.0 + 4.0 * plain.intercept, abs=0.05)
    np.testing.assert_array_equal(np.flatnonzero(plain.coef), support)


@pytest.mark.long
@pytest.mark.parametrize("intercept", [False, True])
def test_every_step_may_spend_what_one_may(intercept):
    X, y, _ = design(3, n_rows=2_000, n_features=20)
    stated = {"feature_scale": 1.0, "target_scale": 1.0} | OF_THE_PAPER
    solver = HardThresholding(5, **stated)
    ratios = set()
    for n_steps in (1, 4):
        plan = HardThresholding(5, n_steps, **stated).plan(
            Problem(tg.losses.Squared(), *X.shape, intercept), BUDGET
        )
        (stage,) = plan.stages
        assert stage.n_blocks == n_steps
        ratios.add(ratio_of(plan))
    assert max(ratios) - min(ratios) < 1e-6 * min(ratios)
    _, plan, gate = run(solver, X, y, guarantee=BUDGET, seed=1, intercept=intercept)
    (stage,) = plan.stages
    assert stage.event == Parallel("hard thresholding", 0, Repeated(stage.kept, 1))
    one = peeling_event(plan.settings["noise"], ratio_of(plan), 5, int(intercept))
    assert [flatten(each).kinds for each in (stage.kept, one)] == [flatten(one).kinds] * 2
    rho, its = (ZcdpAccountant().compose(each).rho for each in (stage.kept, one))
    assert rho == pytest.approx(its, rel=1e-12)
    releases = gate.books.releases
    assert [release.block for release in releases] == list(range(stage.n_blocks))
    assert {release.parameters["n_selected"] for release in releases} == {5}
    assert {release.parameters["n_free"] for release in releases} == {int(intercept)}
    certificate = gate.certificate()
    assert certificate.spent.rho <= certificate.total.rho
    assert certificate.spent.epsilon == pytest.approx(certificate.total.epsilon, rel=1e-9)
    assert 0.99 <= certificate.spent.epsilon <= 1.0


@pytest.mark.parametrize(
    ("guarantee", "n_nonzero", "form"),
    [
        (BUDGET, 1, "peeled-laplace"),
        (BUDGET, 5, "peeled-gaussian"),
        (tg.ZCDP(0.02), 5, "peeled-gaussian"),
        (tg.GDP(0.2), 5, "peeled-gaussian"),
        (tg.PureDP(1.0), 5, "peeled-laplace"),
    ],
)
def test_the_form_of_least_noise_is_taken(guarantee, n_nonzero, form):
    X, y, _ = design(4, n_rows=2_000, n_features=20)
    solver = HardThresholding(n_nonzero, feature_scale=1.0, target_scale=1.0, choice_share=0.0)
    _, plan, gate = run(solver, X, y, guarantee=guarantee, seed=1)
    assert plan.settings["noise"] == form
    assert {release.mechanism for release in gate.books.releases} == {form}
    if isinstance(guarantee, tg.PureDP):
        assert ratio_of(plan) == pytest.approx(1.0 / (3 * n_nonzero), rel=1e-6)


def test_keeping_every_column_pays_for_no_choice():
    X, y, _ = design(5, n_rows=2_000, n_features=5)
    _, plan, gate = run(HardThresholding(5), X, y, guarantee=BUDGET, seed=1)
    chosen = {BoundedRange, Pure}
    assert not any(flatten(release.event()).kinds & chosen for release in gate.books.releases)
    assert not flatten(plan.stage("descent").event).kinds & chosen
    sparse = HardThresholding(4).plan(Problem(tg.losses.Squared(), *X.shape), BUDGET)
    assert ratio_of(sparse) < ratio_of(plan)


@pytest.mark.long
@pytest.mark.parametrize("seed", [0])
def test_the_support_is_found_at_the_defaults(seed):
    X, y, support = design(seed)
    solution, _, _ = run(HardThresholding(5), X, y, guarantee=BUDGET, seed=seed, intercept=True)
    np.testing.assert_array_equal(np.flatnonzero(solution.coef), support)
    np.testing.assert_allclose(np.abs(solution.coef[support]), 1.0, atol=0.35)
    assert np.isfinite(solution.coef_noise_std[support]).all()
    assert np.isnan(np.delete(solution.coef_noise_std, support)).all()


@pytest.mark.audit
@pytest.mark.parametrize(
    ("facts", "least"),
    [
        ({}, 7),  # 53 of 60 other seeds find it
        ({"noise": 3.0}, 8),
        ({"unit": 1e4}, 8),
        ({"n_nonzero": 2}, 8),
        ({"n_nonzero": 10}, 8),
    ],
)
def test_the_support_is_found_in_most_of_ten_seeds(facts, least):
    exact = 0
    for seed in range(10):
        X, y, support = design(seed, **facts)
        solver = HardThresholding(support.size)
        solution, _, _ = run(solver, X, y, guarantee=BUDGET, seed=100 + seed, intercept=True)
        exact += np.array_equal(np.flatnonzero(solution.coef), support)
    assert exact >= least


@pytest.mark.audit
def test_the_theorem_s_threshold_finds_no_support_here():
    exact = 0
    for seed in range(4):
        X, y, support = design(seed)
        units = {"feature_scale": 1.0, "target_scale": 1.0}
        solver = HardThresholding(5, n_steps=10, threshold=59.0, step_size=2.0 / 9.0, **units)
        solution, _, _ = run(solver, X, y, guarantee=BUDGET, seed=seed)
        exact += np.array_equal(np.flatnonzero(solution.coef), support)
    assert exact == 0


def test_labels_too():
    X, y, support = design(7, n_features=200, n_nonzero=3)
    solution, plan, _ = run(
        HardThresholding(3),
        X,
        (y > 0).astype(float),
        guarantee=BUDGET,
        seed=1,
        loss=tg.losses.Logistic(),
    )
    np.testing.assert_array_equal(np.flatnonzero(solution.coef), support)
    assert [stage.name for stage in plan.stages] == ["typical size", "descent", "choice of fit"]


def test_stated_centres_and_scales_are_used():
    rng = np.random.default_rng(8)
    center, scale = 1000.0 * np.arange(6), 10.0 ** np.arange(-3, 3)
    Z = rng.standard_normal((4_000, 6))
    y = 3.0 + Z[:, 1] - Z[:, 4]
    solver = HardThresholding(
        2, feature_scale=scale.tolist(), feature_center=center, target_scale=1.0, target_center=3.0
    )
    solution, plan, _ = run(solver, center + scale * Z, y, guarantee=tg.GDP(2.0), seed=1)
    assert [stage.name for stage in plan.stages] == ["descent", "choice of fit"]
    np.testing.assert_allclose(solution.coef * scale, [0.0, 1.0, 0.0, 0.0, -1.0, 0.0], atol=0.15)


def test_a_sparse_ball_states_count_and_radius():
    X, y, _ = design(9, n_rows=4_000, n_features=30, n_nonzero=3)
    solution, plan, _ = run(
        HardThresholding(),
        X,
        y,
        guarantee=tg.GDP(1.0),
        seed=1,
        constraint=tg.sets.SparseBall(3, radius=0.5),
    )
    assert plan.settings["n_nonzero"] == 3
    assert np.linalg.norm(solution.coef) <= 0.5 * (1.0 + 1e-9)
    solved = tg.minimize(
        tg.losses.Squared(),
        X,
        y,
        guarantee=tg.GDP(1.0),
        constraint=tg.sets.SparseBall(3),
        random_state=0,
    )
    assert np.count_nonzero(solved.coef) == 3


def test_a_crash_after_the_first_step_leaves_the_plan_s_price_at_most():
    X, y, _ = design(10, n_rows=2_000, n_features=20)
    problem = Problem(tg.losses.Squared(), *X.shape)
    solver = HardThresholding(5)
    plan = solver.plan(problem, BUDGET)
    gate = Gate.over(X, y, guarantee=BUDGET, loss=problem.loss, random_state=0)
    gate.reserve(Composed(tuple(stage.event for stage in plan.stages[:-1])), coordinates=100)
    with pytest.raises(tg.BudgetError):
        solver.run(plan, gate)
    assert gate.certificate().spent.epsilon < 1.0


REFUSED = {
    "n_nonzero must be given": (HardThresholding(), {}),
    "needs a loss of one score": (HardThresholding(2), {"loss": tg.losses.Multinomial(3)}),
    "without a log link": (HardThresholding(2), {"loss": tg.losses.Poisson()}),
    "must be a tg.sets.SparseBall": (HardThresholding(2), {"constraint": tg.sets.L2Ball(1.0)}),
    "n_steps must be at most n_rows": (HardThresholding(2, n_steps=99), {}),
    "feature_scale must be one number": (HardThresholding(2, feature_scale=[1.0, 2.0]), {}),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_cannot_be_done_is_refused_before_anything_is_spent(sentence):
    solver, facts = REFUSED[sentence]
    loss = facts.get("loss", tg.losses.Squared())
    problem = Problem(loss, n_rows=50, n_features=4, constraint=facts.get("constraint"))
    with pytest.raises(tg.InputError, match=sentence):
        solver.plan(problem, BUDGET)


@pytest.mark.parametrize(
    "options",
    [
        {"feature_scale": 0.0},
        {"feature_scale": [1.0, math.nan]},
        {"feature_center": math.inf},
        {"feature_center": None},
        {"feature_scale": []},
        {"feature_scale": [[1.0], [2.0, 3.0]]},
        {"feature_scale": 5e-324},
        {"threshold": 1e308},
        {"step_size": 1e-308},
        {"target_scale": 1e-101},
        {"feature_limit": 0.0},
        {"choice_share": 1.0},
    ],
)
def test_wrong_options_are_one_sentence(options):
    (name,) = options
    with pytest.raises(tg.InputError, match=name):
        HardThresholding(**options)


def test_solve_takes_it_by_name_and_object():
    X, y, _ = design(11, n_rows=2_000, n_features=20)
    problem = Problem(tg.losses.Squared(), *X.shape, constraint=tg.sets.SparseBall(5))
    answers = []
    for chosen in ("auto", "hard-thresholding", HardThresholding()):
        gate = Gate.over(X, y, guarantee=BUDGET, loss=problem.loss, random_state=3)
        answers.append(engine.run(*plan_for(chosen, problem, BUDGET), gate).coef)
    assert (answers[0] == answers[1]).all()
    assert (answers[0] == answers[2]).all()


def far_features(seed, n_rows=4_000):
    """A target of one column, and columns that often lie far out."""
    rng = np.random.default_rng(seed)
    X = rng.lognormal(0.0, 2.0, (n_rows, 8))
    return X, X[:, 3].clip(0.0, 4.0) + rng.standard_normal(n_rows)


@pytest.mark.parametrize("scale", [None, 1.0])
def test_features_are_cut_in_the_fit_as_in_predictions(scale):
    X, y = far_features(0)
    solver = HardThresholding(2, feature_scale=scale, target_scale=scale, choice_share=0.0)
    solution, plan, _ = run(solver, X, y, seed=1, intercept=True)
    low, high = solution.feature_bounds.T
    assert np.isfinite(solution.feature_bounds).all()
    assert (high < X).any(axis=0).all()
    if scale is not None:
        np.testing.assert_allclose(high, plan.settings["feature_limit"])
        # The fit cannot tell a far cell from one at its bound.
        held, _, _ = run(solver, np.clip(X, low, high), y, seed=1, intercept=True)
        np.testing.assert_allclose(held.coef, solution.coef, rtol=1e-9)
        assert held.intercept == pytest.approx(solution.intercept, rel=1e-9)


def test_a_fit_that_loses_to_a_constant_becomes_the_constant():
    rng = np.random.default_rng(2)
    X = rng.lognormal(0.0, 1.0, (8_000, 60))  # the step is too long for such columns
    y = 2.0 + X[:, 7] - X[:, 30] + rng.standard_normal(8_000)
    harm = {}
    for share in (0.0, 0.1):
        solver = HardThresholding(5, choice_share=share)
        guarantee = tg.ApproxDP(20.0, 1e-6)
        solution, _, _ = run(solver, X, y, guarantee=guarantee, seed=0, intercept=True)
        cells = np.clip(X, *solution.feature_bounds.T)
        score = cells @ solution.coef + solution.intercept
        harm[share] = np.mean((score - y) ** 2) / np.var(y)
        assert (ALONE in solution.notes) == (share > 0.0)
    assert harm[0.0] > 2.0
    assert harm[0.1] < 1.2
    assert not solution.coef.any()
    assert math.isnan(solution.intercept_noise_std)


def test_an_unsure_comparison_is_told():
    X, y, _ = design(12, n_rows=2_000, n_features=20)
    y = np.random.default_rng(0).permutation(y)
    for seed in range(3):
        solution, _, _ = run(HardThresholding(5), X, y, guarantee=BUDGET, seed=seed, intercept=True)
        assert {ALONE, UNSURE} & set(solution.notes)
    X, y, _ = design(12, n_features=20)
    solution, _, _ = run(HardThresholding(5), X, y, guarantee=BUDGET, seed=0, intercept=True)
    assert solution.notes == ()


def test_rare_labels_beside_far_columns_are_no_worse_than_their_share():
    rng = np.random.default_rng(3)
    X = rng.lognormal(0.0, 1.5, (8_000, 20))
    y = (rng.random(8_000) < 0.1).astype(float)
    told = {"guarantee": BUDGET, "seed": 0, "loss": tg.losses.Logistic(), "intercept": True}
    losses = {}
    for share in (0.0, 0.1):
        solution, _, _ = run(HardThresholding(3, choice_share=share), X, y, **told)
        score = np.clip(X, *solution.feature_bounds.T) @ solution.coef + solution.intercept
        losses[share] = np.mean(tg.losses.Logistic().value(score, y))
    constant = np.mean(tg.losses.Logistic().value(np.log(y.mean() / (1.0 - y.mean())), y))
    assert losses[0.0] > 1.25 * constant
    assert losses[0.1] < 1.1 * constant
