"""Does an event keep a promise, and how large may it be? Answers err on the safe side."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, singledispatch

from tailguard.checks import InputError, shown
from tailguard.privacy.accounting.additive import AdditiveAccountant
from tailguard.privacy.accounting.distance import EXACT, Distance
from tailguard.privacy.accounting.gdp import GdpAccountant
from tailguard.privacy.accounting.smallest import smallest_epsilon
from tailguard.privacy.accounting.total_cost import epsilon_at_distance
from tailguard.privacy.accounting.zcdp import ZcdpAccountant
from tailguard.privacy.events import Event
from tailguard.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP
from tailguard.privacy.roots import ROUNDING, crossing, down, step_until

# Relative accuracy of a calibrated parameter; what is lost goes to the safe side.
ACCURACY = 1e-10


@singledispatch
def spent_share(guarantee: Guarantee, event: Event) -> float:
    """Return what the event costs over what the guarantee allows; infinity where no bound is known.

    *Guarantee.* Never below the truth; at most 1 exactly if the event keeps the promise.
    """
    raise InputError(f"guarantee must be an ApproxDP, PureDP, ZCDP or GDP; got {shown(guarantee)}.")


@spent_share.register
def _(guarantee: ApproxDP | PureDP, event: Event) -> float:
    return smallest_epsilon(event, guarantee.delta).epsilon / guarantee.epsilon


@spent_share.register
def _(guarantee: ZCDP, event: Event) -> float:
    return _share_of(Fraction(guarantee.rho), ZcdpAccountant.of(event))


@spent_share.register
def _(guarantee: GDP, event: Event) -> float:
    return math.sqrt(_share_of(Fraction(guarantee.mu) ** 2, GdpAccountant.of(event)))


def satisfies(event: Event, guarantee: Guarantee, *, distance: Distance = EXACT) -> bool:
    """Tell whether the event costs at most the guarantee, as far as any accountant can prove.

    The ``distance`` of what is sampled from the event's own law is charged to an (epsilon, delta)
    promise; other promises are kept up to that distance.

    Examples
    --------
    >>> from tailguard.privacy.events import Gaussian, Repeated
    >>> satisfies(Repeated(Gaussian(mu=0.1), 5), ApproxDP(epsilon=1.0, delta=1e-6))
    True
    >>> satisfies(Repeated(Gaussian(mu=0.1), 6), ApproxDP(epsilon=1.0, delta=1e-6))
    False
    """
    if distance and isinstance(guarantee, ApproxDP):
        bound = epsilon_at_distance(event, guarantee.delta, distance)
        return bound.epsilon <= guarantee.epsilon
    return spent_share(guarantee, event) <= 1.0


def calibrate(
    event_of: Callable[[float], Event],
    guarantee: Guarantee,
    *,
    guess: float = 1.0,
    accuracy: float = ACCURACY,
) -> float:
    """Return the largest parameter whose event costs at most the guarantee, rounded down.

    *Guarantee.* ``satisfies(event_of(parameter), guarantee)`` holds for what is returned.

    *Edge cases.* The cost must not fall as the parameter grows. The search starts at ``guess``;
    what it finds is relatively within ten times ``accuracy`` of the largest.

    *Reference.* Balle and Wang 2018, Section 3.1 (calibration by root finding).

    Examples
    --------
    >>> from tailguard.privacy.events import Gaussian, Repeated
    >>> mu = calibrate(lambda mu: Repeated(Gaussian(mu), times=100), GDP(mu=1.0))
    >>> round(mu, 9)
    0.1
    """
    share = cache(lambda parameter: spent_share(guarantee, event_of(parameter)))
    # The clip keeps Brent's method away from infinite costs and from the logarithm of 0.
    root = crossing(
        lambda parameter: math.log(min(max(share(parameter), 1e-9), 1e9)),
        guess=guess,
        rtol=accuracy,
    )
    if not 0.0 < root < math.inf:
        raise InputError(f"event_of must meet {guarantee.describe()} at some parameter; none does.")
    return step_until(
        lambda parameter: share(parameter) <= 1.0, down(root), 1.0 - max(ROUNDING, accuracy / 100.0)
    )


def _share_of(allowed: Fraction, accountant: AdditiveAccountant | None) -> float:
    """Return the total over what is allowed, as a float that is at most 1 exactly if it is."""
    if accountant is None or accountant.failure:
        return math.inf
    ratio = float(accountant.total / allowed)
    return ratio if accountant.total > allowed else min(1.0, ratio)
