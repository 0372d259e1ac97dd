"""Standard errors: the bias that clipping leaves is counted, where there is any."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

import tailguard as tg
from support.fits import plain_fit
from tailguard.plans.plan import Plan
from tailguard.plans.problem import Problem
from tailguard.plans.stage import Stage
from tailguard.queries.column_histograms import Bins
from tailguard.scaling.noisy_distribution import NoisyDistribution
from tailguard.solvers.whitened.choices import NO_INTERVALS
from tailguard.solvers.whitened.clipping import Clipping, RowNormDistribution, SlopeDistribution
from tailguard.solvers.whitened.covariance import (
    BENT,
    CURVATURE_HIDES,
    UNRESOLVED_SHARE,
    hiding,
    sampling_covariance,
)
from tailguard.solvers.whitened.debiasing import squared_bias
from tailguard.solvers.whitened.schedule import SLOPE_BINS, Shares
from tailguard.solvers.whitened.session import FitSession
from tailguard.solvers.whitened.whitening import Whitening, variance_inflation

N_ROWS = 20_000
BINS = Bins("linear", -8.0, 4.0, 96)
SHARES, NO_MOVE = np.array([0.7, 0.08]), np.zeros(2)


def slopes_of(residuals):
    counts = np.bincount(BINS.index(residuals).astype(int), minlength=BINS.count)
    return SlopeDistribution(None, NoisyDistribution.of(counts.astype(float), BINS, 3.0))


def skewed(n_rows=100_000):
    return slopes_of(np.random.default_rng(0).lognormal(0.0, 0.8, n_rows) - np.exp(0.32))


def symmetric(n_rows=100_000):
    return slopes_of(np.random.default_rng(0).standard_normal(n_rows))


def test_a_normal_interval_that_counts_the_squared_bias_covers_whatever_the_bias():
    bias = np.linspace(0.0, 20.0, 400)
    reach = 1.959964 * np.sqrt(1.0 + bias**2)
    assert (ndtr(reach - bias) - ndtr(-reach - bias) >= 0.95 - 1e-6).all()


def test_symmetric_residuals_leave_no_bias_and_skewed_ones_less_at_higher_levels():
    assert (squared_bias(symmetric(), (1.0, 4.0), SHARES, NO_MOVE, 1e-4) == 0.0).all()
    levels = (0.5, 1.0, 2.0, 6.0)
    left = [squared_bias(skewed(), (level, 6.0), SHARES, NO_MOVE, 1e6) for level in levels]
    assert (np.diff(left, axis=0) < 0.0).all()


def test_a_direction_without_a_share_is_not_biased_whatever_noise_moved_it():
    shares, moved = np.array([0.5, 0.0, 0.2]), np.array([0.1, 0.1, 0.1])
    left = squared_bias(skewed(), (0.5, 6.0), shares, moved, 1e-4)
    assert left[1] == 0.0
    assert (left[[0, 2]] > 0.0).all()


def test_what_was_measured_above_a_level_replaces_what_was_expected():
    slopes, moved = skewed(), np.array([-0.4, 0.1])
    sure = squared_bias(slopes, (0.5, 6.0), SHARES, moved, 1e-9)
    beyond = squared_bias(slopes, (6.0, 6.0), SHARES, NO_MOVE, 1e-9)
    np.testing.assert_allclose(sure - beyond, moved**2, rtol=1e-3)
    vague = squared_bias(slopes, (0.5, 6.0), SHARES, moved, 1e9)
    unmoved = squared_bias(slopes, (0.5, 6.0), SHARES, NO_MOVE, 1e9)
    np.testing.assert_allclose(vague, unmoved, rtol=1e-3)


def test_the_tail_that_noise_hides_adds_to_the_variance():
    slopes = skewed()
    for level in (1.0, 4.0, 20.0):
        assert slopes.variance(level) < slopes.upper_variance(level) <= level**2
    assert slopes.upper_variance(20.0) < 1.5 * slopes.variance(20.0)


def counting_fit(rate):
    """A fit of counts of that mean, of which only histograms were told: rows of mean square 1."""
    problem = Problem(tg.losses.Poisson(), N_ROWS, 3, intercept=True)
    stages = (Stage("variance", "", 1e-6, 1, 10),)
    plan = Plan("example", problem, tg.GDP(1e-6), stages)
    told = NoisyDistribution.of(np.array([0.0, N_ROWS, 0.0]), Bins("linear", 1.9, 10.0, 3), 1.0)
    rows = RowNormDistribution(told, 4.0, weight=rate)
    slopes = np.random.default_rng(0).poisson(rate, 400_000) - rate
    counts = np.bincount(SLOPE_BINS.index(slopes).astype(int), minlength=SLOPE_BINS.count)
    seen = SlopeDistribution(None, NoisyDistribution.of(counts.astype(float), SLOPE_BINS, 1e-3))
    clipping = Clipping(rows, seen, 10.0, 1e3, rate)
    fit = replace(plain_fit(problem.loss, 3), clipping=clipping)
    return FitSession(plan, None, Shares()), fit


@pytest.mark.parametrize("rate", [0.05, 1.0, 20.0])
def test_counts_tell_a_log_rate_as_well_as_their_number_allows(rate):
    """The variance is one over the number of events, in every direction."""
    variance = N_ROWS * rate * sampling_covariance(*counting_fit(rate))
    np.testing.assert_allclose(variance, np.eye(4), atol=0.2)  # what bins blur


def test_intervals_of_skewed_records_whose_spread_varies_cover_the_intercept():
    rng, truth, scores = np.random.default_rng(1), np.array([1.0, -0.5, 0.0, 2.0]), []
    for seed in range(20):
        X = rng.standard_normal((N_ROWS, 3))
        noise = (rng.lognormal(size=N_ROWS) - np.exp(0.5)) * (1.0 + 0.5 * np.abs(X[:, 0]))
        model = tg.LinearRegression(epsilon=1.0, delta=1e-5, random_state=seed)
        model.fit(X, truth[3] + X @ truth[:3] + noise)
        low, high = model.conf_int(0.95).T
        scores.append(((low + high) / 2.0 - truth) / ((high - low) / 3.92))
    assert np.mean(np.abs(scores) < 1.96) >= 0.9
    assert abs(np.mean(scores, axis=0)[3]) < 1.1  # 1.4 where the bias is not counted


def test_a_budget_too_small_for_the_variance_has_no_intervals():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 3))
    y = X.sum(axis=1) + rng.standard_normal(2000)
    small, large = (
        tg.LinearRegression(guarantee=tg.GDP(mu), random_state=0).fit(X, y) for mu in (0.1, 1.0)
    )
    assert "variance" not in {stage.name for stage in small.plan_.stages}
    assert np.isnan(small.conf_int()).all()
    assert np.isfinite(small.coef_noise_std_).all()
    assert np.isfinite(large.conf_int()).all()


@pytest.mark.parametrize(("spread", "given"), [(0.5, True), (1.5, False)])
def test_log_odds_of_columns_too_heavy_for_all_bounds_have_no_intervals_and_say_so(spread, given):
    rng = np.random.default_rng(5)
    X = rng.lognormal(sigma=spread, size=(N_ROWS, 5))
    score = (X - 1.0) @ [0.5, -0.5, 0.3, -0.3, 0.2]
    y = (rng.uniform(size=N_ROWS) < 1.0 / (1.0 + np.exp(-score))).astype(int)
    model = tg.LogisticRegression(epsilon=4.0, delta=1e-5, classes=(0, 1), random_state=1)
    model.fit(X, y)
    assert np.isfinite(model.conf_int()).all() == given
    assert np.isnan(model.conf_int()).all() != given
    assert (NO_INTERVALS in model.notes_) != given
    assert np.isfinite(model.coef_noise_std_).all()


@pytest.mark.parametrize(
    ("far_size", "center", "hidden"),
    [(3.9, 0.0, False), (4.1, 0.0, True), (7.1, 3.0, True), (18.1, 5.0, True), (17.9, 5.0, False)],
)
def test_a_slope_that_bounds_move_is_told_by_the_sizes_of_its_column(far_size, center, hidden):
    geometry = plain_fit(tg.losses.Poisson(), 1, bound=4.0).geometry
    units = replace(geometry.units, center=np.array([center]))
    geometry = replace(geometry, units=units, far_size=np.array([far_size]))
    for significance in (BENT * 0.99, BENT * 1.01):
        (beyond, _), _ = hiding(geometry, np.eye(2), np.array([significance]))
        assert beyond.tolist() == [hidden and significance > BENT, False]


def test_a_slope_along_directions_that_noise_hides_is_told_by_its_share_of_them():
    matrix = np.eye(2)
    inflation = variance_inflation(np.array([1e6, 1e-6]), level=1.0)
    geometry = plain_fit(tg.losses.Squared(), 2, intercept=False).geometry
    geometry = replace(geometry, whitening=Whitening(matrix, 2.0, inflation))
    known = UNRESOLVED_SHARE / (1.0 - UNRESOLVED_SHARE)  # where both have as much variance
    ratio = inflation[0] / inflation[1] / known
    jacobian = np.array([[1.0, np.sqrt(0.99 * ratio)], [1.0, np.sqrt(1.01 * ratio)]])
    _, (hidden, _) = hiding(geometry, jacobian, np.zeros(2))
    assert hidden.tolist() == [True, False]


def test_intervals_are_not_given_where_bounds_are_seen_to_move_a_slope():
    """Half a per cent of the heavy column decides its slope under a log link."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.pareto(2.5, 40_000), rng.standard_normal(40_000)])
    y = rng.poisson(np.exp(0.2 * np.minimum(X[:, 0], 9.0) + 0.3 * X[:, 1]))
    model = tg.PoissonRegression(epsilon=1.0, delta=1e-5, random_state=0).fit(X, y)
    assert model.feature_bounds_[0, 1] < np.quantile(X[:, 0], 0.99)
    assert np.isnan(model.conf_int()[0]).all()
    assert np.isfinite(model.conf_int()[1:]).all()
    assert model.notes_[-1].startswith("no interval for 1 of 3 coefficients: many values")
    assert "unknown" in model.summary()


def test_counts_whose_curvature_hides_have_no_intervals_and_say_so():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 25))
    y = rng.poisson(np.exp(0.2 * X[:, 0]))
    hidden, seen = (
        tg.PoissonRegression(epsilon=epsilon, delta=1e-5, random_state=0).fit(X, y)
        for epsilon in (1.0, 8.0)
    )
    assert "variance" in {stage.name for stage in hidden.plan_.stages}
    assert CURVATURE_HIDES in hidden.notes_
    assert np.isnan(hidden.conf_int()).all()
    assert "variance" not in {release.stage for release in hidden.certificate_.releases}
    assert CURVATURE_HIDES not in seen.notes_
    assert np.isfinite(seen.conf_int()).any()


def test_indicators_that_noise_hides_have_no_intervals_and_others_do():
    rng = np.random.default_rng(0)
    common = rng.standard_normal((20_000, 40))
    rare = rng.random((20_000, 3)) < [0.01, 0.02, 0.5]
    X = np.column_stack([common, rare])
    y = X[:, 0] + 3.0 * X[:, 40] + rng.standard_normal(20_000)
    model = tg.LinearRegression(epsilon=0.5, delta=1e-5, random_state=0).fit(X, y)
    given = np.isfinite(model.conf_int()[:, 0])
    assert not given[[40, 41]].any()
    assert given[:40].all()
