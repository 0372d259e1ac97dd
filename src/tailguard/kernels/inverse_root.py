"""One over a square root, nearly, by products and sums: a root and a quotient take far longer.

Reference
---------
Lomont 2003, "Fast inverse square root" (the first guess); Newton's method for the rest.
"""

import numpy as np

from tailguard.array_types import FloatArray

__all__ = ["FIRST_GUESS", "STEPS", "nearly_inverse_root"]

FIRST_GUESS = 0x5FE6EB50C7B537A9
"""Bits that, less half of those of a float, are those of its inverse root to 3.5 %."""

STEPS = 3
"""Newton's steps, each of which leaves 1.5 times the square of the error: 4e-11 in the end."""


def nearly_inverse_root(value: FloatArray) -> FloatArray:
    """Return one over the square roots of normal numbers above zero, to 4e-11 of themselves.

    Compiled kernels do the same with ``Lanes.nearly_inverse_root``.

    Examples
    --------
    >>> nearly_inverse_root(np.array([4.0, 1e-200])).round(9)
    array([5.e-01, 1.e+100])
    """
    root: FloatArray = (FIRST_GUESS - (value.view(np.int64) >> 1)).view(np.float64)
    for _ in range(STEPS):
        root = root * (1.5 - 0.5 * value * (root * root))
    return root
