"""What an event costs in every currency, with the sampler's imperfection charged."""

import math
from dataclasses import asdict, dataclass

from tailguard.privacy.accounting.distance import EXACT, Distance
from tailguard.privacy.accounting.gdp import GdpAccountant
from tailguard.privacy.accounting.smallest import EpsilonBound, smallest_epsilon, total_mu
from tailguard.privacy.accounting.zcdp import ZcdpAccountant
from tailguard.privacy.events import Event, Unbounded
from tailguard.privacy.events.flat_events import flatten
from tailguard.privacy.roots import up


@dataclass(frozen=True)
class TotalCost:
    """What an event costs; None where a currency cannot express it.

    Attributes
    ----------
    epsilon, delta
        The smallest proven epsilon at the promised delta; None when no delta was promised.
    mu
        The GDP total: exact where everything is Gaussian. Otherwise None, or an upper bound where
        that is what was promised.
    rho
        A zCDP total; None for events that may fail.
    accountant
        Which accountant proves the epsilon, or else the other numbers.
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
    """Add an event up in every currency.

    ``bound_mu`` states a mu also where it is an upper bound only, by the accountant that checks a
    promise in mu.
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
    """Return the smallest epsilon when what is sampled is that far from the event's own law.

    *Guarantee.* What is returned meets ``Distance.left_of``.

    *Reference.* Canonne, Kamath and Steinke 2020, Section 5 (samplers that are nearly exact).
    """
    bound = smallest_epsilon(event, delta)
    while distance and bound.epsilon < math.inf:
        # Charge at a slightly larger epsilon, so that the loop ends as soon as that suffices.
        charged_at = up(bound.epsilon)
        _, left = distance.left_of(charged_at, delta)
        found = smallest_epsilon(event, left) if left > 0 else EpsilonBound(math.inf, "none")
        bound = EpsilonBound(found.epsilon + 2.0 * distance.log_ratio, found.accountant)
        if bound.epsilon <= charged_at:
            break
    return bound
