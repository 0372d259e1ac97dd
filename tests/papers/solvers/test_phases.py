"""Cutting records into phases: all of them, as the paper says, and the cards' numbers."""

import math

import numpy as np
import pytest

from tailguard.papers.solvers.phases import (
    doubling_sizes,
    equal_sizes,
    halving_sizes,
    printed_halving_sizes,
    strengths,
)

SIZES = (1, 2, 31, 32, 33, 63, 64, 100, 1000, 10_000, 12_345)


@pytest.mark.parametrize("n_rows", SIZES)
def test_all_records_are_used_and_no_phase_is_too_small(n_rows):
    halves, bounds = halving_sizes(n_rows, 32), (1.01, 2.0, 1e6) if n_rows > 1 else ()
    doubles = [doubling_sizes(n_rows, bound, 32) for bound in bounds]
    for sizes in (halves, *doubles, equal_sizes(n_rows)):
        assert sum(sizes) == n_rows
        assert min(sizes) >= 1
    for sizes in (halves, *doubles):
        assert len(sizes) == 1 or min(sizes) >= 31
    assert sum(printed_halving_sizes(n_rows)) <= n_rows


def test_phases_halve_and_rounds_double():
    for n_rows in (100, 1000, 10_000, 12_345):
        halves = halving_sizes(n_rows, 32)
        assert halves[1:] == tuple(n_rows // 2**i for i in range(2, len(halves) + 1))
        assert n_rows // 2 ** (len(halves) + 1) < 32
        for bound in (1.2, 1.5, 2.0):
            doubles = doubling_sizes(n_rows, bound, 32)
            share = n_rows / (2 ** len(doubles) - 1)
            assert np.abs(np.array(doubles) - share * 2.0 ** np.arange(len(doubles))).max() < 10
            # One more would be more than the paper has, or too small.
            more = len(doubles) + 1
            assert bound**more > math.log2(n_rows) or n_rows / (2**more - 1) < 32


def test_oracles_of_the_cards():
    assert [len(equal_sizes(n_rows)) for n_rows in (10**3, 10**4, 3 * 10**4, 10**6)] == [2, 4, 4, 7]
    assert len(doubling_sizes(10_000, 4.0, 32)) == 1
    assert len(doubling_sizes(10_000, 16.0, 32)) == 1
    assert len(doubling_sizes(10_000, 1.5, 32)) == 6
    assert printed_halving_sizes(10_000)[-4:] == (9, 4, 2, 1)


def test_strengths_grow_by_four_and_by_what_the_phase_shrinks():
    sizes = (500, 250, 125)
    practical = strengths(sizes, 0.1)
    assert practical == pytest.approx(
        [4**i / (0.1 * n) for i, n in zip((1, 2, 3), sizes, strict=True)]
    )
    printed = strengths(sizes, 0.1, first_power=3.0, power=1.5)
    powers = (3.0, 1.5, 1.5)
    assert printed == pytest.approx(
        [4**i / (0.1 * n**p) for i, n, p in zip((1, 2, 3), sizes, powers, strict=True)]
    )
