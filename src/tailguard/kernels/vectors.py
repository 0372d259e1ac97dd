"""The two inner loops over four records, written as vector instructions.

Numba's own vectoriser leaves a third of the memory bandwidth unused here: it cannot pace software
prefetches with the loads, and short rows fall into its scalar remainder. Writing eight columns a
step by hand also fixes the order of every addition, so that float32 and float64 storage of equal
numbers give equal bits. While a tile of records is scored and summed, half of the next tile is
asked for in each of the two passes, so that memory never rests.

``u`` is a standardised feature, ``(x - center) * inverse_scale``, always in float64.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from .chunks import TILE_ROWS

__all__ = ["add_four_rows", "four_scores"]

LANES = 8
# Numba's code generation helpers carry no types.
cgutils: Any = import_module("numba.core.cgutils")

INDEX = ir.IntType(64)
DOUBLE = ir.DoubleType()
VECTOR = ir.VectorType(DOUBLE, LANES)


class Lanes:
    """Loads, stores and broadcasts of ``width`` neighbouring numbers; one lane is a plain float."""

    def __init__(self, builder: Any, width: int) -> None:
        self.builder = builder
        self.width = width
        self.type = VECTOR if width == LANES else DOUBLE

    def _address(self, base: Any, column: Any, element: Any) -> Any:
        stored = ir.VectorType(element, self.width) if self.width > 1 else element
        return self.builder.bitcast(self.builder.gep(base, [column]), stored.as_pointer())

    def load(self, base: Any, column: Any, element: Any = DOUBLE) -> Any:
        """Read from ``base[column]`` on and widen to float64."""
        address = self._address(base, column, element)
        value = self.builder.load(address, align=4 if element != DOUBLE else 8)
        return value if element == DOUBLE else self.builder.fpext(value, self.type)

    def store(self, value: Any, base: Any, column: Any) -> None:
        """Write to ``base[column]`` on."""
        self.builder.store(value, self._address(base, column, DOUBLE), align=8)

    def spread(self, scalar: Any) -> Any:
        """Return ``scalar`` in every lane."""
        if self.width == 1:
            return scalar
        builder = self.builder
        first = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), scalar, INDEX(0))
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(first, ir.Constant(VECTOR, ir.Undefined), lanes)

    def constant(self, number: float) -> Any:
        """Return ``number`` in every lane."""
        return self.spread(DOUBLE(number))

    def square_root(self, value: Any) -> Any:
        """Return the correctly rounded square root."""
        return self._call("llvm.sqrt.", [value])

    def multiply_add(self, left: Any, right: Any, total: Any) -> Any:
        """Return ``left * right + total``, in one instruction where the machine has one."""
        return self._call("llvm.fmuladd.", [left, right, total])

    def _call(self, name: str, values: list[Any]) -> Any:
        """Call a floating-point intrinsic of LLVM on every lane."""
        name += f"v{LANES}f64" if self.width > 1 else "f64"
        kind = ir.FunctionType(self.type, [self.type] * len(values))
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, values)


def over_columns(builder: Any, n_columns: Any, body: Callable[[Lanes, Any], None]) -> None:
    """Run ``body`` on blocks of eight columns, then on the columns left over one by one."""
    whole = builder.and_(n_columns, INDEX(-LANES))
    for start, stop, width in ((INDEX(0), whole, LANES), (whole, n_columns, 1)):
        with cgutils.for_range_slice(builder, start, stop, INDEX(width), INDEX) as (column, _):
            body(Lanes(builder, width), column)


def prefetch(lanes: Lanes, base: Any, column: Any, n_columns: Any) -> None:
    """Ask for the memory one tile after ``base[column]``; harmless past the end."""
    builder = lanes.builder
    byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    ahead = builder.add(column, builder.mul(n_columns, INDEX(TILE_ROWS)))
    address = builder.bitcast(builder.gep(base, [ahead]), byte)
    read, keep_close, data = flag(0), flag(3), flag(1)
    builder.call(function, [address, read, keep_close, data])


def row_addresses(
    context: Any, builder: Any, array_type: Any, array: Any, row: Any
) -> tuple[list[Any], Any, Any]:
    """Addresses of rows ``row`` to ``row + 3``, the number of columns, the type of an element."""
    features = context.make_array(array_type)(context, builder, array)
    n_columns = builder.extract_value(features.shape, 1)
    first = builder.mul(row, n_columns)
    offsets = [builder.add(first, builder.mul(INDEX(k), n_columns)) for k in range(4)]
    element = context.get_data_type(array_type.dtype)
    return [builder.gep(features.data, [offset]) for offset in offsets], n_columns, element


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
def four_scores(
    typing_context: Any, features: Any, row: Any, center: Any, inverse_scale: Any, weights: Any
) -> Any:
    """``(<u, weights>, ...)`` of rows ``row`` to ``row + 3``, then their ``(<u, u>, ...)``.

    Examples
    --------
    >>> import numpy as np
    >>> from numba import njit
    >>> @njit
    ... def score(features, center, inverse_scale, weights):
    ...     return four_scores(features, 0, center, inverse_scale, weights)
    >>> score(np.arange(4.0).reshape(4, 1), np.zeros(1), np.ones(1), np.full(1, 10.0))
    (0.0, 10.0, 20.0, 30.0, 0.0, 1.0, 4.0, 9.0)
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, n_columns, element = row_addresses(
            context, builder, signature.args[0], *arguments[:2]
        )
        center, scale, weights = vector_addresses(
            context, builder, signature.args[2:], arguments[2:]
        )
        totals = {
            width: [cgutils.alloca_once_value(builder, ir.Constant(kind, None)) for _ in range(8)]
            for width, kind in ((LANES, VECTOR), (1, DOUBLE))
        }

        def step(lanes: Lanes, column: Any) -> None:
            middle, unit = lanes.load(center, column), lanes.load(scale, column)
            weight = lanes.load(weights, column)
            for k, base in enumerate(rows):
                if k < 2:
                    prefetch(lanes, base, column, n_columns)
                u = builder.fmul(builder.fsub(lanes.load(base, column, element), middle), unit)
                for total, factor in (
                    (totals[lanes.width][k], weight),
                    (totals[lanes.width][k + 4], u),
                ):
                    builder.store(lanes.multiply_add(u, factor, builder.load(total)), total)

        over_columns(builder, n_columns, step)
        sums = _lane_totals(builder, [builder.load(total) for total in totals[LANES]])
        rest = [builder.load(total) for total in totals[1]]
        whole = [builder.fadd(s, r) for s, r in zip(sums, rest, strict=True)]
        return context.make_tuple(builder, signature.return_type, whole)

    result = types.UniTuple(types.float64, 8)  # type: ignore[no-untyped-call]
    return result(features, types.int64, center, inverse_scale, weights), generate


@intrinsic
def add_four_rows(
    typing_context: Any,
    features: Any,
    row: Any,
    center: Any,
    inverse_scale: Any,
    factors: Any,
    first: Any,
    sums: Any,
) -> Any:
    """Add ``factors[first + k] * u`` of rows ``row + k`` to ``sums``; a factor 0 skips its row.

    Examples
    --------
    >>> import numpy as np
    >>> from numba import njit
    >>> @njit
    ... def add(features, center, inverse_scale, factors, sums):
    ...     add_four_rows(features, 0, center, inverse_scale, factors, 0, sums)
    >>> sums = np.zeros(1)
    >>> features = np.array([[1.0], [np.nan], [3.0], [4.0]])
    >>> add(features, np.zeros(1), np.ones(1), np.array([1.0, 0.0, 1.0, 1.0]), sums)
    >>> sums
    array([8.])
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, n_columns, element = row_addresses(
            context, builder, signature.args[0], *arguments[:2]
        )
        kinds = [signature.args[k] for k in (2, 3, 4, 6)]
        values = [arguments[k] for k in (2, 3, 4, 6)]
        center, scale, factors, sums = vector_addresses(context, builder, kinds, values)
        positions = [builder.add(arguments[5], INDEX(k)) for k in range(4)]
        weights = [builder.load(builder.gep(factors, [position])) for position in positions]
        used = [builder.fcmp_ordered("!=", weight, DOUBLE(0.0)) for weight in weights]

        def step(lanes: Lanes, column: Any) -> None:
            middle, unit = lanes.load(center, column), lanes.load(scale, column)
            total = lanes.load(sums, column)
            for k, (base, weight, use) in enumerate(zip(rows, weights, used, strict=True)):
                if k >= 2:
                    prefetch(lanes, base, column, n_columns)
                u = builder.fmul(builder.fsub(lanes.load(base, column, element), middle), unit)
                # A skipped row may hold NaN, and 0 * NaN is NaN.
                safe = builder.select(use, u, ir.Constant(lanes.type, None))
                total = lanes.multiply_add(lanes.spread(weight), safe, total)
            lanes.store(total, sums, column)

        over_columns(builder, n_columns, step)
        return context.get_dummy_value()

    index = types.int64
    return types.void(features, index, center, inverse_scale, factors, index, sums), generate
