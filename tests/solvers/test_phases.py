"""Cutting records into phases: the cards' numbers, and that the theorem library agrees."""

import pytest

from tailguard.papers.parameters import xu2025
from tailguard.solvers.phases import (
    doubling_sizes,
    equal_sizes,
    halving_sizes,
    printed_halving_sizes,
    strengths,
)

SIZES = (1, 2, 31, 32, 33, 63, 64, 100, 1000, 10_000, 12_345)


@pytest.mark.parametrize("n_rows", SIZES)
def test_all_records_are_used_and_no_phase_is_too_small(n_rows):
    halves = halving_sizes(n_rows, 32)
    doubles = doubling_sizes(n_rows, 2.0, 32) if n_rows > 1 else (1,)
    for sizes in (halves, doubles, equal_sizes(n_rows)):
        assert sum(sizes) == n_rows
        assert min(sizes) >= 1
    for sizes in (halves, doubles):
        assert len(sizes) == 1 or min(sizes) >= 31
    assert sum(printed_halving_sizes(n_rows)) <= n_rows


@pytest.mark.parametrize("n_rows", [n for n in SIZES if n > 1])
def test_they_agree_with_the_formulas_of_the_paper(n_rows):
    assert halving_sizes(n_rows, 32) == xu2025.localized_phases(n_rows=n_rows)
    assert len(equal_sizes(n_rows)) == xu2025.shrinking_phases(n_rows=n_rows)
    for bound in (1.2, 1.5, 2.0, 4.0, 16.0):
        expected = xu2025.phase_sizes(n_rows=n_rows, growth_bound=bound)
        assert doubling_sizes(n_rows, bound, 32) == expected


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
