"""Shuffled releases and secret groups on a grid, and what they refuse."""

import numpy as np
import pytest

from support.known import outcome
from tailguard.privacy.amplification import shuffled
from tailguard.privacy.amplification.grouped import grouped_shuffle
from tailguard.privacy.guarantees import ApproxDP


@pytest.mark.parametrize("n_units", [1, 30, 3000])
@pytest.mark.parametrize("mu", [0.02, 0.3, 2.0, 40.0])
def test_epsilon(known, mu, n_units):
    deltas = (1e-10, 1e-6, 1e-3, 0.2)
    found = [shuffled.shuffled_epsilon(mu, n_units=n_units, delta=delta) for delta in deltas]
    pairs = [shuffled._best_pair(mu, n_units, delta, 2) for delta in deltas]
    known([found, pairs], rel=1e-9)


@pytest.mark.parametrize("n_units", [1, 40, 4000])
def test_mu(known, n_units):
    given = [(0.1, 1e-6), (1.0, 1e-3), (6.0, 1e-9)]
    known([shuffled.shuffled_mu(e, n_units=n_units, delta=delta) for e, delta in given], rel=1e-6)


@pytest.mark.parametrize("units", [(1.0, 40, 1), (8.0, 1, 3), (0.5, 60, 4)], ids=str)
def test_groups(known, units):
    epsilon, n_groups, group_size = units
    sizes = {"n_groups": n_groups, "group_size": group_size}
    known(grouped_shuffle(ApproxDP(epsilon, 1e-6), **sizes), rel=1e-5)


def test_chords(known):
    profile = shuffled.through_nodes(np.array([0.0, 0.4, 1.0]), np.array([0.5, 0.2, 0.1]))
    known([profile.end, profile.straight, profile.delta(np.array([0.0, 0.2, 0.7, 1.0, 2.0]))])


def test_refusals(known):
    call, other = shuffled.shuffled_epsilon, shuffled.shuffled_mu
    promise = ApproxDP(1.0, 1e-6)
    known(
        [
            *(outcome(call, bad, n_units=2, delta=0.1) for bad in (0.0, -1.0, None)),
            *(outcome(call, 1.0, n_units=bad, delta=0.1) for bad in (0, 1.5)),
            *(outcome(call, 1.0, n_units=2, delta=bad) for bad in (0.0, 1.0)),
            *(outcome(other, bad, n_units=2, delta=0.1) for bad in (0.0, -1.0)),
            *(outcome(other, 1.0, n_units=bad, delta=0.1) for bad in (0, 1.5)),
            *(outcome(other, 1.0, n_units=2, delta=bad) for bad in (0.0, 1.0)),
            *(outcome(grouped_shuffle, promise, n_groups=bad, group_size=1) for bad in (0, 1.5)),
            *(outcome(grouped_shuffle, promise, n_groups=2, group_size=bad) for bad in (0, 1.5)),
        ]
    )


def test_constants(known):
    known(
        [
            *(shuffled.LARGEST_FACTOR, shuffled.ROUNDS, [*shuffled.DECADES], shuffled.NODES),
            shuffled.LARGEST_END,
        ]
    )
