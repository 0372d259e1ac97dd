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

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
# Merged before compilation: calls that pass arrays would cost more than what they do for a tile.
MERGED: dict[str, Any] = {**OPTIONS, "inline": "always"}
# Numba itself passes the first argument of an intrinsic, which its type does not say.
four_scores: Any = vectors.four_scores
add_four_rows: Any = vectors.add_four_rows

SLOPE = types.float64(types.float64, types.float64, types.float64[::1])
Slope = Callable[[float, float, FloatArray], float]

# Between these, a square is off by rounding only, and its root and inverse are normal numbers.
LEAST_SQUARE, LARGEST_SQUARE = 1e-290, 1e290
# Standardised features beyond this count as this: they can be scaled into the range.
LARGEST_FEATURE = 1e150
LARGEST_FLOAT = sys.float_info.max
# Rows of the scratch space of a tile.
SIZES, INVERSES, RADII, TARGETS, OFFSETS, UNITS = range(6)


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


@njit(**OPTIONS)
def _clip(value: float, limit: float) -> float:
    """Bound ``value`` by ``limit``; NaN becomes zero."""
    if math.isnan(value):
        return 0.0
    return -limit if value < -limit else (limit if value > limit else value)


@njit(**MERGED)
def _load(
    values: FloatArray, start: int, count: int, center: float, scale: float, out: FloatArray
) -> None:
    """Standardise ``values`` of one tile, NaN for what is not finite; no values stand for zeros."""
    for b in range(min(count, values.size)):
        value = values[start + b]
        # Adding zero times the value makes a NaN of an infinite one, and nothing else.
        out[b] = (value - center) / scale + 0.0 * value


@njit(**MERGED)
def _score(
    features: Features,
    start: int,
    count: int,
    center: FloatArray,
    inverse_scale: FloatArray,
    weights: FloatArray,
    work: FloatArray,
) -> None:
    """Scores and squared norms of whole groups of four records; NaN norms for the others."""
    n_features = features.shape[1]
    scores, squares, units = work[SIZES], work[RADII], work[UNITS]
    for b in range(TILE_ROWS):
        squares[b] = math.nan
    for b in range(0, count - 3, 4):
        s0, s1, s2, s3, q0, q1, q2, q3 = four_scores(
            features, start + b, center, inverse_scale, weights
        )
        scores[b], scores[b + 1], scores[b + 2], scores[b + 3] = s0, s1, s2, s3
        squares[b], squares[b + 1], squares[b + 2], squares[b + 3] = q0, q1, q2, q3
    if weights.size > n_features:
        for b in range(TILE_ROWS):
            scores[b] += units[b] * weights[n_features]
            squares[b] += units[b] * units[b]


@njit(**MERGED)
def _bound_rows(work: FloatArray, row_limit: float) -> None:
    """Put bounded norms in the place of squares; an inverse norm of zero sets a record aside."""
    scores, inverses, radii = work[SIZES], work[INVERSES], work[RADII]
    targets, offsets, units = work[TARGETS], work[OFFSETS], work[UNITS]
    for b in range(TILE_ROWS):
        known = (targets[b] == targets[b]) & (offsets[b] == offsets[b]) & (units[b] > 0.0)
        radii[b] = radii[b] if known else math.nan
    for b in range(TILE_ROWS):
        usable = (radii[b] > LEAST_SQUARE) & (radii[b] < LARGEST_SQUARE)
        norm = math.sqrt(radii[b] if usable else 1.0)
        inverse = 1.0 / norm
        radius = norm / units[b]
        radius = radius if radius < row_limit else row_limit
        inverses[b] = inverse if usable else 0.0
        scores[b] *= radius * inverse
        radii[b] = radius
    for b in range(TILE_ROWS):
        scores[b] += offsets[b]


@njit(**MERGED)
def _measure_tile(
    features: Features,
    start: int,
    count: int,
    center: FloatArray,
    inverse_scale: FloatArray,
    weights: FloatArray,
    slope: Slope,
    shape: FloatArray,
    limits: Limits,
    work: FloatArray,
) -> bool:
    """Find the sizes of the gradients of a tile along its rows and the rows' inverse norms.

    Return whether no record was set aside.
    """
    _score(features, start, count, center, inverse_scale, weights, work)
    _bound_rows(work, limits.row_limit)
    sizes, radii, targets = work[SIZES], work[RADII], work[TARGETS]
    for b in range(count):
        sizes[b] = slope(sizes[b], targets[b], shape)
    n_used = 0
    for b in range(TILE_ROWS):
        sizes[b] = _clip(_clip(sizes[b], limits.slope_limit) * radii[b], math.inf)
        n_used += work[INVERSES, b] > 0.0
    return n_used == count


@njit(**OPTIONS)
def _rescale_row(
    features: Features,
    row: int,
    center: FloatArray,
    inverse_scale: FloatArray,
    constant: bool,
    copy: FloatArray,
) -> float:
    """Copy a standardised row, times a power of two; return that, or zero for a void record."""
    # Counts, unlike sums of floats, may be taken in any order, so that the loop runs in parallel.
    n_odd, n_huge, n_usual, n_small = 0, 0, int(constant), 0
    for j in range(copy.size):
        n_odd += not abs(features[row, j]) <= LARGEST_FLOAT
        u = (features[row, j] - center[j]) * inverse_scale[j]
        u = LARGEST_FEATURE if u > LARGEST_FEATURE else u
        u = -LARGEST_FEATURE if u < -LARGEST_FEATURE else u
        copy[j] = u
        n_huge += abs(u) > 1e140
        n_usual += abs(u) > 1e-140
        n_small += abs(u) > 1e-160
    unit = 2.0**1000
    if n_huge > 0:
        unit = 2.0**-500
    elif n_usual > 0:
        unit = 1.0
    elif n_small > 0:
        unit = 2.0**500
    for j in range(copy.size):
        copy[j] *= unit
    return unit if n_odd == 0 else 0.0


@njit(**OPTIONS)
def _rescale_tile(
    features: Features,
    start: int,
    count: int,
    center: FloatArray,
    inverse_scale: FloatArray,
    constant: bool,
    work: FloatArray,
    copies: FloatArray,
) -> bool:
    """Copy the rows that were set aside; a unit of zero marks void records and those done.

    Return whether there is anything to do.
    """
    n_copied = 0
    for b in range(TILE_ROWS):
        unit = 0.0
        known = work[TARGETS, b] == work[TARGETS, b] and work[OFFSETS, b] == work[OFFSETS, b]
        if b < count and work[INVERSES, b] == 0.0 and known:
            unit = _rescale_row(features, start + b, center, inverse_scale, constant, copies[b])
        work[UNITS, b] = unit
        n_copied += unit > 0.0
    return n_copied > 0


@njit(**MERGED)
def _add_tile(
    features: Features,
    start: int,
    count: int,
    center: FloatArray,
    inverse_scale: FloatArray,
    clip_norm: float,
    work: FloatArray,
    sums: FloatArray,
) -> None:
    """Add the rows of a tile, each times the clipped size of its gradient over its norm."""
    sizes, inverses, factors = work[SIZES], work[INVERSES], work[RADII]
    shrunk = _shrink(sums.size)
    for b in range(TILE_ROWS):
        factors[b] = _clip(sizes[b], clip_norm) * inverses[b] * shrunk
    for b in range(0, count - 3, 4):
        add_four_rows(features, start + b, center, inverse_scale, factors, b, sums)
    if sums.size > features.shape[1]:
        for b in range(count):
            sums[-1] += factors[b] * work[UNITS, b]


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
    grid: float,
    totals: IntArray,
) -> None:
    """Add the lattice sums of clipped gradients, chunk by chunk, to ``totals``."""
    n_rows, n_features = features.shape
    constant = weights.size > n_features
    work, copies = np.zeros((6, TILE_ROWS)), np.zeros((TILE_ROWS, n_features))
    zeros, ones, sums = np.zeros(n_features), np.ones(n_features), np.zeros(weights.size)
    for start in range(0, n_rows, TILE_ROWS):
        count = min(TILE_ROWS, n_rows - start)
        _load(targets, start, count, limits.target_center, limits.target_scale, work[TARGETS])
        _load(offsets, start, count, limits.offset_center, 1.0, work[OFFSETS])
        work[UNITS] = 1.0
        usual = _measure_tile(
            features, start, count, center, inverse_scale, weights, slope, shape, limits, work
        )
        _add_tile(features, start, count, center, inverse_scale, limits.clip_norm, work, sums)
        if not usual and _rescale_tile(
            features, start, count, center, inverse_scale, constant, work, copies
        ):
            _measure_tile(copies, 0, TILE_ROWS, zeros, ones, weights, slope, shape, limits, work)
            _add_tile(copies, 0, TILE_ROWS, zeros, ones, limits.clip_norm, work, sums)
        if (start + TILE_ROWS) % CHUNK_ROWS == 0 or start + count == n_rows:
            for j in range(sums.size):
                totals[j] += np.int64(_clip(np.rint(sums[j] / grid), LARGEST_UNITS))
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
    n_rows, n_features = features.shape
    constant = weights.size > n_features
    work, copies = np.zeros((6, TILE_ROWS)), np.zeros((TILE_ROWS, n_features))
    zeros, ones = np.zeros(n_features), np.ones(n_features)
    for start in range(0, n_rows, TILE_ROWS):
        count = min(TILE_ROWS, n_rows - start)
        _load(targets, start, count, limits.target_center, limits.target_scale, work[TARGETS])
        _load(offsets, start, count, limits.offset_center, 1.0, work[OFFSETS])
        work[UNITS] = 1.0
        usual = _measure_tile(
            features, start, count, center, inverse_scale, weights, slope, shape, limits, work
        )
        for b in range(count):
            totals[0] += work[INVERSES, b] > 0.0 and abs(work[SIZES, b]) <= threshold
        if not usual and _rescale_tile(
            features, start, count, center, inverse_scale, constant, work, copies
        ):
            _measure_tile(copies, 0, TILE_ROWS, zeros, ones, weights, slope, shape, limits, work)
            for b in range(count):
                # A row of zeros has no direction, and a gradient of norm zero.
                size = work[SIZES, b] if work[INVERSES, b] > 0.0 else 0.0
                totals[0] += work[UNITS, b] > 0.0 and abs(size) <= threshold


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
        types.FunctionType(SLOPE), types.float64[::1], limits, types.float64, types.int64[::1],
    )  # fmt: skip
    compiled: Callable[..., None] = njit(signature, cache=True, **OPTIONS)(function)
    return compiled


def sum_chunks(dtype: np.dtype[Any]) -> Callable[..., None]:
    """Compile the pass that sums clipped gradients of features stored as ``dtype``."""
    return _compile(_sum_chunks, dtype)


def count_norms(dtype: np.dtype[Any]) -> Callable[..., None]:
    """Compile the pass that counts gradient norms of features stored as ``dtype``."""
    return _compile(_count_norms, dtype)
