"""Bounds of features follow the records where the budget shows which are better."""

from types import SimpleNamespace

import numpy as np
import pytest

import tailguard as tg
from tailguard.solvers.whitened.choices import choose_bound
from tailguard.solvers.whitened.example import example_fit

CHOICE = "choice of bounds"
RNG = np.random.default_rng(0)
N_ROWS = 20_000
HEAVY = np.exp(1.5 * RNG.standard_normal(N_ROWS))
OTHER = RNG.standard_normal(N_ROWS)
X = np.column_stack([HEAVY, OTHER])


def bound_of(model):
    """Bound of the first column, in scales of it."""
    noted = [note for note in model.notes_ if note.startswith("features are read within")]
    return float(noted[0].split()[4]) if noted else model.plan_.settings["feature_bound"]


def fitted(estimator, y, epsilon=3.0):
    return estimator(epsilon=epsilon, delta=1e-6, random_state=0).fit(X, y)


def test_where_a_linear_score_is_true_far_out_bounds_are_far():
    model = fitted(tg.LinearRegression, HEAVY - OTHER + RNG.standard_normal(N_ROWS))
    assert bound_of(model) == 64.0
    np.testing.assert_allclose(model.coef_, [1.0, -1.0], atol=0.1)


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_a_budget_that_fits_far_rows_within_near_bounds_leaves_far_ones_a_chance(epsilon):
    """Weights that make up for what near bounds hold back are too large within far ones."""
    rng = np.random.default_rng(1)
    column = np.where(rng.random(8_000) < 0.02, rng.uniform(20.0, 50.0, 8_000), OTHER[:8_000])
    model = tg.LinearRegression(epsilon=epsilon, delta=1e-6, random_state=0)
    model.fit(column[:, None], column + 0.3 * rng.standard_normal(8_000))
    assert bound_of(model) == 64.0
    assert model.coef_[0] == pytest.approx(1.0, abs=0.02)


def test_where_a_code_stands_for_what_is_missing_bounds_are_near():
    column = np.where(RNG.random(N_ROWS) < 0.1, 999_999.0, OTHER)
    model = tg.LinearRegression(epsilon=3.0, delta=1e-6, random_state=0)
    model.fit(column[:, None], OTHER + 0.5 * RNG.standard_normal(N_ROWS))
    assert bound_of(model) == 4.0
    assert model.coef_[0] > 0.3


def test_counts_that_stop_growing_keep_the_near_bound():
    y = RNG.poisson(np.exp(np.minimum(0.3 * HEAVY, 1.0))).astype(float)
    model = fitted(tg.PoissonRegression, y)
    assert bound_of(model) == 4.0
    assert model.predict(X).max() < 20.0


@pytest.mark.parametrize(("epsilon", "planned"), [(1.0, True), (0.01, False)])
def test_the_choice_is_planned_where_noise_does_not_hide_it(epsilon, planned):
    model = fitted(tg.LinearRegression, OTHER, epsilon=epsilon)
    names = [stage.name for stage in model.plan_.stages]
    assert (CHOICE in names) == planned
    assert (CHOICE in [release.stage for release in model.certificate_.releases]) == planned


@pytest.mark.parametrize(("log_std", "farther"), [(1.5, True), (0.3, False)])
def test_log_odds_of_heavy_columns_that_gain_clearly_by_far_rows_are_read_still_farther(
    log_std, farther
):
    """Their rounds have not settled there, so that no interval is given."""
    rng = np.random.default_rng(2)
    columns = np.exp(log_std * rng.standard_normal((N_ROWS, 10)))
    signs = np.where(np.arange(10) % 2, 1.0, -1.0)
    score = (columns / columns.std(axis=0)) @ signs
    y = (rng.random(N_ROWS) < 1.0 / (1.0 + np.exp(-score))).astype(int)
    model = tg.LogisticRegression(epsilon=2.0, delta=1e-6, random_state=0, classes=(0, 1))
    model.fit(columns, y)
    assert (bound_of(model) == 64.0) == farther
    assert np.isfinite(model.conf_int()).any() != farther


@pytest.mark.parametrize(("nats", "bound"), [(-0.001, 8.0), (0.005, 16.0), (0.02, 64.0)])
def test_log_odds_are_read_still_farther_from_a_hundredth_of_a_nat_beyond_noise_on(nats, bound):
    """The gain of a bound of 16 is told, by so many nats more than two deviations of its noise."""
    session, fit = example_fit(tg.losses.Logistic(), phase=0)
    assert fit.geometry.bound == 8.0

    def told(query, weights, stage):
        noise = query.noise_std(session.problem.n_rows, session.problem.n_features, stage.mu)
        near, far = 0.0, -nats - 2.0 * noise * (nats > 0.0)
        return np.array([near, far])

    answering = SimpleNamespace(
        loss=session.loss, problem=session.problem, stage=session.stage, ask=told
    )
    assert choose_bound(answering, fit).geometry.bound == bound
