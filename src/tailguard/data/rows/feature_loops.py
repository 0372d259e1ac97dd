"""Parts of compiled loops over features: early hints to the processor, and a test for finite rows.

Processors guess what a loop reads next, but only within a page of memory, mostly 4 KB: ten records
of fifty numbers. At every page a loop then waits for the memory, unless it says in advance what it
will read. Such a hint changes no number, and which hints are given depends on the shape alone.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tailguard.array_types import BoolArray, Features
from tailguard.machine_code import builds_loop, compiled

NUMBERS_AHEAD = 2048
"""How far ahead of its numbers a loop gives hints: 16 KB."""
NUMBERS_IN_LINE = 8
"""Numbers in one line of the cache, which is loaded as a whole."""
# The mask that drops the sign bit of a float64. Read as integers, the bits of magnitudes have the
# same order as the magnitudes.
MAGNITUDE = 2**63 - 1
# Bits of infinity. Those of NaN are larger, and those of finite magnitudes are smaller.
INFINITE_BITS = 0x7FF << 52


def prefetch(matrix: Any, row: int, column: int) -> None:
    """Hint that a loop will soon read an entry; the entry may lie beyond the end of the matrix.

    Only compiled loops give the hint. In plain Python this does nothing.
    """


@cache
def register_prefetch() -> None:
    """Tell Numba how to compile ``prefetch``."""
    from numba import types  # noqa: PLC0415 (Numba takes a while to load)
    from numba.extending import lower_builtin, type_callable  # noqa: PLC0415

    type_callable(prefetch)(lambda context: lambda matrix, row, column: types.none)
    lower: Any = lower_builtin  # Any: Numba has no type hints
    lower(prefetch, types.Array, types.Integer, types.Integer)(_emit_prefetch)


def _emit_prefetch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM's hint to load one entry of a matrix into the second-level cache."""
    from llvmlite import ir  # type: ignore[import-untyped] # noqa: PLC0415

    matrix, *place = arguments
    array = context.make_array(signature.args[0])(context, builder, matrix)
    word, byte = ir.IntType(32), ir.IntType(8).as_pointer()
    address = builder.ptrtoint(array.data, ir.IntType(64))
    for axis, index in enumerate(place):
        step = builder.extract_value(array.strides, axis)
        address = builder.add(address, builder.mul(index, step))
    name, kind = "llvm.prefetch.p0", ir.FunctionType(ir.VoidType(), [byte, word, word, word])
    hint = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    # The numbers mean: for a read, into the second-level cache, of data.
    builder.call(hint, [builder.inttoptr(address, byte), word(0), word(2), word(1)])
    return context.get_dummy_value()


def finite_rows(features: Features) -> BoolArray:
    """Return which rows have finite numbers only.

    Examples
    --------
    >>> finite_rows(np.array([[1.0, 2.0], [3.0, np.inf], [np.nan, 4.0]]))
    array([ True, False, False])
    """
    numbers = np.ascontiguousarray(features)
    finite = np.empty(len(numbers), dtype=np.bool_)
    _loop(numbers.dtype)(numbers, finite)
    return finite


@builds_loop
def _loop(dtype: np.dtype[Any]) -> Callable[..., None]:
    """Compile ``_mark_finite`` for one type of numbers."""
    from numba import types  # noqa: PLC0415 (Numba takes a while to load)

    register_prefetch()
    numbers = types.Array(getattr(types, np.dtype(dtype).name), 2, "C", readonly=True)
    return compiled(_mark_finite, types.void(numbers, types.boolean[::1]), nogil=True)


def _mark_finite(features: Features, finite: BoolArray) -> None:
    n_rows, n_features = features.shape
    rows_ahead = 1 + NUMBERS_AHEAD // max(1, n_features)
    for i in range(n_rows):
        for j in range(0, n_features, NUMBERS_IN_LINE):
            prefetch(features, i + rows_ahead, j)
        largest: int = 0
        for j in range(n_features):
            largest = max(largest, int(np.float64(features[i, j]).view(np.int64)) & MAGNITUDE)
        finite[i] = largest < INFINITE_BITS
