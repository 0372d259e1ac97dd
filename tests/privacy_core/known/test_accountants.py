"""What every accountant says of mixtures on a grid, and what it refuses."""

import math

import pytest

from support.known import outcome
from tailguard.privacy.accounting.registry import ACCOUNTANTS, make_accountant
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
    Sampled,
    Selected,
    Shuffled,
    Unbounded,
    ZeroConcentrated,
)

HALVES = Composed(tuple(Parallel("halves", b, Gaussian(0.2 + 0.1 * b)) for b in (0, 1)))
MIXED = Composed(
    (Parallel("thirds", 0, Laplace(0.2)), Parallel("thirds", 2, Gaussian(0.3)), Pure(0.1))
)
EVENTS = {
    "nothing": Nothing(),
    "gaussian": Gaussian(0.7),
    "strong gaussian": Gaussian(31.0),
    "weak gaussian": Gaussian(1e-4),
    "laplace": Laplace(0.4),
    "pure": Pure(0.25),
    "range": BoundedRange(0.6),
    "zcdp": ZeroConcentrated(0.03),
    "strong zcdp": ZeroConcentrated(400.0),
    "approximate": Approximate(0.3, 1e-8),
    "failing": Approximate(0.3, 0.2),
    "halves": Composed((HALVES, Gaussian(0.4))),
    "mixed": MIXED,
    "many": Repeated(Composed((Laplace(0.02), Gaussian(0.05))), 30),
    "two kinds": Composed((Gaussian(0.3), ZeroConcentrated(0.01), BoundedRange(0.1))),
    "approximate twice": Repeated(Approximate(0.1, 1e-7), 2),
    "sampled": Repeated(Sampled(0.8, 0.05), 4),
    "shuffled": Shuffled(0.3, 100),
    "selected": Selected(0.2, 6.0),
    "two selected": Repeated(Selected(0.2, 6.0, "poisson"), 2),
    "selected beside": Composed((Selected(0.2, 6.0, "logarithmic"), Gaussian(0.3))),
    "unbounded": Unbounded(),
}
DELTAS = (0.0, 9.9e-11, 1e-10, 1e-6, 0.1, 0.9)
EPSILONS = (0.0, 0.05, 0.5, 3.0, math.inf)


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("name", ACCOUNTANTS)
def test_epsilon_and_delta(known, name, event):
    empty = make_accountant(name)
    if not empty.supports(EVENTS[event]):
        known([outcome(empty.compose, EVENTS[event])])
        return
    accountant = empty.compose(EVENTS[event])
    epsilons = EPSILONS[:-1] if name == "pld" else EPSILONS
    # The order of sums, a processor's own, moves epsilon at a delta of 1e-10 by parts of 1e-8.
    rel = {"pld": 1e-7, "selection": 1e-9}.get(name, 4e-13)
    known(
        [
            [accountant.epsilon(delta) for delta in DELTAS],
            [accountant.delta(epsilon) for epsilon in epsilons],
        ],
        rel=rel,
    )


def test_of_very_many_selections_nothing_is_promised(known):
    """Means multiply, up to a logarithm of 600: 86 times ln 1000 is below, and 87 times above."""
    empty = make_accountant("selection")
    accountants = [empty.compose(Repeated(Selected(1e-3, 1e3), times)) for times in (86, 87)]
    known([[each.epsilon(0.1), each.delta(0.5), each.log_mean, each.shift] for each in accountants],
          rel=1e-9)  # fmt: skip
    assert (accountants[1].epsilon(0.1), accountants[1].delta(0.5)) == (math.inf, 1.0)


@pytest.mark.parametrize("name", ACCOUNTANTS)
def test_refusals(known, name):
    accountant = make_accountant(name)
    known(
        [
            *(outcome(accountant.epsilon, bad) for bad in (-0.1, 1.0, 1.5, math.nan, "1", True)),
            *(outcome(accountant.delta, bad) for bad in (-0.1, math.nan, "1", True)),
            *(outcome(accountant.compose, Laplace(1.0), times) for times in (0, -1, 1.5, True)),
        ]
    )


def test_names(known):
    known([outcome(make_accountant, name) for name in ("rdp", "", None)])
