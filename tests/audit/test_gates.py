"""Mutants keep books that look right, and what they add noise to is what it should be."""

import dataclasses

import numpy as np
import pytest

import tailguard as tg
from support.count_below import CountBelow
from support.stages import once, pure
from tailguard.audit.gates import MUTANTS, AttackedGate
from tailguard.audit.of_runs import points
from tailguard.checks import BudgetError
from tailguard.data.rows.arrays import make_rows
from tailguard.gate.plan import Problem
from tailguard.gate.stage import Stage
from tailguard.means.choice import make_method
from tailguard.privacy.events import Laplace

QUERY, ROWS = CountBelow(tuple(range(400))), make_rows(np.zeros((20, 400)))


def told(kind, stage):
    gate = kind.of(ROWS, guarantee=tg.GDP(1.0), seed=0)
    gate.reserve(stage.event, coordinates=400, unprotected=True)
    gate.ask(QUERY, np.ones(400), stage)
    return gate


# As stages of peelings are: what they tell is what a Gaussian release of that cost would spend.
TOLD_OTHERWISE = Stage("", "", 0.5, 1, 1, share=Laplace(20.0), kept=Laplace(20.0))


@pytest.mark.parametrize(
    "stage", [once(1.0), pure(20.0), TOLD_OTHERWISE], ids=["gaussian", "laplace", "told otherwise"]
)
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


@pytest.mark.parametrize("kind", [AttackedGate, *MUTANTS.values()])
def test_answers_that_are_booked_once_are_as_those_that_are_asked_one_by_one(kind):
    stage = once(1.0)
    gates = [kind.of(ROWS, guarantee=tg.GDP(1.0), seed=0) for _ in range(2)]
    gates[0].reserve(stage.event, coordinates=400, unprotected=True)
    gates[0].ask_often(QUERY, np.ones(400), stage, 3)
    gates[1].reserve(once(3**0.5).event, coordinates=1200, unprotected=True)
    for _ in range(3):
        gates[1].ask(QUERY, np.ones(400), stage)
    assert np.array_equal(gates[0].heard, gates[1].heard)
    assert not np.array_equal(gates[0].heard[0], gates[0].heard[1])
    assert [gate.books.releases[0].times for gate in gates] == [1, 3]


def test_a_plan_that_costs_more_than_its_guarantee_is_refused_before_it_is_run():
    solver, records = make_method("clipped", clip_norm=1.0), (np.zeros((40, 1)), None)
    plan = solver.plan(Problem(None, 40, 1), tg.GDP(1.0))
    assert points(AttackedGate, solver, plan, records, range(3)).shape == (3, 3)
    dear = dataclasses.replace(plan, guarantee=tg.GDP(0.9))
    with pytest.raises(BudgetError, match=r"the plan must cost at most .* mu = 0\.9"):
        points(AttackedGate, solver, dear, records, range(3))
