"""Octaves of sizes and of differences: what stands out of noise, and what is taken for it."""

import numpy as np
import pytest

from support.stages import once
from tailguard.scaling.columns import ColumnScales
from tailguard.scaling.noisy_distribution import detection_threshold
from tailguard.scaling.sizes_and_locations import (
    COMMON_OCTAVES,
    DIFFERENCE_OVER_SIZE,
    FALSE_ONES,
    SIZE_BINS,
    UNCOMMON_FACTOR,
    find_scales,
    read_sizes,
)

N_ROWS, NOISE = 20_000, 200.0
ONES = int(SIZE_BINS.index(1.0))  # the bin that all ones of an indicator are in


def seen_at(octave, height):
    """Whether a column is seen whose records stand out by ``height`` in one bin, there."""
    counts = np.zeros((1, SIZE_BINS.count))
    counts[0, ONES + octave] = height * NOISE
    return bool(read_sizes(counts, np.array([NOISE]), N_ROWS).detected[0])


@pytest.mark.parametrize("octave", [0, 10, -10, int(COMMON_OCTAVES) - 1, 1 - int(COMMON_OCTAVES)])
def test_a_unit_that_is_common_needs_to_stand_out_as_any_window_does(octave):
    least = detection_threshold(1)
    assert seen_at(octave, 1.01 * least)
    assert not seen_at(octave, 0.99 * least)


@pytest.mark.parametrize("octave", [int(COMMON_OCTAVES), 100, -int(COMMON_OCTAVES) - 1, -100])
def test_a_unit_that_is_far_from_one_needs_to_stand_out_more(octave):
    least, least_far = detection_threshold(1), detection_threshold(UNCOMMON_FACTOR)
    assert not seen_at(octave, 1.01 * least)
    assert not seen_at(octave, 0.99 * least_far)
    assert seen_at(octave, 1.01 * least_far)


class ToldPairs:
    """Columns of which pair differences of a fixed histogram are told."""

    def __init__(self, counts):
        self.counts = np.array(counts)
        self.indices = range(len(self.counts))
        self.session = self

    def n_rows(self, stage=None):
        return N_ROWS

    def noise_std(self, count, stage):
        return np.sqrt(2.0 * count)

    def histograms(self, chosen, bins, stage, *, paired):
        assert paired
        return self.counts[chosen], NOISE


@pytest.mark.parametrize(("octave", "believed"), [
    (0, True), (3, True), (6, False), (100, False), (-12, True), (-16, False), (-100, False),
])  # fmt: skip
@pytest.mark.parametrize("size", [1.0, 2.0**40])
def test_pairs_are_believed_only_where_they_are_likely_for_a_column_of_that_size(
    octave, believed, size
):
    found = ColumnScales.unknown(1)
    found.scale[:] = size
    counts = np.zeros((1, SIZE_BINS.count))
    counts[0, SIZE_BINS.index(1.5 * size) + octave] = N_ROWS / 2.0
    find_scales(ToldPairs(counts), found, once(1.0, "scale"))
    expected = 1.5 * size * 2.0**octave if believed else size
    assert found.scale[0] == pytest.approx(expected, rel=0.01)


def test_pairs_of_a_column_far_from_zero_are_measured_by_its_centre():
    found = ColumnScales.unknown(1)
    found.scale[:], found.center[:] = 1e-3, -1e3
    counts = np.zeros((1, SIZE_BINS.count))
    counts[0, SIZE_BINS.index(100.0)] = N_ROWS / 2.0
    find_scales(ToldPairs(counts), found, once(1.0, "scale"))
    assert 64.0 <= found.scale[0] <= 128.0


def with_zeros(rng, n_fits, n_columns):
    """Noised histograms of columns that are always zero."""
    counts = NOISE * rng.standard_normal((n_fits, n_columns, SIZE_BINS.count))
    counts[:, :, 0] += N_ROWS
    return counts


@pytest.mark.long
@pytest.mark.parametrize(("n_fits", "n_columns"), [(6_000, 1), (1_500, 10)])
def test_noise_is_taken_for_ones_as_rarely_as_is_said(n_fits, n_columns):
    rng = np.random.default_rng(0)
    counts, noise = with_zeros(rng, n_fits, n_columns), np.full(n_columns, NOISE)
    # No window but the ones may stand out, so that only these can be seen.
    counts[:, :, 1:ONES] = counts[:, :, ONES + 1 :] = 0.0
    found = np.mean([read_sizes(fit, noise, N_ROWS).detected.any() for fit in counts])
    assert 0.1 * FALSE_ONES < found < 2.5 * FALSE_ONES


def test_ones_that_stand_out_of_noise_make_an_indicator():
    """Fewer than any window must show, but more than a given bin."""
    rng = np.random.default_rng(1)
    counts = with_zeros(rng, 400, 1)
    ones = 4.0 * NOISE
    assert detection_threshold(1, FALSE_ONES, windows=1.0) + 1.0 < 4.0 < detection_threshold(1)
    counts[:, :, 0] -= ones
    counts[:, :, ONES] += ones
    found = [read_sizes(fit, np.array([NOISE]), N_ROWS).detected[0] for fit in counts]
    assert np.mean(found) > 0.7


@pytest.mark.parametrize("size", [1.0, 2.0**20])
@pytest.mark.parametrize(("share", "columns", "expected"), [
    (0.36, 16, 0.6), (0.36, 1, 1.0), (0.04, 16, 0.5), (0.04, 256, 0.25),
    (0.9, 16, DIFFERENCE_OVER_SIZE),
])  # fmt: skip
def test_a_column_that_is_mostly_zero_is_scaled_by_how_many_of_its_records_are_not(
    size, share, columns, expected
):
    """By its root mean square, but not so much that rows of few columns get long."""
    counts = np.zeros((columns, SIZE_BINS.count))
    counts[:, 0] = (1.0 - share) * N_ROWS
    counts[:, SIZE_BINS.index(1.5 * size)] = max(share * N_ROWS, 10.0 * NOISE)
    found = read_sizes(counts, np.full(columns, NOISE), N_ROWS)
    assert found.scale == pytest.approx(1.5 * size * expected, rel=1e-6)


@pytest.mark.parametrize("power", [1.0, 2.0, 4.0])
def test_sizes_that_few_records_exceed_or_stay_below_are_read_off_a_tail(power):
    """Of sizes beyond one that fall by a power, one in 200 exceed 200 to the inverse power."""
    sizes = np.random.default_rng(0).uniform(size=N_ROWS) ** (-1.0 / power)
    counts = np.bincount(SIZE_BINS.index(sizes).astype(int), minlength=SIZE_BINS.count)
    found = read_sizes(counts[None, :].astype(float), np.array([1.0]), N_ROWS)
    assert found.far_size[0] == pytest.approx(200.0 ** (1.0 / power), rel=0.15)
    mirrored = np.bincount(SIZE_BINS.index(1.0 / sizes).astype(int), minlength=SIZE_BINS.count)
    mirrored[0] = N_ROWS  # zeros do not count
    found = read_sizes(mirrored[None, :].astype(float), np.array([1.0]), 2.0 * N_ROWS)
    assert found.near_size[0] == pytest.approx(200.0 ** (-1.0 / power), rel=0.15)


def test_sizes_that_end_within_an_octave_are_not_taken_for_a_tail():
    counts = np.zeros((2, SIZE_BINS.count))
    counts[:, ONES - 1], counts[:, ONES] = 16_000.0, 4_000.0
    counts[1, ONES + 1] = 90.0  # not yet one in 200
    ends, goes_on = read_sizes(counts, np.full(2, 1.0), N_ROWS).far_size
    assert 1.0 < ends < 1.5
    assert 1.5 < goes_on < 2.0


def test_a_column_that_is_not_seen_has_no_far_size():
    counts = np.zeros((1, SIZE_BINS.count))
    assert read_sizes(counts, np.array([NOISE]), N_ROWS).far_size.tolist() == [0.0]
