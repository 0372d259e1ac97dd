"""Clip levels move the way theory says they should."""

import math
from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from tailguard.queries.histograms import Bins
from tailguard.scaling.noisy_distribution import POINTS, NoisyDistribution
from tailguard.solvers.newton.clipping import (
    MISFIT,
    RowNormDistribution,
    SlopeDistribution,
    choose_clip,
    top_level,
)

BINS = Bins("signed", -12.0, 6.0, 144)
N_DRAWS = 200_000


def slopes_of(draws, loss=None):
    counts = np.bincount(BINS.index(draws), minlength=BINS.count).astype(float)
    return SlopeDistribution(loss or tg.losses.Squared(), NoisyDistribution.of(counts, BINS, 1.0))


RNG = np.random.default_rng(0)
NORMAL = slopes_of(RNG.standard_normal(N_DRAWS))
HEAVY = slopes_of(RNG.standard_t(2.2, N_DRAWS))
SKEWED = slopes_of(RNG.lognormal(size=N_DRAWS) - math.exp(0.5))
ROWS = RowNormDistribution(
    NoisyDistribution.of(np.array([0.0, 50.0, 50.0]), Bins("linear", 0.0, 0.5, 3), 0.1), 10
)


def clip(slopes, *, rows=ROWS, n_rows=10**6, mu=1.0, **more):
    return choose_clip(rows, slopes, n_rows=n_rows, mu=mu, **{"evenness": 1.0} | more)


def numbers(clipping):
    return clipping.row_limit, clipping.slope_limit, clipping.curvature, clipping.error


def test_curvature_and_variance_of_normal_residuals_are_those_of_the_normal_law():
    assert NORMAL.curvature(1.0) == pytest.approx(0.6827, abs=0.02)
    assert NORMAL.variance(50.0) == pytest.approx(1.0, abs=0.03)


def test_the_density_at_the_quantile_is_the_curvature_of_a_quantile_loss():
    loss = tg.losses.Quantile(0.5, width=0.1)
    median = slopes_of(RNG.standard_normal(N_DRAWS), loss)
    assert median.curvature(1.0) == pytest.approx(0.399, abs=0.03)


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_bounded_slopes_rise_as_near_the_fit_where_no_residual_is_near_zero(level):
    loss, draws = tg.losses.Quantile(level, width=0.1), RNG.standard_normal(N_DRAWS)
    # Residuals are predictions less targets: the share ``level`` of them is below zero at the fit.
    there = slopes_of(draws - np.quantile(draws, 1.0 - level), loss)
    away = slopes_of(np.concatenate([draws, draws])[np.abs(np.tile(draws, 2)) > 0.3] + 9.0, loss)
    assert there.curvature(1.0) == pytest.approx([0.399, 0.175][level > 0.5], abs=0.02)
    assert 0.25 < away.curvature(1.0) / there.curvature(1.0) < 1.0
    assert slopes_of(draws + 9.0).curvature(1.0) == pytest.approx(0.0, abs=1e-3)  # squared: clipped


def test_a_bounded_slope_may_be_cut_lower_unless_it_leans():
    draws = RNG.standard_normal(N_DRAWS)
    huber = slopes_of(draws, tg.losses.Huber(30.0))
    assert huber.limits.max() == 30.0
    assert (huber.limits < 5.0).any()
    assert slopes_of(draws, tg.losses.Quantile(0.9)).limits.tolist() == [0.9]


def test_a_bounded_slope_is_cut_lower_only_where_that_takes_nothing_from_its_mean():
    symmetric = clip(slopes_of(RNG.standard_t(2.2, N_DRAWS), tg.losses.Huber(30.0)), shift=1.0)
    draws = RNG.lognormal(size=N_DRAWS) - 1.0
    skewed = clip(slopes_of(draws, tg.losses.Huber(30.0)), shift=1.0)
    assert symmetric.slope_limit < 5.0
    assert skewed.slope_limit > 20.0


def test_shares_of_residuals_never_fall_however_much_noise_may_hide():
    few = NoisyDistribution.of(
        np.eye(BINS.count)[72] * 9.0, BINS, 1.0
    )  # all that is seen is in one bin
    for bin_noise in np.geomspace(1e-3, 1e3, 500):
        noisy = SlopeDistribution(None, replace(few, bin_noise=bin_noise))
        assert (np.diff(noisy.residual_shares(), axis=0) >= 0.0).all()


@pytest.mark.parametrize("p", [2.0, 4.0, 8.0])
def test_the_steepest_rise_of_a_power_is_at_the_limit(p):
    distribution = slopes_of(RNG.standard_normal(N_DRAWS), tg.losses.LpLoss(p))
    limit = p * 2.0 ** (p - 1.0)  # the slope at a residual of 2
    assert distribution.steepest(limit) == pytest.approx(p * (p - 1.0) * 2.0 ** (p - 2.0), rel=0.25)
    assert distribution.steepest(limit) <= distribution.steepest(2.0 * limit)


def test_without_noise_heavy_tails_are_clipped_and_normal_ones_are_not():
    assert clip(HEAVY).slope_limit < 5.0
    assert clip(NORMAL).slope_limit > 2.5


def test_a_smaller_budget_clips_more():
    assert clip(NORMAL, n_rows=1_000, mu=0.1).slope_limit < clip(NORMAL).slope_limit


def test_a_shift_raises_the_level_on_skewed_residuals_most():
    rise = [
        clip(distribution, shift=1.0).slope_limit / clip(distribution).slope_limit
        for distribution in (SKEWED, HEAVY, NORMAL)
    ]
    assert rise[0] > 2.0 * rise[1]
    assert rise[2] < 1.5


def test_a_bias_that_cancels_at_one_limit_counts_as_that_of_higher_limits():
    """Predictions too high in some rows and too low in others have a mean bias of zero."""
    points = np.add.outer([0.1, 1.0, -4.0], [-0.4, -0.1, 0.0, 0.4]).ravel()
    mass = np.repeat([0.77, 0.2, 0.03], POINTS) / POINTS
    distribution = NoisyDistribution(points, mass, 1.0, 1e3, np.array([-4.0, 0.0, 0.5, 1.0]))
    slopes = SlopeDistribution(None, distribution)
    assert abs(slopes.bias(0.5)) < 0.2 * abs(slopes.bias(1.4))
    assert slopes.bias(0.3) > 0.0
    assert clip(slopes, n_rows=30_000, mu=0.1, shift=1.0).slope_limit > 1.4


@pytest.mark.parametrize("level", [1.0, 3.0])
def test_how_far_a_constant_may_be_off_is_told_with_the_noise_of_the_histogram(level):
    rng, bins = np.random.default_rng(1), Bins("linear", -8.0, 1.0, 16)
    counts = 1e4 * np.exp(-np.abs(bins.middle()) / 2.0)  # all bins stand out
    exact = SlopeDistribution(None, NoisyDistribution.of(counts, bins, 1e-6))
    found = []
    for _ in range(400):
        noised = NoisyDistribution.of(counts + 3.0 * rng.standard_normal(16), bins, 3.0)
        found.append(SlopeDistribution(None, noised))
    biases = np.array([slopes.bias(level) for slopes in found])
    assert exact.bias_std(level) == pytest.approx(abs(exact.bias(level)), abs=1e-6)
    said = np.sqrt(np.median([s.bias_std(level) ** 2 - s.bias(level) ** 2 for s in found]))
    assert biases.std() == pytest.approx(said, rel=0.15)


def test_the_top_level_grows_without_bound_as_records_or_budget_grow():
    tops = [top_level(HEAVY, 1.5, 2, n, 0.1) for n in (10**3, 10**5, 10**7)]
    assert tops[0] < tops[1] < tops[2]


@pytest.mark.parametrize("weight", [1e-3, 0.1, 30.0])
def test_levels_do_not_depend_on_the_unit_in_which_a_log_link_bends(weight):
    """Slopes of a histogram tell the variance, and the weight of the rows cancels out of it."""
    plain = clip(HEAVY, n_rows=2_000, mu=0.5)
    curvature_released = clip(HEAVY, n_rows=2_000, mu=0.5, rows=replace(ROWS, weight=weight))
    assert (curvature_released.row_limit, curvature_released.slope_limit) == (
        plain.row_limit,
        plain.slope_limit,
    )
    assert curvature_released.error == pytest.approx(plain.error / weight**2)


@pytest.mark.parametrize("weight", [1e-3, 0.1, 0.25])
def test_the_weight_of_the_rows_is_the_variance_of_slopes_that_no_histogram_tells(weight):
    """The variance of a likelihood's slope is its curvature: what is left is one over that."""
    one, curvature_released = (
        clip(
            SlopeDistribution.of_likelihood(1.0),
            n_rows=10**9,
            mu=10.0,
            rows=replace(ROWS, weight=w),
        )
        for w in (1.0, weight)
    )
    assert curvature_released.error == pytest.approx(one.error / weight, rel=1e-3)


def test_bounded_slopes_are_cut_nowhere_and_their_noise_is_that_of_the_limit():
    half, whole = (
        clip(SlopeDistribution.of_likelihood(limit), n_rows=100, mu=1e-3) for limit in (0.5, 1.0)
    )
    assert (half.slope_limit, whole.slope_limit) == (0.5, 1.0)
    assert whole.error == pytest.approx(4.0 * half.error, rel=1e-3)


def lengths_of(width):
    """Lengths of rows of so many columns, some of which are far longer than most."""
    rows = np.linalg.norm(RNG.standard_t(3.0, (50_000, width)), axis=1)
    bins = Bins("octaves", -6.0, 4.0, 60)
    counts = np.bincount(bins.index(rows), minlength=bins.count).astype(float)
    return RowNormDistribution(NoisyDistribution.of(counts, bins, 1.0), width)


@pytest.mark.parametrize("width", [3, 40])
def test_a_likelihood_cuts_fewer_rows_than_would_do_but_gives_little_up_for_it(width):
    """By as much as it may, and no more, beyond the least error of all row limits."""
    rows, n_rows, mu = lengths_of(width), 20_000, 0.2
    slopes = SlopeDistribution.of_likelihood(1.0)

    def errors():
        for limit in rows.limits:
            noise = width * (2.0 * limit / (n_rows * mu)) ** 2
            yield (rows.variance(limit) / n_rows + noise) / rows.curvature(limit) ** 2

    error, found = np.array(list(errors())), clip(slopes, rows=rows, n_rows=n_rows, mu=mu)
    allowed = (1.0 + MISFIT / width) * error.min()
    assert found.row_limit == pytest.approx(rows.limits[error <= allowed].max())
    assert (found.row_limit > rows.limits[np.argmin(error)]) == (width == 3)
    least = clip(slopes, rows=rows, n_rows=n_rows, mu=mu, misfit=0.0)
    assert least.row_limit == pytest.approx(rows.limits[np.argmin(error)])
