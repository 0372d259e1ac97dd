"""The inner loops over the rows of a tile, written as vector instructions.

Numba's own vectoriser leaves half of the memory bandwidth unused here: it may not reorder a sum,
so that it takes scores one number at a time, and it cannot pace prefetches with the loads. Writing
eight columns a step by hand also fixes the order of every addition, so that float32 and float64
storage of equal numbers give equal bits.

``u`` is a standardised feature, ``(x - center) * inverse_scale``, always in float64. Scoring leaves
it in a tile of rows whose width is a whole number of steps, and adding starts from the tile: to
read the records twice, and standardise them twice, costs more than to write the tile once.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from .chunks import TILE_ROWS

__all__ = ["LANES", "add_rows", "score_four_rows"]

LANES = 8
BYTES_AHEAD = 9600
# Numba's code generation helpers carry no types.
cgutils: Any = import_module("numba.core.cgutils")

INDEX = ir.IntType(64)
DOUBLE = ir.DoubleType()
VECTOR = ir.VectorType(DOUBLE, LANES)
MASK = ir.VectorType(ir.IntType(1), LANES)
ZEROS = ir.Constant(VECTOR, None)


class Lanes:
    """Arithmetic on eight neighbouring numbers at once."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def load(self, base: Any, column: Any, element: Any = DOUBLE, n_columns: Any = None) -> Any:
        """Read from ``base[column]`` on and widen to float64; ones stand for what is past the end.

        The end is ``n_columns``, or beyond these eight if that is None.
        """
        stored = ir.VectorType(element, LANES)
        address = self.builder.bitcast(self.builder.gep(base, [column]), stored.as_pointer())
        if n_columns is None:
            value = self.builder.load(address, align=element.width // 8 if 0 else (8 if element == DOUBLE else 4))
        else:
            value = self._masked_load(address, stored, self.builder.sub(n_columns, column))
        return value if element == DOUBLE else self.builder.fpext(value, VECTOR)

    def _masked_load(self, address: Any, stored: Any, count: Any) -> Any:
        """Read the first ``count`` numbers; ones stand for the rest."""
        integers = ir.VectorType(INDEX, LANES)
        first = self.builder.insert_element(ir.Constant(integers, ir.Undefined), count, INDEX(0))
        order = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        counts = self.builder.shuffle_vector(first, ir.Constant(integers, ir.Undefined), order)
        mask = self.builder.icmp_signed("<", ir.Constant(integers, list(range(LANES))), counts)
        ones = ir.Constant(stored, [1.0] * LANES)
        kind = ir.FunctionType(stored, [address.type, ir.IntType(32), MASK, stored])
        name = f"llvm.masked.load.v{LANES}f{64 if stored.element == DOUBLE else 32}.p0"
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, [address, ir.IntType(32)(4), mask, ones])

    def store(self, value: Any, base: Any, column: Any) -> None:
        """Write to ``base[column]`` on."""
        address = self.builder.bitcast(self.builder.gep(base, [column]), VECTOR.as_pointer())
        self.builder.store(value, address, align=8)

    def spread(self, scalar: Any) -> Any:
        """Return ``scalar`` in every lane."""
        first = self.builder.insert_element(ir.Constant(VECTOR, ir.Undefined), scalar, INDEX(0))
        order = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(first, ir.Constant(VECTOR, ir.Undefined), order)

    def constant(self, number: float) -> Any:
        """Return ``number`` in every lane."""
        return ir.Constant(VECTOR, [number] * LANES)

    def square_root(self, value: Any) -> Any:
        """Return the correctly rounded square root."""
        return self._call("llvm.sqrt.", [value])

    def multiply_add(self, left: Any, right: Any, total: Any) -> Any:
        """Return ``left * right + total``, in one instruction where the machine has one."""
        return self._call("llvm.fmuladd.", [left, right, total])

    def _call(self, name: str, values: list[Any]) -> Any:
        """Call a floating-point intrinsic of LLVM on every lane."""
        kind = ir.FunctionType(VECTOR, [VECTOR] * len(values))
        name += f"v{LANES}f64"
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, values)


def over_columns(builder: Any, start: Any, stop: Any, body: Callable[[Any], None]) -> None:
    """Run ``body`` on every eighth column."""
    with cgutils.for_range_slice(builder, start, stop, INDEX(LANES), INDEX) as (column, _):
        body(column)


def prefetch(builder: Any, base: Any, column: Any) -> None:
    """Ask for the memory some way after ``base[column]``; harmless past the end."""
    byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    here = builder.bitcast(builder.gep(base, [column]), byte)
    read, keep_close, data = flag(0), flag(3), flag(1)
    builder.call(function, [builder.gep(here, [INDEX(BYTES_AHEAD)]), read, keep_close, data])


def row_addresses(
    context: Any, builder: Any, kind: Any, value: Any, row: Any, count: int
) -> tuple[list[Any], Any]:
    """Addresses of ``count`` rows of a matrix from ``row`` on, and the number of columns."""
    matrix = context.make_array(kind)(context, builder, value)
    n_columns = builder.extract_value(matrix.shape, 1)
    first = builder.mul(row, n_columns)
    places = [builder.add(first, builder.mul(INDEX(k), n_columns)) for k in range(count)]
    return [builder.gep(matrix.data, [place]) for place in places], n_columns


def vector_addresses(context: Any, builder: Any, kinds: Any, values: Any) -> list[Any]:
    """Addresses of the first elements of some vectors."""
    pairs = zip(kinds, values, strict=True)
    return [context.make_array(kind)(context, builder, value).data for kind, value in pairs]


def _fold(builder: Any, left: Any, right: Any, distance: int) -> Any:
    """Add lanes ``distance`` apart in ``left`` and ``right``, and interleave the two results."""
    starts = range(0, LANES, 2 * distance)
    order = [
        side + start + lane for start in starts for side in (0, LANES) for lane in range(distance)
    ]
    lanes = ir.VectorType(ir.IntType(32), LANES)
    first = builder.shuffle_vector(left, right, ir.Constant(lanes, order))
    second = builder.shuffle_vector(left, right, ir.Constant(lanes, [k + distance for k in order]))
    return builder.fadd(first, second)


def _lane_totals(builder: Any, vectors: list[Any]) -> list[Any]:
    """Return the sums over the lanes of each of eight vectors, by three rounds of folding."""
    for distance in (1, 2, 4):
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [_fold(builder, left, right, distance) for left, right in pairs]
    return [builder.extract_element(vectors[0], INDEX(k)) for k in range(LANES)]


@intrinsic
def score_four_rows(
    typing_context: Any,
    features: Any,
    row: Any,
    center: Any,
    inverse_scale: Any,
    weights: Any,
    tile: Any,
    place: Any,
) -> Any:
    """``(<u, weights>, ...)`` of rows ``row`` to ``row + 3``, then their ``(<u, u>, ...)``.

    Leaves ``u`` in the rows from ``place`` on of ``tile``, which is wider than the features at
    times: what they lack counts as 1 before it is standardised.

    Examples
    --------
    >>> import numpy as np
    >>> from numba import njit
    >>> @njit
    ... def score(features, center, inverse_scale, weights, tile):
    ...     return score_four_rows(features, 0, center, inverse_scale, weights, tile, 0)
    >>> scale, tile = np.array([1.0, 3.0, 0, 0, 0, 0, 0, 0]), np.empty((4, 8))
    >>> score(np.arange(4.0).reshape(4, 1), np.zeros(8), scale, np.full(8, 10.0), tile)
    (30.0, 40.0, 50.0, 60.0, 9.0, 10.0, 13.0, 18.0)
    >>> tile[2]
    array([2., 3., 0., 0., 0., 0., 0., 0.])
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes, kinds = Lanes(builder), signature.args
        rows, n_columns = row_addresses(context, builder, kinds[0], *arguments[:2], 4)
        tile = context.make_array(kinds[5])(context, builder, arguments[5])
        width = builder.mul(builder.extract_value(tile.shape, 0), INDEX(LANES))
        copies = [
            builder.gep(tile.data, [builder.mul(builder.add(arguments[6], INDEX(k)), INDEX(LANES))])
            for k in range(4)
        ]
        center, scale, weights = vector_addresses(context, builder, kinds[2:5], arguments[2:5])
        element = context.get_data_type(kinds[0].dtype)
        totals = [cgutils.alloca_once_value(builder, ZEROS) for _ in range(8)]

        def step(column: Any, end: Any = None) -> None:
            middle, unit = lanes.load(center, column), lanes.load(scale, column)
            weight = lanes.load(weights, column)
            for k, (base, copy) in enumerate(zip(rows, copies, strict=True)):
                prefetch(builder, base, column)
                x = lanes.load(base, column, element, end)
                u = builder.fmul(builder.fsub(x, middle), unit)
                lanes.store(u, copy, builder.mul(column, INDEX(TILE_ROWS)))
                for total, factor in ((totals[k], weight), (totals[k + 4], u)):
                    builder.store(lanes.multiply_add(u, factor, builder.load(total)), total)

        whole = builder.and_(n_columns, INDEX(-LANES))
        over_columns(builder, INDEX(0), whole, step)
        over_columns(builder, whole, width, lambda column: step(column, n_columns))
        sums = _lane_totals(builder, [builder.load(total) for total in totals])
        return context.make_tuple(builder, signature.return_type, sums)

    result = types.UniTuple(types.float64, 8)  # type: ignore[no-untyped-call]
    index = types.int64
    arguments = (features, index, center, inverse_scale, weights, tile, index)
    return result(*arguments), generate


@intrinsic
def add_rows(typing_context: Any, tile: Any, factors: Any, sums: Any) -> Any:
    """Add ``factors[k] * u`` of every row ``k`` of a tile to ``sums``.

    Examples
    --------
    >>> import numpy as np
    >>> from numba import njit
    >>> @njit
    ... def add(tile, factors, sums):
    ...     add_rows(tile, factors, sums)
    >>> tile, sums = np.ones((TILE_ROWS, 8)), np.zeros(8)
    >>> add(tile, np.arange(TILE_ROWS) / 2, sums)
    >>> sums
    array([14., 14., 14., 14., 14., 14., 14., 14.])
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes, kinds = Lanes(builder), signature.args
        tile = context.make_array(kinds[0])(context, builder, arguments[0])
        width = builder.mul(builder.extract_value(tile.shape, 0), INDEX(LANES))
        rows = [builder.gep(tile.data, [INDEX(k*LANES)]) for k in range(TILE_ROWS)]
        factors, sums = vector_addresses(context, builder, kinds[1:], arguments[1:])
        weights = [
            lanes.spread(builder.load(builder.gep(factors, [INDEX(k)]))) for k in range(TILE_ROWS)
        ]

        def step(column: Any) -> None:
            # Two chains: one alone would wait for itself.
            chains = [lanes.load(sums, column), ZEROS]
            for k, (base, weight) in enumerate(zip(rows, weights, strict=True)):
                u = lanes.load(base, builder.mul(column, INDEX(TILE_ROWS)))
                chains[k % 2] = lanes.multiply_add(weight, u, chains[k % 2])
            lanes.store(builder.fadd(*chains), sums, column)

        over_columns(builder, INDEX(0), width, step)
        return context.get_dummy_value()

    return types.void(tile, factors, sums), generate


@intrinsic
def select(typing_context: Any, condition: Any, yes: Any, no: Any) -> Any:
    """``yes if condition else no`` without a branch: a branch keeps a loop from being vectorised.

    Examples
    --------
    >>> from numba import njit
    >>> njit(lambda x: select(x > 2.0, x, 2.0))(1.0)
    2.0
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(*arguments)

    number = types.float64
    return number(types.boolean, number, number), generate


def clip(lanes: Lanes, value: Any, limit: Any) -> Any:
    """Bound by ``limit``; NaN becomes zero."""
    b = lanes.builder
    value = b.select(b.fcmp_ordered("ord", value, value), value, ZEROS)
    value = b.select(b.fcmp_ordered("<", value, limit), value, limit)
    least = b.fsub(lanes.constant(-0.0), limit)
    return b.select(b.fcmp_ordered(">", value, least), value, least)


@intrinsic
def bound_tile(typing_context: Any, work: Any, targets: Any, offsets: Any, least: Any, most: Any, row_limit: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = Lanes(builder)
        (rows, targets, offsets) = vector_addresses(context, builder, signature.args[:3], arguments[:3])
        place = [INDEX(k * LANES) for k in range(7)]
        square, unit = lanes.load(rows, place[1]), lanes.load(rows, place[2])
        target, offset = lanes.load(targets, INDEX(0)), lanes.load(offsets, INDEX(0))
        known = builder.fcmp_ordered("ord", target, offset)
        usable = builder.and_(known, builder.fcmp_ordered(">", square, lanes.spread(arguments[3])))
        usable = builder.and_(usable, builder.fcmp_ordered("<", square, lanes.spread(arguments[4])))
        one = lanes.constant(1.0)
        norm = lanes.square_root(builder.select(usable, square, one))
        inverse = builder.fdiv(one, norm)
        radius = builder.fdiv(norm, unit)
        limit = lanes.spread(arguments[5])
        radius = builder.select(builder.fcmp_ordered("<", radius, limit), radius, limit)
        score = builder.fmul(lanes.load(rows, place[0]), builder.fmul(radius, inverse))
        lanes.store(builder.fadd(score, offset), rows, place[0])
        lanes.store(builder.select(known, unit, ZEROS), rows, place[2])
        lanes.store(builder.select(usable, inverse, ZEROS), rows, place[3])
        lanes.store(builder.select(usable, radius, ZEROS), rows, place[4])
        return context.get_dummy_value()

    number = types.float64
    return types.void(work, targets, offsets, number, number, number), generate


@intrinsic
def weigh_tile(typing_context: Any, work: Any, slope_limit: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = Lanes(builder)
        (rows,) = vector_addresses(context, builder, signature.args[:1], arguments[:1])
        place = [INDEX(k * LANES) for k in range(7)]
        size = clip(lanes, lanes.load(rows, place[5]), lanes.spread(arguments[1]))
        size = builder.fmul(size, lanes.load(rows, place[4]))
        size = builder.select(builder.fcmp_ordered("ord", size, size), size, ZEROS)
        lanes.store(size, rows, place[5])
        return context.get_dummy_value()

    return types.void(work, types.float64), generate


@intrinsic
def factor_tile(typing_context: Any, work: Any, clip_norm: Any, shrunk: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = Lanes(builder)
        (rows,) = vector_addresses(context, builder, signature.args[:1], arguments[:1])
        place = [INDEX(k * LANES) for k in range(7)]
        size = clip(lanes, lanes.load(rows, place[5]), lanes.spread(arguments[1]))
        factor = builder.fmul(builder.fmul(size, lanes.load(rows, place[3])), lanes.spread(arguments[2]))
        lanes.store(factor, rows, place[6])
        return context.get_dummy_value()

    return types.void(work, types.float64, types.float64), generate
