"""The loop of a query over a block of records, and the arithmetic of such loops.

A loop turns a block into whole numbers. It treats each record independently of all others. No
answer depends on how records are cut into blocks or spread over threads: a loop adds floats only
within a chunk of 1024 records, rounds each chunk's sum, and adds whole numbers across chunks.

A loop's running time does not depend on the numbers. Many processors handle subnormal numbers,
those below 2.2e-308, in microcode. Then one product takes up to 150 cycles instead of a fraction of
a cycle, and the running time would reveal records that hold such numbers. So they count as zero
while records are summed, and so do single-precision numbers below 1.2e-38. Processors do that at no
cost with the right setting: FTZ and DAZ of MXCSR on x86-64, FZ of FPCR on AArch64. On other
processors nothing is done. The setting belongs to the thread, and is restored afterwards.

Reference
---------
Andrysco, Kohlbrenner, Mowery, Jhala, Lerner and Shacham 2015, "On subnormal floating point and
abnormal timing".
"""

import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tailguard.array_types import IntArray
from tailguard.data.rows.base import RecordBlock, Together
from tailguard.data.rows.feature_loops import register_prefetch
from tailguard.machine_code import builds_loop, compiled, read_only

MACHINE = {"amd64": "x86_64", "arm64": "aarch64"}.get(
    platform.machine().lower(), platform.machine().lower()
)
ARRAYS = {
    "in matrix": read_only("float64", 2),
    "in vector": read_only("float64"),
    "in flags": read_only("boolean"),
    "in places": read_only("int64"),
    "counts": "int64[:, ::1]",
    "flags": "boolean[::1]",
    "matrix": "float64[:, ::1]",
    "vector": "float64[::1]",
    "places": "int64[::1]",
    "shifts": "UniTuple(float64, 3)",
}
"""Numba's types of the arrays that loops take, by the kinds of arguments of ``compiled_loop``."""
# Bits 15 (FTZ) and 6 (DAZ) of MXCSR; bit 24 (FZ) of FPCR.
ZERO_BITS = {"x86_64": 1 << 15 | 1 << 6, "aarch64": 1 << 24}.get(MACHINE, 0)


@contextmanager
def steady_arithmetic() -> Iterator[None]:
    """Within ``with``, count subnormal numbers of either float type as zero; suppress warnings."""
    with np.errstate(all="ignore"):
        before = _exchange_bits()(0, ZERO_BITS)
        try:
            yield
        finally:
            _exchange_bits()(ZERO_BITS, before & ZERO_BITS)


class LatticeSum:
    """The loop of a query at a state, on a lattice; ``Rows.reduce`` adds it up over all records.

    Attributes
    ----------
    query, state
        The query whose ``sum_block`` runs, and the state that it gets.
    grid
        The width of one lattice step.
    size
        The number of whole numbers that the loop returns.
    together, reads_cells
        The query's attributes of these names.
    """

    def __init__(self, query: Any, state: Any, grid: float, size: int) -> None:
        self.query, self.state, self.grid, self.size = query, state, grid, size
        self.together: Together = query.together
        self.reads_cells: bool = query.reads_cells

    def sum_block(self, block: RecordBlock) -> IntArray:
        """Add up one block of records in steady arithmetic."""
        with steady_arithmetic():
            total: IntArray = self.query.sum_block(block, self.state, self.grid)
        return total


def compiled_loop(
    *kinds: str, reorders: bool = False
) -> Callable[[Callable[..., None]], Callable[..., Any]]:
    """Decorate a loop that Numba compiles; ``kinds`` are the kinds of its arguments.

    The decorated function returns the compiled loop. If a kind is ``"features"``, the decorated
    function takes the type of the records' features, and this argument of the loop is a matrix of
    that type. ``"matrix"``, ``"vector"`` and ``"flags"`` are arrays. ``"places"`` is a vector of
    whole numbers, and ``"counts"`` a matrix of whole numbers. An array whose kind begins with
    ``"in "`` may be read-only. ``"shifts"`` is three numbers. Any other kind is one number, of the
    Numba type of this name, such as ``"float64"``.

    Sums are added in the written order. If the loop ``reorders``, several terms are added at once,
    in an order that depends only on their number.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    if reorders:
        options["fastmath"] = frozenset({"reassoc", "contract"})

    def decorate(function: Callable[..., None]) -> Callable[..., Any]:
        @builds_loop
        def build(dtype: np.dtype[Any] | type = np.float64) -> Callable[..., None]:
            if "features" in kinds:
                register_prefetch()
            arrays = ARRAYS | {"features": read_only(np.dtype(dtype).name, 2)}
            arguments = ", ".join(arrays.get(kind, kind) for kind in kinds)
            return compiled(function, f"void({arguments})", **options)

        return build

    return decorate


def _call(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    """Emit the call of a function of LLVM by its name."""
    from llvmlite import ir  # type: ignore[import-untyped] # noqa: PLC0415

    function_type = ir.FunctionType(result, [argument.type for argument in arguments])
    function = builder.module.globals.get(name) or ir.Function(builder.module, function_type, name)
    return builder.call(function, arguments)


def _emit_exchange(builder: Any, change: Callable[[Any], Any]) -> Any:
    """Emit code that changes the control register of floats; return the register's old value."""
    from llvmlite import ir  # noqa: PLC0415

    word, long, nothing = ir.IntType(32), ir.IntType(64), ir.VoidType()
    if MACHINE == "aarch64":
        before = _call(builder, "llvm.aarch64.get.fpcr", long)
        _call(builder, "llvm.aarch64.set.fpcr", nothing, change(before))
        return before
    if MACHINE != "x86_64":
        return long(0)
    slot = builder.alloca(word)  # MXCSR is read and written through memory only
    address = builder.bitcast(slot, ir.IntType(8).as_pointer())
    _call(builder, "llvm.x86.sse.stmxcsr", nothing, address)
    before = builder.zext(builder.load(slot), long)
    builder.store(builder.trunc(change(before), word), slot)
    _call(builder, "llvm.x86.sse.ldmxcsr", nothing, address)
    return before


@builds_loop
def _exchange_bits() -> Callable[[int, int], int]:
    """Compile a function that clears and sets bits of the register, and returns its old value."""
    from numba import types  # noqa: PLC0415
    from numba.extending import intrinsic  # noqa: PLC0415

    @intrinsic
    def exchanged(typing_context: Any, cleared: Any, written: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            def change(before: Any) -> Any:
                return builder.or_(builder.and_(before, builder.not_(arguments[0])), arguments[1])

            return _emit_exchange(builder, change)

        return types.int64(types.int64, types.int64), generate

    exchange: Any = exchanged
    # Numba compiles an intrinsic only within a function.
    within = lambda cleared, written: exchange(cleared, written)  # noqa: E731, PLW0108
    return compiled(within, "int64(int64, int64)", nogil=True)
