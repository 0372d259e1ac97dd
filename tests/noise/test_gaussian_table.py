import mpmath
import numpy as np
import pytest

from tailguard.noise.discrete_gaussian import (
    BASE_STD,
    BUCKET_BITS,
    CELL_VARIATION,
    LARGEST,
    gaussian_table,
)


def weight(value):
    return mpmath.exp(-(mpmath.mpf(value) ** 2) / (2 * BASE_STD**2))


@pytest.fixture(autouse=True)
def precision():
    with mpmath.workprec(300):
        yield


def test_thresholds_are_the_cumulative_probabilities_to_128_digits():
    upper, lower, _ = gaussian_table()
    total = mpmath.fsum(weight(value) for value in range(-LARGEST, LARGEST + 1))
    below = mpmath.mpf(0)
    for cell in range(2 * LARGEST):
        below += weight(cell - LARGEST)
        held = int(upper[cell]) * 2**64 + int(lower[cell])
        assert held == int(mpmath.floor(below / total * 2**128))
    assert int(upper[-1]) == 2**64 - 1


def test_buckets_start_at_the_first_cell_they_can_mean():
    upper, _, first_cell = gaussian_table()
    for bucket in range(2**BUCKET_BITS):
        start = np.uint64(bucket << (64 - BUCKET_BITS))
        assert first_cell[bucket] == np.count_nonzero(upper < start)


def test_what_is_cut_off_is_within_the_stated_variation():
    beyond = 2 * mpmath.fsum(weight(value) for value in range(LARGEST + 1, 3 * LARGEST))
    total = beyond + mpmath.fsum(weight(value) for value in range(-LARGEST, LARGEST + 1))
    flooring = 2 * LARGEST * mpmath.mpf(2) ** -128
    assert 1e-28 < beyond / total + flooring < CELL_VARIATION / 9
