"""Compiled loops before and after the matrix product that maps the rows of one chunk.

A record's row is scaled to a range in which no product with the map and no square overflows. What
a loop runs over lies one after the other, row by row before the product and record by record after
it, so that it runs on whole vectors without a fast-math flag. No step looks at another record, and
every place of an output is written.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit, types

from tailguard.machine_code import compiled

from .block import Features, FloatArray
from .tile import OPTIONS, clip, load
from .vectors import LARGEST_FEATURE

__all__ = []

# A row whose largest entry is between these is taken as it is. The bits of magnitudes, read as
# integers, have the order of the magnitudes; those of infinities and NaN come last.
LEAST_PEAK, MOST_PEAK = 2.0**-64, 2.0**64
LEAST_BITS, MOST_BITS = (int(np.float64(peak).view(np.int64)) for peak in (LEAST_PEAK, MOST_PEAK))
MAGNITUDE = 2**63 - 1
# Two to this power and its inverse are normal numbers.
MOST_DOUBLINGS = 1000
# A shorter scaled row has no direction in floats: its square is not a normal number.
SMALLEST_LENGTH = 1e-140
# A factor that is not a normal number may exceed what it stands for; smaller ones count as zero.
SMALLEST_FACTOR = 1e-290


def _standardise(
    features: Features,
    targets: FloatArray,
    offsets: FloatArray,
    center: FloatArray,
    inverse_scale: FloatArray,
    shifts: tuple[float, float, float],
    target_in_row: bool,
    known: FloatArray,
    units: FloatArray,
    rows: FloatArray,
) -> None:
    """Leave the scaled row of each record, and the power of two that it counts in.

    A void record becomes a row of zeros in units of zero. Known are standardised targets and
    offsets, NaN where they are not finite; where there are none zeros stand for them.
    """
    load(targets, 0, targets.size, shifts[0], shifts[1], known[0])
    load(offsets, 0, offsets.size, shifts[2], 1.0, known[1])
    if offsets.size == 0 and shifts[2] != 0.0:
        known[1] = -shifts[2]
    n_features, width = center.size, rows.shape[1]
    bits = rows.view(np.int64)
    for i in range(len(features)):
        for j in range(n_features):
            rows[i, j] = (features[i, j] - center[j]) * inverse_scale[j]
        for j in range(n_features, width):
            rows[i, j] = 1.0
        if target_in_row:
            rows[i, width - 1] = known[0, i]
        peak = 0
        for j in range(width):
            peak = max(peak, bits[i, j] & MAGNITUDE)
        void = math.isnan(known[0, i]) | math.isnan(known[1, i])
        units[i] = 1.0
        if void | (peak < LEAST_BITS) | (peak > MOST_BITS):
            units[i] = _rescue(features, i, void, rows)


@njit(**OPTIONS)
def _rescue(features: Features, i: int, void: bool, rows: FloatArray) -> float:
    """Cut an unusual row to the largest feature and scale it; return its unit."""
    for j in range(features.shape[1]):
        void |= not math.isfinite(features[i, j])
    peak = 0.0
    for j in range(rows.shape[1]):
        rows[i, j] = 0.0 if void else clip(rows[i, j], LARGEST_FEATURE)
        peak = max(peak, abs(rows[i, j]))
    if void:
        return 0.0
    if peak == 0.0 or LEAST_PEAK <= peak <= MOST_PEAK:
        return 1.0
    unit = math.ldexp(1.0, max(math.frexp(peak)[1], -MOST_DOUBLINGS))
    for j in range(rows.shape[1]):
        rows[i, j] /= unit
    return unit


def _measure(
    mapped: FloatArray,
    units: FloatArray,
    shrunk: float,
    lengths: FloatArray,
    inverses: FloatArray,
) -> None:
    """Find the length of each row, and ``shrunk`` over the length of the scaled one.

    Both are zero where the row has no direction. There is one row of ``mapped`` per coordinate.
    """
    lengths[:] = 0.0
    for j in range(len(mapped)):
        for i in range(units.size):
            lengths[i] += mapped[j, i] * mapped[j, i]
    for i in range(units.size):
        length = math.sqrt(lengths[i])
        seen = length > SMALLEST_LENGTH
        inverses[i] = shrunk / length if seen else 0.0
        lengths[i] = length * units[i] if seen else 0.0


def _climb(
    slopes: FloatArray,
    lengths: FloatArray,
    inverses: FloatArray,
    row_limit: float,
    levels: FloatArray,
    shares: FloatArray,
    factors: FloatArray,
) -> None:
    """Find the factor of each scaled row at each level of a ladder of slopes."""
    below = 0.0
    for k in range(levels.size):
        step = levels[k] - below
        for i in range(slopes.size):
            # The part of the step that the slope reaches, in [0, 1]: NaN reaches nothing.
            part = max(clip((abs(slopes[i]) - below) / step, 1.0), 0.0) * shares[k]
            factor = math.copysign(part * (min(lengths[i], row_limit) * inverses[i]), slopes[i])
            factors[k, i] = factor if abs(factor) > SMALLEST_FACTOR else 0.0
        below = levels[k]


MATRIX, VECTOR = types.float64[:, ::1], types.float64[::1]
# Arrays declared as read-only may be either.
KNOWN = types.Array(types.float64, 1, "C", readonly=True)


@cache
def standardise(dtype: np.dtype[Any]) -> Callable[..., None]:
    """Compile the loop that standardises features stored as ``dtype``."""
    stored = types.float32 if dtype == np.float32 else types.float64
    features = types.Array(stored, 2, "C", readonly=True)
    shifts = types.UniTuple(types.float64, 3)  # type: ignore[no-untyped-call]
    signature = types.void(
        features, KNOWN, KNOWN, KNOWN, KNOWN, shifts, types.boolean, MATRIX, VECTOR, MATRIX
    )
    return compiled(_standardise, signature, **OPTIONS)


@cache
def measure() -> Callable[..., None]:
    """Compile the loop that measures mapped rows."""
    signature = types.void(MATRIX, VECTOR, types.float64, VECTOR, VECTOR)
    return compiled(_measure, signature, **OPTIONS)


@cache
def climb() -> Callable[..., None]:
    """Compile the loop that finds the factors of a ladder."""
    signature = types.void(VECTOR, VECTOR, VECTOR, types.float64, VECTOR, VECTOR, MATRIX)
    return compiled(_climb, signature, **OPTIONS)
