"""Compile the inner functions of losses with Numba, on first use; and an exponential for them.

Machine code is kept on disk, so that only the first use on a machine compiles. The exponential
takes the same steps for every number, which serve several numbers at once: that of C's library is
called for one number at a time, which took most of the time of a slope, and looks at its number to
choose its steps.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias, TypeVar

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError
from tailguard.machine_code import compiled

SlopeScalar: TypeAlias = Callable[[float, float, FloatArray], float]
"""``(score, target, shape) -> slope``, of which a loop is compiled for the kernels."""

SlopeLoop: TypeAlias = Callable[[FloatArray, FloatArray], None]
"""``(table, shape)``: writes into the third row of ``table`` the slopes at the scores and targets
in its first two rows."""

Gradient: TypeAlias = Callable[[FloatArray, FloatArray, float], Any]
"""``(weights, features, target) -> gradient`` of one record."""

Function = TypeVar("Function", bound=Callable[..., Any])

# The "numpy" error model gives infinities where Python raises: a slope never raises.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}

# Adding and taking it away rounds to a whole number, which its last bits then hold.
ROUNDING = 1.5 * 2.0**52
INVERSE_LOG_2 = 1.4426950408889634
# The first 42 bits of log(2), so that its product with a power of two to 1023 is exact, and the
# 53 that follow (Cody and Waite 1980).
LOG_2, REST_OF_LOG_2 = 0.6931471805598903, 5.497923018708371e-14
FRACTION_BITS, BIAS = 52, 1023
# 2 B(2n) / (2n)! with the numbers of Bernoulli. At log(2) / 2 the next term is 1e-17 of the sum,
# and moves the quotient by 2e-18 of itself.
SECOND, FOURTH, SIXTH = 1 / 6, -1 / 360, 1 / 15120
EIGHTH, TENTH, TWELFTH = -1 / 604800, 1 / 23950080, -691 / 653837184000


def exponential(exponent: float) -> float:
    """Return ``e**exponent`` for exponents within 700 of zero, NaN for NaN.

    With ``exponent = k log(2) + r`` it is ``2**k (c + r) / (c - r)`` where ``c = r coth(r / 2)``, a
    series in ``r**2``. Rounding ``r``, ``c``, the two sums and the quotient errs by at most 4
    roundoffs of 2**-53, relatively.

    Reference
    ---------
    Abramowitz and Stegun 1964, 4.5.67 (the series).
    """
    shifted = np.float64(exponent * INVERSE_LOG_2 + ROUNDING)
    k = shifted - ROUNDING
    r = (exponent - k * LOG_2) - k * REST_OF_LOG_2
    s = r * r
    c = 2 + s * (SECOND + s * (FOURTH + s * (SIXTH + s * (EIGHTH + s * (TENTH + s * TWELFTH)))))
    power = np.int64((shifted.view(np.int64) + BIAS) << FRACTION_BITS).view(np.float64)
    value: float = power * ((c + r) / (c - r))
    return value


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
