"""The bits of a thread's control register that make zeros of subnormal numbers.

On x86-64 they are FTZ and DAZ of MXCSR, on AArch64 FZ of FPCR. On other processors nothing is done.
"""

import platform
from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from tailguard.machine_code import builds_loop, compiled
from tailguard.queries.kernels.lanes import INDEX, cgutils

MACHINE = {"amd64": "x86_64", "arm64": "aarch64"}.get(
    platform.machine().lower(), platform.machine().lower()
)
# Bits 15 (FTZ) and 6 (DAZ) of MXCSR; bit 24 (FZ) of FPCR.
ZERO_BITS = {"x86_64": 1 << 15 | 1 << 6, "aarch64": 1 << 24}.get(MACHINE, 0)
WORD, NOTHING = ir.IntType(32), ir.VoidType()


def _call(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.call(function, arguments)


def _emit_mxcsr(builder: Any, change: Callable[[Any], Any]) -> Any:
    """Read the register and write it, both by way of memory."""
    place = cgutils.alloca_once(builder, WORD)
    address = builder.bitcast(place, ir.IntType(8).as_pointer())
    _call(builder, "llvm.x86.sse.stmxcsr", NOTHING, address)
    before = builder.zext(builder.load(place), INDEX)
    builder.store(builder.trunc(change(before), WORD), place)
    _call(builder, "llvm.x86.sse.ldmxcsr", NOTHING, address)
    return before


def _emit_fpcr(builder: Any, change: Callable[[Any], Any]) -> Any:
    before = _call(builder, "llvm.aarch64.get.fpcr", INDEX)
    _call(builder, "llvm.aarch64.set.fpcr", NOTHING, change(before))
    return before


def _emit_nothing(builder: Any, change: Callable[[Any], Any]) -> Any:
    return INDEX(0)


EMITTERS = {"x86_64": _emit_mxcsr, "aarch64": _emit_fpcr}


@intrinsic
def _exchange_bits(typing_context: Any, cleared: Any, written: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def change(before: Any) -> Any:
            return builder.or_(builder.and_(before, builder.not_(arguments[0])), arguments[1])

        return EMITTERS.get(MACHINE, _emit_nothing)(builder, change)

    return types.int64(types.int64, types.int64), generate


exchange_bits: Any = _exchange_bits


def _exchange(cleared: int, written: int) -> int:
    before: int = exchange_bits(cleared, written)
    return before


@builds_loop
def exchange() -> Callable[[int, int], int]:
    """Compile: clear some bits of the register, set some, and return what it held before."""
    return compiled(_exchange, "int64(int64, int64)", nogil=True)
