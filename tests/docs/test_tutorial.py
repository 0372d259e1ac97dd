"""The tutorial's file and its line make a solver: it runs by name and keeps the contract."""

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import tailguard as tg
from support.spy import GENEROUS, gate_over, spent_mu
from tailguard.losses.squared import Squared
from tailguard.plans.problem import Problem
from tailguard.solvers.registry import SOLVERS, make_solver

PAGE = (Path(__file__).parents[2] / "docs" / "tutorial-solver.md").read_text()
FILE = re.search(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1]
NAME, PLACE = re.search(r'^    "([\w-]+)": "([\w.:]+)",$', PAGE, re.MULTILINE).groups()


@pytest.fixture
def registered(monkeypatch):
    """The page's file under its own name, and its line in the registry."""
    place, _, _ = PLACE.partition(":")
    module = ModuleType(place)
    monkeypatch.setitem(sys.modules, place, module)
    exec(compile(FILE, "tutorial-solver.md", "exec"), vars(module))
    monkeypatch.setitem(SOLVERS, NAME, PLACE)


def records(n_rows=400):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((n_rows, 3))
    return X, X @ np.array([0.5, -0.25, 0.1]) + 0.1 * rng.standard_normal(n_rows)


def test_the_line_names_the_class_of_the_file():
    assert PLACE.partition(":")[2] in re.findall(r"^class (\w+)", FILE, re.MULTILINE)
    assert f"src/{PLACE.partition(':')[0].replace('.', '/')}.py" in PAGE


@pytest.mark.usefixtures("registered")
def test_it_runs_by_name_and_keeps_its_promise():
    X, y = records()
    solved = tg.minimize(
        Squared(), X, y, epsilon=1.0, delta=1e-6, solver=NAME,
        constraint=tg.sets.L2Ball(1.0), random_state=0,
    )  # fmt: skip
    assert 0.99 <= solved.certificate.total.epsilon <= 1.0
    assert tg.sets.L2Ball(1.0).contains(solved.coef)


@pytest.mark.usefixtures("registered")
def test_it_spends_what_it_planned_and_reaches_the_optimum_without_noise():
    X, y = records()
    problem = Problem(Squared(), len(X), 3)
    solver = make_solver(NAME, n_steps=200, clip_norm=1e3)
    plan = solver.plan(problem, GENEROUS)
    gate, books = gate_over(problem, X, y, GENEROUS)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    found = solver.run(plan, gate)
    assert spent_mu(books) == pytest.approx(plan.total_mu, rel=1e-9)
    np.testing.assert_allclose(found.coef, np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-6)


@pytest.mark.usefixtures("registered")
def test_what_was_not_planned_is_stopped():
    X, y = records()
    problem = Problem(Squared(), len(X), 3)
    plan = make_solver(NAME, n_steps=5).plan(problem, tg.GDP(1.0))
    gate, _ = gate_over(problem, X, y, tg.GDP(1.0), seed=1)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    with pytest.raises(tg.BudgetError):
        make_solver(NAME, n_steps=6).run(plan, gate)
