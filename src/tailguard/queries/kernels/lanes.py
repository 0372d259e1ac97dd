"""Building blocks of loops that are written as vector instructions of eight lanes.

Everything here runs while numba compiles, and emits instructions of LLVM: a ``builder`` appends
them, and the values passed around are the names of their results.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]

LANES = 8
# Twelve float64 rows of a hundred features, found by trial: far enough to hide the way to memory,
# near enough that the first-level cache still holds it when its turn comes.
BYTES_AHEAD = 9600
# Every stored number starts at a multiple of this; wider alignment saves nothing.
ALIGNMENT = 4
# Numba's code generation helpers carry no types.
cgutils: Any = import_module("numba.core.cgutils")

# Types of LLVM: whole numbers of 64 bits, doubles, and vectors of these and of truth values.
INDEX = ir.IntType(64)
DOUBLE = ir.DoubleType()
VECTOR = ir.VectorType(DOUBLE, LANES)
MASK = ir.VectorType(ir.IntType(1), LANES)
ZEROS = ir.Constant(VECTOR, None)

# Makes one vector of two, lane by lane.
Join = Callable[[Any, Any], Any]


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
            value = self.builder.load(address, align=ALIGNMENT)
        else:
            value = self._masked_load(address, stored, self.builder.sub(n_columns, column))
        return value if element == DOUBLE else self.builder.fpext(value, VECTOR)

    def _masked_load(self, address: Any, stored: Any, count: Any) -> Any:
        """Read the first ``count`` numbers; ones stand for the rest."""
        integers = ir.VectorType(INDEX, LANES)
        counts = self._spread(count, integers)
        mask = self.builder.icmp_signed("<", ir.Constant(integers, list(range(LANES))), counts)
        ones = ir.Constant(stored, [1.0] * LANES)
        kind = ir.FunctionType(stored, [address.type, ir.IntType(32), MASK, stored])
        name = f"llvm.masked.load.v{LANES}f{64 if stored.element == DOUBLE else 32}.p0"
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, [address, ir.IntType(32)(ALIGNMENT), mask, ones])

    def store(self, value: Any, base: Any, column: Any) -> None:
        """Write to ``base[column]`` on."""
        address = self.builder.bitcast(self.builder.gep(base, [column]), VECTOR.as_pointer())
        self.builder.store(value, address, align=ALIGNMENT)

    def spread(self, scalar: Any) -> Any:
        """Return ``scalar`` in every lane."""
        return self._spread(scalar, VECTOR)

    def _spread(self, scalar: Any, kind: Any) -> Any:
        nothing = ir.Constant(kind, ir.Undefined)
        first = self.builder.insert_element(nothing, scalar, INDEX(0))
        order = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(first, nothing, order)

    def constant(self, number: float) -> Any:
        """Return ``number`` in every lane."""
        return ir.Constant(VECTOR, [number] * LANES)

    def rounded(self, value: Any) -> Any:
        """Return the nearest whole numbers."""
        return self._call("llvm.rint.", [value])

    def square_root(self, value: Any) -> Any:
        """Return the correctly rounded square root."""
        return self._call("llvm.sqrt.", [value])

    def sized(self, size: Any, signed: Any) -> Any:
        """Return sizes with the signs of other numbers."""
        return self._call("llvm.copysign.", [size, signed])

    def size(self, value: Any) -> Any:
        """Return magnitudes."""
        return self._call("llvm.fabs.", [value])

    def cut(self, value: Any, limit: Any) -> Any:
        """Bound by ``limit`` in magnitude, exactly; NaN stays."""
        builder = self.builder
        least = builder.fsub(self.constant(-0.0), limit)
        low = builder.select(builder.fcmp_ordered("<", value, least), least, value)
        return builder.select(builder.fcmp_ordered(">", low, limit), limit, low)

    def held(self, value: Any, limit: Any) -> Any:
        """Bound by ``limit`` in magnitude, exactly; NaN becomes the limit."""
        builder = self.builder
        least = builder.fsub(self.constant(-0.0), limit)
        low = builder.select(builder.fcmp_ordered("<", value, limit), value, limit)
        return builder.select(builder.fcmp_ordered(">", low, least), low, least)

    def number_or_zero(self, value: Any) -> Any:
        """Put zero in the place of NaN."""
        return self.builder.select(self.builder.fcmp_ordered("ord", value, value), value, ZEROS)

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
    """Addresses of ``count`` rows of a matrix from ``row`` on, and the number of columns.

    The last row stands for those past the end.
    """
    matrix = context.make_array(kind)(context, builder, value)
    n_rows, n_columns = cgutils.unpack_tuple(builder, matrix.shape, 2)
    last = builder.sub(n_rows, INDEX(1))
    rows = []
    for k in range(count):
        place = builder.add(row, INDEX(k))
        place = builder.select(builder.icmp_signed("<", place, last), place, last)
        rows.append(builder.gep(matrix.data, [builder.mul(place, n_columns)]))
    return rows, n_columns


def tile_addresses(
    context: Any, builder: Any, kind: Any, value: Any, count: int
) -> tuple[list[Any], Any]:
    """Addresses of the first ``count`` records of a tile, and the width of the tile."""
    tile = context.make_array(kind)(context, builder, value)
    width = builder.mul(builder.extract_value(tile.shape, 0), INDEX(LANES))
    return [builder.gep(tile.data, [INDEX(k * LANES)]) for k in range(count)], width


def vector_addresses(context: Any, builder: Any, kinds: Any, values: Any) -> list[Any]:
    """Addresses of the first elements of some vectors."""
    pairs = zip(kinds, values, strict=True)
    return [context.make_array(kind)(context, builder, value).data for kind, value in pairs]


def _fold(builder: Any, join: Join, left: Any, right: Any, distance: int) -> Any:
    """Join lanes ``distance`` apart in ``left`` and ``right``, and interleave the two results."""
    starts = range(0, LANES, 2 * distance)
    order = [
        side + start + lane for start in starts for side in (0, LANES) for lane in range(distance)
    ]
    lanes = ir.VectorType(ir.IntType(32), LANES)
    first = builder.shuffle_vector(left, right, ir.Constant(lanes, order))
    second = builder.shuffle_vector(left, right, ir.Constant(lanes, [k + distance for k in order]))
    return join(first, second)


def join_lanes(builder: Any, join: Join, vectors: list[Any]) -> Any:
    """Join the lanes of each of eight vectors into one, by three rounds of folding."""
    for distance in (1, 2, 4):
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [_fold(builder, join, left, right, distance) for left, right in pairs]
    return vectors[0]


def join_parts(builder: Any, left: Any, right: Any, part: range) -> Any:
    """Return some neighbouring lanes of one vector, then the same lanes of another."""
    order = [*part, *(LANES + k for k in part)]
    lanes = ir.VectorType(ir.IntType(32), LANES)
    return builder.shuffle_vector(left, right, ir.Constant(lanes, order))
