"""Bound one vector by an l2 limit, whatever it holds."""

import math
from collections.abc import Callable

import numpy as np

from tailguard.machine_code import compiled

from .block import FloatArray

__all__ = ["compiled_clip", "safe_clip"]


def safe_clip(vector: FloatArray, limit: float) -> FloatArray:
    """Return ``vector`` scaled down to l2 norm ``limit`` where it is longer.

    Edge cases
    ----------
    A vector with an entry that is not finite becomes zero. Entries near the largest float keep
    their direction: they are scaled before they are squared.

    Examples
    --------
    >>> safe_clip(np.array([3e300, 4e300]), 1.0)
    array([0.6, 0.8])
    >>> safe_clip(np.array([1.0, np.nan]), 1.0)
    array([0., 0.])
    """
    clipped = np.array(vector, dtype=np.float64)
    compiled_clip()(clipped, limit)
    return clipped


def compiled_clip() -> Callable[[FloatArray, float], float]:
    """Return the compiled clip, which works in place and gives the norm before clipping.

    Examples
    --------
    >>> vector = np.array([3.0, 4.0])
    >>> compiled_clip()(vector, 1.0)
    5.0
    >>> vector
    array([0.6, 0.8])
    """
    signature = "float64(float64[::1], float64)"
    return compiled(_clip_in_place, signature, error_model="numpy", nogil=True)


def _clip_in_place(vector: FloatArray, limit: float) -> float:
    largest = 0.0
    for j in range(vector.size):
        # Every entry is tested: a maximum may pass over a NaN.
        if not math.isfinite(vector[j]):
            vector[:] = 0.0
            return 0.0
        largest = max(largest, abs(vector[j]))
    if largest == 0.0:
        return 0.0
    square = 0.0
    for j in range(vector.size):
        square += (vector[j] / largest) ** 2
    length = math.sqrt(square)
    allowed = limit * (1 - 4 * (vector.size + 2) * 2.0**-53)  # the shrink of chunks.py
    if largest * length > allowed:
        for j in range(vector.size):
            vector[j] = vector[j] / largest * (allowed / length)
    return largest * length
