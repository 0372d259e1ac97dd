"""Distribution functions from noisy histograms: exact without noise, calibrated with it."""

import math

import numpy as np
import pytest

from tailguard.summaries.distributions.distribution import DistributionEstimate
from tailguard.summaries.distributions.octaves import LEAST_SIZE, OCTAVES

RNG = np.random.default_rng(0)
COLUMNS = {
    "normal": RNG.normal(size=20_000),
    "both tails": RNG.standard_t(2, 20_000) * 1e30,
    "zeros": np.where(RNG.random(20_000) < 0.6, 0.0, RNG.lognormal(7.0, 1.0, 20_000)),
    "whole": RNG.poisson(3.0, 20_000).astype(float),
    "constant": np.full(20_000, -3.7),
}


def counted(values, edges):
    return np.bincount(np.searchsorted(edges, values), minlength=len(edges) + 1).astype(float)


def looked(values, noise_std, rng, n_looks=6):
    """An estimate after histograms with edges at some of its quantiles."""
    n = len(values)
    noisy = lambda edges: counted(values, edges) + rng.normal(0, noise_std, len(edges) + 1)  # noqa: E731
    estimate = DistributionEstimate(noisy(OCTAVES), noise_std, n)
    for look in range(n_looks):
        edges = np.sort(estimate.at(np.linspace(0.03, 0.97, 15) + 0.002 * look))
        estimate.refine(edges, noisy(edges), noise_std, 0.5)
    estimate.settle(n)
    return estimate


@pytest.mark.parametrize("name", COLUMNS)
def test_shares_are_those_of_the_records_where_there_is_hardly_any_noise(name):
    values = COLUMNS[name]
    estimate = looked(values, 1e-3, np.random.default_rng(1))
    exact = np.array([np.mean(values <= edge) for edge in estimate.edges])
    np.testing.assert_allclose(estimate.shares, exact, atol=2e-3)


@pytest.mark.parametrize("name", ["normal", "zeros"])
def test_the_errors_of_shares_are_as_large_as_they_are_said_to_be(name):
    values, rng, squares = COLUMNS[name], np.random.default_rng(2), []
    for _ in range(20):
        estimate = looked(values, 60.0, rng, 4)
        sums = np.append(0.0, np.cumsum(estimate.mass)) / estimate.total
        exact = np.array([np.mean(values <= edge) for edge in estimate.edges])
        said = estimate.noise_of_shares(0.0)
        seen = (exact > 0.02) & (exact < 0.98)
        squares.append(np.mean(((sums - exact)[seen] / said[seen]) ** 2))
    assert 0.6 < math.sqrt(np.mean(squares)) < 1.3


def spread_evenly(each, noise_std, rng):
    """Values that lie evenly in each of four octaves, and an estimate with edges that are given."""
    octaves = 2.0 ** np.arange(4.0)
    values = np.outer(octaves, np.linspace(1.0, 2.0, each + 1)[1:]).ravel()
    edges = np.unique(np.outer(octaves, np.linspace(1.0, 2.0, 9)))
    noisy = lambda some: counted(values, some) + rng.normal(0.0, noise_std, len(some) + 1)  # noqa: E731
    estimate = DistributionEstimate(noisy(OCTAVES), noise_std, values.size)
    for first in (0, 2, 1, 3):
        estimate.interval(0.5, 2.0)  # an update forgets what this keeps
        estimate.refine(edges[first::4], noisy(edges[first::4]), noise_std, 0.5)
    return values, estimate


@pytest.mark.long
@pytest.mark.parametrize("level", [0.0, 0.5, 1.0])
def test_the_noise_of_shares_of_even_bins_is_that_of_the_counts(level):
    rng, squares, wider, unevenness = np.random.default_rng(8), [], [], []
    for _ in range(200):
        values, estimate = spread_evenly(500, 40.0, rng)
        inside = (estimate.edges > 1.0) & (estimate.edges < 16.0)
        sums = np.append(0.0, np.cumsum(estimate.mass)) - level * estimate.mass.sum()
        exact = np.searchsorted(values, estimate.edges, side="right") - level * values.size
        said = estimate.noise_of_shares(level, seen=True)[inside]
        squares.append(np.mean(((sums - exact)[inside] / (estimate.total * said)) ** 2))
        wider.append(np.mean(estimate.noise_of_shares(level)[inside] / said))
        unevenness.append(estimate.unevenness)
    assert 0.93 < math.sqrt(np.mean(squares)) < 1.07
    assert np.mean(wider) > 1.08
    assert np.mean(unevenness) < 0.1


@pytest.mark.parametrize(("lower", "part"), [(200, 0.0), (300, 0.25), (400, 1.0)])
def test_unevenness_is_a_part_of_what_one_value_in_each_bin_would_show(lower, part):
    """A bin of 400 split at half: one value gives one half 400, which is 200 from even."""
    octaves, rng, seen = 2.0 ** np.arange(-40.0, 41.0), np.random.default_rng(9), []
    values = np.repeat(np.append(1.2 * octaves, 1.7 * octaves), [lower] * 81 + [400 - lower] * 81)
    finer = np.union1d(octaves, 1.5 * octaves)
    for _ in range(12):
        first, noisy = (
            counted(values, edges) + rng.normal(0.0, 1.0, len(edges) + 1)
            for edges in (OCTAVES, finer)
        )
        estimate = DistributionEstimate(first, 1.0, values.size)
        estimate.refine(finer, noisy, 1.0, 0.5)
        seen.append(estimate.unevenness)
    assert np.mean(seen) == pytest.approx(part, abs=0.1)


@pytest.mark.parametrize("noise_std", [1e-3, 30.0, 1e3, 1e6])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_distribution_function_never_falls_and_ends_at_one(name, noise_std):
    estimate = looked(COLUMNS[name], noise_std, np.random.default_rng(3))
    shares = estimate.shares
    assert shares[0] == 0.0
    assert shares[-1] == 1.0
    assert (np.diff(shares) >= 0.0).all()
    values = estimate.at(np.linspace(0.0, 1.0, 50))
    assert (np.diff(values) >= 0.0).all()
    low, high = np.transpose([estimate.interval(level, 2.0) for level in (0.1, 0.5, 0.9)])
    assert (low <= high).all()


def test_gaps_are_counted_and_no_gap_is_no_number_but_all():
    values = COLUMNS["normal"]
    full, gaps = (looked(some, 5.0, np.random.default_rng(4)) for some in (values, values[:15_000]))
    assert abs(full.total - 20_000) < 1.0
    short = DistributionEstimate(counted(values[:15_000], OCTAVES), 5.0, 20_000)
    short.settle(20_000)
    assert abs(short.total - 15_000) < 200.0
    assert gaps.total <= 15_000.0


def test_zero_is_zero_and_one_value_is_its_roundest_number():
    zeros = looked(COLUMNS["zeros"], 5.0, np.random.default_rng(5))
    assert zeros.quantile(0.25, 5.0) == 0.0
    assert zeros.interval(0.25, 2.0) == (0.0, 0.0)
    assert (np.abs(zeros.edges) >= LEAST_SIZE).all()
    assert looked(COLUMNS["constant"], 5.0, np.random.default_rng(6), 12).quantile(0.5, 5.0) == -3.7


def test_what_noise_hides_beyond_all_bins_is_not_taken_for_the_last_bin():
    """Zeros stand out, and four octaves of a fifth of the others each do not."""
    rng, held = np.random.default_rng(5), 0
    values = np.where(rng.random(2_000) < 0.6, 0.0, rng.lognormal(7.0, 1.0, 2_000))
    for _ in range(20):
        estimate = looked(values, 110.0, rng, 8)
        low, high = estimate.interval(0.75, 2.0)
        held += low <= np.quantile(values, 0.75) <= high
        assert math.isinf(high) or high < 1e40
        assert estimate.interval(0.3, 2.0)[1] < 1.0
    assert held >= 18


def test_what_does_not_stand_out_may_hold_as_much_as_its_noise():
    noise_std, n = 2_000.0, 20_000
    estimate = DistributionEstimate(counted(COLUMNS["constant"], OCTAVES), noise_std, n)
    hidden = estimate.mass < n / 2
    assert hidden.sum() >= 4
    assert np.sqrt(np.diag(estimate.covariance)[hidden]).min() > 0.6 * noise_std


@pytest.mark.long
def test_laplace_noise_makes_no_octave_that_surely_is_filled():
    """Taken for Gaussian noise, it has six deviations in one column of 15."""
    rng, shape = np.random.default_rng(0), (2_000, len(OCTAVES) + 1)
    noise = rng.laplace(0.0, 20.0 / math.sqrt(2.0), shape)
    noise[:, len(OCTAVES) // 2 + 3] += 4_000.0

    def far(tail_std):
        edges = [
            DistributionEstimate(row, 20.0, 4_000, tail_std=tail_std).edges[1:-1] for row in noise
        ]
        return np.mean([np.abs(each).max() > 2.0**60 for each in edges])

    assert far(1.8 * 20.0) <= 0.002
    assert far(20.0) > 0.02


def test_an_interval_holds_the_value_of_a_bin_that_is_one_float_wide():
    values, edges = np.full(1_000, 1.0), np.array([1.0 - 3.0 * 2.0**-53, 1.0])
    estimate = DistributionEstimate(counted(values, OCTAVES), 1.0, 1_000)
    estimate.refine(edges, counted(values, edges), 1.0, 0.5)
    low, high = estimate.interval(0.5, 2.0)
    assert low == edges[0]
    assert high == 1.0


def known_bins(masses, edges=None):
    """An estimate of these masses, between whole numbers or edges, with hardly any noise."""
    edges = np.arange(len(masses) + 1.0) if edges is None else np.array(edges)
    values = np.repeat((edges[1:] + edges[:-1]) / 2.0, masses)
    estimate = DistributionEstimate(counted(values, OCTAVES), 1e-3, values.size)
    estimate.refine(edges, counted(values, edges), 1e-3, 0.5)
    return estimate


def test_an_interval_ends_within_a_smooth_bin_and_takes_in_one_that_holds_a_value():
    """Three deviations of sampling are 0.015, or one and a half of the smooth bins."""
    low, high = known_bins([100] * 100).interval(0.503, 3.0)
    assert low == pytest.approx(48.8, abs=0.001)
    assert high == pytest.approx(51.8, abs=0.001)
    spike = known_bins([1_000, 1_000, 20, 20, 5_920, 20, 20, 1_000, 1_000])
    assert spike.interval(0.5, 2.0) == (4.0, 5.0)
    slight = known_bins([498_400, 300, 5, 700, 5, 1_180, 5, 700, 5, 300, 498_400])
    assert slight.interval(0.5, 2.0) == (3.0, 8.0)


def test_an_interval_ends_where_the_function_is_z_deviations_from_the_level():
    """Deviations of sampling, and of noise on bins that are as uneven as they are seen to be."""
    _, estimate = spread_evenly(100, 3.0, np.random.default_rng(10))
    sampling, noise = 0.25 / estimate.total, estimate.noise_of_shares(0.5, seen=True) ** 2
    for end, way in zip(estimate.interval(0.5, 2.0), (2.0, -2.0), strict=True):
        ends = estimate.shares + way * np.sqrt(sampling + noise)
        assert np.interp(end, estimate.edges, ends) == pytest.approx(0.5, abs=1e-9)


def test_an_interval_holds_the_estimate_and_has_no_end_where_no_edge_bounds_it():
    estimate = looked(COLUMNS["normal"], 30.0, np.random.default_rng(7))
    for level in (0.05, 0.3, 0.5, 0.95):
        place = estimate.at(np.array([level]))[0]
        ends = [estimate.interval(level, z) for z in (0.0, 1.0, 2.0, 4.0)]
        assert all(low <= place <= high for low, high in ends)
    assert estimate.interval(0.001, 9.0)[0] == -math.inf
    assert estimate.interval(0.999, 9.0)[1] == math.inf


def test_a_quantile_without_one_end_is_hidden_where_it_is_far_from_the_other():
    """In interquartile ranges, of 50 here; in an open bin as well as in any other."""
    estimate = known_bins([100] * 100)
    for level, value in ((0.95, 95.0), (0.9999, 99.0)):
        assert not estimate.hides(level, value, (0.0, 100.0))
        assert not estimate.hides(level, value, (value - 74.0, math.inf))
        assert estimate.hides(level, value, (value - 76.0, math.inf))
        assert estimate.hides(level, value, (-math.inf, value + 76.0))
        assert estimate.hides(level, value, (-math.inf, math.inf))
    zeros = DistributionEstimate(counted(np.zeros(1_000), OCTAVES), 1.0, 1_000)
    assert zeros.like_indicator
    assert zeros.hides(0.0, 0.0, (-math.inf, 0.0))


def test_an_interval_takes_in_a_value_right_beyond_an_end_about_which_much_lies():
    """Noise puts a part of those who have it with the values below."""
    edges = [0.0, 0.5, 0.97, 0.99, 0.9985, 0.9995, 1.0, 1.02, 2.0]
    low, high = known_bins([33, 6, 3, 3, 15, 6, 4, 30], edges).interval(0.5, 1.8)
    assert 0.97 < low < 0.99
    assert high == 1.0


def test_noise_right_beside_zero_is_as_good_as_zero():
    """So a column of zeros is one of zeros and ones still; octaves farther off are its own."""
    for place, binary in ((3, True), (-5, True), (40, False)):
        counts = np.zeros(OCTAVES.size + 1)
        counts[OCTAVES.size // 2] = 2_000.0
        counts[OCTAVES.size // 2 + place] = 700.0
        assert DistributionEstimate(counts, 100.0, 2_700).like_indicator is binary
