"""Compiled pass over the records that bounds every entry of a gradient and sums by groups.

A strip of some tiles is scored (``tile.py``), then its bounded entries are summed while it stays in
the first-level cache; nothing of the size of the records is ever stored.

Bits depend on the records of one chunk and group alone: a strip never crosses the end of either.

No fast-math flag is set: every test for NaN means what it says.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types

from tailguard.array_types import Features, FloatArray, IntArray
from tailguard.data.rows.base import CHUNK_ROWS, LARGEST_UNITS, TILE_ROWS
from tailguard.losses.compiled import SlopeLoop
from tailguard.machine_code import builds_loop, compiled
from tailguard.queries.kernels import bounded_rows, tile_bounds, vectors
from tailguard.queries.kernels.fused import ClipLimits, argument_types, load_known
from tailguard.queries.kernels.tile import (
    FACTORS,
    KNOWN,
    LEAST_SQUARE,
    MERGED,
    OPTIONS,
    SIZES,
    SQUARES,
    Space,
    clip,
    make_space,
    score_strip,
)

# Numba itself passes the first argument of an intrinsic, which its type does not say.
add_clamped_rows: Any = bounded_rows.add_clamped_rows
add_truncated_rows: Any = bounded_rows.add_truncated_rows
add_cubic_rows: Any = bounded_rows.add_cubic_rows
add_soft_rows: Any = bounded_rows.add_soft_rows
add_long_soft_rows: Any = bounded_rows.add_long_soft_rows
lent: Any = vectors.lent
offset_scores: Any = tile_bounds.offset_scores
INVERSE_SCALE, REACH = bounded_rows.INVERSE_SCALE, bounded_rows.REACH
SHORT_NUMBERS = bounded_rows.SHORT_NUMBERS
# Norms err by far less than this, so that no entry of records on the cubic branch is beyond it. The
# soft branch then gives the same bits for them, and no record's value depends on its neighbours.
WELL_WITHIN = 1 - 2.0**-20

# How an entry is bounded, as numbers that compiled code can compare.
CLAMPED, TRUNCATED, SOFT = range(3)


@njit(**MERGED)
def _weigh(
    first: int, slopes: SlopeLoop, shape: FloatArray, slope_limit: float, space: Space
) -> None:
    """Turn the scores of a strip into bounded slopes, zero for void records."""
    work = space.work
    offset_scores(work, space.targets, space.offsets, first)
    slopes(work, shape)
    for b in range(work.shape[1]):
        work[FACTORS, b] = clip(work[SIZES, b], slope_limit) * work[KNOWN, b]


@njit(**MERGED)
def _largest(first: int, space: Space) -> float:
    """Return a number that no entry of a record of a tile times its slope exceeds."""
    work, largest = space.work, 0.0
    for b in range(first, first + TILE_ROWS):
        size = abs(work[FACTORS, b]) * math.sqrt(max(work[SQUARES, b], LEAST_SQUARE))
        largest = max(largest, size if work[KNOWN, b] > 0.0 else 0.0)
    return largest


@njit(**MERGED)
def _add_strip(kind: int, numbers: FloatArray, rounding: FloatArray, space: Space) -> None:
    """Add the bounded entries of a strip."""
    for t in range(len(space.tiles)):
        first = t * TILE_ROWS
        tile, factors, sums = space.tiles[t], space.work[FACTORS, first:], space.sums
        if kind == CLAMPED:
            add_clamped_rows(tile, factors, numbers, rounding, sums)
        elif kind == TRUNCATED:
            add_truncated_rows(tile, factors, numbers, rounding, sums)
        elif _largest(first, space) * numbers[INVERSE_SCALE] < numbers[REACH] * WELL_WITHIN:
            add_cubic_rows(tile, factors, numbers, rounding, sums)
        elif numbers.size == SHORT_NUMBERS:
            add_soft_rows(tile, factors, numbers, rounding, sums)
        else:
            add_long_soft_rows(tile, factors, numbers, rounding, sums)


@njit(**OPTIONS)
def _sum_run(
    features: Features,
    start: int,
    stop: int,
    slopes: SlopeLoop,
    shape: FloatArray,
    slope_limit: float,
    kind: int,
    numbers: FloatArray,
    rounding: FloatArray,
    space: Space,
) -> None:
    """Add the bounded gradients of a run of records of one chunk and group to the sums."""
    features, shape = lent(features), lent(shape)
    numbers, rounding, space = lent(numbers), lent(rounding), lent(space)
    for row in range(start, stop, space.work.shape[1]):
        score_strip(features, row, stop - row, space)
        _weigh(row - start, slopes, shape, slope_limit, space)
        _add_strip(kind, numbers, rounding, space)


def _sum_groups(
    features: Features,
    targets: FloatArray,
    offsets: FloatArray,
    center: FloatArray,
    inverse_scale: FloatArray,
    weights: FloatArray,
    slopes: SlopeLoop,
    shape: FloatArray,
    limits: ClipLimits,
    kind: int,
    numbers: FloatArray,
    first: int,
    n_rows: int,
    n_groups: int,
    grid: float,
    alone: bool,
    totals: IntArray,
) -> None:
    """Add the lattice sums of bounded gradients, by chunk and group, to ``totals``.

    Those of records that are rounded alone, of which there is one group, come in whole steps.
    """
    most_rows = (n_rows + n_groups - 1) // n_groups
    space = make_space(features, most_rows, center, inverse_scale, weights)
    rounding = np.zeros(1)
    if alone:
        rounding[0] = 1.0 / (grid * n_rows)
    start = 0
    while start < len(features):
        group = ((first + start + 1) * n_groups - 1) // n_rows
        opening, closing = group * n_rows // n_groups, (group + 1) * n_rows // n_groups
        chunk_end = start // CHUNK_ROWS * CHUNK_ROWS + CHUNK_ROWS
        stop = min(len(features), chunk_end, closing - first)
        load_known(targets, offsets, start, stop, limits, space)
        _sum_run(
            features, start, stop, slopes, shape, limits.slope_limit, kind, numbers, rounding, space
        )
        step = 1.0 if alone else grid * (closing - opening)
        for j in range(weights.size):
            totals[group, j] += np.int64(clip(np.rint(space.sums[j] / step), LARGEST_UNITS))
        space.sums[:] = 0.0
        start = stop


@builds_loop
def sum_groups(dtype: np.dtype[Any]) -> Callable[..., None]:
    """Compile the pass for features stored as ``dtype``."""
    signature = types.void(
        *argument_types(dtype), types.int64, types.float64[::1],
        types.int64, types.int64, types.int64, types.float64, types.boolean,
        types.int64[:, ::1],
    )  # fmt: skip
    return compiled(_sum_groups, signature, **OPTIONS)
