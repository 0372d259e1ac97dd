"""The cap of a ledger: whether one more run may be charged, and what would still fit.

Each run may be planned in the light of all earlier answers. So it is not enough that the events
found in the ledger would keep the cap had they been fixed in advance: what is enforced are
*filters*, totals that hold however later charges depend on earlier answers.

* A cap in pure epsilon, rho or mu adds up in its own currency.
* Under (epsilon, delta), charges may be added up in pure epsilon, up to ``epsilon``, or in mu, up
  to the mu that (epsilon, delta) allows. Gaussian releases over all records, or over blocks of
  which the costliest counts, have a mu of their own. The rest of a run, such as noise that follows
  the records, samples and shuffles, is priced as a whole at a Gaussian release that covers it up to
  a small failure probability (``privacy/accounting/cover.py``); a hundredth of delta is kept for
  failures.
* The first charge is checked by every accountant, as a single fit is.

What counts. A run that is open counts with all that it reserved. One that was settled after an
early stop counts with what it released, where ``charges.py`` allows that, and every other one for
ever with what it reserved.

Proof that filters may stand side by side. Let the *released total* of a history, in the currency of
a filter, be the price of every Gaussian or pure release, and that of a whole cover from the first
of the releases that it covers. It never falls. At the last admission the charges met one filter:
what settled runs had released and open ones had reserved was within its limit. After it, open runs
release within what they reserved and settled ones nothing. So the released total is within that
limit at the end, and hence all along, whatever was given back on the way. Let a run that stops
before the released total of the first filter passes its limit be (epsilon, 0)-DP, and one of the
second (epsilon, delta)-DP. Split the histories into those that end within the first filter and all
others. A set of histories is the union of its two parts, and each part has the probability that a
run of one filter alone gives it. So with both filters the probability is at most exp(epsilon) times
that of a neighbour plus delta. The first charge follows from nothing that was released: if it meets
no filter, it is all that is ever released, and it keeps the cap by itself; nothing of it is ever
given back. Runs may be under way at one time: their releases, each priced by itself, are one
adaptive sequence.

Reference
---------
Rogers, Roth, Ullman and Vadhan 2016 (filters; adding up pure epsilons); Feldman and Zrnic 2021
(filters in rho); Smith and Thakurta 2022, and Koskela, Tobaben and Honkela 2023 (filters in mu);
Haney et al. 2023 (filters for runs that are under way at one time, covers among them).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from functools import cached_property

from tailguard.checks import InputError
from tailguard.privacy.accounting.accountant import AdditiveAccountant
from tailguard.privacy.accounting.cover import covering_mu
from tailguard.privacy.accounting.gaussian import GdpAccountant, epsilon_of, mu_of
from tailguard.privacy.accounting.pure import PureAccountant
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

# The share of delta that is kept for events that may fail; it takes 5e-4 of epsilon = 1. At delta
# = 1e-6 it is enough for 90 runs that are priced by a cover.
FAILURE_SHARE = 1e-2

# Less than this share of a limit is what rounding left of it.
ROUNDED = Fraction(1e-9)

# A delta at which a cap in mu or rho is shown in epsilon, too.
USUAL_DELTA = 1e-6


@dataclass(frozen=True)
class Charge:
    """What a run was charged.

    Attributes
    ----------
    event
        Its planned event, which is what it costs.
    cover
        The mu of a Gaussian release that covers all of it but what is Gaussian, and what that may
        miss; None where the event has a price of its own, or none at all.
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
    def prices(self) -> dict[type[AdditiveAccountant], tuple[Fraction, Fraction] | None]:
        """Its price in each currency asked for so far; each is computed once.

        A ledger prices all of its charges before each new one.
        """
        return {}


@dataclass(frozen=True)
class Filter:
    """A currency that adds up, and how much of it there is."""

    accountant: type[AdditiveAccountant]
    limit: Fraction
    failure: Fraction = Fraction(0)

    def admits(self, charges: Sequence[Charge]) -> bool:
        """Whether all charges together are within the limit."""
        left = self.left(charges)
        return left is not None and left >= 0

    def left(self, charges: Sequence[Charge]) -> Fraction | None:
        """Return how much of the currency is left; None where a charge has no price in it."""
        prices, failures = [], []
        for charge in charges:
            found = price(self.accountant, charge)
            if found is None:
                return None
            prices.append(found[0])
            failures.append(found[1])
        return None if exact_sum(failures) > self.failure else self.limit - exact_sum(prices)


@dataclass(frozen=True)
class Cap:
    """The most that all runs on a data set may cost together.

    *Guarantee.* All that was admitted keeps the cap, however later charges depended on earlier
    answers, up to the distance of sampled from ideal noise.

    *Reference.* The module's head.
    """

    guarantee: Guarantee

    def __post_init__(self) -> None:
        filters_of(self.guarantee)  # refuses a guarantee that cannot be a cap

    def admits(self, charges: Sequence[Charge]) -> bool:
        """Whether all of it may be charged; the last charge is the one that is asked for."""
        if len(charges) == 1 and satisfies(charges[0].event, self.guarantee):
            return True
        return self.meets_filter(charges)

    def meets_filter(self, charges: Sequence[Charge]) -> bool:
        """Whether the charges are within a filter; a first charge may be admitted without."""
        return any(each.admits(charges) for each in filters_of(self.guarantee))

    def left(self, charges: Sequence[Charge]) -> Guarantee | None:
        """Return the weakest promise of a run that would still be admitted; None if there is none.

        In four digits, rounded down; under (epsilon, delta) that of a run with Gaussian noise,
        where one fits.
        """
        if not charges:
            return self.guarantee
        delta = self.guarantee.delta or None
        fits = [
            fitting(each, delta, each.left(charges) or Fraction(0))
            for each in reversed(filters_of(self.guarantee))
        ]
        return next((each for each in fits if each is not None), None)

    def charge(self, event: Event) -> Charge:
        """Return the event as a charge, with a cover where it has no price of its own."""
        by_cover = isinstance(self.guarantee, ApproxDP) and not GdpAccountant().supports(event)
        charge = Charge(event)
        _, others = flatten(event).split()
        return replace(charge, cover=covering_mu(others.event)) if by_cover else charge

    def agrees(self, charge: Charge) -> bool:
        """Whether a charge's cover is the one that is found here, to a thousandth."""
        found = self.charge(charge.event).cover
        if found is None or charge.cover is None:
            return found == charge.cover
        return charge.cover[0] >= 0.999 * found[0] and charge.cover[1] >= 0.999 * found[1]

    def describe_left(self, charges: Sequence[Charge]) -> str:
        """Describe the largest run that still fits."""
        left = self.left(charges)
        if left is None:
            return "no run, whatever its epsilon"
        if isinstance(left, ApproxDP):
            fits = f"epsilon = {left.epsilon:.4g}, delta = {left.delta:g}"
            return f"a run of {fits}"
        if isinstance(left, PureDP):
            return f"a run of pure epsilon = {left.epsilon:.4g}"
        epsilon = _four_digits_down(epsilon_of(left.gaussian_mu(), USUAL_DELTA))
        ((name, value),) = ((k, v) for k, v in left.to_dict().items() if k != "kind")
        return (
            f"a run of {name} = {value:.4g}, such as one of epsilon = "
            f"{epsilon:.4g}, delta = {USUAL_DELTA:g}"
        )


def price(accountant: type[AdditiveAccountant], charge: Charge) -> tuple[Fraction, Fraction] | None:
    """Return what a charge costs in a currency, and how likely it fails; None without a price."""
    if accountant not in charge.prices:
        charge.prices[accountant] = _worked_out(accountant, charge)
    return charge.prices[accountant]


def _worked_out(
    accountant: type[AdditiveAccountant], charge: Charge
) -> tuple[Fraction, Fraction] | None:
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
    """Add up many fractions of few denominators, such as floats are, by one addition for each."""
    tops: dict[int, int] = {}
    for number in numbers:
        top, bottom = number.as_integer_ratio()
        tops[bottom] = tops.get(bottom, 0) + top
    return sum((Fraction(top, bottom) for bottom, top in tops.items()), start=Fraction(0))


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
    """Return what a run plans with that asks for a ledger's whole (epsilon, delta).

    It is less the hundredth of delta that the ledger keeps for failures. So Gaussian noise is
    within the filter in mu, and the run is not charged as a first one that meets no filter, of
    which nothing can be given back. Any other guarantee is returned as it is.
    """
    cap = getattr(ledger, "cap", None)  # books in memory have none
    if isinstance(cap, ApproxDP) and guarantee == cap:
        return ApproxDP(cap.epsilon, cap.delta * (1.0 - FAILURE_SHARE))
    return guarantee


def fitting(left: Filter, delta: float | None, amount: Fraction) -> Guarantee | None:
    """Return the promise of a run that takes an amount of a filter's currency, or None."""
    value = float(amount)
    if amount <= ROUNDED * left.limit:
        return None
    if left.accountant is PureAccountant:
        return PureDP(_four_digits_down(value))
    if left.accountant is ZcdpAccountant:
        return ZCDP(_four_digits_down(value))
    if delta is None:
        return GDP(_four_digits_down(math.sqrt(value)))
    epsilon = _four_digits_down(epsilon_of(math.sqrt(value), delta))
    return ApproxDP(epsilon, delta) if epsilon else None


def _largest_number(flat_events: FlatEvents) -> float:
    """Return the largest number of any leaf, and of how often one happens."""
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
