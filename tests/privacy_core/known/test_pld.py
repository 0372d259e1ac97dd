"""What sets cells and reach of loss distributions, leaf by leaf; it enters no bound."""

import pytest

from tailguard.privacy.accounting import pld
from tailguard.privacy.accounting.pld import PldAccountant
from tailguard.privacy.events import (
    BoundedRange,
    Composed,
    Gaussian,
    Laplace,
    Parallel,
    Repeated,
    Sampled,
    Selected,
    ShuffledPure,
    ZeroConcentrated,
)
from tailguard.privacy.events.flat_events import flatten

LEAVES = [Laplace(0.02), BoundedRange(3.0), Sampled(0.8, 0.05), Sampled(40.0, 0.9),
          ShuffledPure(0.05, 50), Selected(0.2, 3.0)]  # fmt: skip
TREES = {
    "merged": Composed((Repeated(Gaussian(0.3), 4), ZeroConcentrated(0.02), Laplace(0.1))),
    "small beside large": Composed((Gaussian(1.0), Laplace(0.02))),
    "hidden beside large": Composed((Gaussian(1.0), ShuffledPure(0.05, 50))),
    "blocks": Composed(
        (
            *(Parallel("a", b, Composed((Laplace(0.1 + b), Gaussian(0.1)))) for b in (0, 1)),
            Parallel("b", 0, Gaussian(0.2)),
            Repeated(Laplace(0.3), 5),
        )
    ),
    "nested": Parallel("a", 0, Parallel("b", 1, Sampled(0.5, 0.1))),
    "far": Repeated(Gaussian(9.0), 5),
    "too far": Repeated(Gaussian(9.0), 50),
    "many": Repeated(Laplace(1e-7), 10**6 - 2),
    "too many": Repeated(Laplace(1e-7), 10**6 - 1),
    "tiny": Gaussian(1e-7),
}


@pytest.mark.parametrize("leaf", LEAVES, ids=str)
def test_leaves(known, leaf):
    known([float(pld._rho_of(leaf)), pld._largest_loss(leaf)], rel=1e-9)


@pytest.mark.parametrize("name", TREES)
def test_trees(known, name):
    flat, accountant = flatten(TREES[name]), PldAccountant().compose(TREES[name])
    known(
        [
            *(pld._longest(flat), pld._smallest_loss(flat), pld._merged(flat.leaves)),
            *(accountant._rho, accountant._end, accountant._n_steps, accountant._feasible),
            [pld._maximal(parts.values()) for parts in flat.blocks.values()],
            accountant._slack,
        ],
        rel=1e-9,
    )


@pytest.mark.parametrize("name", ["merged", "small beside large", "hidden beside large", "tiny"])
def test_cells(known, name):
    accountant = PldAccountant().compose(TREES[name])
    pmf = accountant._losses._pmf_remove
    known([pmf._discretization, accountant.epsilon(1e-6), accountant.delta(0.1)], rel=1e-9)


def test_ends_of_profiles(known):
    losses = PldAccountant().compose(TREES["small beside large"])._losses
    known(pld._end_of(losses), rel=1e-9)
