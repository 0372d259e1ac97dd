"""Bounds on the rows, slopes and gradients of a strip, one vector instruction for eight records.

All numbers are in the scratch rows that ``tile.py`` names. Every bound is one comparison with an
exact result, and NaN never passes one.
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import intrinsic

from tailguard.queries.kernels.lanes import INDEX, ZEROS, Lanes, over_columns, vector_addresses
from tailguard.queries.kernels.tile import (
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


class _Tile(Lanes):
    """The numbers of one tile in the scratch space of a strip."""

    def __init__(self, builder: Any, work: Any, place: Any) -> None:
        super().__init__(builder)
        self._work, self._place = work, place

    def _at(self, row: int) -> Any:
        length = self.builder.extract_value(self._work.shape, 1)
        return self.builder.add(self.builder.mul(INDEX(row), length), self._place)

    def read(self, row: int) -> Any:
        """Read a row of the scratch space."""
        return self.load(self._work.data, self._at(row))

    def write(self, value: Any, row: int) -> None:
        """Write a row of the scratch space."""
        self.store(value, self._work.data, self._at(row))

    def known(self, bases: list[Any], first: Any) -> tuple[Any, Any]:
        """Read targets and offsets, which are known from ``first`` on."""
        place = self.builder.add(first, self._place)
        target, offset = (self.load(base, place) for base in bases)
        return target, offset


def _over_tiles(
    context: Any, builder: Any, kind: Any, value: Any, body: Callable[[_Tile], None]
) -> Any:
    """Run ``body`` on every tile of a strip."""
    work = context.make_array(kind)(context, builder, value)
    length = builder.extract_value(work.shape, 1)
    over_columns(builder, INDEX(0), length, lambda place: body(_Tile(builder, work, place)))
    return context.get_dummy_value()


def _clip(lanes: Lanes, value: Any, limit: Any) -> Any:
    """Bound by ``limit``; NaN becomes zero."""
    return lanes.cut(lanes.number_or_zero(value), limit)


def _tell_void(tile: _Tile, target: Any, offset: Any) -> Any:
    """Mark the records that are known; give the others a usual target."""
    builder, square = tile.builder, tile.read(SQUARES)
    numbers = builder.fcmp_ordered("ord", target, offset)
    known = builder.and_(numbers, builder.fcmp_ordered("ord", square, square))
    tile.write(builder.select(known, tile.constant(1.0), ZEROS), KNOWN)
    tile.write(builder.select(known, target, tile.constant(VOID_TARGET)), TARGETS)
    return known


def _offset_scores(tile: _Tile, target: Any, offset: Any) -> None:
    known = _tell_void(tile, target, offset)
    score = tile.builder.fadd(tile.read(SCORES), offset)
    tile.write(tile.builder.select(known, score, tile.constant(VOID_SCORE)), SCORES)


def _bound_rows(tile: _Tile, target: Any, offset: Any, limit: Any) -> None:
    builder, one = tile.builder, tile.constant(1.0)
    known, square = _tell_void(tile, target, offset), tile.read(SQUARES)
    long = builder.fcmp_ordered(">", square, tile.constant(LEAST_SQUARE))
    usable = builder.and_(known, long)
    norm = tile.square_root(builder.select(usable, square, one))
    inverse = builder.fdiv(one, norm)
    radius = builder.select(builder.fcmp_ordered("<", norm, limit), norm, limit)
    score = builder.fmul(tile.read(SCORES), builder.fmul(radius, inverse))
    score = builder.fadd(score, offset)
    tile.write(builder.select(known, score, tile.constant(VOID_SCORE)), SCORES)
    tile.write(builder.select(usable, inverse, ZEROS), INVERSES)
    tile.write(builder.select(usable, radius, ZEROS), RADII)


def _bound_gradients(tile: _Tile, slope_limit: Any, clip_norm: Any, shrunk: Any) -> None:
    builder = tile.builder
    size = builder.fmul(_clip(tile, tile.read(SIZES), slope_limit), tile.read(RADII))
    size = tile.number_or_zero(size)
    factor = builder.fmul(_clip(tile, size, clip_norm), tile.read(INVERSES))
    tile.write(size, SIZES)
    tile.write(builder.fmul(factor, shrunk), FACTORS)


@intrinsic
def offset_scores(typing_context: Any, work: Any, targets: Any, offsets: Any, first: Any) -> Any:
    """Add the offsets to the scores of a strip; void records get a usual score and target."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        bases = vector_addresses(context, builder, kinds[1:3], arguments[1:3])

        def body(tile: _Tile) -> None:
            _offset_scores(tile, *tile.known(bases, arguments[3]))

        return _over_tiles(context, builder, kinds[0], arguments[0], body)

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
        kinds = signature.args
        bases = vector_addresses(context, builder, kinds[1:3], arguments[1:3])
        limit = Lanes(builder).spread(arguments[4])

        def body(tile: _Tile) -> None:
            _bound_rows(tile, *tile.known(bases, arguments[3]), limit)

        return _over_tiles(context, builder, kinds[0], arguments[0], body)

    return types.void(work, targets, offsets, types.int64, types.float64), generate


@intrinsic
def bound_gradients(
    typing_context: Any, work: Any, slope_limit: Any, clip_norm: Any, shrunk: Any
) -> Any:
    """Turn slopes, in the place of the sizes, into sizes of gradients and factors of rows.

    A size is the length of the gradient along the row, before it is cut to ``clip_norm``.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        limits = [Lanes(builder).spread(value) for value in arguments[1:]]

        def body(tile: _Tile) -> None:
            _bound_gradients(tile, *limits)

        return _over_tiles(context, builder, signature.args[0], arguments[0], body)

    number = types.float64
    return types.void(work, number, number, number), generate
