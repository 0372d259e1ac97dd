import math

import mpmath
import numpy as np
import pytest

from support.sources import QuietSource, ScriptedSource
from tailguard.noise.discrete_gaussian import (
    BASE_STD,
    BUCKET_BITS,
    CELL_VARIATION,
    LARGEST,
    WIDENING,
    _compiled_draws,
    _widened_draws,
    coordinate_distance,
    discrete_gaussian,
    gaussian_table,
    lattice_std,
)
from tailguard.noise.sources import SimulationSource


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


UPPER, LOWER, FIRST_CELL = gaussian_table()


@pytest.mark.parametrize("levels", [1, 3, 5])
def test_median_words_mean_zero(levels):
    assert not discrete_gaussian(7, levels, QuietSource()).any()


def test_lattice_std_matches_the_widened_variance():
    variance = BASE_STD**2
    for levels in range(1, 7):
        assert lattice_std(levels) == math.sqrt(variance)
        variance = WIDENING**2 * variance + BASE_STD**2
    assert lattice_std(5) == pytest.approx(67141656.01954792, rel=1e-15)


def test_words_between_thresholds_find_their_cell():
    upper = [int(word) for word in UPPER[:-1]]
    words = [word + step for word in upper for step in (-1, 1)]
    words = [word for word in words if 0 <= word < 2**64 - 1 and word not in upper]
    expected = [sum(threshold < word for threshold in upper) - LARGEST for word in words]
    assert discrete_gaussian(len(words), 1, ScriptedSource(words)).tolist() == expected
    assert len(set(expected)) > 1000


def test_random_words_find_their_cell_at_every_level():
    words = SimulationSource(8).words(5000)
    cells = np.searchsorted(UPPER, words, side="left").reshape(1000, 5) - LARGEST
    expected = cells @ WIDENING ** np.arange(4, -1, -1)
    assert discrete_gaussian(1000, 5, SimulationSource(8)).tolist() == expected.tolist()


@pytest.mark.parametrize("cell", [500, LARGEST, 900])
@pytest.mark.parametrize("above", [False, True])
def test_a_tie_is_settled_by_a_second_word(cell, above):
    tied, further = int(UPPER[cell]), int(LOWER[cell])
    # The tie is the third of five draws; the others are the median.
    first_words = [2**63, 2**63, tied, 2**63, 2**63]
    source = ScriptedSource([*first_words, further if above else further - 1])
    expected = (cell + above - LARGEST) * WIDENING**2
    assert discrete_gaussian(1, 5, source).tolist() == [expected]
    assert source.exhausted


def test_a_tie_in_the_tail_is_compared_with_every_coinciding_threshold():
    sharing = np.flatnonzero(UPPER[:-1] == UPPER[0])
    assert sharing.size > 50
    for cell in sharing[:: sharing.size // 10]:
        source = ScriptedSource([int(UPPER[0]), int(LOWER[cell])])
        assert discrete_gaussian(1, 1, source).tolist() == [cell + 1 - LARGEST]
    top = np.flatnonzero(UPPER[:-1] == 2**64 - 1)
    assert top.size > 50
    source = ScriptedSource([2**64 - 1, 2**64 - 1])
    assert discrete_gaussian(1, 1, source).tolist() == [LARGEST]
    source = ScriptedSource([2**64 - 1, 0])
    assert discrete_gaussian(1, 1, source).tolist() == [top[0] - LARGEST]


def test_two_levels_are_a_discrete_gaussian():
    def weight(value, std):
        return mpmath.exp(-(mpmath.mpf(value) ** 2) / (2 * mpmath.mpf(std) ** 2))

    with mpmath.workprec(300):
        std = mpmath.sqrt(BASE_STD**2 * (WIDENING**2 + 1))
        # Poisson summation; the next term is below exp(-70 * std**2).
        total = mpmath.sqrt(2 * mpmath.pi) * std
        base_total = mpmath.fsum(weight(value, BASE_STD) for value in range(-1600, 1601))
        for value in (0, 1, 7, 15, 16, 17, 31, 1000, 5000, 12345, 20000):
            coarse = value // WIDENING
            convolution = mpmath.fsum(
                weight(first, BASE_STD) * weight(value - WIDENING * first, BASE_STD)
                for first in range(coarse - 80, coarse + 81)
            )
            ratio = convolution / base_total**2 / (weight(value, std) / total)
            assert abs(ratio - 1) < 1.2e-34


def log_ratio(value, levels):
    """Logarithm of the discrete Gaussian's probability over the rounded one's, to 60 digits."""
    with mpmath.workprec(260):
        std = mpmath.sqrt(BASE_STD**2 * sum(WIDENING ** (2 * level) for level in range(levels)))
        discrete = mpmath.exp(-(mpmath.mpf(value) ** 2) / (2 * std**2))
        discrete /= mpmath.sqrt(2 * mpmath.pi) * std  # by Poisson summation, as above
        edges = [(mpmath.mpf(value) + side) / (mpmath.sqrt(2) * std) for side in (-0.5, 0.5)]
        rounded = (mpmath.erfc(edges[0]) - mpmath.erfc(edges[1])) / 2
        return float(mpmath.log(discrete / rounded))


@pytest.mark.parametrize("levels", [4, 5])
def test_the_stated_distance_covers_every_number_that_can_be_drawn(levels):
    stated = coordinate_distance(levels)
    largest = LARGEST * (WIDENING**levels - 1) // (WIDENING - 1)
    places = [0, 1, 1000, *(int(share * largest) for share in (0.03, 0.1, 0.5, 0.9)), largest]
    ratios = [abs(log_ratio(place, levels)) for place in places]
    assert max(ratios) <= stated.log_ratio
    assert max(ratios) == ratios[-1] >= 0.99 * stated.log_ratio
    assert largest < 11.4 * lattice_std(levels)


@pytest.mark.parametrize("levels", [1, 5])
@pytest.mark.parametrize("tied", [False, True])
def test_machine_code_draws_what_its_source_says(levels, tied):
    words = SimulationSource(5).words(200 * levels).copy()
    if tied:
        words[17] = UPPER[LARGEST]
    compiled, interpreted = np.empty(200, dtype=np.int64), np.empty(200, dtype=np.int64)
    assert _compiled_draws()(words, FIRST_CELL, UPPER, compiled) is tied
    assert bool(_widened_draws(words, FIRST_CELL, UPPER, interpreted)) is tied
    assert interpreted.tolist() == compiled.tolist()
    assert len(set(compiled.tolist())) > 100
