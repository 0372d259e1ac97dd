"""Compiled loops after the matrix product that maps the rows of one chunk.

They run record by record over numbers that lie one after the other, on whole vectors without a
fast-math flag. No step looks at another record, and every place of an output is written.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from numba import types

from tailguard.array_types import FloatArray
from tailguard.machine_code import compiled

from .tile import OPTIONS, clip

# A shorter scaled row has no direction in floats: its square is not a normal number.
SMALLEST_LENGTH = 1e-140
# A factor that is not a normal number may exceed what it stands for; smaller ones count as zero.
SMALLEST_FACTOR = 1e-290


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


def _score(mapped: FloatArray, units: FloatArray, offsets: FloatArray, scores: FloatArray) -> None:
    for i in range(units.size):
        scores[i] = units[i] * mapped[i] + offsets[i]


def _bound_slopes(slopes: FloatArray, void: Any, limit: float, bounded: FloatArray) -> None:
    for i in range(slopes.size):
        bounded[i] = 0.0 if void[i] else clip(slopes[i], limit)


def _climb(
    slopes: FloatArray,
    lengths: FloatArray,
    inverses: FloatArray,
    row_limit: float,
    levels: FloatArray,
    shares: FloatArray,
    factors: FloatArray,
) -> None:
    """Find the factor of each scaled row at each level of several slope limits."""
    below = 0.0
    for k in range(levels.size):
        step = levels[k] - below
        for i in range(slopes.size):
            # The part of the step that the slope reaches, in [0, 1]: NaN reaches nothing.
            part = max(clip((abs(slopes[i]) - below) / step, 1.0), 0.0) * shares[k]
            factor = math.copysign(part * (min(lengths[i], row_limit) * inverses[i]), slopes[i])
            factors[k, i] = factor if abs(factor) > SMALLEST_FACTOR else 0.0
        below = levels[k]


# Two dimensions and one, in C order.
MATRIX, VECTOR = types.float64[:, ::1], types.float64[::1]


@cache
def measure() -> Callable[..., None]:
    """Compile the loop that measures mapped rows."""
    signature = types.void(MATRIX, VECTOR, types.float64, VECTOR, VECTOR)
    return compiled(_measure, signature, **OPTIONS)


@cache
def score() -> Callable[..., None]:
    """Compile the loop that scores mapped rows."""
    return compiled(_score, types.void(VECTOR, VECTOR, VECTOR, VECTOR), **OPTIONS)


@cache
def bound_slopes() -> Callable[..., None]:
    """Compile the loop that bounds slopes, zero where void or not a number."""
    signature = types.void(VECTOR, types.boolean[::1], types.float64, VECTOR)
    return compiled(_bound_slopes, signature, **OPTIONS)


@cache
def climb() -> Callable[..., None]:
    """Compile the loop that finds the factors of several slope limits."""
    signature = types.void(VECTOR, VECTOR, VECTOR, types.float64, VECTOR, VECTOR, MATRIX)
    return compiled(_climb, signature, **OPTIONS)
