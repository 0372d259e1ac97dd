"""The cap of a ledger: it decides whether one more run may be charged, and how large it may be.

Each run may depend on all earlier answers. So a bound for events that were fixed in advance is not
enough. The cap uses privacy *filters*: totals that remain valid if later charges depend on earlier
answers.

* A cap in pure epsilon, rho or mu adds charges up in that currency.
* Under (epsilon, delta) there are two filters. One adds charges up in pure epsilon, up to
  ``epsilon``; the other in mu, up to the mu that (epsilon, delta) allows. Gaussian releases have
  their own mu; over the blocks of a partition the costliest counts. The rest of a run, such as
  samples, shuffles and noise whose scale depends on the records, gets the price of a Gaussian
  release that covers all of it up to a small failure probability (``privacy/accounting/cover.py``).
  A hundredth of delta is reserved for failures.
* Every accountant checks the first charge, as it checks a single fit.

*Which amounts count.* For an open run, everything that it reserved. For a run that was settled
after an early stop, what it released, if ``charges.py`` allows that. For every other run, what it
reserved, forever.

*Proof that two filters may be combined.* Let the *released total* of a history, in the currency of
a filter, be the sum of the prices of all Gaussian or pure releases and of all covers; a cover
counts from the first release that it covers. The released total never decreases. At the last
admission the charges met one filter: what settled runs had released and open runs had reserved was
within its limit. After that, open runs release no more than they reserved, and settled runs release
nothing. So the released total is within that limit at the end, and hence at all times, whatever was
given back earlier. Let a run that stops before its released total exceeds the limit of the first
filter be (epsilon, 0)-DP, and such a run of the second filter (epsilon, delta)-DP. Split the
histories into those that end within the first filter and all others. A set of histories is the
union of its two parts, and each part has the probability that it has in a run of one filter alone.
So with both filters the probability is at most exp(epsilon) times that of a neighbour plus delta.
The first charge depends on no release. If it meets no filter, nothing else is ever released, it
keeps the cap alone, and nothing of it is ever given back. Runs may be open at the same time:
their releases, each priced separately, are one adaptive sequence.

Reference
---------
Rogers, Roth, Ullman and Vadhan 2016 (filters; adding up pure epsilons); Feldman and Zrnic 2021
(filters in rho); Smith and Thakurta 2022, and Koskela, Tobaben and Honkela 2023 (filters in mu);
Haney et al. 2023 (filters for runs that are open at the same time, including covers).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from tailguard.checks import InputError
from tailguard.privacy.accounting.accountant import AdditiveAccountant, PureAccountant
from tailguard.privacy.accounting.cover import covering_mu
from tailguard.privacy.accounting.gaussian import GdpAccountant, epsilon_of, mu_of
from tailguard.privacy.accounting.total_cost import satisfies
from tailguard.privacy.accounting.zcdp import ZcdpAccountant
from tailguard.privacy.events import Event
from tailguard.privacy.flat_events import FlatEvents, flatten
from tailguard.privacy.guarantees import (
    GDP,
    WEAKEST,
    ZCDP,
    ApproxDP,
    Guarantee,
    PureDP,
    check_guarantee,
)

# The share of delta that is reserved for failures of covers; it costs 5e-4 of epsilon = 1. At
# delta = 1e-6 it is enough for 90 runs that are priced by a cover.
FAILURE_SHARE = 1e-2

# A remainder below this fraction of a limit is a rounding error.
ROUNDED = Fraction(1e-9)

# The delta at which messages convert a cap in mu or rho to epsilon.
USUAL_DELTA = 1e-6

Price: TypeAlias = tuple[Fraction, Fraction]
"""A price in some currency, and a failure probability."""


@dataclass(frozen=True)
class Charge:
    """The charge of a run.

    Attributes
    ----------
    event
        The planned event, which is the cost of the run.
    cover
        The mu of a Gaussian release that covers all parts of the event that are not Gaussian, and
        its failure probability. None if the event has its own price, or no price at all.
    """

    event: Event
    cover: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not _largest_number(flatten(self.event)) <= WEAKEST:
            raise InputError(
                f"event must have costs and counts of at most {WEAKEST:g}, beyond which no cap "
                "goes; it has a larger one, and nothing is charged or released."
            )

    @cached_property
    def prices(self) -> dict[type[AdditiveAccountant], Price | None]:
        """The prices computed so far, by currency; each new charge needs those of all others."""
        return {}


@dataclass(frozen=True)
class Filter:
    """An additive currency and its limit."""

    accountant: type[AdditiveAccountant]
    limit: Fraction
    failure: Fraction = Fraction(0)

    def admits(self, charges: Sequence[Charge]) -> bool:
        """Whether all charges together are within the limit."""
        left = self.left(charges)
        return left is not None and left >= 0

    def left(self, charges: Sequence[Charge]) -> Fraction | None:
        """Return the rest of the limit; None without all prices, or if failures are too likely."""
        prices = [price(self.accountant, charge) for charge in charges]
        known = [each for each in prices if each is not None]
        if len(known) < len(prices) or exact_sum(failure for _, failure in known) > self.failure:
            return None
        return self.limit - exact_sum(cost for cost, _ in known)


@dataclass(frozen=True)
class Cap:
    """The most that all runs on a data set may cost together.

    *Guarantee.* All admitted charges together keep the cap, up to the distance of sampled from
    ideal noise; later charges may depend on earlier answers.

    *Reference.* The module's head.
    """

    guarantee: Guarantee

    def __post_init__(self) -> None:
        filters_of(self.guarantee)  # raises if the guarantee cannot be a cap

    def admits(self, charges: Sequence[Charge]) -> bool:
        """Whether the last charge may be added to the others."""
        if len(charges) == 1 and satisfies(charges[0].event, self.guarantee):
            return True
        return self.meets_filter(charges)

    def meets_filter(self, charges: Sequence[Charge]) -> bool:
        """Whether the charges are within a filter, which a first charge does not need."""
        return any(each.admits(charges) for each in filters_of(self.guarantee))

    def left(self, charges: Sequence[Charge]) -> Guarantee | None:
        """Return the weakest guarantee that a run may still have; None if no run fits.

        It is rounded down to four digits. Under (epsilon, delta) it is the guarantee of a run with
        Gaussian noise, if such a run fits.
        """
        if not charges:
            return self.guarantee
        delta = self.guarantee.delta or None
        for each in reversed(filters_of(self.guarantee)):
            if fits := _guarantee_of(each.left(charges) or Fraction(0), each, delta):
                return fits
        return None

    def charge(self, event: Event) -> Charge:
        """Return the event as a charge, with a cover if the currency has no price for it."""
        charge = Charge(event)
        if not isinstance(self.guarantee, ApproxDP) or GdpAccountant().supports(event):
            return charge
        _, others = flatten(event).split()
        return replace(charge, cover=covering_mu(others.event))

    def agrees(self, charge: Charge) -> bool:
        """Whether a charge's cover is at least the recomputed one, to a thousandth."""
        computed = self.charge(charge.event).cover
        if computed is None or charge.cover is None:
            return computed == charge.cover
        return charge.cover[0] >= 0.999 * computed[0] and charge.cover[1] >= 0.999 * computed[1]

    def describe_left(self, charges: Sequence[Charge]) -> str:
        """Describe the largest run that still fits."""
        left = self.left(charges)
        if left is None:
            return "no run, whatever its epsilon"
        if isinstance(left, ApproxDP):
            return f"a run of epsilon = {left.epsilon:.4g}, delta = {left.delta:g}"
        if isinstance(left, PureDP):
            return f"a run of pure epsilon = {left.epsilon:.4g}"
        epsilon = _four_digits_down(epsilon_of(left.gaussian_mu(), USUAL_DELTA))
        name, value = left.strength
        return (
            f"a run of {name} = {value:.4g}, such as one of epsilon = "
            f"{epsilon:.4g}, delta = {USUAL_DELTA:g}"
        )


def price(accountant: type[AdditiveAccountant], charge: Charge) -> Price | None:
    """Return a charge's price and failure probability in a currency; None without a price."""
    if accountant not in charge.prices:
        charge.prices[accountant] = _computed_price(accountant, charge)
    return charge.prices[accountant]


def _computed_price(accountant: type[AdditiveAccountant], charge: Charge) -> Price | None:
    if charge.cover is not None and accountant is GdpAccountant:
        mu, failure = charge.cover
        gaussian, _ = flatten(charge.event).split()
        return Fraction(mu) ** 2 + squared_mu(gaussian), Fraction(failure)
    composed = accountant.of(charge.event)
    return None if composed is None else (composed.total, composed.failure)


def squared_mu(gaussian: FlatEvents) -> Fraction:
    """Add up the squares of mu of Gaussian releases, exactly."""
    return GdpAccountant(gaussian).total


def exact_sum(numbers: Iterable[Fraction]) -> Fraction:
    """Add up fractions exactly; fast, because floats have few different denominators."""
    numerators: dict[int, int] = {}
    for number in numbers:
        numerator, denominator = number.as_integer_ratio()
        numerators[denominator] = numerators.get(denominator, 0) + numerator
    return sum(
        (Fraction(numerator, denominator) for denominator, numerator in numerators.items()),
        start=Fraction(0),
    )


def filters_of(cap: Guarantee) -> tuple[Filter, ...]:
    """Return the filters of a cap; one of them must admit all charges."""
    _, limit = check_guarantee(cap).strength
    if isinstance(cap, ApproxDP):
        mu = mu_of(limit, cap.delta * (1.0 - FAILURE_SHARE))
        failure = Fraction(cap.delta * FAILURE_SHARE)
        pure = Filter(PureAccountant, Fraction(limit))
        return pure, Filter(GdpAccountant, Fraction(mu) ** 2, failure)
    if isinstance(cap, GDP):
        return (Filter(GdpAccountant, Fraction(limit) ** 2),)
    accountant = ZcdpAccountant if cap.delta is None else PureAccountant
    return (Filter(accountant, Fraction(limit)),)


def within_filter(guarantee: Guarantee, ledger: object) -> Guarantee:
    """Return the guarantee to plan with if a run requests a ledger's whole (epsilon, delta).

    The hundredth of delta that the ledger reserves for failures is subtracted, so that Gaussian
    noise is within the filter in mu. Otherwise the run would be a first charge that meets no
    filter, and the ledger could give nothing of it back. Other guarantees are returned unchanged.
    """
    cap = getattr(ledger, "cap", None)  # books in memory have none
    if isinstance(cap, ApproxDP) and guarantee == cap:
        return ApproxDP(cap.epsilon, cap.delta * (1.0 - FAILURE_SHARE))
    return guarantee


def _guarantee_of(amount: Fraction, source: Filter, delta: float | None) -> Guarantee | None:
    """Return the guarantee of a run that costs ``amount`` in a filter's currency, or None."""
    value = float(amount)
    if amount <= ROUNDED * source.limit:
        return None
    if source.accountant is PureAccountant:
        return PureDP(_four_digits_down(value))
    if source.accountant is ZcdpAccountant:
        return ZCDP(_four_digits_down(value))
    if delta is None:
        return GDP(_four_digits_down(math.sqrt(value)))
    epsilon = _four_digits_down(epsilon_of(math.sqrt(value), delta))
    return ApproxDP(epsilon, delta) if epsilon else None


def _largest_number(flat_events: FlatEvents) -> float:
    """Return the largest number in any leaf, and of repetitions of a leaf."""
    fields = [each for leaf in flat_events.leaves for each in astuple(leaf)]
    numbers = [each for each in fields if not isinstance(each, str)]
    blocks = [part for parts in flat_events.blocks.values() for part in parts.values()]
    return max((*numbers, *flat_events.leaves.values(), *map(_largest_number, blocks)), default=0)


def _four_digits_down(value: float) -> float:
    """Round down to four digits; 0 stays 0."""
    if not value:
        return 0.0
    unit = Fraction(10) ** (math.floor(math.log10(value)) - 3)
    return float(math.floor(Fraction(value) / unit) * unit)
