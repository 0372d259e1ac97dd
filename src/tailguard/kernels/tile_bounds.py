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
    KNOWN,
    LEAST_SQUARE,
    RADII,
    SCORES,
    SIZES,
    SQUARES,
    TARGETS,
    VOID_SCORE,
    VOID_TARGET,
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


def _tell_void(lanes: Lanes, work: Any, target: Any, offset: Any) -> Any:
    """Mark the records that are known; give the others a usual target."""
    read, write = _scratch(lanes, work)
    numbers = lanes.builder.fcmp_ordered("ord", target, offset)
    square = read(SQUARES)
    known = lanes.builder.and_(numbers, lanes.builder.fcmp_ordered("ord", square, square))
    write(lanes.builder.select(known, lanes.constant(1.0), ZEROS), KNOWN)
    write(lanes.builder.select(known, target, lanes.constant(VOID_TARGET)), TARGETS)
    return known


@intrinsic
def offset_scores(typing_context: Any, work: Any, targets: Any, offsets: Any, first: Any) -> Any:
    """Add the offsets to the scores; void records get a usual score and target."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = Lanes(builder)
        bases = vector_addresses(context, builder, signature.args[:3], arguments[:3])
        read, write = _scratch(lanes, bases[0])
        target, offset = (lanes.load(base, arguments[3]) for base in bases[1:])
        known = _tell_void(lanes, bases[0], target, offset)
        score = builder.fadd(read(SCORES), offset)
        write(builder.select(known, score, lanes.constant(VOID_SCORE)), SCORES)
        return context.get_dummy_value()

    return types.void(work, targets, offsets, types.int64), generate


@intrinsic
def bound_rows(
    typing_context: Any, work: Any, targets: Any, offsets: Any, first: Any, row_limit: Any
) -> Any:
    """Cut rows to norm ``row_limit``: score the cut rows, and find their radii and inverse norms.

    Void records get a usual score and target. They, and rows without a direction, get inverse norm
    and radius zero.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = Lanes(builder)
        bases = vector_addresses(context, builder, signature.args[:3], arguments[:3])
        read, write = _scratch(lanes, bases[0])
        target, offset = (lanes.load(base, arguments[3]) for base in bases[1:])
        limit, one = lanes.spread(arguments[4]), lanes.constant(1.0)
        known, square = _tell_void(lanes, bases[0], target, offset), read(SQUARES)
        long = builder.fcmp_ordered(">", square, lanes.constant(LEAST_SQUARE))
        usable = builder.and_(known, long)
        norm = lanes.square_root(builder.select(usable, square, one))
        inverse = builder.fdiv(one, norm)
        radius = builder.select(builder.fcmp_ordered("<", norm, limit), norm, limit)
        score = builder.fmul(read(SCORES), builder.fmul(radius, inverse))
        score = builder.fadd(score, offset)
        write(builder.select(known, score, lanes.constant(VOID_SCORE)), SCORES)
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
