"""What a checkpoint says of theorems: their names and numbers, and nothing that records hold."""

import pytest

from papers.support.theorems import CASES
from tailguard.gate.described import described
from tailguard.solvers.registry import plan_for


@pytest.mark.parametrize("name", CASES)
def test_every_theorem_is_told_with_its_sizes_or_without(name):
    case = CASES[name]
    told = [
        described(plan_for(theorem, case.problem(), case.guarantee))
        for theorem in (case.theorem(), case.unsized())
    ]
    assert all(name.split(".")[1] in each or case.theorem().statement in each for each in told)
