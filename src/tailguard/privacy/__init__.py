"""Guarantees, events, accountants, books and certificates; numbers only, never a record.

An *event* says what a release cost, an *accountant* adds events up, a *guarantee* is what was
promised, the *books* hold what was reserved and released, and the *certificate* shows all of it.
"""

from tailguard.privacy.accounting.total_cost import (
    EpsilonBound,
    calibrate,
    satisfies,
    smallest_epsilon,
    total_mu,
)
from tailguard.privacy.books import Books, MemoryBooks
from tailguard.privacy.books.releases import Release
from tailguard.privacy.calibration import Calibration, Sensitivity
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.events import (
    Approximate,
    BoundedRange,
    Composed,
    Event,
    Gaussian,
    Laplace,
    Nothing,
    Parallel,
    Pure,
    Repeated,
    Sampled,
    Shuffled,
    ShuffledPure,
    Unbounded,
    ZeroConcentrated,
    event_from_dict,
)
from tailguard.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP, resolve_guarantee

__all__ = [
    "GDP",
    "ZCDP",
    "ApproxDP",
    "Approximate",
    "Books",
    "BoundedRange",
    "Calibration",
    "Certificate",
    "Composed",
    "EpsilonBound",
    "Event",
    "Gaussian",
    "Guarantee",
    "Laplace",
    "MemoryBooks",
    "Nothing",
    "Parallel",
    "Pure",
    "PureDP",
    "Release",
    "Repeated",
    "Sampled",
    "Sensitivity",
    "Shuffled",
    "ShuffledPure",
    "Unbounded",
    "ZeroConcentrated",
    "calibrate",
    "event_from_dict",
    "resolve_guarantee",
    "satisfies",
    "smallest_epsilon",
    "total_mu",
]
