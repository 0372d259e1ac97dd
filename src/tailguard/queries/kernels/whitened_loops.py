"""Compiled loops around the matrix product that maps the rows of one chunk.

They run record by record over numbers that lie one after the other, on whole vectors without a
fast-math flag. No step looks at another record, and every place of an output is written.

A product by BLAS has other bits where a record lies elsewhere in its chunk. So records that are
rounded alone are mapped by a loop in which each is one lane of a vector, and every lane takes the
same steps; there are no remainders, since rows come in whole groups. Their rounded products add up
exactly: as integers, which the bits of floats hold.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from tailguard.array_types import FloatArray, IntArray
from tailguard.losses.compiled import ROUNDING
from tailguard.machine_code import builds_loop, compiled
from tailguard.queries.kernels.lanes import INDEX, LANES, ZEROS, Lanes, cgutils
from tailguard.queries.kernels.standardised_rows import bits
from tailguard.queries.kernels.tile import OPTIONS, clip

# Records and coordinates whose sums are in registers together: eight chains hide how long a sum
# takes.
GROUP_ROWS, GROUP_COORDINATES = 2 * LANES, 4
# The bits of a float are those of ``ROUNDING`` plus the whole number that was added to it.
ROUNDING_BITS = int(np.float64(ROUNDING).view(np.int64))
# Rows of which the first-level cache holds all coordinates while products are added up.
STRIP_ROWS = 128
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


def _multiply(slopes: FloatArray, lengths: FloatArray, inverses: FloatArray) -> None:
    """Multiply rows by slopes: lengths by their size, directions by their sign.

    Zero times infinity counts as zero.
    """
    for i in range(slopes.size):
        length = lengths[i] * abs(slopes[i])
        lengths[i] = length if length > 0.0 else 0.0
        inverses[i] = math.copysign(inverses[i], slopes[i])


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


@intrinsic
def _map_group(
    typing_context: Any, released: Any, columns: Any, coordinate: Any, row: Any, mapped: Any
) -> Any:
    """Map a group of rows to a group of coordinates, both from the given ones on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes, kinds = Lanes(builder), signature.args
        maps, rows, out = (
            context.make_array(kinds[k])(context, builder, arguments[k]) for k in (0, 1, 4)
        )
        height = builder.extract_value(maps.shape, 0)
        width, length = (builder.extract_value(array.shape, 1) for array in (maps, out))
        sums = [
            [cgutils.alloca_once_value(builder, ZEROS) for _ in range(GROUP_ROWS // LANES)]
            for _ in range(GROUP_COORDINATES)
        ]
        with cgutils.for_range(builder, height) as loop:
            start = builder.mul(loop.index, INDEX(GROUP_ROWS))
            units = [
                lanes.load(rows.data, builder.add(start, INDEX(LANES * k)))
                for k in range(GROUP_ROWS // LANES)
            ]
            first = builder.add(builder.mul(loop.index, width), arguments[2])
            for k, chains in enumerate(sums):
                place = builder.gep(maps.data, [builder.add(first, INDEX(k))])
                factor = lanes.spread(builder.load(place))
                for unit, chain in zip(units, chains, strict=True):
                    total = lanes.multiply_add(factor, unit, builder.load(chain))
                    builder.store(total, chain)
        for k, chains in enumerate(sums):
            line = builder.mul(builder.add(arguments[2], INDEX(k)), length)
            for number, chain in enumerate(chains):
                place = builder.add(builder.add(line, arguments[3]), INDEX(LANES * number))
                lanes.store(builder.load(chain), out.data, place)
        return context.get_dummy_value()

    return types.void(released, columns, types.int64, types.int64, mapped), generate


map_group: Any = _map_group


def _map_rows(released: FloatArray, rows: FloatArray, mapped: FloatArray) -> None:
    """Write the products of rows with each column of ``released`` to the lines of ``mapped``."""
    height, width = released.shape
    columns = np.empty((height, GROUP_ROWS))
    for start in range(0, len(rows), GROUP_ROWS):
        for k in range(GROUP_ROWS):
            for j in range(height):
                columns[j, k] = rows[start + k, j]
        for coordinate in range(0, width, GROUP_COORDINATES):
            map_group(released, columns, coordinate, start, mapped)


def _add_rounded(mapped: FloatArray, factors: FloatArray, totals: IntArray) -> None:
    """Add up the products of each line with the factors, every one rounded to a whole number."""
    for j in range(len(mapped)):
        total = 0
        for i in range(factors.size):
            total += bits(mapped[j, i] * factors[i] + ROUNDING) - ROUNDING_BITS
        totals[j] += total


def _add_rounded_squares(
    mapped: FloatArray, roots: FloatArray, packing: FloatArray, totals: IntArray
) -> None:
    """Add up the packed outer products of columns, every entry rounded to a whole number.

    A column counts times its root, and entries off the diagonal times the second number of
    ``packing``, those on it times the first.
    """
    width = len(mapped)
    strip = np.empty((width, STRIP_ROWS))
    scaled = np.empty((2, STRIP_ROWS))
    for start in range(0, roots.size, STRIP_ROWS):
        count = min(STRIP_ROWS, roots.size - start)
        for j in range(width):
            for i in range(count):
                strip[j, i] = mapped[j, start + i] * roots[start + i]
        place = 0
        for j in range(width):
            for i in range(count):
                scaled[0, i] = strip[j, i] * packing[0]
                scaled[1, i] = strip[j, i] * packing[1]
            for k in range(j, width):
                total, side = 0, int(k > j)
                for i in range(count):
                    total += bits(scaled[side, i] * strip[k, i] + ROUNDING) - ROUNDING_BITS
                totals[place] += total
                place += 1


# Two dimensions and one, in C order.
MATRIX, VECTOR = types.float64[:, ::1], types.float64[::1]


@builds_loop
def measure() -> Callable[..., None]:
    """Compile the loop that measures mapped rows."""
    signature = types.void(MATRIX, VECTOR, types.float64, VECTOR, VECTOR)
    return compiled(_measure, signature, **OPTIONS)


@builds_loop
def score() -> Callable[..., None]:
    """Compile the loop that scores mapped rows."""
    return compiled(_score, types.void(VECTOR, VECTOR, VECTOR, VECTOR), **OPTIONS)


@builds_loop
def multiply() -> Callable[..., None]:
    """Compile the loop that multiplies rows by slopes."""
    return compiled(_multiply, types.void(VECTOR, VECTOR, VECTOR), **OPTIONS)


@builds_loop
def bound_slopes() -> Callable[..., None]:
    """Compile the loop that bounds slopes, zero where void or not a number."""
    signature = types.void(VECTOR, types.boolean[::1], types.float64, VECTOR)
    return compiled(_bound_slopes, signature, **OPTIONS)


@builds_loop
def climb() -> Callable[..., None]:
    """Compile the loop that finds the factors of several slope limits."""
    signature = types.void(VECTOR, VECTOR, VECTOR, types.float64, VECTOR, VECTOR, MATRIX)
    return compiled(_climb, signature, **OPTIONS)


@builds_loop
def map_rows() -> Callable[..., None]:
    """Compile the loop that maps rows, which come in whole groups, to whole groups of lines."""
    return compiled(_map_rows, types.void(MATRIX, MATRIX, MATRIX), **OPTIONS)


@builds_loop
def add_rounded() -> Callable[..., None]:
    """Compile the loop that adds up rounded products."""
    return compiled(_add_rounded, types.void(MATRIX, VECTOR, types.int64[::1]), **OPTIONS)


@builds_loop
def add_rounded_squares() -> Callable[..., None]:
    """Compile the loop that adds up rounded outer products."""
    signature = types.void(MATRIX, VECTOR, VECTOR, types.int64[::1])
    return compiled(_add_rounded_squares, signature, **OPTIONS)
