"""Compiled passes over the records of a linear score model: one read, one bounded vector a record.

Each strip of some tiles goes through four steps while it stays in the first-level cache: scores and
norms (``tile.py``), bounded rows, slopes, and bounded gradients (``tile_bounds.py``), which are
added up from the tiles or counted.

No fast-math flag is set: every test for NaN means what it says. (Even leave to reorder sums would
turn ``0 * a + 0 * b`` into ``0 * (a + b)``, which may overflow.) The loop that finds the slopes of
a strip is passed by its address, so that one compiled pass, kept on disk, serves every loss.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types

from tailguard.array_types import Features, FloatArray, IntArray
from tailguard.data.rows.base import CHUNK_ROWS, LARGEST_UNITS, shrink
from tailguard.losses.compiled import SlopeLoop, compile_slopes
from tailguard.machine_code import builds_loop, compiled
from tailguard.queries.kernels import tile_bounds, vectors
from tailguard.queries.kernels.tile import (
    KNOWN,
    MERGED,
    OPTIONS,
    SIZES,
    Space,
    add_strip,
    clip,
    load,
    make_space,
    score_strip,
    stored_types,
)

# Numba itself passes the first argument of an intrinsic, which its type does not say.
lent: Any = vectors.lent
bound_rows: Any = tile_bounds.bound_rows
bound_gradients: Any = tile_bounds.bound_gradients

# The loop of a loss takes the scratch space of a strip and the loss's shape.
SLOPES = types.void(types.float64[:, ::1], types.float64[::1])


class ClipLimits(NamedTuple):
    """Public numbers of one pass."""

    target_center: float
    target_scale: float
    offset_center: float
    row_limit: float
    slope_limit: float
    clip_norm: float


_shrink = njit(**OPTIONS)(shrink)


def _unit_slope(score: float, target: float, shape: FloatArray) -> float:
    return 1.0


def unit_slopes() -> SlopeLoop:
    """Compile the slopes of a plain mean of rows."""
    return compile_slopes(_unit_slope)


@njit(**OPTIONS)
def load_known(
    targets: FloatArray,
    offsets: FloatArray,
    start: int,
    stop: int,
    limits: ClipLimits,
    space: Space,
) -> None:
    """Standardise the targets and offsets of some records of one chunk."""
    load(targets, start, stop, limits.target_center, limits.target_scale, space.targets)
    load(offsets, start, stop, limits.offset_center, 1.0, space.offsets)
    if offsets.size == 0 and limits.offset_center != 0.0:
        space.offsets[: stop - start] = -limits.offset_center


@njit(**MERGED)
def _measure_strip(
    features: Features,
    start: int,
    count: int,
    first: int,
    slopes: SlopeLoop,
    shape: FloatArray,
    limits: ClipLimits,
    shrunk: float,
    space: Space,
) -> None:
    """Bound the gradients of a strip; its targets and offsets are known from ``first`` on."""
    work = space.work
    score_strip(features, start, count, space)
    bound_rows(work, space.targets, space.offsets, first, limits.row_limit)
    slopes(work, shape)
    bound_gradients(work, limits.slope_limit, limits.clip_norm, shrunk)


@njit(**OPTIONS)
def _sum_chunk(
    features: Features,
    start: int,
    stop: int,
    slopes: SlopeLoop,
    shape: FloatArray,
    limits: ClipLimits,
    shrunk: float,
    alone: bool,
    space: Space,
) -> None:
    """Add the clipped gradients of one chunk, whose targets and offsets are known, to the sums."""
    features, shape, space = lent(features), lent(shape), lent(space)
    for row in range(start, stop, space.work.shape[1]):
        _measure_strip(features, row, stop - row, row - start, slopes, shape, limits, shrunk, space)
        add_strip(alone, space)


def _sum_chunks(
    features: Features,
    targets: FloatArray,
    offsets: FloatArray,
    center: FloatArray,
    inverse_scale: FloatArray,
    weights: FloatArray,
    slopes: SlopeLoop,
    shape: FloatArray,
    limits: ClipLimits,
    grid: float,
    alone: bool,
    totals: IntArray,
) -> None:
    """Add the lattice sums of clipped gradients to ``totals``: by chunk, or by record if alone."""
    space = make_space(features, CHUNK_ROWS, center, inverse_scale, weights)
    shrunk = _shrink(weights.size)
    if alone:  # gradients come in whole steps
        shrunk, grid = shrunk / grid, 1.0
    for start in range(0, len(features), CHUNK_ROWS):
        stop = min(start + CHUNK_ROWS, len(features))
        load_known(targets, offsets, start, stop, limits, space)
        _sum_chunk(features, start, stop, slopes, shape, limits, shrunk, alone, space)
        for j in range(totals.size):
            totals[j] += np.int64(clip(np.rint(space.sums[j] / grid), LARGEST_UNITS))
        space.sums[:] = 0.0


@njit(**OPTIONS)
def _count_chunk(
    features: Features,
    start: int,
    stop: int,
    slopes: SlopeLoop,
    shape: FloatArray,
    limits: ClipLimits,
    threshold: float,
    space: Space,
) -> int:
    """Count the gradients of one chunk, whose targets and offsets are known, by their norm."""
    features, shape, space = lent(features), lent(shape), lent(space)
    sizes, known, n_small = space.work[SIZES], space.work[KNOWN], 0
    for row in range(start, stop, known.size):
        _measure_strip(features, row, stop - row, row - start, slopes, shape, limits, 1.0, space)
        for b in range(known.size):
            # Void records and places past the end have size zero too.
            n_small += (known[b] > 0.0) & (abs(sizes[b]) <= threshold)
    return n_small


def _count_norms(
    features: Features,
    targets: FloatArray,
    offsets: FloatArray,
    center: FloatArray,
    inverse_scale: FloatArray,
    weights: FloatArray,
    slopes: SlopeLoop,
    shape: FloatArray,
    limits: ClipLimits,
    threshold: float,
    totals: IntArray,
) -> None:
    """Add the number of records whose gradient norm is at most ``threshold`` to ``totals``."""
    space = make_space(features, CHUNK_ROWS, center, inverse_scale, weights)
    for start in range(0, len(features), CHUNK_ROWS):
        stop = min(start + CHUNK_ROWS, len(features))
        load_known(targets, offsets, start, stop, limits, space)
        totals[0] += _count_chunk(features, start, stop, slopes, shape, limits, threshold, space)


def argument_types(dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """Return types of features, five vectors, slopes, shape, limits, as every pass takes them."""
    matrix, vector = stored_types(dtype)
    limits = types.NamedUniTuple(  # type: ignore[no-untyped-call]
        types.float64, len(ClipLimits._fields), ClipLimits
    )
    return matrix, *5 * (vector,), types.FunctionType(SLOPES), types.float64[::1], limits


@builds_loop
def sum_chunks(dtype: np.dtype[Any]) -> Callable[..., None]:
    """Compile the pass that sums clipped gradients of features stored as ``dtype``."""
    others = types.float64, types.boolean, types.int64[::1]
    return compiled(_sum_chunks, types.void(*argument_types(dtype), *others), **OPTIONS)


@builds_loop
def count_norms(dtype: np.dtype[Any]) -> Callable[..., None]:
    """Compile the pass that counts gradient norms of features stored as ``dtype``."""
    others = types.float64, types.int64[::1]
    return compiled(_count_norms, types.void(*argument_types(dtype), *others), **OPTIONS)
