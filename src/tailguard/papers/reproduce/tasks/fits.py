"""A task, and a method on it that is planned once and run for many seeds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tailguard.array_types import FloatArray
from tailguard.gate import Gate
from tailguard.gate.engine import Solver, run
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.losses.base import Loss
from tailguard.papers.common.theorem import Theorem
from tailguard.privacy.guarantees import Guarantee
from tailguard.sets.base import ConstraintSet
from tailguard.solvers.registry import plan_for


@dataclass(frozen=True)
class Task:
    """A loss on a set; ``labels`` are those of the target, which a gate needs."""

    name: str
    loss: Loss
    constraint: ConstraintSet
    labels: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PlannedFit:
    """A solver on a task; its plan is made once, at the first run."""

    task: Task
    solver: Solver
    n_rows: int
    n_features: int
    guarantee: Guarantee

    @classmethod
    def of_theorem(cls, task: Task, theorem: Theorem) -> "PlannedFit":
        """Return a theorem's fit, of its own sizes and at its own guarantee."""
        return cls(task, theorem, theorem.n_rows, theorem.n_features, theorem.guarantee)

    @cached_property
    def plan(self) -> tuple[Solver, Plan]:
        """The solver and its plan; refused if the guarantee is too small for it."""
        sizes = self.n_rows, self.n_features
        problem = Problem(self.task.loss, *sizes, constraint=self.task.constraint)
        return plan_for(self.solver, problem, self.guarantee)

    def run(self, X: FloatArray, y: FloatArray, *, seed: int) -> Solution:
        """Run on the records with the noise of a seed: NON-PRIVATE."""
        solver, plan = self.plan
        options: dict[str, Any] = {"loss": self.task.loss, **self.task.labels}
        gate = Gate.over(X, y, guarantee=self.guarantee, random_state=seed, **options)
        return run(solver, plan, gate).solution


def seed_of_size(seed: int, n_rows: int, n_features: int) -> int:
    """Return a different seed for every size, so that no sample repeats the start of another."""
    return (seed << 48) + (n_rows << 16) + n_features
