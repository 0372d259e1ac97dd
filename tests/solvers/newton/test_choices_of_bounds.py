"""Bounds of features follow the records where the budget shows which are better."""

from types import SimpleNamespace

import numpy as np
import pytest

import tailguard as tg
from support.whitened import example_fit
from tailguard.solvers.newton.choices import choose_bound

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
    assert bound_of(model) == 256.0
    np.testing.assert_allclose(model.coef_, [1.0, -1.0], atol=0.1)


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_a_budget_that_fits_far_rows_within_near_bounds_leaves_far_ones_a_chance(epsilon):
    """Weights that make up for what near bounds hold back are too large within far ones."""
    rng = np.random.default_rng(1)
    column = np.where(rng.random(8_000) < 0.02, rng.uniform(20.0, 50.0, 8_000), OTHER[:8_000])
    model = tg.LinearRegression(epsilon=epsilon, delta=1e-6, random_state=0)
    model.fit(column[:, None], column + 0.3 * rng.standard_normal(8_000))
    assert bound_of(model) >= 64.0
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
    """Their contributions are corrected there, so that intervals are given."""
    rng = np.random.default_rng(2)
    columns = np.exp(log_std * rng.standard_normal((N_ROWS, 10)))
    signs = np.where(np.arange(10) % 2, 1.0, -1.0)
    score = (columns / columns.std(axis=0)) @ signs
    y = (rng.random(N_ROWS) < 1.0 / (1.0 + np.exp(-score))).astype(int)
    model = tg.LogisticRegression(epsilon=2.0, delta=1e-6, random_state=0, classes=(0, 1))
    model.fit(columns, y)
    assert (bound_of(model) == 64.0) == farther
    assert np.isfinite(model.conf_int()).all()


@pytest.mark.parametrize(
    ("loss", "gain", "bound"),
    [
        (tg.losses.Logistic(), -0.001, 8.0),
        (tg.losses.Logistic(), 0.005, 16.0),
        (tg.losses.Logistic(), 0.02, 64.0),
        (tg.losses.Squared(), -0.001, 16.0),
        (tg.losses.Squared(), 0.001, 256.0),
        (tg.losses.Poisson(), 0.02, 64.0),
    ],
)
def test_a_farthest_bound_that_gains_beyond_noise_leads_farther_still(loss, gain, bound):
    """The gain is told, by so much more than two deviations of its noise."""
    assert bound_by(loss, lambda noise: gain + 2.0 * noise * (gain > 0.0)) == bound


def test_a_gain_of_residuals_within_noise_leads_no_farther():
    assert bound_by(tg.losses.Squared(), lambda noise: 1.9 * noise) == 64.0


def test_a_gain_on_a_sample_must_exceed_the_noise_of_the_sample():
    assert bound_by(tg.losses.Squared(), lambda noise: 2.1 * noise) == 256.0
    assert bound_by(tg.losses.Squared(), lambda noise: 2.1 * noise, sampled=0.1) == 64.0


def bound_by(loss, gain, *, sampled=1.0):
    """Bound that is chosen where the farthest gains so much, by the noise of all records."""
    session, fit = example_fit(loss, phase=0)

    def told(query, weights, stage):
        noise = query.noise_std(session.problem.n_rows, session.problem.n_features, stage.mu)
        margin = 2.0 * noise if loss.link.log else 0.0  # which farther ones must win by
        return np.array([margin, -gain(noise) - margin])

    answering = SimpleNamespace(
        loss=session.loss, problem=session.problem, stages=session.stages, ask=told,
        noise_of=lambda query, stage: session.noise_of(query, stage) / sampled,
    )  # fmt: skip
    return choose_bound(answering, fit).geometry.bound
