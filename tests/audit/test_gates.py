"""Mutants keep books that look right, and what they add noise to is what it should be."""

import numpy as np
import pytest

import tailguard as tg
from support.stages import once, pure
from tailguard.audit.gates import MUTANTS, AttackedGate
from tailguard.privacy.guarantees import Unprotected
from tailguard.queries.counts import CountBelow
from tailguard.rows.arrays import make_rows

QUERY, ROWS = CountBelow(tuple(range(400))), make_rows(np.zeros((20, 400)))


def told(kind, stage):
    gate = kind.of(ROWS, guarantee=Unprotected(tg.GDP(1.0)), seed=0)
    gate.reserve(stage.event, coordinates=400)
    gate.ask(QUERY, np.ones(400), stage)
    return gate


@pytest.mark.parametrize("stage", [once(1.0), pure(20.0)], ids=["gaussian", "laplace"])
def test_mutants_book_what_was_asked_and_add_less_noise(stage):
    right = told(AttackedGate, stage)
    for fault, kind in MUTANTS.items():
        gate = told(kind, stage)
        (booked,), (stated,) = gate.books.releases, right.books.releases
        ratios = [one.noise_std / one.sensitivity for one in (booked, stated)]
        assert ratios[0] == pytest.approx(ratios[1], rel=1e-6)
        spread = np.std(gate.heard[0]) / np.std(right.heard[0])
        assert spread == pytest.approx(1.0 / kind.factor, rel=0.2), fault
        assert spread < 0.95
