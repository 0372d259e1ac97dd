"""Compiled pass over the records that bounds every entry of a gradient and sums by groups.

A tile of records is scored, then its bounded entries are summed while it stays in the first-level
cache; nothing of the size of the records is ever stored. Records whose norm says that an entry may
be huge, not a number, or nothing but zeros sit the first round out, as do the last one to three of
a tile: they are checked entry by entry, copied, and summed from the copies.

Bits depend on the records of one chunk and group alone: a tile never crosses the end of either.

No fast-math flag is set: every test for NaN means what it says. The cache on disk follows this
file only: touch it after changing ``bounded_rows.py``, ``fused.py``, ``vectors.py``, ``chunks.py``.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit, types

from . import bounded_rows, fused
from .base import LARGEST_UNITS
from .block import Features, FloatArray, IntArray
from .chunks import CHUNK_ROWS, TILE_ROWS
from .fused import (
    LARGEST_FEATURE,
    LARGEST_FLOAT,
    LARGEST_SQUARE,
    LEAST_SQUARE,
    MERGED,
    OFFSETS,
    OPTIONS,
    RADII,
    SIZES,
    TARGETS,
    UNITS,
    Limits,
    Slope,
)

__all__ = []

# Numba itself passes the first argument of an intrinsic, which its type does not say.
add_clamped_rows: Any = bounded_rows.add_clamped_rows
add_truncated_rows: Any = bounded_rows.add_truncated_rows
add_cubic_rows: Any = bounded_rows.add_cubic_rows
add_soft_rows: Any = bounded_rows.add_soft_rows
INVERSE_SCALE, REACH = bounded_rows.INVERSE_SCALE, bounded_rows.REACH
# Norms err by far less than this, so that no entry of records on the cubic branch is beyond it. The
# soft branch then gives the same bits for them, and no record's value depends on its neighbours.
WELL_WITHIN = 1 - 2.0**-20
_clip, _load, _score = fused._clip, fused._load, fused._score

CLAMPED, TRUNCATED, SOFT = range(3)
# The factors take the place of the scores.
FACTORS = SIZES


@njit(**MERGED)
def _weigh(
    count: int, slope: Slope, shape: FloatArray, slope_limit: float, work: FloatArray
) -> int:
    """Turn scores into bounded slopes, zero for records set aside; return how many were used.

    A record's largest entry times its slope is at most the number left in ``work[RADII]``.
    """
    factors, squares = work[FACTORS], work[RADII]
    targets, offsets = work[TARGETS], work[OFFSETS]
    n_used = 0
    for b in range(count):
        usable = LEAST_SQUARE < squares[b] < LARGEST_SQUARE
        usable = usable and targets[b] == targets[b] and offsets[b] == offsets[b]
        steepness = slope(factors[b] + offsets[b], targets[b], shape) if usable else 0.0
        factors[b] = _clip(steepness, slope_limit)
        squares[b] = abs(factors[b]) * math.sqrt(squares[b]) if usable else 0.0
        n_used += usable
    return n_used


@njit(**MERGED)
def _add_four(
    kind: int,
    features: Features,
    row: int,
    center: FloatArray,
    inverse_scale: FloatArray,
    factors: FloatArray,
    first: int,
    numbers: FloatArray,
    largest: float,
    sums: FloatArray,
) -> None:
    """Add four records with entries of at most ``largest``."""
    if kind == CLAMPED:
        add_clamped_rows(features, row, center, inverse_scale, factors, first, numbers, sums)
    elif kind == TRUNCATED:
        add_truncated_rows(features, row, center, inverse_scale, factors, first, numbers, sums)
    elif largest * numbers[INVERSE_SCALE] < numbers[REACH] * WELL_WITHIN:
        add_cubic_rows(features, row, center, inverse_scale, factors, first, numbers, sums)
    else:
        add_soft_rows(features, row, center, inverse_scale, factors, first, numbers, sums)


@njit(**OPTIONS)
def _add_constants(
    kind: int, count: int, numbers: FloatArray, work: FloatArray, sums: FloatArray
) -> None:
    """Add the bounded slopes themselves: the entries of an intercept."""
    constants, zero, one = np.ones((TILE_ROWS, 1)), np.zeros(1), np.ones(1)
    factors, sizes = work[FACTORS], work[RADII]
    for b in range(0, count - 3, 4):
        largest = max(sizes[b], sizes[b + 1], sizes[b + 2], sizes[b + 3])
        _add_four(kind, constants, b, zero, one, factors, b, numbers, largest, sums)


@njit(**OPTIONS)
def _add_tile(
    kind: int,
    features: Features,
    start: int,
    count: int,
    center: FloatArray,
    inverse_scale: FloatArray,
    numbers: FloatArray,
    work: FloatArray,
    sums: FloatArray,
) -> None:
    """Add the bounded entries of whole groups of four records."""
    factors, sizes = work[FACTORS], work[RADII]
    for b in range(0, count - 3, 4):
        largest = max(sizes[b], sizes[b + 1], sizes[b + 2], sizes[b + 3])
        _add_four(
            kind, features, start + b, center, inverse_scale, factors, b, numbers, largest, sums
        )
    if sums.size > features.shape[1]:
        _add_constants(kind, count, numbers, work, sums[features.shape[1] :])


@njit(**OPTIONS)
def _copy_row(
    features: Features, row: int, center: FloatArray, inverse_scale: FloatArray, copy: FloatArray
) -> bool:
    """Copy a standardised row with its entries in range; return whether all were finite."""
    n_odd = 0
    for j in range(copy.size):
        n_odd += not abs(features[row, j]) <= LARGEST_FLOAT
        u = (features[row, j] - center[j]) * inverse_scale[j]
        u = LARGEST_FEATURE if u > LARGEST_FEATURE else u
        copy[j] = -LARGEST_FEATURE if u < -LARGEST_FEATURE else u
    return n_odd == 0


@njit(**OPTIONS)
def _add_copies(
    kind: int,
    features: Features,
    start: int,
    count: int,
    center: FloatArray,
    inverse_scale: FloatArray,
    weights: FloatArray,
    slope: Slope,
    shape: FloatArray,
    slope_limit: float,
    numbers: FloatArray,
    work: FloatArray,
    copies: FloatArray,
    sums: FloatArray,
) -> None:
    """Check and add the records of a tile that were set aside, from copies of their rows."""
    factors, squares = work[FACTORS], work[RADII]
    zeros, ones = np.zeros(copies.shape[1]), np.ones(copies.shape[1])
    scored = np.zeros(work.shape)
    scored[UNITS] = 1.0
    copied = np.zeros(TILE_ROWS, dtype=np.bool_)
    for b in range(TILE_ROWS):
        copies[b] = 0.0
        known = work[TARGETS, b] == work[TARGETS, b] and work[OFFSETS, b] == work[OFFSETS, b]
        if b < count and not LEAST_SQUARE < squares[b] < LARGEST_SQUARE and known:
            copied[b] = _copy_row(features, start + b, center, inverse_scale, copies[b])
    _score(copies, 0, TILE_ROWS, zeros, ones, weights, scored)
    for b in range(TILE_ROWS):
        factors[b] = 0.0
        squares[b] = math.inf
        if copied[b]:
            score = scored[SIZES, b] + work[OFFSETS, b]
            factors[b] = _clip(slope(score, work[TARGETS, b], shape), slope_limit)
    _add_tile(kind, copies, 0, TILE_ROWS, zeros, ones, numbers, work, sums)


def _sum_groups(
    features: Features,
    targets: FloatArray,
    offsets: FloatArray,
    center: FloatArray,
    inverse_scale: FloatArray,
    weights: FloatArray,
    slope: Slope,
    shape: FloatArray,
    limits: Limits,
    kind: int,
    numbers: FloatArray,
    first: int,
    n_rows: int,
    n_groups: int,
    grid: float,
    totals: IntArray,
) -> None:
    """Add the lattice sums of bounded gradients, by chunk and group, to ``totals``."""
    n_block, n_features = features.shape
    work, copies = np.zeros((6, TILE_ROWS)), np.zeros((TILE_ROWS, n_features))
    squares, sums = np.zeros(TILE_ROWS), np.zeros(weights.size)
    work[UNITS] = 1.0
    start = 0
    while start < n_block:
        group = ((first + start + 1) * n_groups - 1) // n_rows
        opening, closing = group * n_rows // n_groups, (group + 1) * n_rows // n_groups
        end = min(n_block, start // CHUNK_ROWS * CHUNK_ROWS + CHUNK_ROWS, closing - first)
        count = min(TILE_ROWS, end - start)
        _load(targets, start, count, limits.target_center, limits.target_scale, work[TARGETS])
        _load(offsets, start, count, limits.offset_center, 1.0, work[OFFSETS])
        _score(features, start, count, center, inverse_scale, weights, work)
        squares[:] = work[RADII]
        n_used = _weigh(count, slope, shape, limits.slope_limit, work)
        _add_tile(kind, features, start, count, center, inverse_scale, numbers, work, sums)
        if n_used < count:
            work[RADII] = squares
            _add_copies(
                kind, features, start, count, center, inverse_scale, weights, slope, shape,
                limits.slope_limit, numbers, work, copies, sums,
            )  # fmt: skip
        start += count
        if start == end:
            step = grid * (closing - opening)
            for j in range(sums.size):
                totals[group, j] += np.int64(_clip(np.rint(sums[j] / step), LARGEST_UNITS))
                sums[j] = 0.0


@cache
def sum_groups(dtype: np.dtype[Any]) -> Callable[..., None]:
    """Compile the pass for features stored as ``dtype``."""
    stored = types.float32 if dtype == np.float32 else types.float64
    # Arrays declared as read-only may be either.
    matrix = types.Array(stored, 2, "C", readonly=True)
    vector = types.Array(types.float64, 1, "C", readonly=True)
    limits = types.NamedUniTuple(  # type: ignore[no-untyped-call]
        types.float64, len(Limits._fields), Limits
    )
    signature = types.void(
        matrix, vector, vector, vector, vector, vector,
        types.FunctionType(fused.SLOPE), types.float64[::1], limits,
        types.int64, types.float64[::1], types.int64, types.int64, types.int64,
        types.float64, types.int64[:, ::1],
    )  # fmt: skip
    compiled: Callable[..., None] = njit(signature, cache=True, **OPTIONS)(_sum_groups)
    return compiled
