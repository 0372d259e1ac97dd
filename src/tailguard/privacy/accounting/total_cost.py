"""The cost of an event in every currency; whether an event keeps a promise; calibration to it.

Every accountant gives an upper bound, so the smallest bound is used. Results err on the safe side.
The distance of sampled noise from the accounted distribution is charged:

The books account for a Gaussian that is rounded to the lattice, which is exactly mu-GDP; the
sampler draws a discrete Gaussian from a table. Two numbers bound the distance between the laws of
all releases. Outside an event of probability ``variation``, the probability of every outcome lies
within a factor ``exp(log_ratio)`` of the accounted one, in both directions. Both numbers add up
over releases, even if later ones depend on earlier ones, since the law of a transcript is a product
of conditional laws.

Let the accounted law be (e, d)-DP, let ``r`` be ``log_ratio``, and let ``v`` be ``variation``. For
neighbours and any set of outcomes, the sampled probabilities ``S, S'`` and the accounted
probabilities ``Q, Q'`` satisfy
``S <= exp(r) Q + v <= exp(r) (exp(e) Q' + d) + v <= exp(e + 2 r) (S' + v) + exp(r) d + v``. So the
sampled release is ``(e + 2 r, exp(r) d + (1 + exp(e + 2 r)) v)``-DP.

Reference
---------
Canonne, Kamath and Steinke 2020, Section 5 (samplers that are nearly exact); Micciancio and Walter
2017, Lemma 2 (closeness in the relative sense, which loses less than total variation does).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cache, lru_cache

from tailguard.checks import InputError, check_failure, shown
from tailguard.privacy.accounting.accountant import Accountant, AdditiveAccountant, PureAccountant
from tailguard.privacy.accounting.gaussian import GdpAccountant
from tailguard.privacy.accounting.pld import PldAccountant
from tailguard.privacy.accounting.zcdp import ZcdpAccountant
from tailguard.privacy.events import Event, Gaussian, Unbounded, check_event
from tailguard.privacy.flat_events import flatten
from tailguard.privacy.guarantees import GDP, ApproxDP, Guarantee, check_guarantee
from tailguard.privacy.roots import ROUNDING, crossing, down, step_until, up
from tailguard.privacy.selection import RenyiAccountant, SelectionAccountant


@dataclass(frozen=True)
class Distance:
    """The distance of sampled noise from the accounted distribution.

    Attributes
    ----------
    log_ratio
        Outside an event, probabilities lie within a factor ``exp(log_ratio)``, in both directions.
    variation
        The probability of that event.
    """

    log_ratio: float = 0.0
    variation: float = 0.0

    def __add__(self, other: "Distance") -> "Distance":
        return Distance(self.log_ratio + other.log_ratio, self.variation + other.variation)

    def times(self, times: int) -> "Distance":
        """Return the distance of ``times`` releases together."""
        return Distance(times * self.log_ratio, times * self.variation)

    def within(self, other: "Distance") -> bool:
        """Whether both numbers are at most those of the other."""
        return self.log_ratio <= other.log_ratio and self.variation <= other.variation

    def accounted_cost(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Return what accounted noise may cost if sampled noise may cost (epsilon, delta).

        If a returned number is not positive, no cost is allowed.
        """
        failure = (1.0 + math.exp(min(epsilon, 700.0))) * self.variation
        return epsilon - 2.0 * self.log_ratio, (delta - failure) * math.exp(-self.log_ratio)

    def __bool__(self) -> bool:
        return self != EXACT


EXACT = Distance()

# For a lattice with four table draws per coordinate; a test compares it with the sampler. Under an
# (epsilon, delta) guarantee this distance is charged, so the gate then refuses coarser lattices.
COORDINATE_DISTANCE = Distance(log_ratio=1.3e-12, variation=3e-26)
"""Largest distance of sampled noise from the accounted distribution, per released coordinate."""


# The fastest ones first: if several give the same bound, the first is reported. Every total uses
# all of them, and the contract tests run for each.
ACCOUNTANTS: Mapping[str, type[Accountant]] = {
    "gdp": GdpAccountant,
    "zcdp": ZcdpAccountant,
    "pure": PureAccountant,
    "selection": SelectionAccountant,
    "renyi": RenyiAccountant,
    "pld": PldAccountant,
}


@dataclass(frozen=True)
class EpsilonBound:
    """An upper bound on epsilon, and the accountant that proves it.

    Examples
    --------
    >>> EpsilonBound(epsilon=1.0, accountant="gdp").accountant
    'gdp'
    """

    epsilon: float
    accountant: str


def smallest_epsilon(event: Event, delta: float) -> EpsilonBound:
    """Return the smallest epsilon that any accountant proves for the event at ``delta``.

    *Guarantee.* Never below the truth. If everything is Gaussian, exact up to rounding.

    *Edge cases.* ``delta = 0`` requests pure differential privacy. The result is infinity if the
    event has none, and for an ``Unbounded`` release.

    Examples
    --------
    >>> from tailguard.privacy.events import Laplace, Repeated
    >>> bound = smallest_epsilon(Repeated(Gaussian(mu=0.1), 100), delta=1e-6)
    >>> round(bound.epsilon, 8), bound.accountant
    (4.88655412, 'gdp')
    >>> smallest_epsilon(Repeated(Laplace(epsilon=0.25), 4), delta=0.0)
    EpsilonBound(epsilon=1.0, accountant='pure')
    """
    return _smallest_epsilon(check_event("event", event), check_failure("delta", delta))


# A plan, its books, its certificate and each of its runs need the cost of the same event. For a
# repeated shuffle it takes a second to compute.
@lru_cache(maxsize=1024)
def _smallest_epsilon(event: Event, delta: float) -> EpsilonBound:
    if Unbounded in flatten(event).kinds:
        return EpsilonBound(math.inf, "none")
    names = list(ACCOUNTANTS) if total_mu(event) is None else ["gdp"]
    accountants = [(name, ACCOUNTANTS[name].of(event)) for name in names]
    bounds = [(each.epsilon(delta), name) for name, each in accountants if each is not None]
    if not bounds:
        raise InputError(f"event must be known to an accountant; got {shown(event)}.")
    epsilon, name = min(bounds, key=lambda bound: bound[0])
    return EpsilonBound(epsilon, name)


def total_mu(event: Event) -> float | None:
    """Return the exact total mu if everything is Gaussian, else None.

    Examples
    --------
    >>> from tailguard.privacy.events import Laplace, Repeated
    >>> total_mu(Repeated(Gaussian(mu=0.5), 4))
    1.0
    >>> total_mu(Laplace(epsilon=0.1))
    """
    if not flatten(event).kinds <= {Gaussian}:
        return None
    return GdpAccountant().compose(event).mu


@dataclass(frozen=True)
class TotalCost:
    """The cost of an event; None where a currency cannot express it.

    Attributes
    ----------
    epsilon, delta
        The smallest proven epsilon at the promised delta; None when no delta was promised.
    mu
        The GDP total. It is exact if everything is Gaussian. Otherwise it is an upper bound if a mu
        was promised, else None.
    rho
        A zCDP total; None for events that may fail.
    accountant
        The accountant that proves the epsilon or, without an epsilon, the other numbers.
    """

    epsilon: float | None
    delta: float | None
    mu: float | None
    rho: float | None
    accountant: str

    def to_dict(self) -> dict[str, float | str | None]:
        """Return it as plain data; an infinite cost becomes a word, as JSON has no infinity."""
        return {
            name: "infinite" if value == math.inf else value for name, value in asdict(self).items()
        }


def total_cost(
    event: Event, delta: float | None, *, distance: Distance = EXACT, bound_mu: bool = False
) -> TotalCost:
    """Return the cost of an event in every currency.

    ``bound_mu`` also states a mu that is only an upper bound, from the accountant that checks
    promises in mu.
    """
    if Unbounded in flatten(event).kinds:
        return TotalCost(None if delta is None else math.inf, delta, None, math.inf, "none")
    mu, gdp, zcdp = total_mu(event), GdpAccountant.of(event), ZcdpAccountant.of(event)
    if bound_mu and gdp is not None and not gdp.failure:
        mu = gdp.mu
    rho = None if zcdp is None or zcdp.failure else zcdp.rho
    if delta is None:
        return TotalCost(None, None, mu, rho, "zcdp" if mu is None else "gdp")
    bound = epsilon_at_distance(event, delta, distance)
    return TotalCost(bound.epsilon, delta, mu, rho, bound.accountant)


def epsilon_at_distance(event: Event, delta: float, distance: Distance) -> EpsilonBound:
    """Return the smallest epsilon for noise that is within ``distance`` of the event's noise.

    *Guarantee.* The result satisfies ``Distance.accounted_cost``.

    *Reference.* Canonne, Kamath and Steinke 2020, Section 5 (samplers that are nearly exact).
    """
    bound = smallest_epsilon(event, delta)
    while distance and bound.epsilon < math.inf:
        # Charge the distance at a slightly larger epsilon, so that the loop ends once it suffices.
        charged_at = up(bound.epsilon)
        _, rest = distance.accounted_cost(charged_at, delta)
        ideal = smallest_epsilon(event, rest) if rest > 0 else EpsilonBound(math.inf, "none")
        bound = EpsilonBound(ideal.epsilon + 2.0 * distance.log_ratio, ideal.accountant)
        if bound.epsilon <= charged_at:
            break
    return bound


# Relative accuracy of a calibrated parameter, which errs on the safe side.
ACCURACY = 1e-10


def spent_share(guarantee: Guarantee, event: Event) -> float:
    """Return the cost of the event divided by what the guarantee allows; infinity without a bound.

    *Guarantee.* Never below the truth; at most 1 if and only if the event keeps the promise.
    """
    _, allowed = check_guarantee(guarantee).strength
    if guarantee.delta is not None:
        return smallest_epsilon(event, guarantee.delta).epsilon / allowed
    if isinstance(guarantee, GDP):
        return math.sqrt(_share_of(Fraction(allowed) ** 2, GdpAccountant.of(event)))
    return _share_of(Fraction(allowed), ZcdpAccountant.of(event))


def satisfies(event: Event, guarantee: Guarantee, *, distance: Distance = EXACT) -> bool:
    """Whether the event costs at most the guarantee, as far as any accountant can prove.

    ``distance`` is that of the sampled noise from the event's noise. It is charged to an (epsilon,
    delta) promise; other promises are kept up to this distance.

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

    *Guarantee.* ``satisfies(event_of(parameter), guarantee)`` holds for the result.

    *Edge cases.* The cost must not fall as the parameter grows. The search starts at ``guess``; the
    relative error of the result is at most ten times ``accuracy``.

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
    """Return total / allowed, as a float that is at most 1 if and only if the exact ratio is."""
    if accountant is None or accountant.failure:
        return math.inf
    ratio = float(accountant.total / allowed)
    return ratio if accountant.total > allowed else min(1.0, ratio)
