"""Compiled passes over the records of a linear score model: one read, one bounded vector a record.

A tile of records goes through four steps while it stays in the first-level cache: scores and
norms, bounded rows, slopes, weighted sum. Records whose norm is outside the range in which squares
neither overflow nor lose digits sit this out, as do void ones and the last one to three of a
dataset. They are copied, scaled by a power of two into the middle of the range, and the same steps
run again on the copies. No step looks at another record.

No fast-math flag is set: every test for NaN means what it says. (Even leave to reorder sums would
turn ``0 * a + 0 * b`` into ``0 * (a + b)``, which may overflow.) A slope is passed by its address,
so that one compiled pass, kept on disk, serves every loss.

The cache on disk follows this file only: touch it after changing ``vectors.py`` or ``chunks.py``.
"""

import math
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types

from . import vectors
from .base import LARGEST_UNITS
from .block import Features, FloatArray, IntArray
from .chunks import CHUNK_ROWS, TILE_ROWS, shrink

__all__ = []

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
# Merged before compilation: calls that pass arrays would cost more than what they do for a tile.
MERGED: dict[str, Any] = {**OPTIONS, "forceinline": True}
# Numba itself passes the first argument of an intrinsic, which its type does not say.
score_four_rows: Any = vectors.score_four_rows
add_rows: Any = vectors.add_rows
select: Any = vectors.select
bound_tile: Any=vectors.bound_tile
weigh_tile: Any=vectors.weigh_tile
factor_tile: Any=vectors.factor_tile
LANES = vectors.LANES

SLOPE = types.float64(types.float64, types.float64, types.float64[::1])
Slope = Callable[[float, float, FloatArray], float]

# Between these, a square is off by rounding only, and its root and inverse are normal numbers.
LEAST_SQUARE, LARGEST_SQUARE = 1e-290, 1e290
# Standardised features beyond this count as this: they can be scaled into the range.
LARGEST_FEATURE = 1e150
LARGEST_FLOAT = sys.float_info.max
# Rows of the scratch space of a tile.
SCORES, SQUARES, UNITS, INVERSES, RADII, SIZES = range(6)


class Limits(NamedTuple):
    """Public numbers of one pass."""

    target_center: float
    target_scale: float
    offset_center: float
    row_limit: float
    slope_limit: float
    clip_norm: float


_shrink = njit(**OPTIONS)(shrink)


@njit(SLOPE, cache=True, **OPTIONS)
def unit_slope(score: float, target: float, shape: FloatArray) -> float:
    """Slope of a plain mean of rows."""
    return 1.0


@njit(**MERGED)
def _clip(value: float, limit: float) -> float:
    """Bound ``value`` by ``limit``; NaN becomes zero."""
    value = select(value == value, value, 0.0)
    value = select(value < limit, value, limit)
    return select(value > -limit, value, -limit)


@njit(**MERGED)
def _load(
    values: FloatArray, start: int, count: int, center: float, scale: float, out: FloatArray
) -> None:
    """Standardise ``values`` of one chunk, NaN for what is not finite; no values stand for zeros."""
    values = values[start : start + count]
    for i in range(values.size):
        value = values[i]
        # Adding zero times the value makes a NaN of an infinite one, and nothing else.
        out[i] = (value - center) / scale + 0.0 * value


@njit(**MERGED)
def _usual(square: float) -> bool:
    """Whether squares of this size neither overflow nor lose digits; false for NaN."""
    return (square > LEAST_SQUARE) & (square < LARGEST_SQUARE)


@njit(**MERGED)
def _score(
    features: Features,
    start: int,
    count: int,
    center: FloatArray,
    inverse_scale: FloatArray,
    weights: FloatArray,
    tile: FloatArray,
    work: FloatArray,
) -> int:
    """Score whole groups of four records; return how many have a norm in the usual range."""
    n_usual = 0
    for b in range(0, TILE_ROWS, 4):
        found = (0.0, 0.0, 0.0, 0.0, math.nan, math.nan, math.nan, math.nan)
        if b + 4 <= count:
            found = score_four_rows(features, start + b, center, inverse_scale, weights, tile, b)
        s0, s1, s2, s3, q0, q1, q2, q3 = found
        work[SCORES, b], work[SCORES, b + 1], work[SCORES, b + 2], work[SCORES, b + 3] = s0, s1, s2, s3
        work[SQUARES, b], work[SQUARES, b + 1], work[SQUARES, b + 2], work[SQUARES, b + 3] = q0, q1, q2, q3
    for b in range(TILE_ROWS):
        work[UNITS, b] = 1.0
        n_usual += _usual(work[SQUARES, b])
    return n_usual


@njit(**OPTIONS)
def _rescale_row(
    features: Features,
    row: int,
    center: FloatArray,
    inverse_scale: FloatArray,
    copy: FloatArray,
    usual: bool,
) -> float:
    """Copy a standardised row, times a power of two; return that, or zero for a void record."""
    # Counts, unlike sums of floats, may be taken in any order, so that the loop runs in parallel.
    n_features = features.shape[1]
    n_odd, n_huge, n_usual, n_small = 0, 0, 0, 0
    for j in range(n_features, copy.size):
        copy[j] = inverse_scale[j]
        n_usual += copy[j] > 0.0
    for j in range(n_features):
        n_odd += not abs(features[row, j]) <= LARGEST_FLOAT
        u = (features[row, j] - center[j]) * inverse_scale[j]
        u = LARGEST_FEATURE if u > LARGEST_FEATURE else u
        u = -LARGEST_FEATURE if u < -LARGEST_FEATURE else u
        copy[j] = u
        n_huge += abs(u) > 1e140
        n_usual += abs(u) > 1e-140
        n_small += abs(u) > 1e-160
    unit = 2.0**1000
    if n_odd > 0:
        for j in range(copy.size):
            copy[j] = 0.0
        return 0.0
    if usual:
        unit = 1.0
    elif n_huge > 0:
        unit = 2.0**-500
    elif n_usual > 0:
        unit = 1.0
    elif n_small > 0:
        unit = 2.0**500
    for j in range(copy.size):
        copy[j] *= unit
    return unit


@njit(**OPTIONS)
def _rescale_tile(
    features: Features,
    start: int,
    count: int,
    center: FloatArray,
    inverse_scale: FloatArray,
    weights: FloatArray,
    zeros: FloatArray,
    ones: FloatArray,
    copies: FloatArray,
    tile: FloatArray,
    work: FloatArray,
) -> None:
    """Score the records that were set aside from rescaled rows; a unit of zero marks void ones."""
    for b in range(0, TILE_ROWS, 4):
        for k in range(4):
            unit = 0.0
            if b + k < count:
                unit = _rescale_row(features, start + b + k, center, inverse_scale, copies[k], _usual(work[SQUARES, b + k]))
            else:
                for j in range(copies.shape[1]):
                    copies[k, j] = 0.0
            work[UNITS, b + k] = unit
        found = score_four_rows(copies, 0, zeros, ones, weights, tile, b)
        for k in range(4):
            if not _usual(work[SQUARES, b + k]):
                work[SCORES, b + k], work[SQUARES, b + k] = found[k], found[k + 4]


@njit(**MERGED)
def _measure(
    features: Features,
    start: int,
    count: int,
    first: int,
    center: FloatArray,
    inverse_scale: FloatArray,
    weights: FloatArray,
    slope: Slope,
    shape: FloatArray,
    limits: Limits,
    targets: FloatArray,
    offsets: FloatArray,
    zeros: FloatArray,
    ones: FloatArray,
    copies: FloatArray,
    tile: FloatArray,
    work: FloatArray,
) -> None:
    n_usual = _score(features, start, count, center, inverse_scale, weights, tile, work)
    if n_usual < TILE_ROWS:
        _rescale_tile(features, start, count, center, inverse_scale, weights, zeros, ones, copies, tile, work)
    targets, offsets = targets[first : first + TILE_ROWS], offsets[first : first + TILE_ROWS]
    bound_tile(work, targets, offsets, LEAST_SQUARE, LARGEST_SQUARE, limits.row_limit)
    for b in range(TILE_ROWS):
        work[SIZES, b] = slope(work[SCORES, b], targets[b], shape)
    weigh_tile(work, limits.slope_limit)


def _sum_chunks(
    features: Features,
    targets: FloatArray,
    offsets: FloatArray,
    center: FloatArray,
    inverse_scale: FloatArray,
    weights: FloatArray,
    slope: Slope,
    shape: FloatArray,
    limits: Limits,
    columns, chunk_rows, work, copies, tile,
    grid: float,
    totals: IntArray,
) -> None:
    """Add the lattice sums of clipped gradients, chunk by chunk, to ``totals``."""
    n_rows, n_features = features.shape
    shrunk = _shrink(weights.size)
    middle, scale, wide_weights, zeros, ones, sums = columns[0], columns[1], columns[2], columns[3], columns[4], columns[5]
    known_targets, known_offsets = chunk_rows[0], chunk_rows[1]
    factors = work[6]
    for chunk in range(0, n_rows, CHUNK_ROWS):
        stop = min(chunk + CHUNK_ROWS, n_rows)
        _load(targets, chunk, stop - chunk, limits.target_center, limits.target_scale, known_targets)
        _load(offsets, chunk, stop - chunk, limits.offset_center, 1.0, known_offsets)
        for start in range(chunk, stop, TILE_ROWS):
            _measure(
                features, start, stop - start, start - chunk, middle, scale, wide_weights,
                slope, shape, limits, known_targets, known_offsets, zeros, ones, copies, tile, work
            )
            factor_tile(work, limits.clip_norm, shrunk)
            add_rows(tile, factors, sums)
        for j in range(totals.size):
            totals[j] += np.int64(_clip(np.rint(sums[j] / grid), LARGEST_UNITS))
        for j in range(sums.size):
            sums[j] = 0.0


def _count_norms(
    features: Features,
    targets: FloatArray,
    offsets: FloatArray,
    center: FloatArray,
    inverse_scale: FloatArray,
    weights: FloatArray,
    slope: Slope,
    shape: FloatArray,
    limits: Limits,
    threshold: float,
    totals: IntArray,
) -> None:
    """Add the number of records whose gradient norm is at most ``threshold`` to ``totals``."""
    pass


@cache
def _compile(function: Callable[..., None], dtype: np.dtype[Any]) -> Callable[..., None]:
    stored = types.float32 if dtype == np.float32 else types.float64
    # Arrays declared as read-only may be either.
    matrix = types.Array(stored, 2, "C", readonly=True)
    vector = types.Array(types.float64, 1, "C", readonly=True)
    limits = types.NamedUniTuple(  # type: ignore[no-untyped-call]
        types.float64, len(Limits._fields), Limits
    )
    signature = types.void(
        matrix, vector, vector, vector, vector, vector,
        types.FunctionType(SLOPE), types.float64[::1], limits, types.float64[:,::1], types.float64[:,::1], types.float64[:,::1], types.float64[:,::1], types.float64[:,:,::1], types.float64, types.int64[::1],
    )  # fmt: skip
    compiled: Callable[..., None] = njit(signature, cache=True, **OPTIONS)(function)
    return compiled


def sum_chunks(dtype: np.dtype[Any]) -> Callable[..., None]:
    """Compile the pass that sums clipped gradients of features stored as ``dtype``."""
    return _compile(_sum_chunks, dtype)


def count_norms(dtype: np.dtype[Any]) -> Callable[..., None]:
    """Compile the pass that counts gradient norms of features stored as ``dtype``."""
    return _compile(_count_norms, dtype)


def scratch(model):
    width = -(-model.weights.size // LANES) * LANES
    columns = np.zeros((6, width))
    d = model.center.size
    columns[0, :d] = model.center
    columns[1, :d] = model.inverse_scale
    columns[1, d:model.weights.size] = 1.0
    columns[2, :model.weights.size] = model.weights
    columns[4] = 1.0
    return columns, np.zeros((2, CHUNK_ROWS+TILE_ROWS)), np.zeros((7, TILE_ROWS)), np.zeros((4, width)), np.zeros((width//LANES, TILE_ROWS, LANES))
