"""Compile the inner functions of losses with Numba, on first use.

Loading Numba takes about 0.3 s, which ``import tailguard`` need not wait for. A compiled function
is kept on disk, so that only the first use on a machine compiles.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

__all__ = ["compile_gradient", "compile_slope"]

Function = TypeVar("Function", bound=Callable[..., object])


def compile_slope(function: Function) -> Function:
    """Compile ``(score, target, shape) -> slope``.

    Examples
    --------
    >>> import numpy as np
    >>> from tailguard.losses import Huber
    >>> loss = Huber(threshold=1.0)
    >>> loss.slope_scalar(5.0, 3.0, loss.shape)
    1.0
    """
    compiled: Function = _compile(function, "float64(float64, float64, float64[::1])")
    return compiled


def compile_gradient(function: Function) -> Function:
    """Compile ``(weights, features, target) -> gradient`` of one record.

    Examples
    --------
    >>> import numpy as np
    >>> from tailguard.losses import Multinomial
    >>> Multinomial(2).record_gradient(np.zeros(2), np.array([4.0]), 1.0)
    array([ 2., -2.])
    """
    compiled: Function = _compile(function, "float64[::1](float64[::1], float64[::1], float64)")
    return compiled


@cache
def _compile(function: Callable[..., object], signature: str) -> Any:
    from numba import njit  # noqa: PLC0415 (see the module's docstring)

    # The "numpy" error model gives infinities where Python raises: a slope never raises.
    return njit(signature, cache=True, error_model="numpy", nogil=True)(function)
