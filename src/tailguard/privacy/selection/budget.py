"""How private a try has to be, so that a search keeps its promise.

Reference
---------
Papernot and Steinke 2022; Koskela, Redberg and Wang 2024 (what a search costs, inverted here).
"""

import math
from functools import cache

from tailguard.privacy.accounting.renyi import RenyiAccountant
from tailguard.privacy.accounting.selection import SelectionAccountant
from tailguard.privacy.events import Composed, Event, Gaussian, Selected
from tailguard.privacy.guarantees import ApproxDP
from tailguard.privacy.roots import crossing, down, step_until
from tailguard.privacy.selection.tries import NumberOfTries

# Relative accuracy; what is lost goes to the safe side.
ACCURACY = 1e-10


def mu_of_a_try(
    guarantee: ApproxDP, tries: NumberOfTries, beside: float = 0.0, before: float = 0.0
) -> float:
    """Return the largest mu of a try, where Gaussian releases are made beside the search.

    ``beside`` says how large the mu of one release is, as a share of the mu of a try, and
    ``before`` is the mu of another one.

    *Guarantee.* Search and releases together keep the promise, by an accountant.

    *Reference.* The module's head.
    """

    @cache
    def epsilon(mu: float) -> float:
        """Return what search and releases cost together."""
        parts: list[Event] = [Selected(mu, tries.mean, tries.law)]
        parts += [Gaussian(math.hypot(beside * mu, before))] if beside or before else []
        event = Composed(tuple(parts))
        accountants = (SelectionAccountant(), RenyiAccountant())
        return min(each.compose(event).epsilon(guarantee.delta) for each in accountants)

    guess = guarantee.gaussian_mu()
    root = crossing(lambda mu: epsilon(mu) - guarantee.epsilon, guess, rtol=ACCURACY)
    return step_until(lambda mu: epsilon(mu) <= guarantee.epsilon, down(root), 1.0 - ACCURACY)
