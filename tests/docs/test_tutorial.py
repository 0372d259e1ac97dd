"""The tutorial's file and its line make a solver that passes every contract of solvers."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tailguard as tg
from support.spy import gate_over
from support.tutorial import FILE, NAME, PAGE, PLACE, module
from tailguard.gate.plan import Problem

TESTS = Path(__file__).parents[1]
CONTRACTS = (
    *("contracts/test_solver.py", "contracts/test_order.py", "contracts/test_replacement.py"),
    *("contracts/test_total.py", "solvers/test_optimum.py", "privacy/test_every_solver.py"),
)


def test_the_line_names_the_class_of_the_file():
    assert PLACE.partition(":")[2] in re.findall(r"^class (\w+)", FILE, re.MULTILINE)
    assert f"src/{PLACE.partition(':')[0].replace('.', '/')}.py" in PAGE


@pytest.mark.long
def test_the_solver_as_printed_passes_every_contract():
    """In a process of its own, whose registry has one line more."""
    command = [sys.executable, "-m", "pytest", "-p", "support.tutorial", "-k", NAME, "-rA"]
    found = subprocess.run(
        [*command, *(str(TESTS / path) for path in CONTRACTS)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout[-3000:]
    passed = [line for line in found.stdout.splitlines() if line.startswith("PASSED")]
    assert all(any(path in line for line in passed) for path in CONTRACTS)


def test_what_was_not_planned_is_stopped():
    X = np.random.default_rng(2).standard_normal((400, 3))
    problem = Problem(tg.losses.Squared(), len(X), 3)
    kind = getattr(module(), PLACE.partition(":")[2])
    plan = kind(n_steps=5).plan(problem, tg.GDP(1.0))
    gate, _ = gate_over(problem, X, X[:, 0], tg.GDP(1.0), seed=1)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    with pytest.raises(tg.BudgetError):
        kind(n_steps=6).run(plan, gate)
