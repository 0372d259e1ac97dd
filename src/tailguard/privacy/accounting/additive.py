"""Accountants whose currency simply adds up: pure epsilon, zCDP's rho, the square of GDP's mu.

Sums are exact rational numbers, so that a total is compared with a promise without rounding. An
(epsilon, delta) release is an epsilon-DP release that fails with probability delta: it is priced by
its epsilon, and its delta is kept apart.

Reference
---------
Murtagh and Vadhan 2016, Lemma 3.2 (an (epsilon, delta) release as a pure one that may fail).
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from tailguard.checks import check_cost, check_failure
from tailguard.privacy.accounting.base import Accountant
from tailguard.privacy.events import Event

Prices = Mapping[type[Event], Callable[[Any], Fraction]]


class AdditiveAccountant(Accountant):
    """Adds up prices, and sets the failure probabilities of (epsilon, delta) events aside."""

    prices: ClassVar[Prices]

    def __init_subclass__(cls) -> None:
        cls.known = frozenset(cls.prices)

    @cached_property
    def total(self) -> Fraction:
        """The exact total in the accountant's own currency."""
        return self.flat_events.add_up(lambda leaf: self.prices[type(leaf)](leaf))

    @cached_property
    def failure(self) -> Fraction:
        """The probability that is kept apart for events that may fail."""
        return self.flat_events.add_up(lambda leaf: Fraction(getattr(leaf, "delta", 0)))

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on epsilon at ``delta``."""
        left = Fraction(check_failure("delta", delta)) - self.failure
        if left < 0:
            return math.inf
        return self._epsilon(-ceiling(-left)) if self.total else 0.0

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta at ``epsilon``."""
        epsilon = check_cost("epsilon", epsilon)
        likely = Fraction(self._delta(epsilon)) if self.total else 0
        return min(1.0, ceiling(likely + self.failure))

    @abstractmethod
    def _epsilon(self, delta: float) -> float:
        """Convert a total above 0, failures apart, at a delta of at least 0."""

    @abstractmethod
    def _delta(self, epsilon: float) -> float:
        """Convert a total above 0, failures apart, at an epsilon."""


def ceiling(exact: Fraction) -> float:
    """Return the smallest float that is not below an exact number."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)
