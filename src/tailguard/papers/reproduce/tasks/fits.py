"""A task, and a method on it that is planned once and run for many seeds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tailguard.array_types import FloatArray
from tailguard.engine import Solver, run
from tailguard.gate import Gate
from tailguard.losses.base import Loss
from tailguard.papers.common.theorem import Theorem
from tailguard.plans.plan import Plan
from tailguard.plans.problem import Problem
from tailguard.plans.solution import Solution
from tailguard.privacy.guarantees import Guarantee
from tailguard.sets.base import ConstraintSet
from tailguard.solvers.registry import plan_for


@dataclass(frozen=True)
class Task:
    """A loss on a set; ``labels`` is what a gate must be told of the target.

    Examples
    --------
    >>> import tailguard as tg
    >>> Task("ridge", tg.losses.Squared(), tg.sets.L2Ball(2.0)).constraint.diameter()
    4.0
    """

    name: str
    loss: Loss
    constraint: ConstraintSet
    labels: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PlannedFit:
    """A solver on a task of so many records: its plan is made once, at the first run.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> task = Task("ridge", tg.losses.Squared(), tg.sets.L2Ball(2.0))
    >>> data = tg.datasets.heavy_tailed_linear(500, 2, units=(1.0, 1.0), offset=0.0)
    >>> fit = PlannedFit(task, tg.papers.solvers.DpSgd(clip_norm=1.0), 500, 2, tg.GDP(1.0))
    >>> fit.run(data.features, data.target, seed=0).coef.shape
    (2,)
    """

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
        """The solver and its plan; refused where the guarantee leaves no budget for it."""
        sizes = self.n_rows, self.n_features
        problem = Problem(self.task.loss, *sizes, constraint=self.task.constraint)
        return plan_for(self.solver, problem, self.guarantee)

    def run(self, X: FloatArray, y: FloatArray, *, seed: int) -> Solution:
        """Run on the records with the noise of a seed: NON-PRIVATE."""
        solver, plan = self.plan
        told: dict[str, Any] = {"loss": self.task.loss, **self.task.labels}
        gate = Gate.over(X, y, guarantee=self.guarantee, random_state=seed, **told)
        return run(solver, plan, gate).solution


def nested_seed(seed: int, n_rows: int, n_features: int) -> int:
    """Return a seed of its own for every size: a larger sample does not begin with a smaller one.

    Examples
    --------
    >>> nested_seed(1, 100, 2) != nested_seed(1, 200, 2)
    True
    """
    return (seed << 48) + (n_rows << 16) + n_features
