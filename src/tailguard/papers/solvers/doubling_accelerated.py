"""Accelerated descent in phases that double, for risks that grow away from their minimum.

Reference
---------
Xu et al. 2025, Algorithm 7 and Theorem 7; McSherry 2009, Theorem 4 (all phases together cost no
more than the costliest one).
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tailguard.checks import InputError, check_count, check_positive, require, shown
from tailguard.gate import Gate
from tailguard.gate.engine import SolverExample
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.gate.stage import Stage
from tailguard.papers.solvers.permuted_accelerated import PermutedAccelerated
from tailguard.papers.solvers.phases import SMALLEST_ROUND, doubling_rounds
from tailguard.privacy.guarantees import Guarantee
from tailguard.sets.l1_ball import L1Ball
from tailguard.solvers.descent import solved_at, start_of


@dataclass(frozen=True, kw_only=True)
class DoublingAccelerated(PermutedAccelerated):
    """Accelerated descent in phases that double; each starts where the last one ended.

    For risks that grow away from their minimum like a power, with an exponent above 1.

    Parameters
    ----------
    growth_bound
        A number above 1 and at most the exponent. The smaller it is, the more phases there are.
    smallest_phase
        No phase has fewer records unless it is the only one.
    phase_steps, phase_clip_norms
        One number for each phase, in place of ``n_steps`` and ``clip_norm``, which hold for every
        phase. The other parameters are those of :class:`PermutedAccelerated`.

    Guarantee
    ---------
    As for :class:`PermutedAccelerated`: phases read disjoint records, each cuts its records into
    secret batches, and each phase may spend the whole budget.

    Edge cases
    ----------
    There is at least one phase. Whether batches count as a shuffle is decided for each phase.

    Reference
    ---------
    Xu et al. 2025, Algorithm 7 and Theorem 7, with the momentum of Algorithm 6: the printed one
    does not start at 1. ``calibration="printed"`` takes the printed momentum and sizes.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(
    ...     tg.losses.LpLoss(4), n_rows=10_000, n_features=3, constraint=tg.sets.L1Ball(1.0)
    ... )
    >>> DoublingAccelerated(n_steps=20).plan(problem, tg.GDP(0.5)).settings["batch_sizes"]
    '20 of 71; 20 of 142; 20 of 285'
    """

    growth_bound: float = 2.0
    smallest_phase: int = SMALLEST_ROUND
    phase_steps: tuple[int, ...] | None = None
    phase_clip_norms: tuple[float, ...] | None = None

    name: ClassVar[str] = "doubling-accelerated"
    example: ClassVar[SolverExample] = SolverExample(
        L1Ball(1.0),
        shown={
            "n_steps": 1, "clip_norm": 1.0, "diameter": 1e6, "smoothness": 1.0, "growth_bound": 4.0
        },
    )  # fmt: skip

    def __post_init__(self) -> None:
        """Check the public numbers."""
        super().__post_init__()
        for name, check in (("phase_steps", check_count), ("phase_clip_norms", check_positive)):
            numbers = getattr(self, name)
            if not isinstance(numbers, tuple | list | None):
                raise InputError(
                    f"{name} must be a tuple of one number for each phase, or None; got "
                    f"{shown(numbers)}."
                )
            for number in numbers or ():
                check(name, number)

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Cut the records into phases, and these into batches, from public numbers only."""
        n_phases = len(self.pass_sizes(problem))
        for name in ("phase_steps", "phase_clip_norms"):
            numbers = getattr(self, name)
            require(
                numbers is None or len(numbers) == n_phases,
                f"{name} must have one number for each of {n_phases} phases; got {shown(numbers)}.",
            )
        plan = super().plan(problem, guarantee)
        clips = "; ".join(f"{each:g}" for each in self.pass_clip_norms(problem, plan.stages))
        return replace(plan, settings={**plan.settings, "clip_norm": clips})

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Go through the phases, each on batches of records that no other phase reads."""
        problem = plan.problem
        point, points = start_of(problem, self.start), []
        for index, phase in enumerate(gate.partition("phases", sizes=self.pass_sizes(problem))):
            points.append(self._pass(gate, plan, index, point, phase))
            point = points[-1][-1]
        return solved_at(plan, point, np.concatenate(points))

    def pass_sizes(self, problem: Problem) -> tuple[int, ...]:
        """Return how many records each phase reads."""
        known = problem.n_rows, self.growth_bound, self.smallest_phase
        return doubling_rounds(*known, printed=self.calibration == "printed")

    @property
    def lag(self) -> int:
        """Return the lag of Algorithm 6, or the printed lag, whose momentum starts at 2/3."""
        return 2 if self.calibration == "printed" else 1

    def _step_count(self, problem: Problem, index: int, mu: float) -> int:
        if self.phase_steps is None:
            return super()._step_count(problem, index, mu)
        return min(self.phase_steps[index], self.pass_sizes(problem)[index])

    def _clip_norm(self, problem: Problem, index: int, stage: Stage) -> float:
        if self.phase_clip_norms is None:
            return super()._clip_norm(problem, index, stage)
        return self.phase_clip_norms[index]

    def _stage(self, problem: Problem, promise: Guarantee, index: int, n_steps: int) -> Stage:
        name = f"batches {index + 1}"
        alone = super()._stage(problem, promise, index, n_steps)
        return replace(alone, name=name, block_map=name, within=("phases", index))
