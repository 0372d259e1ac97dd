"""Bounds on the rows, slopes and gradients of a tile, one vector instruction for its eight records.

All numbers are in the scratch rows that ``tile.py`` names. Every bound is one comparison with an
exact result, and NaN never passes one.
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import intrinsic

from .lanes import INDEX, LANES, ZEROS, Lanes, vector_addresses
from .tile import (
    FACTORS,
    INVERSES,
    LARGEST_SQUARE,
    LEAST_SQUARE,
    RADII,
    SCORES,
    SIZES,
    SQUARES,
    UNITS,
)

__all__ = []


def _scratch(lanes: Lanes, work: Any) -> tuple[Callable[[int], Any], Callable[[Any, int], None]]:
    """Return how to read one row of the scratch space of a tile, and how to write one."""

    def read(row: int) -> Any:
        return lanes.load(work, INDEX(row * LANES))

    def write(value: Any, row: int) -> None:
        lanes.store(value, work, INDEX(row * LANES))

    return read, write


def _clip(lanes: Lanes, value: Any, limit: Any) -> Any:
    """Bound by ``limit``; NaN becomes zero."""
    return lanes.cut(lanes.number_or_zero(value), limit)


@intrinsic
def bound_rows(
    typing_context: Any, work: Any, targets: Any, offsets: Any, first: Any, row_limit: Any
) -> Any:
    """Cut rows to norm ``row_limit``: score the cut rows, and find their radii and inverse norms.

    Void records get unit zero. They, and rows of zeros, get inverse norm and radius zero.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = Lanes(builder)
        bases = vector_addresses(context, builder, signature.args[:3], arguments[:3])
        read, write = _scratch(lanes, bases[0])
        target, offset = (lanes.load(base, arguments[3]) for base in bases[1:])
        limit, one = lanes.spread(arguments[4]), lanes.constant(1.0)
        square, unit = read(SQUARES), read(UNITS)
        known = builder.fcmp_ordered("ord", target, offset)
        above = builder.fcmp_ordered(">", square, lanes.constant(LEAST_SQUARE))
        below = builder.fcmp_ordered("<", square, lanes.constant(LARGEST_SQUARE))
        usable = builder.and_(known, builder.and_(above, below))
        norm = lanes.square_root(builder.select(usable, square, one))
        inverse = builder.fdiv(one, norm)
        radius = builder.fdiv(norm, unit)
        radius = builder.select(builder.fcmp_ordered("<", radius, limit), radius, limit)
        score = builder.fmul(read(SCORES), builder.fmul(radius, inverse))
        write(builder.fadd(score, offset), SCORES)
        write(builder.select(known, unit, ZEROS), UNITS)
        write(builder.select(usable, inverse, ZEROS), INVERSES)
        write(builder.select(usable, radius, ZEROS), RADII)
        return context.get_dummy_value()

    return types.void(work, targets, offsets, types.int64, types.float64), generate


@intrinsic
def bound_gradients(
    typing_context: Any, work: Any, slope_limit: Any, clip_norm: Any, shrunk: Any
) -> Any:
    """Turn slopes, in the place of the sizes, into sizes of gradients and factors of rows.

    A size is the length of the gradient along the row, before it is cut to ``clip_norm``.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = Lanes(builder)
        bases = vector_addresses(context, builder, signature.args[:1], arguments[:1])
        read, write = _scratch(lanes, bases[0])
        slope_limit, clip_norm, shrunk = (lanes.spread(value) for value in arguments[1:])
        size = builder.fmul(_clip(lanes, read(SIZES), slope_limit), read(RADII))
        size = lanes.number_or_zero(size)
        factor = builder.fmul(_clip(lanes, size, clip_norm), read(INVERSES))
        write(size, SIZES)
        write(builder.fmul(factor, shrunk), FACTORS)
        return context.get_dummy_value()

    number = types.float64
    return types.void(work, number, number, number), generate
