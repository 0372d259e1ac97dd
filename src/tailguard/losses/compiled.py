"""Compile the inner functions of losses with Numba, on first use.

Machine code is kept on disk, so that only the first use on a machine compiles.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from tailguard.machine_code import compiled

__all__ = ["compile_gradient", "compile_slope"]

Function = TypeVar("Function", bound=Callable[..., Any])

# The "numpy" error model gives infinities where Python raises: a slope never raises.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}


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
    return compiled(function, "float64(float64, float64, float64[::1])", **OPTIONS)


def compile_gradient(function: Function) -> Function:
    """Compile ``(weights, features, target) -> gradient`` of one record.

    Examples
    --------
    >>> import numpy as np
    >>> from tailguard.losses import Multinomial
    >>> Multinomial(2).record_gradient(np.zeros(2), np.array([4.0]), 1.0)
    array([ 2., -2.])
    """
    return compiled(function, "float64[::1](float64[::1], float64[::1], float64)", **OPTIONS)
