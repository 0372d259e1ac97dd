"""Accelerated descent over secret random batches: every record is read once.

A record is in one batch, so all batches together cost as much as one, for every loss. Random and
secret batches can cost less still. The solver takes the least noise that one of the two proofs
allows.

Reference
---------
Xu et al. 2025, Algorithm 6 and Theorem 6; :mod:`tailguard.privacy.amplification.grouped` (why
batches may be shuffled: Feldman, McMillan and Talwar 2021; McSherry 2009).
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from tailguard.array_types import FloatArray
from tailguard.checks import require
from tailguard.gate import Gate
from tailguard.gate.engine import SolverExample
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.gate.stage import BUDGET_MARGIN, Stage, usable_guarantee
from tailguard.means.base import amount_of
from tailguard.papers.printed.terms import CALIBRATIONS, printed_in, share_with_rounding
from tailguard.papers.solvers import acceleration
from tailguard.papers.solvers.gradient_facts import GradientFacts, step_curvature
from tailguard.privacy.amplification.grouped import grouped_shuffle
from tailguard.privacy.books.blocks import Block
from tailguard.privacy.events import Gaussian
from tailguard.privacy.guarantees import ApproxDP, Guarantee
from tailguard.solvers import descent
from tailguard.solvers.options import check_ranges


def batch_noise(promise: Guarantee, n_batches: int) -> tuple[float, bool]:
    """Return the mu that each batch may spend, and whether that counts on a shuffle.

    The better of two proofs: disjoint batches, or a shuffle of batches.
    """
    alone = promise.gaussian_mu() * (1.0 - BUDGET_MARGIN)
    if not isinstance(promise, ApproxDP) or n_batches == 1:
        return alone, False
    mu, shuffled = grouped_shuffle(promise, n_groups=n_batches)
    return (mu * (1.0 - BUDGET_MARGIN), True) if shuffled else (alone, False)


def printed_batch_noise(promise: Guarantee, n_batches: int, n_rows: int) -> float:
    """Return the mu of each batch for the printed noise, ``C sqrt(T log(1/delta)) / (n epsilon)``.

    One record moves the mean of a batch of ``b`` records by ``2 C / b``.
    """
    asked = printed_in(promise)
    spread = math.sqrt(-n_batches * math.log(asked.delta))
    batch = n_rows // n_batches
    return 2.0 * n_rows * asked.epsilon / (batch * spread)


@dataclass(frozen=True, kw_only=True)
class PermutedAccelerated:
    """Accelerated noisy clipped descent over secret random batches, for any loss.

    Parameters
    ----------
    n_steps
        The number of batches; None takes the number of least predicted risk.
    clip_norm
        The bound on one record's gradient; None balances its bias with the noise.
    gradient_scale, moment_order
        The moment of this order of a gradient's norm is ``gradient_scale ** moment_order``; None
        takes the norm of a row of unit-scale columns. Both are public; only accuracy depends on
        them.
    smoothness
        A bound on the curvature of the mean loss; None takes that of unit-scale columns. Accuracy
        depends on it, not privacy.
    diameter
        How far the optimum may be from the start; None takes the diameter of the set.
    start
        A public start, one number for every coordinate.
    calibration
        ``"tight"``: the least noise of the proofs of :func:`batch_noise`. ``"printed"``: the noise
        of the paper. It mostly costs more than the guarantee, and a run is then a simulation.

    Guarantee
    ---------
    The run spends exactly the plan's event, whose total is at most the guarantee, for every input
    and every loss: each record is read once, and each batch is released with noise.

    Edge cases
    ----------
    Secret batches save noise while epsilon is below about ``sqrt(log(1/delta) / n_steps)``; beyond
    that, and for promises other than (epsilon, delta), they count as disjoint batches. The
    accountant decides, in the plan. Records beyond batches of equal size are not used.

    Reference
    ---------
    Xu et al. 2025, Algorithm 6 and Theorem 6. Deviations: the step size is that of Ghadimi and Lan
    2012. The noise is calibrated for batches: the paper's formula lacks a logarithm and its
    constant, and an observer of the batch means breaks it.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(
    ...     tg.losses.Logistic(), n_rows=1000, n_features=3, constraint=tg.sets.L2Ball(1.0)
    ... )
    >>> plan = PermutedAccelerated(n_steps=10).plan(problem, tg.GDP(0.5))
    >>> plan.settings["batch_sizes"], plan.settings["proof"]
    ('10 of 100', 'parallel')
    """

    n_steps: int | None = None
    clip_norm: float | None = None
    gradient_scale: float | None = None
    moment_order: float = 2.0
    smoothness: float | None = None
    diameter: float | None = None
    start: float = 0.0
    calibration: str = "tight"

    name: ClassVar[str] = "permuted-accelerated"
    example: ClassVar[SolverExample] = SolverExample(
        shown={"n_steps": 1, "clip_norm": 1.0, "diameter": 1e6, "smoothness": 1.0}
    )

    def __post_init__(self) -> None:
        """Check the public numbers."""
        check_ranges(self, calibration=CALIBRATIONS)

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Cut the records into batches and set their noise, from public numbers only."""
        self._check(problem)
        sizes = self.pass_sizes(problem)
        mu = guarantee.gaussian_mu()
        counts = [self._step_count(problem, index, mu) for index in range(len(sizes))]
        promise = guarantee
        if self.calibration == "tight":
            promise = usable_guarantee(guarantee, sum(counts) * problem.size)
        stages = tuple(
            self._stage(problem, promise, index, n_steps) for index, n_steps in enumerate(counts)
        )
        clips = self.pass_clip_norms(problem, stages)
        for size, stage, clip_norm in zip(sizes, stages, clips, strict=True):
            # Refuses here, and not in the run, what calibration refuses.
            descent.clipped_gradients(problem, clip_norm).calibrate(
                size // stage.n_blocks, problem.n_features, stage.mu
            )
        return Plan(
            solver=self.name,
            problem=problem,
            guarantee=guarantee,
            stages=stages,
            settings={
                "batch_sizes": "; ".join(
                    f"{stage.n_blocks} of {size // stage.n_blocks}"
                    for size, stage in zip(sizes, stages, strict=True)
                ),
                "proof": "; ".join("groups" if each.shuffled else "parallel" for each in stages),
                "clip_norm": clips[0],
                "smoothness": self._smoothness(problem),
                "calibration": self.calibration,
            },
            assumptions=(
                "the mean loss is convex and smooth, with gradients whose norm has a moment of the "
                "stated order and scale",
                "the start is within the diameter of the optimum",
            ),
            printed=self.calibration == "printed",
        )

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Go through the batches, each released with noise."""
        problem = plan.problem
        points = self._pass(gate, plan, 0, descent.start_of(problem, self.start))
        return descent.solved_at(plan, points[-1], points)

    def pass_sizes(self, problem: Problem) -> tuple[int, ...]:
        """Return how many records each pass reads: one pass over all records."""
        return (problem.n_rows,)

    @property
    def lag(self) -> int:
        """Return the lag of the momentum, as :func:`accelerate` has it."""
        return 1

    def pass_clip_norms(self, problem: Problem, stages: tuple[Stage, ...]) -> tuple[float, ...]:
        """Return the clip norm of each pass."""
        return tuple(self._clip_norm(problem, index, each) for index, each in enumerate(stages))

    def _pass(
        self, gate: Gate, plan: Plan, index: int, start: FloatArray, within: Block | None = None
    ) -> FloatArray:
        """Descend over the batches of one pass; return its averaged points, one a row."""
        problem, stage = plan.problem, plan.stages[index]
        clip_norm = self._clip_norm(problem, index, stage)
        query = descent.clipped_gradients(problem, clip_norm)
        batches = gate.partition(
            stage.name, stage.n_blocks, equal_sizes=True, amplified=stage.shuffled, within=within
        )
        n_rows = batches[0].n_rows
        noise = query.calibrate(n_rows, problem.n_features, stage.mu).noise_std / n_rows
        sampling = self._facts(problem).scale / math.sqrt(n_rows)
        eta = acceleration.step_parameter(
            len(batches),
            gradient_error=math.hypot(noise * math.sqrt(problem.size), sampling),
            smoothness=self._smoothness(problem),
            diameter=self._diameter(problem),
        )

        def gradient(step: int, weights: FloatArray) -> FloatArray:
            return gate.ask(query, weights, stage, block=batches[step])

        options: Any = {"start": start, "constraint": descent.set_of(problem)}
        return acceleration.accelerate(gradient, len(batches), eta, **options, lag=self.lag)

    def _stage(self, problem: Problem, promise: Guarantee, index: int, n_steps: int) -> Stage:
        """Return the stage of one pass: every batch is read once."""
        if self.calibration == "printed":  # the share of rounding is the same for every clip norm
            query, n_rows = descent.clipped_gradients(problem, 1.0), self.pass_sizes(problem)[index]
            ideal = Gaussian(printed_batch_noise(promise, n_steps, n_rows))
            share = share_with_rounding(query, n_rows // n_steps, problem.n_features, ideal)
            mu, shuffled = amount_of(share), n_steps > 1
        else:
            mu, shuffled = batch_noise(promise, n_steps)
        return Stage(
            "batches",
            "gradients of the clipped loss",
            mu,
            1,
            problem.size,
            block_map="batches",
            n_blocks=n_steps,
            shuffled=shuffled,
        )

    def _step_count(self, problem: Problem, index: int, mu: float) -> int:
        n_rows = self.pass_sizes(problem)[index]
        if self.n_steps is not None:
            return min(self.n_steps, n_rows)
        return acceleration.best_step_count(
            self._facts(problem),
            n_rows=n_rows,
            mu=mu,
            smoothness=self._smoothness(problem),
            diameter=self._diameter(problem),
            clip_norm=self.clip_norm,
        )

    def _clip_norm(self, problem: Problem, index: int, stage: Stage) -> float:
        n_rows = self.pass_sizes(problem)[index]
        return self.clip_norm or acceleration.clip_norm_for(
            self._facts(problem), n_rows, stage.n_blocks, stage.mu
        )

    def _facts(self, problem: Problem) -> GradientFacts:
        return GradientFacts.of(
            problem, row_limit=None, scale=self.gradient_scale, order=self.moment_order
        )

    def _smoothness(self, problem: Problem) -> float:
        """Mean curvature in the steepest direction, for rows of identical unit-scale columns."""
        if self.smoothness is not None or problem.scored is None:
            return self.smoothness or math.inf
        return step_curvature(problem.scored) * problem.size

    def _diameter(self, problem: Problem) -> float:
        return self.diameter or descent.set_of(problem).diameter()

    def _check(self, problem: Problem) -> None:
        """Refuse inputs that would fail after the budget is reserved; all of them are public."""
        descent.check_constraint(problem, self._diameter(problem))
        require(
            math.isfinite(self._smoothness(problem)),
            f"smoothness must be given to solver {self.name!r} for a loss known one record at a "
            "time.",
        )
