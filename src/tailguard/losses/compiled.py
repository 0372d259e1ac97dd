"""Compile the inner functions of losses with Numba, on first use.

Machine code is kept on disk, so that only the first use on a machine compiles.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, Self, TypeVar

from tailguard.array_types import FloatArray
from tailguard.checks import InputError
from tailguard.machine_code import compiled

from .base import Gradient, SlopeLoop, SlopeScalar
from .exponential import exponential

Function = TypeVar("Function", bound=Callable[..., Any])

# The "numpy" error model gives infinities where Python raises: a slope never raises.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}


class CompiledLoss:
    """Base of losses of a score, whose ``one_slope`` is compiled for the kernels."""

    one_slope: ClassVar[SlopeScalar]
    canonical: ClassVar[bool] = False
    needs_target: ClassVar[bool] = True
    n_classes: ClassVar[int | None] = None

    @property
    def slope_loop(self) -> SlopeLoop:
        """Compiled slopes of several scores."""
        return compile_slopes(type(self).one_slope)

    def narrowed(self, part: float) -> Self:
        """Return the loss itself: it has no window of scores."""
        return self


@cache
def compile_slopes(one_slope: SlopeScalar) -> SlopeLoop:
    """Compile the loop over scores for ``(score, target, shape) -> slope``.

    It has no jumps where the function has none, so that each instruction serves several scores.
    """
    _known_to_numba(exponential)
    _known_to_numba(one_slope)

    def loop(table: FloatArray, shape: FloatArray) -> None:
        for i in range(table.shape[1]):
            table[2, i] = one_slope(table[0, i], table[1, i], shape)

    return compiled(loop, "void(float64[:, ::1], float64[::1])", **OPTIONS)


@cache
def _known_to_numba(function: Callable[..., Any]) -> None:
    """Let compiled functions call a function of Python, which is merged into them."""
    from numba.extending import register_jitable  # noqa: PLC0415 (Numba takes a while to load)

    register_jitable(error_model="numpy")(function)


def compile_gradient(function: Function) -> Function:
    """Compile ``(weights, features, target) -> gradient`` of one record."""
    return compiled(function, "float64[::1](float64[::1], float64[::1], float64)", **OPTIONS)


def compile_loop(gradient: Any) -> Any:
    """Return the loop over records for a function of ``numba.njit``; refuse what does not compile.

    Types alone decide, so this may be asked before any record is read.
    """
    from numba import typeof, types  # noqa: PLC0415 (Numba takes a while to load)
    from numba.core.errors import NumbaError  # noqa: PLC0415

    loop, vector, matrix = _compiled_loop(), types.float64[::1], types.float64[:, ::1]
    try:
        loop.compile((typeof(gradient), vector, matrix, vector, matrix))  # type: ignore[no-untyped-call]
    except (NumbaError, ValueError):
        raise InputError(
            "gradient must compile with Numba for (weights, features, target) of types float64[:], "
            "float64[:] and float64, and return a vector of real numbers; it does not."
        ) from None
    return loop


@cache
def _compiled_loop() -> Any:
    from numba import njit  # noqa: PLC0415

    return njit(nogil=True)(_loop)


def _loop(
    gradient: Gradient,
    weights: FloatArray,
    features: FloatArray,
    targets: FloatArray,
    found: FloatArray,
) -> None:
    for i in range(len(features)):
        try:
            result = gradient(weights.copy(), features[i].copy(), targets[i])
            if result.size == found.shape[1]:
                for j in range(result.size):
                    found[i, j] = result[j]
        except Exception:
            found[i, :] = 0.0
