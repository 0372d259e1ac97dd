"""One-sided root finding: Brent's method first, then steps to the safe side until the bound holds.

As in ``dp_accounting``'s mechanism calibration, the root is not trusted: the inequality is checked
there.
"""

import math
from collections.abc import Callable
from functools import cache

from scipy.optimize import brentq

# Relative safety margin. The closed forms agree with 80-digit arithmetic to 6e-13
# (tests/privacy_core/accounting/test_gaussian.py); the rest leaves room for sums of rounded shares.
ROUNDING = 1e-12


def up(value: float) -> float:
    """Round a cost up, so that it is never below the truth."""
    return value * (1.0 + ROUNDING)


def down(value: float) -> float:
    """Round a budget down by twice the rounding of costs, so that costs rounded up still fit."""
    return value * (1.0 - 2.0 * ROUNDING)


def crossing(excess: Callable[[float], float], guess: float, rtol: float = 8.9e-16) -> float:
    """Return where an increasing function of a positive number crosses zero.

    The bracket grows from ``guess`` by factors of four. 0 or infinity means that there is no
    crossing. By default the result is precise to a float's last digit.
    """
    excess = cache(excess)  # Brent's method evaluates both ends of the bracket once more
    low = high = guess
    if math.isinf(guess):
        return guess  # a quarter of it is infinite as well
    while excess(high) < 0:
        low, high = high, 4.0 * high
        if math.isinf(high):
            return math.inf
    while excess(low) > 0:
        low, high = low / 4.0, low
        if low == 0.0:
            return 0.0
    return float(brentq(excess, low, high, xtol=1e-300, rtol=rtol, maxiter=500))


def step_until(holds: Callable[[float], bool], value: float, factor: float) -> float:
    """Multiply ``value`` by a factor that grows, until the bound holds."""
    while not holds(value):
        value *= factor
        factor *= factor
    return value
