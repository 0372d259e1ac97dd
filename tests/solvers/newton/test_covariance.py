"""Standard errors: the bias that clipping leaves is counted, where there is any."""

from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from support.fits import plain_fit
from support.whitened import example_fit
from tailguard.gate.plan import Plan, Problem
from tailguard.queries.histograms import Bins
from tailguard.scaling.noisy_distribution import NoisyDistribution
from tailguard.solvers.newton.clipping import Clipping, RowNormDistribution, SlopeDistribution
from tailguard.solvers.newton.covariance import (
    solution,
    whole_covariance,
)
from tailguard.solvers.newton.debiasing import squared_bias
from tailguard.solvers.newton.newton import FitSession, averaged, step
from tailguard.solvers.newton.schedule import SLOPE_BINS, Shares
from tailguard.solvers.newton.state import Correction

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
    np.testing.assert_allclose(beyond, (slopes.lost(6.0) * np.array([1.0, 0.08 / 0.7])) ** 2)
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
    plan = Plan("example", problem, tg.GDP(1e-6), ())
    told = NoisyDistribution.of(np.array([0.0, N_ROWS, 0.0]), Bins("linear", 1.9, 10.0, 3), 1.0)
    rows = RowNormDistribution(told, 4.0, weight=rate)
    slopes = np.random.default_rng(0).poisson(rate, 400_000) - rate
    counts = np.bincount(SLOPE_BINS.index(slopes).astype(int), minlength=SLOPE_BINS.count)
    seen = SlopeDistribution(None, NoisyDistribution.of(counts.astype(float), SLOPE_BINS, 1e-3))
    clipping = Clipping(rows, seen, 10.0, 1e3, rate)
    fit = replace(plain_fit(problem.loss, 3), clipping=clipping, noise=np.zeros((4, 4)))
    return FitSession(plan, None, Shares()), fit


@pytest.mark.parametrize("rate", [0.05, 1.0, 20.0])
def test_counts_tell_a_log_rate_as_well_as_their_number_allows(rate):
    """The variance is one over the number of events, in every direction."""
    session, fit = counting_fit(rate)
    variance = N_ROWS * rate * whole_covariance(session, fit)
    np.testing.assert_allclose(variance, np.eye(4), atol=0.2)  # what bins blur


@pytest.mark.long
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


def test_sampling_and_noise_are_larger_along_directions_whose_whitening_is_noisy():
    session, fit = counting_fit(1.0)
    alike = whole_covariance(session, fit)
    blurred = replace(fit.geometry.whitening, noise_radius_squared=np.array([0.0, 0.2, 0.5, 0.0]))
    fit = replace(fit, geometry=replace(fit.geometry, whitening=blurred))
    widened = np.diag(whole_covariance(session, fit)) / np.diag(alike)
    np.testing.assert_allclose(widened, blurred.variance_inflation)


def test_along_a_correction_its_own_variance_replaces_that_of_rounds_and_sampling():
    session, fit = counting_fit(1.0)
    sampling = np.diag(whole_covariance(session, fit))
    made = Correction(np.eye(4)[:, :1], np.array([[0.4]]), np.array([0.3]), np.array([0.2]))
    fit = replace(fit, noise=2.0 * np.eye(4), correction=made)
    variances = np.diag(whole_covariance(session, fit))
    np.testing.assert_allclose(variances, [0.4**2 + 0.3**2 + 0.2**2, *(sampling[1:] + 4.0)])


@pytest.mark.long
def test_stated_noise_of_a_debiased_constant_is_near_what_it_varies_by():
    """What chooses clip levels adds to it; the noise of rounds alone is below half of it."""
    rng, found, told = np.random.default_rng(3), [], []
    X = rng.standard_normal((N_ROWS, 3))
    y = X @ [1.0, -1.0, 0.5] + rng.lognormal(sigma=1.2, size=N_ROWS)
    for seed in range(20):
        model = tg.LinearRegression(epsilon=1.0, delta=1e-6, random_state=seed).fit(X, y)
        found.append(model.intercept_)
        told.append(model.intercept_noise_std_)
    assert 0.5 < np.mean(told) / np.std(found) < 1.2


def test_no_interval_is_narrower_than_the_privacy_noise_alone():
    """A correction may follow noise by more than all of it; intervals count it as if by all."""
    session, fit = example_fit(tg.losses.Logistic(), phase=0)
    fit = averaged(step(session, fit))
    made = Correction(np.eye(3)[:, 2:], 1e-9 * np.eye(1), np.zeros(1), np.zeros(1))
    found = solution(session, replace(fit, noise=7.0 * np.eye(3), correction=made))
    assert found.intercept_std >= found.intercept_noise_std > 1.0
    assert found.intercept_std == pytest.approx(found.intercept_noise_std, rel=1e-5)


def test_what_was_released_moves_the_variance_as_far_as_it_stands_out_of_noise():
    """With noise that hides all it is what histograms tell, the same in all directions."""
    found = {}
    for grows in (False, True):
        rng = np.random.default_rng(4)
        X = rng.standard_normal((40_000, 5))
        size = 1.0 + 2.0 * np.abs(X[:, 0]) if grows else 1.0
        y = X.sum(axis=1) + size * rng.standard_normal(40_000)
        model = tg.HuberRegression(epsilon=8.0, delta=1e-5, random_state=0).fit(X, y)
        found[grows] = model.coef_std_ / model.coef_std_[1:].mean()
    assert found[True][0] > 1.05
    assert np.abs(found[False] - 1.0).max() < 0.03


@pytest.mark.long
def test_many_columns_whose_directions_noise_hides_have_intervals_that_hold_the_truth():
    """Each column is seen, and noise has turned all directions; no variance was planned."""
    rng, held, truth = np.random.default_rng(3), [], np.linspace(-1.0, 1.0, 100)
    for seed in range(3):
        X = rng.standard_normal((20_000, 100))
        y = (rng.random(20_000) < 1.0 / (1.0 + np.exp(-0.3 * (X @ truth)))).astype(int)
        model = tg.LogisticRegression(epsilon=2.0, delta=1e-5, classes=(0, 1), random_state=seed)
        low, high = model.fit(X, y).conf_int()[:100].T
        assert "variance" not in {stage.name for stage in model.plan_.stages}
        given = np.isfinite(low)
        assert given.mean() > 0.9
        held.append(((low <= 0.3 * truth) & (0.3 * truth <= high))[given].mean())
    assert 0.92 <= np.mean(held) <= 0.99
