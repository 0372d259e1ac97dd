"""What a noised histogram tells: the bulk, its quantiles, and nothing of stray bins."""

from dataclasses import replace

import numpy as np
import pytest

from tailguard.queries.histograms import Bins
from tailguard.scaling.noisy_distribution import (
    HIDDEN_BINS,
    HIDDEN_DECAY,
    SURE,
    NoisyDistribution,
    far_window,
    most_significant_window,
)

BINS = Bins("octaves", -20.0, 1.0, 40)
SLOPES = Bins("signed", -30.0, 3.0, 180)
BULK = 1e3 * np.exp(-((np.arange(180) - 90.0) ** 2) / 50.0)


def counts(**at):
    found = np.zeros(BINS.count)
    for location, count in at.items():
        found[int(location[1:])] = count
    return found


def test_the_bulk_is_found_in_a_spread_out_window_that_no_single_bin_shows():
    noise = np.random.default_rng(0).standard_normal(BINS.count)
    spread = noise + 3.5 * ((np.arange(40) >= 20) & (np.arange(40) < 26))
    low, high, seen = most_significant_window(spread, 1.0)
    assert 18 <= low <= 21
    assert 24 <= high <= 28
    assert seen > 6.0


def test_a_stray_bin_far_away_is_not_part_of_the_law():
    distribution = NoisyDistribution.of(counts(b10=500.0, b11=500.0, b35=4.0), BINS, noise_std=1.0)
    assert distribution.edges[-1] == BINS.upper()[11]
    assert distribution.total == 1_000.0


def test_quantiles_interpolate_within_a_bin():
    distribution = NoisyDistribution.of(counts(b20=100.0), BINS, noise_std=1.0)
    assert distribution.quantile(0.0) == 1.0
    assert distribution.quantile(1.0) == 2.0
    assert 1.0 < distribution.quantile(0.5) < 2.0


@pytest.mark.parametrize("row", [np.zeros(40), np.full(40, -5.0)])
def test_nothing_at_all_still_gives_finite_numbers_that_were_not_seen(row):
    distribution = NoisyDistribution.of(row, BINS, noise_std=1.0)
    assert distribution.significance < 3.0
    assert np.isfinite(distribution.points).all()
    assert distribution.mass.sum() == pytest.approx(1.0)


def test_a_far_cluster_that_stands_out_counts_and_what_lies_between_does_not():
    """Codes of what is missing lie far from all else; noise between is nothing."""
    row = counts(b10=500.0, b11=500.0, b20=3.0, b35=50.0)
    distribution = NoisyDistribution.of(row, BINS, noise_std=1.0)
    assert distribution.edges[-1] == BINS.upper()[35]
    assert distribution.total == 1_050.0
    between = (distribution.points > BINS.upper()[11]) & (distribution.points < BINS.upper()[34])
    assert not distribution.mass[between].any()


@pytest.mark.parametrize(("height", "kept"), [(SURE + 0.5, True), (SURE - 0.5, False)])
def test_a_bin_apart_counts_where_it_would_surely_not_be_noise(height, kept):
    counts = BULK.copy()
    counts[170] = 10.0 * height
    found = NoisyDistribution.of(counts, SLOPES, 10.0)
    assert (found.points.max() > SLOPES.value(170.0)) == kept


CODE = 170  # a bin far beyond the bulk


def released(code, noise, rng, bulk=BULK):
    """A histogram whose far code lies in two bins."""
    counts = bulk + noise * rng.standard_normal(bulk.size)
    counts[CODE : CODE + 2] += code / 2.0
    return counts


def reaches(distribution):
    return distribution.points.max() > SLOPES.value(float(CODE))


def test_two_releases_show_a_code_that_each_of_them_hides():
    """90 records in two bins, of a noise of 10 each, are seen in two releases, seldom in one."""
    rng, alone, together, mass = np.random.default_rng(0), [], [], []
    for _ in range(200):
        first = NoisyDistribution.of(released(90.0, 10.0, rng), SLOPES, 10.0)
        counts = released(90.0, 10.0, rng)
        alone.append(reaches(NoisyDistribution.of(counts, SLOPES, 10.0)))
        both = NoisyDistribution.of(counts, SLOPES, 10.0, first)
        together.append(reaches(both))
        mass.append(both.total * both.mass[both.points > SLOPES.value(float(CODE - 1))].sum())
    assert np.mean(alone) < 0.6
    assert np.mean(together) > 0.95
    assert np.mean(mass) == pytest.approx(90.0, rel=0.1)


def test_a_release_counts_by_its_noise():
    """One of a sample, ten times as noisy, neither shows a code nor hides one."""
    rng = np.random.default_rng(0)
    noisy = NoisyDistribution.of(released(0.0, 100.0, rng), SLOPES, 100.0)
    clear = NoisyDistribution.of(released(200.0, 10.0, rng), SLOPES, 10.0, noisy)
    assert reaches(clear)
    assert clear.noise_std == pytest.approx(10.0 / np.sqrt(1.01))


def test_what_an_earlier_bulk_held_is_not_taken_for_what_lies_far():
    """Residuals of a constant spread far wider than those of the fit."""
    wide = 1e3 * np.exp(-((np.arange(180) - 90.0) ** 2) / 500.0)
    first = NoisyDistribution.of(wide, SLOPES, 10.0)
    after = NoisyDistribution.of(BULK, SLOPES, 10.0, first)
    alone = NoisyDistribution.of(BULK, SLOPES, 10.0)
    assert after.points.max() == alone.points.max()
    assert after.total == alone.total


def test_bins_known_to_hold_records_count_where_noise_hides_them():
    """Lengths of rows were released before; their weights are now a fortieth."""
    rng, weights = np.random.default_rng(0), np.repeat([0.0, 60.0, 18.0, 0.0], [8, 1, 7, 24])
    known, all_of_them = NoisyDistribution.of(40.0 * weights, BINS, 11.0).bulk, weights.sum()
    draws = weights + 11.0 * rng.standard_normal((400, BINS.count))
    alone = np.array([NoisyDistribution.of(draw, BINS, 11.0).total for draw in draws])
    held = np.array([NoisyDistribution.of(draw, BINS, 11.0, held=[known]).total for draw in draws])
    assert np.mean(alone < 0.5 * all_of_them) > 0.2
    assert np.mean(held < 0.5 * all_of_them) < 0.01
    assert np.mean(held) == pytest.approx(all_of_them, rel=0.05)


@pytest.mark.parametrize("decay", [0.3, 0.6, 0.8])
def test_a_tail_goes_on_as_its_end_and_what_lies_beyond_tell(decay):
    rng, bins, far = np.random.default_rng(0), Bins("octaves", -8.0, 3.0, 66), np.arange(66.0)
    expected, own = [], []
    for _ in range(100):
        counts = np.where(far < 20, 0.0, 3_000.0 * decay ** (far - 20.0))
        told = NoisyDistribution.of(counts + 20.0 * rng.standard_normal(66), bins, 20.0)
        expected.append(told.expected_shares.sum() * told.total)
        own.append(counts[told.last : told.last + HIDDEN_BINS].sum())
        assert (told.expected_shares <= told.hidden).all()
    assert np.mean(own) / 2.0 < np.mean(expected) < 2.0 * np.mean(own) + 80.0  # four noises


def test_a_tail_of_which_nothing_was_released_is_what_noise_may_hide():
    alone = NoisyDistribution(np.ones(4), np.full(4, 0.25), 1.0, 9.0, np.array([0.0, 1.0]), 0.01)
    assert alone.expected_shares[0] == pytest.approx(alone.hidden * HIDDEN_DECAY)


def test_what_was_released_beyond_the_bulk_may_lie_there():
    """A tail of 20 records a bin, that a noise of 10 hides bin by bin, is 300 in all."""
    bulk = np.where(BULK > 25.0, BULK, 0.0)
    end = int(np.flatnonzero(bulk).max()) + 1
    bare = NoisyDistribution.of(bulk, SLOPES, 10.0)
    counts = bulk.copy()
    counts[end:] = 20.0
    tail = NoisyDistribution.of(counts, SLOPES, 10.0)
    assert bare.hidden_shares[0] == pytest.approx(bare.hidden * HIDDEN_DECAY)
    assert tail.hidden_shares.sum() * tail.total == pytest.approx(20.0 * HIDDEN_BINS, rel=0.01)
    lengths = NoisyDistribution.of(counts[::-1], Bins("octaves", -8.0, 3.0, 180), 10.0)
    assert lengths.beyond == 0.0  # short ones do no harm


@pytest.mark.long
def test_noise_alone_puts_no_residual_far_out_in_several_releases():
    rng, largest = np.random.default_rng(0), []
    for _ in range(2_000):
        found = None
        for _ in range(3):
            counts = BULK + 10.0 * rng.standard_normal(180)
            found = NoisyDistribution.of(counts, SLOPES, 10.0, found)
            largest.append(found.edges.max())
    assert max(largest) < SLOPES.value(130.0)


@pytest.mark.parametrize("seed", range(5))
def test_records_spread_over_many_bins_are_seen_together(seed):
    """In each of twelve bins beyond a gap they are hidden by the noise; bins before stay out."""
    noise = np.random.default_rng(seed).normal(0.0, 10.0, 66)
    spread = np.where((np.arange(66) >= 35) & (np.arange(66) < 47), 22.0, 0.0)
    low, high = far_window(spread + noise, 10.0, 30)
    assert 31 <= low <= 38
    assert 44 <= high <= 52
    bulk = np.where(np.arange(66) < 20, 1e4, 0.0)
    bins = Bins("octaves", 0.0, 1.0, 66)
    seen = NoisyDistribution.with_far_bins(bulk + spread + noise, bins, 10.0)
    masses = seen.mass.reshape(-1, seen.points.size // (seen.edges.size - 1)).sum(axis=1)
    assert masses[20:low].max() == 0.0
    assert masses[low:high].sum() > 0.0
    assert far_window(noise, 10.0, 30) is None
    assert far_window(noise, 10.0, 65) is None


def test_records_beside_a_sure_bin_are_kept_and_lend_no_weight_to_noise_beyond_them():
    """With them, and only with them, the fourteen bins beyond would stand out together."""
    counts = np.where(np.arange(66) < 20, 1e4, 0.0)
    counts[30:32], counts[32:46] = (110.0, 50.0), 11.0
    bins = Bins("octaves", 0.0, 1.0, 66)
    assert far_window(counts, 10.0, 31) == (31, 47)
    seen = NoisyDistribution.with_far_bins(counts, bins, 10.0)
    assert seen.last == 32
    assert seen.mass[-1] > 0.0


def test_records_far_beyond_a_gap_are_seen_in_a_wide_bin_and_may_be_anywhere_in_it():
    """Forty records of a noise of 10, that many narrow bins would hide."""
    bins = Bins("octaves", 0.0, 3.0, 38, narrow=36, wide=15.0)
    counts = np.where(np.arange(38) < 20, 1e4, 0.0)
    assert NoisyDistribution.with_far_bins(counts, bins, 10.0).last == 20
    counts[36] = 40.0
    assert NoisyDistribution.of(counts, bins, 10.0).last == 20
    apart = NoisyDistribution.with_far_bins(counts, bins, 10.0)
    assert apart.last == 37
    assert np.log2(apart.points[-4:]).mean() == pytest.approx(14.5)
    # Ends of narrow bins are candidates for a level in a wide one, too.
    np.testing.assert_allclose(apart.levels[:36], bins.upper()[:36])
    assert apart.levels.size == 51
    counts[20:36] = 1e4
    going_on = NoisyDistribution.with_far_bins(counts, bins, 10.0)
    assert np.log2(going_on.points[-4:]).mean() < 13.5
    assert going_on.points[-1] < bins.value(37)


def test_the_tail_beyond_is_about_the_same_if_its_bins_are_added_up():
    """A tail that falls from bin to bin by .7, and the sums of fifteen of its bins."""
    tail = np.where(np.arange(50) < 18, 1e4, 30.0 * 0.7 ** (np.arange(50.0) - 18.0))
    narrow = Bins("octaves", 0.0, 3.0, 50)
    wide = Bins("octaves", 0.0, 3.0, 22, narrow=20, wide=15.0)
    summed = np.append(tail[:20], tail[20:].reshape(2, 15).sum(axis=1))
    told = []
    for counts, bins in ((tail, narrow), (summed, wide)):
        seen = NoisyDistribution.of(counts, bins, 10.0)
        told.append(replace(seen, last=20).expected_shares)
    np.testing.assert_allclose(told[0][:8], told[1][:8], rtol=0.15)
    np.testing.assert_allclose(told[0].sum(), told[1].sum(), rtol=0.1)
