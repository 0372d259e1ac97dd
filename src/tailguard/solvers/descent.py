"""Projected noisy descent: the set, the gradients, the schedule, and the loop.

The schedule defines which records each step reads, and its budget:

* ``"full"``: all records at every step, so steps share the budget: ``mu / sqrt(n_steps)`` each.
* ``"disjoint"``: every step has its own block. A record is read once, so every step may spend all
  of ``mu``, but has ``n_steps`` times fewer records.
* ``"shuffled"``: passes over batches of equal size. If this reduces the noise, every pass has a new
  secret partition, and its batches are accounted for as a shuffle.
* ``"sampled"``: every step has its own secret sample of ``batch_rows`` records.

Reference
---------
Zhao et al. 2024, Algorithm 1 and Lemma 3 (projected descent over a private mean of gradients);
Bassily, Smith and Thakurta 2014, Algorithm 1 (the same with an average of the iterates);
Nemirovski and Yudin 1983 (methods whose steps follow from the diameter of the set); Dong, Roth and
Su 2022, Corollary 3.3 (composition); McSherry 2009, Theorem 4 (disjoint blocks); Feldman, McMillan
and Talwar 2021 (shuffles), as :mod:`tailguard.privacy.amplification.grouped` applies it; Balle,
Barthe and Gaboardi 2018 (samples without replacement).
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_integer, require
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.gate.stage import BUDGET_MARGIN, Stage
from tailguard.privacy.accounting.total_cost import calibrate, satisfies
from tailguard.privacy.amplification.grouped import grouped_shuffle
from tailguard.privacy.books.blocks import Block
from tailguard.privacy.events import Composed, Event, Gaussian, Nothing, Repeated, Sampled
from tailguard.privacy.guarantees import ApproxDP, Guarantee
from tailguard.queries.base import Query
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.record_gradient import MeanRecordGradient
from tailguard.queries.units import Units
from tailguard.sets.base import ConstraintSet, as_numbers
from tailguard.sets.whole_space import WholeSpace
from tailguard.solvers.options import check_ranges


def set_of(problem: Problem) -> ConstraintSet:
    """Return the constraint, or the whole space if there is none."""
    return problem.constraint or WholeSpace()


def start_of(problem: Problem, number: float) -> FloatArray:
    """Return the start of a descent: this number in every weight, projected onto the set."""
    return set_of(problem).project(np.full(problem.size, number))


def check_constraint(problem: Problem, diameter: float) -> None:
    """Refuse an infinite diameter, and a set of vectors of another size."""
    require(
        math.isfinite(diameter),
        "constraint must be a set of finite diameter if the solver states no diameter; got "
        f"{problem.constraint!r}.",
    )
    check_vectors(problem)


def check_vectors(problem: Problem) -> None:
    """Refuse vectors of another size, and an intercept if gradients include all weights."""
    require(
        problem.scored is not None or not problem.intercept,
        "intercept must be False for a loss known one record at a time: its gradient covers all "
        "weights, a constant column included.",
    )
    try:
        projected = as_numbers(set_of(problem).project(np.zeros(problem.size)))
    except InputError:
        projected = np.empty(0)
    if projected.shape != (problem.size,) or not np.isfinite(projected).all():
        raise InputError(
            f"constraint must be a set of vectors of {problem.size} weights; got "
            f"{problem.constraint!r}."
        )


def clipped_gradients(problem: Problem, clip_norm: float) -> Query:
    """Return the mean of clipped gradients, of records in the user's units."""
    if problem.by_record:
        return MeanRecordGradient(problem.by_record, clip_norm)
    units = Units.raw(problem.n_features, intercept=problem.intercept)
    return MeanClippedGradient(problem.scored, units, clip_norm=clip_norm)


def solved_at(plan: Plan, weights: FloatArray, points: FloatArray) -> Solution:
    """Return a solution with these weights, in the user's units; its noise is not predicted."""
    coef, intercept = weights, 0.0
    if not plan.problem.by_record:
        units = Units.raw(plan.problem.n_features, intercept=plan.problem.intercept)
        coef, intercept = units.coefficients(weights)
    return Solution(coef, intercept, plan, np.full(coef.shape, math.nan), math.nan, points)


SCHEDULES = ("full", "disjoint", "shuffled", "sampled")

# Relative accuracy of mu in an accountant's search.
ACCURACY = 1e-5


@dataclass(frozen=True)
class Batches:
    """The records of every step.

    Attributes
    ----------
    schedule
        ``"full"``, ``"disjoint"``, ``"shuffled"`` or ``"sampled"``.
    n_steps
        The number of gradient releases.
    n_batches
        The number of batches of a shuffled pass; it divides ``n_steps``. None means one pass.
    batch_rows
        The number of records in a sample.
    """

    schedule: str
    n_steps: int
    n_batches: int | None = None
    batch_rows: int | None = None

    def __post_init__(self) -> None:
        check_ranges(self, schedule=SCHEDULES)
        require(
            (self.batch_rows is not None) == (self.schedule == "sampled"),
            "batch_rows must be given if schedule='sampled', and be None otherwise.",
        )
        require(
            self.n_batches is None or self.schedule == "shuffled",
            "n_batches must be None unless schedule='shuffled'.",
        )
        require(
            self.n_steps % (self.n_batches or 1) == 0,
            f"n_batches must divide n_steps = {self.n_steps}; got {self.n_batches}.",
        )

    @property
    def n_blocks(self) -> int:
        """The number of blocks of the records."""
        return self.n_batches or self.n_steps if self.block_map else 1

    @property
    def n_passes(self) -> int:
        """How often each record is read; an upper bound for samples."""
        return self.n_steps // self.n_blocks

    @property
    def block_map(self) -> str | None:
        """The name of the partition, or None."""
        partitioned = self.schedule in ("disjoint", "shuffled")
        return f"batches of {self.schedule} steps" if partitioned else None

    def rows_per_step(self, n_rows: int) -> int:
        """Return how many records the smallest step reads."""
        if self.batch_rows is not None:
            return check_integer("batch_rows", self.batch_rows, minimum=1, maximum=n_rows)
        if self.n_blocks > n_rows:
            name = "n_batches" if self.n_batches else "n_steps"
            raise InputError(
                f"{name} must be at most n_rows = {n_rows} for a {self.schedule} schedule; "
                f"got {self.n_blocks}."
            )
        return n_rows // self.n_blocks

    def stage(self, guarantee: Guarantee, spent_mu: float, n_rows: int, size: int) -> Stage:
        """Divide the guarantee, minus ``spent_mu``, among the steps."""
        rows, passes = self.rows_per_step(n_rows), self.n_passes
        total = guarantee.gaussian_mu() * (1.0 - BUDGET_MARGIN)
        mu, shuffled = math.sqrt((total**2 - spent_mu**2) / passes), False
        if self.schedule == "shuffled" and isinstance(guarantee, ApproxDP) and spent_mu == 0.0:
            shuffled_mu, reduces_noise = grouped_shuffle(
                guarantee, n_groups=self.n_blocks, times=passes
            )
            if reduces_noise:
                mu, shuffled = shuffled_mu, True
        rate = None if self.batch_rows is None else rows / n_rows
        if rate is not None:
            mu = self._sampled_mu(guarantee, spent_mu, rate, mu)
        return Stage(
            "descent",
            "gradients of the loss",
            mu,
            passes,
            size,
            block_map=self.block_map,
            n_blocks=self.n_blocks,
            shuffled=shuffled,
            sampled=rate,
        )

    def _sampled_mu(
        self, guarantee: Guarantee, spent_mu: float, rate: float, full_mu: float
    ) -> float:
        """Return the mu of a step on a sample; ``full_mu`` is that of a step on all records."""
        spent: Event = Gaussian(spent_mu) if spent_mu else Nothing()

        def event_of(mu: float) -> Event:
            """Return the cost of all steps and of earlier releases."""
            return Composed((spent, Repeated(Sampled(mu, rate), self.n_steps)))

        require(
            satisfies(event_of(full_mu / 2.0), guarantee),
            "schedule must not be 'sampled' for this promise: fresh samples are priced by epsilon "
            f"at a delta of at least 1e-10 only; got {guarantee.describe()}.",
        )
        return calibrate(event_of, guarantee, guess=full_mu, accuracy=ACCURACY)

    def blocks(self, stage: Stage, gate: Gate) -> Iterator[Block | None]:
        """Yield the block of every step; None is all records.

        Each shuffled pass has its own partition; disjoint blocks may be used again.
        """
        if stage.block_map is None:
            yield from [None] * self.n_steps
            return
        if stage.shuffled:
            for number in range(stage.times):
                name = f"{stage.block_map}, pass {number}"
                yield from gate.partition(name, stage.n_blocks, amplified=True)
            return
        fixed = gate.partition(
            stage.block_map, stage.n_blocks, equal_sizes=self.schedule == "shuffled"
        )
        for _ in range(stage.times):
            yield from fixed


ITERATES = ("average", "tail", "weighted", "last")
DECAYS = ("none", "root")


@dataclass(frozen=True)
class Steps:
    """The steps of a descent, fixed in advance.

    Attributes
    ----------
    n_steps
        The number of gradient releases.
    step_size
        The size of the first step, and of all steps unless they decay.
    iterate
        The point that is returned: the ``"last"`` point, the ``"average"`` of all points, the
        ``"tail"``, an average of the second half, or the ``"weighted"`` average, in which later
        points count more.
    decay
        ``"none"``, or ``"root"``: the first step over the root of the step's number.
    """

    n_steps: int
    step_size: float
    iterate: str
    decay: str = "none"

    @property
    def step_sizes(self) -> FloatArray:
        """The size of every step."""
        numbers = np.arange(1, self.n_steps + 1)
        divisors = np.sqrt(numbers) if self.decay == "root" else np.ones(numbers.size)
        return self.step_size / divisors


def averaging_weights(steps: Steps) -> FloatArray:
    """Return the weights of the points ``w_1 .. w_T`` in the result; they sum to 1."""
    if steps.iterate == "weighted":
        numbers = np.arange(1.0, steps.n_steps + 1.0)
        return numbers / numbers.sum()
    weights = np.zeros(steps.n_steps)
    first = {"last": -1, "tail": steps.n_steps // 2, "average": 0}[steps.iterate]
    weights[first:] = 1.0
    return weights / weights.sum()


def descend(
    gate: Gate,
    query: Query,
    stage: Stage,
    steps: Steps,
    *,
    start: FloatArray,
    constraint: ConstraintSet,
    blocks: Iterable[Block | None] | None = None,
    gradient_of: Callable[[FloatArray, int], FloatArray] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Run the steps; return the resulting point and all released points, one per row.

    ``blocks`` has the records of each step; if it is None, every step reads the records of
    ``stage``: all of them, or a secret sample. ``gradient_of`` turns the answer of an oracle into a
    gradient.
    """
    point = constraint.project(start)
    points = np.empty((steps.n_steps, start.size))
    step_blocks = [None] * steps.n_steps if blocks is None else blocks
    for step, (size, block) in enumerate(zip(steps.step_sizes, step_blocks, strict=True)):
        gradient = gate.ask(query, point, stage, block=block)
        if gradient_of is not None:
            gradient = gradient_of(gradient, start.size)
        point = constraint.project(point - size * gradient)
        points[step] = point
    return constraint.project(averaging_weights(steps) @ points), points
