"""Descent on the centre of noised group means, with new groups in every step.

A record is in one group of a step, so the groups of a step cost as much as one of them. Secret new
groups of equal size are also a shuffle, which costs less for many groups and small shares. The plan
takes whichever costs less.

Reference
---------
Zhao et al. 2024, Algorithms 1 and 3 and Theorem 7; why groups may be shuffled:
:mod:`tailguard.privacy.amplification.grouped`.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tailguard.checks import require
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.gate.stage import Stage, usable_guarantee
from tailguard.means.centres import CENTRES, LEVEL, STARTS, centre_of
from tailguard.privacy.guarantees import Guarantee
from tailguard.solvers.descent import Batches, clipped_gradients, set_of, solved_at
from tailguard.solvers.options import check_ranges


@dataclass(frozen=True, kw_only=True)
class GroupedDescent:
    """Projected descent on centres of group means, averaged over its points.

    Parameters
    ----------
    n_steps, step_size
        The number of steps and their size.
    clip_norm
        The bound on one record's gradient.
    n_groups
        How many groups of equal size a step has; the few records that remain are not used.
    centre, level, start
        As in :class:`tailguard.means.iterative.IterativeMean`.

    Guarantee
    ---------
    The run spends exactly the plan's event, whose total is at most the guarantee, for every input
    and every loss of one score.

    Edge cases
    ----------
    If a shuffle saves nothing, the groups count as disjoint and stay the same for all steps.

    Reference
    ---------
    Zhao et al. 2024, Algorithm 3, with the shuffle of a secret partition in place of Theorem 6.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(
    ...     tg.losses.Logistic(), n_rows=20_000, n_features=3, constraint=tg.sets.L2Ball(1.0)
    ... )
    >>> solver = GroupedDescent(n_steps=20, step_size=0.1, clip_norm=1.0, n_groups=200)
    >>> solver.plan(problem, tg.ApproxDP(0.5, 1e-6)).settings["proof"]
    'groups'
    """

    n_steps: int
    step_size: float
    clip_norm: float
    n_groups: int
    centre: str = "updates"
    level: float = LEVEL
    start: str = "median"

    name: ClassVar[str] = "grouped-descent"

    def __post_init__(self) -> None:
        """Check the public numbers."""
        _ = self.batches  # refuses numbers that make no groups
        check_ranges(self, centre=CENTRES, start=STARTS)

    @property
    def batches(self) -> Batches:
        """The groups of all steps: a step is a pass over them."""
        return Batches("shuffled", self.n_steps * self.n_groups, self.n_groups)

    def stage(self, problem: Problem, guarantee: Guarantee) -> Stage:
        """Return the stage: the groups of every step, with their budget."""
        promise = usable_guarantee(guarantee, self.n_steps * self.n_groups * problem.size)
        return self.batches.stage(promise, 0.0, problem.n_rows, problem.size)

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Share the budget out; numbers only."""
        require(problem.scored is not None, f"solver {self.name!r} needs a loss of one score.")
        stage, query = self.stage(problem, guarantee), clipped_gradients(problem, self.clip_norm)
        rows = self.batches.rows_per_step(problem.n_rows)
        query.calibrate(rows, problem.n_features, stage.mu)  # refuses what the run would refuse
        return Plan(
            solver=self.name,
            problem=problem,
            guarantee=guarantee,
            stages=(stage,),
            settings={
                "groups": f"{self.n_groups} of {rows}",
                "proof": "groups" if stage.shuffled else "parallel",
                "clip_norm": self.clip_norm,
                "centre": self.centre,
                "step_size": self.step_size,
            },
            assumptions=("the loss is convex", "few gradients exceed the clip norm"),
        )

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Release the group means at every point, and step along their centre."""
        problem, stage = plan.problem, plan.stages[0]
        allowed, query = set_of(problem), clipped_gradients(problem, self.clip_norm)
        point = allowed.project(np.zeros(problem.size))
        points = np.empty((self.n_steps, problem.size))
        for step in range(self.n_steps):
            if step == 0 or stage.shuffled:
                groups = gate.partition(
                    f"{stage.block_map}, step {step}" if stage.shuffled else str(stage.block_map),
                    self.n_groups,
                    equal_sizes=True,
                    amplified=stage.shuffled,
                )
            means = gate.ask(query, point, stage, blocks=groups)
            gradient = centre_of(means, self.centre, self.level, self.start)
            point = allowed.project(point - self.step_size * gradient)
            points[step] = point
        return solved_at(plan, points.mean(axis=0), points)
