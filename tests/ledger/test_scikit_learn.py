"""Clones, folds, searches and processes share a ledger; what nobody pays for is warned of."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import tailguard as tg
from tailguard.checks import BudgetError
from tailguard.privacy.accounting.total_cost import smallest_epsilon
from tailguard.privacy.events import Repeated

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3_000, 2))
Y = X @ [1.0, -1.0] + RNG.standard_t(3, 3_000)
FIT = {"epsilon": 0.5, "delta": 1e-6}


@pytest.fixture
def ledger(tmp_path):
    return tg.Ledger(tmp_path / "budget.sqlite", "claims", epsilon=20.0, delta=1e-5)


def charged(ledger):
    return len(ledger.reserved.events)


def test_clones_share_the_ledger(ledger):
    model = make_pipeline(FunctionTransformer(), tg.LinearRegression(ledger=ledger, **FIT))
    for each in (model, clone(model)):
        each.fit(X, Y)
    assert charged(ledger) == 2
    assert clone(model)[-1].get_params()["ledger"] is ledger


@pytest.mark.long
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_fit_of_a_search_is_charged_in_every_process(ledger, n_jobs):
    grid = {"fit_intercept": [True, False]}
    search = GridSearchCV(tg.LinearRegression(ledger=ledger, **FIT), grid, cv=2, n_jobs=n_jobs)
    best = search.fit(X, Y).best_estimator_
    assert charged(ledger) == 2 * 2 + 1
    assert best.certificate_.ledger_entries[0].position == 10
    assert ledger.verify() == 11


def test_a_search_ends_where_the_budget_does(tmp_path):
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", epsilon=1.0, delta=1e-5)
    model = tg.LinearRegression(epsilon=0.7, delta=1e-5, ledger=ledger)
    with pytest.raises(BudgetError, match="ledger 'claims' must keep"):
        cross_val_score(model, X, Y, cv=5, error_score="raise")
    assert 0 < charged(ledger) < 5
    assert ledger.total().epsilon <= 1.0


def warned(act):
    with warnings.catch_warnings(record=True, action="always") as caught:
        act()
    return [str(each.message) for each in caught if each.category is tg.BudgetWarning]


def test_a_second_fit_of_an_object_warns_once_of_what_both_cost():
    model = tg.LinearRegression(**FIT)
    assert warned(lambda: model.fit(X, Y)) == []
    both = smallest_epsilon(Repeated(model.certificate_.planned, 2), 1e-6).epsilon
    (said,) = warned(lambda: model.fit(X, Y))
    assert f"both cost epsilon = {both:.4g} at delta = 1e-06 together" in said
    assert warned(lambda: model.fit(X, Y)) == []
    assert warned(lambda: clone(model).fit(X, Y)) == []


def test_the_warning_follows_from_public_numbers_alone():
    model, other = (tg.HuberRegression(**FIT, on_unusable="fit") for _ in range(2))
    said = []
    for each, y in ((model, Y), (other, np.full(Y.shape, np.nan))):
        each.fit(X, y)
        said += warned(lambda each=each, y=y: each.fit(X, y))
    assert said[0] == said[1]


def test_other_promises_are_told_in_their_currency():
    model = tg.LinearRegression(guarantee=tg.GDP(0.2)).fit(X, Y)
    (said,) = warned(lambda: model.fit(X, Y))
    assert "both cost mu = 0.28" in said


def test_nothing_is_warned_of_where_a_ledger_counts_or_nothing_is_private(ledger):
    for options in ({"ledger": ledger}, {"random_state": 0}):
        model = tg.LinearRegression(**FIT, **options).fit(X, Y)
        assert warned(lambda model=model: model.fit(X, Y)) == []


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (tg.LinearRegression(**FIT), Y),
        (tg.LogisticRegression(**FIT), (Y > 0).astype(int)),
        (tg.PoissonRegression(**FIT), np.abs(Y).astype(int)),
    ],
)
def test_a_score_of_records_is_said_not_to_be_private(model, y):
    fitted = clone(model).fit(X, y)
    (said,) = warned(lambda: fitted.score(X, y))
    assert "a score reads records and has no noise" in said
    simulated = clone(model).set_params(random_state=0).fit(X, y)
    assert warned(lambda: simulated.score(X, y)) == []
    weights = np.ones(len(y))
    assert simulated.score(X, y) == pytest.approx(simulated.score(X, y, sample_weight=weights))
