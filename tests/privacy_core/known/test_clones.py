"""Hiding among clones on a grid, at its edges, and what it refuses."""

import numpy as np
import pytest

from support.known import outcome
from tailguard.privacy.amplification import clones
from tailguard.privacy.amplification.clones import Clones

PAIRS = [(1, 0.7), (2, 0.3), (3, 1.0), (50, 0.5), (700, 2.0), (20_000, 1.0), (400, 7.0),
         (10**7, 0.1), (30, 600.0), (30, 600.5)]  # fmt: skip
DELTAS = (0.0, 1e-300, 1e-30, 1e-9, 1e-4, 0.2, 0.99)
every_pair = pytest.mark.parametrize("pair", PAIRS, ids=str)


@every_pair
def test_delta(known, pair):
    places = np.array([-0.5, 0.0, 1e-9, 0.01, 0.1, 0.3, 0.6, 0.95, 0.999999, 1.0, 1.01])
    known(Clones(*pair).delta(pair[1] * places), rel=4e-13 if pair[0] < 1000 else 1e-10)


@every_pair
def test_epsilon(known, pair):
    known([Clones(*pair).epsilon(delta) for delta in DELTAS], rel=4e-13 if pair[0] < 99 else 1e-9)


@every_pair
def test_groups_of_counts(known, pair):
    counts, chances, missed = Clones(*pair)._counts
    known([len(counts), *counts[:3], *counts[-3:], counts @ chances, chances.sum(), missed],
          rel=1e-10)  # fmt: skip


def test_failures(known):
    known([clones.failure_variation(200, 0.8, each) for each in (0.0, 1e-9, 1e-7, 0.01)])


def test_refusals(known):
    wrong = [(0, 1.0), (-1, 1.0), (2.5, 1.0), (2, 0.0), (2, -1.0), (2, np.inf)]
    known([outcome(Clones, *each) for each in wrong])


def test_constants(known):
    known(
        [
            *(clones.SPREAD, clones.MARGIN, clones.MOST_GROUPS, clones.TERM_ROUNDING),
            *(clones.ROUNDING_PER_CLONE, clones.LARGEST_EPSILON),
        ]
    )
