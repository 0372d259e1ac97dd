"""Shares of guarantees, what keeps them, and parameters that are calibrated to them."""

import math

import pytest

from support.known import outcome
from tailguard.privacy.accounting import smallest
from tailguard.privacy.accounting.distance import EXACT, Distance
from tailguard.privacy.accounting.solve import calibrate, satisfies, spent_share
from tailguard.privacy.accounting.total_cost import TotalCost, epsilon_at_distance, total_cost
from tailguard.privacy.events import (
    Approximate,
    BoundedRange,
    Composed,
    Gaussian,
    Laplace,
    Nothing,
    Parallel,
    Pure,
    Repeated,
    Unbounded,
    ZeroConcentrated,
)
from tailguard.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP, Unprotected

GUARANTEES = [
    *(ApproxDP(1.0, 1e-6), ApproxDP(0.1, 1e-3), PureDP(0.5), ZCDP(0.05), GDP(0.7)),
    Unprotected(ZCDP(0.05)),
]
EVENTS = {
    "nothing": Nothing(),
    "gaussian": Gaussian(0.3),
    "gaussian at the promise": Gaussian(0.7),
    "gaussian above it": Gaussian(math.nextafter(0.7, 1.0)),
    "laplace": Laplace(0.4),
    "pure at the promise": Pure(0.5),
    "pure above it": Pure(math.nextafter(0.5, 1.0)),
    "range": BoundedRange(0.6),
    "zcdp at the promise": ZeroConcentrated(0.05),
    "zcdp above it": ZeroConcentrated(math.nextafter(0.05, 1.0)),
    "approximate": Approximate(0.3, 1e-8),
    "unbounded": Unbounded(),
    "blocks": Composed((Parallel("halves", 0, Gaussian(0.2)), Parallel("halves", 1, Laplace(0.1)))),
}
FAMILIES = {
    "gaussian": Gaussian,
    "laplace": Laplace,
    "range": BoundedRange,
    "zcdp": ZeroConcentrated,
    "twice": lambda x: Repeated(Composed((Laplace(x), Laplace(x / 2.0))), 2),
    "never": lambda x: Unbounded(),
    "always": lambda x: Nothing(),
}
DISTANCES = (EXACT, Distance(1e-9, 0.0), Distance(0.0, 1e-9), Distance(1e-3, 1e-7),
             Distance(0.0, 1e-3))  # fmt: skip
CHEAP = ("nothing", "gaussian", "laplace", "range", "approximate", "unbounded")
words = pytest.mark.parametrize("name", EVENTS)
guarantees = pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)


@words
@guarantees
def test_spent_share(known, guarantee, name):
    share = spent_share(guarantee, EVENTS[name])
    known([share, satisfies(EVENTS[name], guarantee)])
    assert satisfies(EVENTS[name], guarantee) == (share <= 1.0)


@pytest.mark.parametrize("name", CHEAP)
def test_satisfied_at_a_distance(known, name):
    known([satisfies(EVENTS[name], g, distance=d) for g in GUARANTEES for d in DISTANCES])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("guarantee", GUARANTEES[1:], ids=str)
def test_calibrated(known, guarantee, family):
    known(outcome(calibrate, FAMILIES[family], guarantee), rel=1e-11)


@words
def test_total_cost(known, name):
    known(
        [
            total_cost(EVENTS[name], delta, bound_mu=bound)
            for delta in (None, 1e-6)
            for bound in (False, True)
        ],
        rel=1e-9,
    )


@pytest.mark.parametrize("name", CHEAP)
def test_epsilon_at_a_distance(known, name):
    known(
        [epsilon_at_distance(EVENTS[name], delta, d) for d in DISTANCES for delta in (1e-6, 1e-3)],
        rel=1e-9,
    )


@words
def test_smallest_epsilon(known, name):
    event = EVENTS[name]
    known(
        [
            [smallest.smallest_epsilon(event, delta) for delta in (0.0, 1e-12, 1e-6, 0.3)],
            outcome(smallest.total_mu, event),
        ],
        rel=1e-9,
    )


def test_words(known):
    known(
        [
            TotalCost(math.inf, 1e-6, None, math.inf, "none").to_dict(),
            *(outcome(spent_share, bad, Nothing()) for bad in (None, 1.0, "gdp")),
            *(outcome(smallest.smallest_epsilon, Gaussian(1.0), bad) for bad in (-0.1, 1.0, None)),
            outcome(smallest.smallest_epsilon, "gaussian", 1e-6),
            outcome(smallest.total_mu, "gaussian"),
        ]
    )


def test_distances(known):
    far = Distance(2e-9, 3e-20)
    known(
        [
            far.times(7),
            far + Distance(1.0e-9, 0.5),
            *(far.left_of(e, 1e-6) for e in (0.0, 1.0, 40.0, 700.0, 701.0)),
            *(far.within(each) for each in (far, Distance(2e-9, 2e-20), Distance(1e-9, 3e-20))),
            *(bool(each) for each in (EXACT, far, Distance(0.0, 1e-9), Distance(1e-9, 0.0))),
            *(outcome(Distance, bad, 0.0) for bad in (-1.0, 1.0, None)),
            *(outcome(Distance, 0.0, bad) for bad in (-1.0, 1.0, None)),
        ]
    )
