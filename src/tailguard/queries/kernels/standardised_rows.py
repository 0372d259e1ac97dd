"""The compiled loop that standardises the rows of one chunk before they are mapped.

A record's row is scaled by a power of two to a range in which no product with the map and no square
overflows; what a row holds changes no step. Features lie one after the other, so that the loop runs
on whole vectors without a fast-math flag.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

from tailguard.array_types import Features, FloatArray
from tailguard.machine_code import builds_loop, compiled
from tailguard.queries.kernels.tile import (
    MERGED,
    OPTIONS,
    VOID_SCORE,
    VOID_TARGET,
    load,
    stored_types,
)
from tailguard.queries.kernels.vectors import LARGEST_FEATURE

# The bits of magnitudes, read as integers, have the order of the magnitudes; those of infinities
# and NaN come last. The exponent is in the bits above those of the fraction.
MAGNITUDE, FRACTION_BITS, BIAS = 2**63 - 1, 52, 1023
# A row whose largest entry is between these is taken as it is.
LEAST_BITS, MOST_BITS = (BIAS - 64) << FRACTION_BITS, (BIAS + 64) << FRACTION_BITS
INFINITE_BITS = (2 * BIAS + 1) << FRACTION_BITS
# Two to this power and its inverse are normal numbers.
MOST_DOUBLINGS = 1000
POWERS = np.append(2.0 ** np.arange(-MOST_DOUBLINGS, MOST_DOUBLINGS + 1), 0.0)
VOID_PLACE = len(POWERS) - 1


@intrinsic
def _bits(typing_context: Any, number: Any) -> Any:
    """Read the bits of a float as an integer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def _held(typing_context: Any, number: Any, bound: Any) -> Any:
    """Cut to the bound in magnitude; NaN becomes it.

    Written as a choice of numbers, since a jump would take longer where its outcome is not guessed.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value, most = arguments
        least = builder.fneg(most)
        low = builder.select(builder.fcmp_ordered("<", value, most), value, most)
        return builder.select(builder.fcmp_ordered(">", low, least), low, least)

    return types.float64(types.float64, types.float64), generate


# Numba itself passes the first argument of an intrinsic, which its type does not say.
bits: Any = _bits
held: Any = _held


def _standardise(
    features: Features,
    targets: FloatArray,
    offsets: FloatArray,
    center: FloatArray,
    inverse_scale: FloatArray,
    shifts: tuple[float, float, float],
    bound: float,
    target_in_row: bool,
    known: FloatArray,
    units: FloatArray,
    rows: FloatArray,
) -> None:
    """Leave the scaled row of each record, and the power of two that it counts in.

    Standardised features are cut to ``bound``. A void record becomes a row of zeros in units of
    zero, with a usual target and offset. Known are standardised targets and offsets; where there
    are none zeros stand for them.
    """
    load(targets, 0, targets.size, shifts[0], shifts[1], known[0])
    load(offsets, 0, offsets.size, shifts[2], 1.0, known[1])
    if offsets.size == 0:
        known[1] = 0.0 - shifts[2]
    n_features, width = center.size, rows.shape[1]
    intercept = n_features + target_in_row < width
    for i in range(len(features)):
        peak, largest = 0, 0
        for j in range(n_features):
            x = float(features[i, j])
            u = held((x - center[j]) * inverse_scale[j], bound)
            rows[i, j] = u
            peak = max(peak, bits(u) & MAGNITUDE)
            largest = max(largest, bits(x) & MAGNITUDE)
        if intercept:
            rows[i, n_features] = 1.0
            peak = max(peak, bits(1.0))
        target, offset = known[0, i], known[1, i]
        if target_in_row:
            rows[i, width - 1] = held(target, LARGEST_FEATURE)
            peak = max(peak, bits(rows[i, width - 1]) & MAGNITUDE)
        odd = math.isnan(target) | math.isnan(offset) | (largest >= INFINITE_BITS)
        units[i] = _standardise_row(i, peak, odd, rows)
        known[0, i] = VOID_TARGET if odd else target
        known[1, i] = VOID_SCORE if odd else offset


@njit(**MERGED)
def _standardise_row(i: int, peak: int, void: bool, rows: FloatArray) -> float:
    """Divide a row by the power of two that its peak asks for, and return that; zero where void."""
    unusual = int((peak != 0) & ((peak < LEAST_BITS) | (peak > MOST_BITS)))
    exponent = unusual * max((peak >> FRACTION_BITS) - BIAS + 1, -MOST_DOUBLINGS)
    # Looked up either way, not to jump here either.
    inverse = POWERS[VOID_PLACE if void else MOST_DOUBLINGS - exponent]
    unit: float = POWERS[VOID_PLACE if void else MOST_DOUBLINGS + exponent]
    for j in range(rows.shape[1]):
        rows[i, j] *= inverse
    return unit


@builds_loop
def standardise(dtype: np.dtype[Any]) -> Callable[..., None]:
    """Compile the loop for features stored as ``dtype``."""
    matrix, vector = stored_types(dtype)
    shifts = types.UniTuple(types.float64, 3)  # type: ignore[no-untyped-call]
    written = types.float64[:, ::1]
    signature = types.void(
        *(matrix, vector, vector, vector, vector, shifts, types.float64, types.boolean),
        *(written, types.float64[::1], written),
    )
    return compiled(_standardise, signature, **OPTIONS)
