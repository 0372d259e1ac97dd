"""Finite floats as ordered integers, so that a bisection covers every unit and every offset.

The bit pattern of a positive double grows with its value; negative ones mirror it. Neighbouring
floats have neighbouring keys, one octave holds ``2**52`` of them, and halving the range of keys
twelve times from the whole line leaves one octave.

Reference
---------
IEEE 754-2019, section 3.4 (binary interchange format); Smith 2011, Section 3 (the search).
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["LARGEST_KEY", "float_of", "key_of"]

SIGN_BIT = np.int64(np.iinfo(np.int64).min)
LARGEST_KEY = int(np.float64(np.finfo(np.float64).max).view(np.int64))
"""Key of the largest finite float."""


def key_of(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the keys of finite floats; both zeros have key 0.

    Examples
    --------
    >>> key_of(np.array([0.0, -0.0, 5e-324, -5e-324])).tolist()
    [0, 0, 1, -1]
    """
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.int64)
    return np.where(bits < 0, SIGN_BIT - bits, bits)


def float_of(keys: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the floats of keys; the inverse of ``key_of``.

    Examples
    --------
    >>> float_of(key_of(np.array([-1.5, 0.0, 1e300]))).tolist()
    [-1.5, 0.0, 1e+300]
    """
    keys = np.asarray(keys, dtype=np.int64)
    return np.where(keys < 0, SIGN_BIT - keys, keys).view(np.float64)
