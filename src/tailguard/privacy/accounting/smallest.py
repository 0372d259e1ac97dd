"""The smallest valid epsilon: every accountant gives an upper bound, so the smallest one counts."""

import math
from dataclasses import dataclass
from functools import lru_cache

from tailguard.checks import InputError, check_failure, shown
from tailguard.privacy.accounting.gdp import GdpAccountant
from tailguard.privacy.accounting.registry import ACCOUNTANTS, make_accountant
from tailguard.privacy.events import Event, Gaussian, Unbounded
from tailguard.privacy.events.events import check_event
from tailguard.privacy.events.flat_events import flatten


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

    *Guarantee.* Never below the truth. Exact, to rounding, when everything is Gaussian.

    *Edge cases.* ``delta = 0`` asks for pure differential privacy; infinity where there is none,
    and for an ``Unbounded`` release.

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


# A plan, its books and its certificate ask about one event, and so does each run of the same plan;
# where a shuffle is repeated an answer takes a second.
@lru_cache(maxsize=1024)
def _smallest_epsilon(event: Event, delta: float) -> EpsilonBound:
    if Unbounded in flatten(event).kinds:
        return EpsilonBound(math.inf, "none")
    names = list(ACCOUNTANTS) if total_mu(event) is None else ["gdp"]
    able = [name for name in names if make_accountant(name).supports(event)]
    if not able:
        raise InputError(f"event must be known to an accountant; got {shown(event)}.")
    bounds = ((make_accountant(name).compose(event).epsilon(delta), name) for name in able)
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
