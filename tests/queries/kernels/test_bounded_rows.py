"""Vector instructions that bound entries: equal to plain NumPy, lane by lane."""

import numpy as np
import pytest
from numba import njit

from tailguard.data.rows.base import TILE_ROWS
from tailguard.queries.kernels.bounded_rows import (
    LONG_NUMBERS,
    SHORT_NUMBERS,
    add_clamped_rows,
    add_cubic_rows,
    add_long_soft_rows,
    add_soft_rows,
    add_truncated_rows,
)
from tailguard.queries.kernels.coordinates import CoordinateBound
from tailguard.queries.kernels.lanes import LANES
from tailguard.queries.kernels.soft_truncation import cubic_reach, fast_soft_truncation

# What a bounded entry is multiplied by before it is rounded: zero where it is not.
PLAIN = np.zeros(1)


@njit
def clamped(tile, factors, numbers, rounding, sums):
    add_clamped_rows(tile, factors, numbers, rounding, sums)


@njit
def truncated(tile, factors, numbers, rounding, sums):
    add_truncated_rows(tile, factors, numbers, rounding, sums)


@njit
def soft(tile, factors, numbers, rounding, sums):
    add_soft_rows(tile, factors, numbers, rounding, sums)


@njit
def long_soft(tile, factors, numbers, rounding, sums):
    add_long_soft_rows(tile, factors, numbers, rounding, sums)


@njit
def cubic(tile, factors, numbers, rounding, sums):
    add_cubic_rows(tile, factors, numbers, rounding, sums)


BOUNDS = {
    "clamped": (clamped, CoordinateBound("clamped", 0.75)),
    "truncated": (truncated, CoordinateBound("truncated", 0.75)),
    "soft": (soft, CoordinateBound("soft", 0.75, smoothing=3.0)),
    "long soft": (long_soft, CoordinateBound("soft", 0.75, smoothing=30.0)),
    "cubic": (cubic, CoordinateBound("soft", 1e3, smoothing=3.0)),
}


def bounded(bound, values):
    if bound.kind == "clamped":
        return np.clip(values, -bound.scale, bound.scale)
    if bound.kind == "truncated":
        return np.where(np.abs(values) <= bound.scale, values, 0.0)
    return bound.scale * fast_soft_truncation(values / bound.scale, bound.smoothing)


def tile_of(rows):
    """Lay out eight rows, as wide as a whole number of vectors, as a tile."""
    return np.ascontiguousarray(rows.reshape(TILE_ROWS, -1, LANES).transpose(1, 0, 2))


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("width", [8, 16, 40])
def test_every_entry_is_bounded_and_added(name, width):
    rng = np.random.default_rng(width)
    add, bound = BOUNDS[name]
    rows = rng.standard_normal((TILE_ROWS, width))
    rows[2] = 0.0  # void
    factors, sums = rng.standard_normal(TILE_ROWS), np.full(width, 10.0)
    factors[5] = 0.0
    values = factors[:, None] * rows
    add(tile_of(rows), factors, bound.numbers(), PLAIN, sums)
    np.testing.assert_allclose(sums, 10.0 + bounded(bound, values).sum(axis=0), rtol=1e-14)


@pytest.mark.parametrize("value", [1e-310, 1.0, 1e30, 1e300])
@pytest.mark.parametrize("place", range(TILE_ROWS))
@pytest.mark.parametrize("name", BOUNDS)
def test_one_entry_never_exceeds_the_limit(name, place, value):
    add, bound = BOUNDS[name]
    for sign in (-1.0, 1.0):
        sums, factors = np.zeros(16), np.zeros(TILE_ROWS)
        factors[place] = 1.0
        add(tile_of(np.full((TILE_ROWS, 16), sign * value)), factors, bound.numbers(), PLAIN, sums)
        assert np.abs(sums).max() <= bound.limit
        assert (sums == sums[0]).all()


@pytest.mark.parametrize("name", BOUNDS)
def test_entries_that_are_rounded_alone_are_those_in_whole_steps(name):
    add, bound = BOUNDS[name]
    rng = np.random.default_rng(4)
    rows, factors = 0.3 * rng.standard_normal((TILE_ROWS, 16)), rng.standard_normal(TILE_ROWS)
    steps, total = 2.0**20, np.zeros(16)
    add(tile_of(rows), factors, bound.numbers(), np.array([steps]), total)
    for k in range(TILE_ROWS):
        one = np.zeros(16)
        add(tile_of(np.where(np.arange(TILE_ROWS)[:, None] == k, rows, 0.0)), factors,
            bound.numbers(), PLAIN, one)  # fmt: skip
        total -= np.rint(steps * one)
    np.testing.assert_array_equal(total, np.zeros(16))


def test_numbers_are_as_many_as_the_loops_read():
    sizes = {name: bound.numbers().size for name, (_, bound) in BOUNDS.items()}
    assert sizes.pop("long soft") == LONG_NUMBERS
    assert set(sizes.values()) == {SHORT_NUMBERS}
    reach = BOUNDS["cubic"][1].numbers()[3]
    assert reach == cubic_reach(3.0)
