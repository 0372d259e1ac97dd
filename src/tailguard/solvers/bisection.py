"""Private quantiles of several columns at once, by bisection over the ordered floats.

Each step releases one noised count per column and halves every column's interval. The number of
steps is fixed, nothing but released counts is looked at, and no bound on the data is needed.

Reference
---------
Smith 2011, Section 3 (quantiles from noisy ranks); Dong, Roth and Su 2022, Corollary 3.3 (the
adaptive sequence of Gaussian counts costs ``mu * sqrt(steps)``).
"""

from collections.abc import Callable

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.solvers.float_keys import LARGEST_KEY, float_of

__all__ = ["SIGNED_OCTAVE_STEPS", "UNSIGNED_OCTAVE_STEPS", "bisect_quantiles"]


SIGNED_OCTAVE_STEPS = 12
"""Steps from the whole line to one octave."""

UNSIGNED_OCTAVE_STEPS = 11
"""Steps from all non-negative floats to one octave."""


def bisect_quantiles(
    counts_below: Callable[[FloatArray], FloatArray],
    targets: FloatArray,
    *,
    steps: int,
    signed: bool,
) -> FloatArray:
    """Find, per column, a value at or below which about ``targets`` records lie.

    Parameters
    ----------
    counts_below
        Releases the noised counts at or below one threshold per column.
    targets
        The wanted count per column.
    steps
        The number of releases.
    signed
        Whether values below zero are searched too.

    Examples
    --------
    >>> data = np.arange(1.0, 101.0)
    >>> exact = lambda thresholds: np.array([(data <= thresholds[0]).sum()])
    >>> float(bisect_quantiles(exact, np.array([50.0]), steps=40, signed=True)[0].round(3))
    50.0
    """
    low = np.full(targets.shape, -LARGEST_KEY if signed else 0, dtype=np.int64)
    high = np.full(targets.shape, LARGEST_KEY, dtype=np.int64)
    for _ in range(steps):
        middle = low // 2 + high // 2
        reached = counts_below(float_of(middle)) >= targets
        high = np.where(reached, middle, high)
        low = np.where(reached, low, middle)
    return float_of(high)
