"""Accountants: an immutable sum of events that knows their joint cost; and that of pure epsilon.

Most accountants have a currency that simply adds up: pure epsilon, zCDP's rho, or the square of
GDP's mu. Sums are exact rational numbers, so that a total is compared with a promise without
rounding. An (epsilon, delta) release is an epsilon-DP release that fails with probability delta:
its epsilon is the price, and its delta is counted separately.

With pure epsilon, by basic composition, the epsilons add up. It is the only accountant with a
finite bound at delta = 0, and the tightest for a few costly releases.

Reference
---------
Murtagh and Vadhan 2016, Lemma 3.2 (an (epsilon, delta) release as a pure one that may fail); Dwork
and Lei 2009, Theorem 16 (composition); Kairouz, Oh and Viswanath 2015, Section 3 (delta of an
epsilon-DP mechanism, attained by randomised response).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

from tailguard.checks import InputError, check_cost, check_count, check_failure
from tailguard.privacy.events import Approximate, BoundedRange, Event, Laplace, Pure
from tailguard.privacy.flat_events import FlatEvents, flatten
from tailguard.privacy.roots import ROUNDING


@dataclass(frozen=True)
class Accountant(ABC):
    """Adds events up and refuses leaves that are not ``known``; every result is an upper bound."""

    known: ClassVar[frozenset[type[Event]]]
    flat_events: FlatEvents = field(default_factory=FlatEvents)

    @classmethod
    def of(cls, event: Event) -> Self | None:
        """Return the accountant of one event, or None if it does not know a leaf of the event."""
        return cls().compose(event) if cls().supports(event) else None

    def supports(self, event: Event) -> bool:
        """Whether this accountant knows every leaf of the event."""
        return flatten(event).kinds <= self.known

    def compose(self, event: Event, times: int = 1) -> Self:
        """Return an accountant with ``event`` added ``times`` times; refuse unknown leaves."""
        check_count("times", times)
        added = flatten(event)
        if unknown := sorted(kind.__name__ for kind in added.kinds - self.known):
            raise InputError(f"{type(self).__name__} does not know events of type {unknown}.")
        return type(self)(FlatEvents.total((self.flat_events, added.times(times))))

    @abstractmethod
    def epsilon(self, delta: float) -> float:
        """Return an upper bound on epsilon at ``delta``; infinity if none is known."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta at ``epsilon``; 1 if none is known."""


Prices = Mapping[type[Event], Callable[[Any], Fraction]]


class AdditiveAccountant(Accountant):
    """Adds up prices, and separately the failure probabilities of (epsilon, delta) events."""

    prices: ClassVar[Prices]

    def __init_subclass__(cls) -> None:
        cls.known = frozenset(cls.prices)

    @cached_property
    def total(self) -> Fraction:
        """The exact total in the accountant's own currency."""
        return self.flat_events.add_up(lambda leaf: self.prices[type(leaf)](leaf))

    @cached_property
    def failure(self) -> Fraction:
        """The total failure probability of events that may fail."""
        return self.flat_events.add_up(lambda leaf: Fraction(getattr(leaf, "delta", 0)))

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on epsilon at ``delta``."""
        rest = Fraction(check_failure("delta", delta)) - self.failure
        if rest < 0:
            return math.inf
        return self._epsilon(-ceiling(-rest)) if self.total else 0.0

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta at ``epsilon``."""
        epsilon = check_cost("epsilon", epsilon)
        without_failure = Fraction(self._delta(epsilon)) if self.total else 0
        return min(1.0, ceiling(without_failure + self.failure))

    @abstractmethod
    def _epsilon(self, delta: float) -> float:
        """Return the epsilon of a total above 0, without failures, at a delta of at least 0."""

    @abstractmethod
    def _delta(self, epsilon: float) -> float:
        """Return the delta of a total above 0, without failures, at an epsilon."""


def ceiling(exact: Fraction) -> float:
    """Return the smallest float that is not below an exact number."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)


class PureAccountant(AdditiveAccountant):
    """Adds up pure epsilons; Gaussian and zCDP events have none and are refused.

    *Guarantee.* Replace-one neighbours, adaptive composition.

    *Edge cases.* ``epsilon(delta=0)`` is the plain sum.

    *Reference.* Dwork and Lei 2009, Theorem 16.

    Examples
    --------
    >>> from tailguard.privacy.events import Laplace
    >>> PureAccountant().compose(Laplace(epsilon=0.25), times=4).epsilon(delta=0.0)
    1.0
    """

    prices: ClassVar[Prices] = {
        Laplace: lambda event: Fraction(event.epsilon),
        Pure: lambda event: Fraction(event.epsilon),
        BoundedRange: lambda event: Fraction(event.eta),
        Approximate: lambda event: Fraction(event.epsilon),
    }

    def _epsilon(self, delta: float) -> float:
        total = ceiling(self.total)
        without_failure = 1.0 - delta * (1.0 + math.exp(-total))
        if delta == 0.0 or without_failure <= 0.0:
            return total if delta == 0.0 else 0.0
        return min(total, max(0.0, total + math.log(without_failure) + ROUNDING * (1.0 + total)))

    def _delta(self, epsilon: float) -> float:
        total = ceiling(self.total)
        if epsilon >= total:
            return 0.0
        return -math.expm1(epsilon - total) / (1.0 + math.exp(-total)) * (1.0 + ROUNDING)
