"""The loop over records for a user's gradient of one record, compiled with Numba."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from tailguard.array_types import FloatArray
from tailguard.checks import InputError

Gradient: TypeAlias = Callable[[FloatArray, FloatArray, float], Any]
"""``(weights, features, target) -> gradient`` of one record."""


def compile_loop(gradient: Any) -> Any:
    """Return the loop over records for a gradient of ``numba.njit``; refuse others.

    Only types matter, so this is called before any record is read.
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
    """Return Numba's dispatcher of the loop over records."""
    from numba import njit  # noqa: PLC0415

    return njit(nogil=True)(_loop)


def _loop(
    gradient: Gradient,
    weights: FloatArray,
    features: FloatArray,
    targets: FloatArray,
    gradients: FloatArray,
) -> None:
    """Fill ``gradients`` with one row per record; if the function fails, the row stays zero."""
    for row in range(len(features)):
        try:
            result = gradient(weights.copy(), features[row].copy(), targets[row])
            if result.size == gradients.shape[1]:
                for column in range(result.size):
                    gradients[row, column] = result[column]
        except Exception:
            gradients[row, :] = 0.0
