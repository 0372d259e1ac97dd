"""Localised descent: minimise on half of the records, release, continue from there on a quarter.

Each phase reads its own, disjoint records, minimises their clipped loss with a penalty on the
distance from the last answer, and releases the minimiser with noise. Penalties grow by a factor of
four or more from phase to phase, so the noise shrinks as fast. Every phase may spend the whole
budget.

Reference
---------
Xu et al. 2025, Algorithms 2 and 3; Feldman, Koren and Talwar 2020, Algorithm 2 (phases); McSherry
2009, Theorem 4 (all phases together cost no more than one).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import require
from tailguard.gate import Gate
from tailguard.gate.engine import SolverExample
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.gate.stage import Stage, usable_mu
from tailguard.losses.base import Loss
from tailguard.means.base import amount_of
from tailguard.papers.printed.terms import CALIBRATIONS, printed_in, share_with_rounding
from tailguard.papers.solvers.gradient_facts import GradientFacts, PrintedSchedule
from tailguard.papers.solvers.phases import (
    SMALLEST_ROUND,
    Phase,
    Round,
    halving_sizes,
    printed_halving_sizes,
    strengths,
)
from tailguard.privacy.events import Gaussian
from tailguard.privacy.guarantees import ApproxDP, Guarantee
from tailguard.queries.clipped_minimiser import ClippedMinimiser
from tailguard.queries.units import Units
from tailguard.sets.base import ConstraintSet
from tailguard.sets.intersection_with_ball import IntersectionWithBall
from tailguard.solvers.descent import check_constraint, set_of, solved_at, start_of
from tailguard.solvers.options import check_ranges

SCHEDULES = ("practical", "printed", "steps")
MANY_READS = 10**10  # records that gradients read in some minutes


@dataclass(frozen=True, kw_only=True)
class Localised:
    """Localised noisy clipped descent, for losses of one score.

    Parameters
    ----------
    row_limit
        Rows are shrunk to this norm; None takes ``sqrt(3 * n_coefficients)``, for columns of unit
        scale.
    clip_norm
        The bound on one record's gradient; None balances its bias with the noise.
    gradient_scale, moment_order
        The moment of this order of a gradient's norm is ``gradient_scale ** moment_order``; None
        takes the norm of a row of unit-scale columns. Both are public; only accuracy depends on
        them.
    diameter
        How far the optimum may be from the start; None takes the diameter of the set.
    penalty
        ``penalty / 2 * |w|^2`` is added to the mean loss.
    start
        A public start, one number for every coordinate.
    schedule
        ``"practical"``. ``"printed"``: phases down to one record, with printed clip norms, eta and
        penalties (``exponent`` is the paper's p), unless ``clip_norm`` or ``step_parameter`` is
        given. Both schedules release certified minimisers. ``"steps"``: the printed schedule, but
        instead of a minimiser the last point of Algorithm 2 after ``T_i = 1 / (lambda_i eta_i)``
        steps of size eta_i in a ball of radius D_i. That point is close to a minimiser, after
        ``n ** 2 / 4`` steps or more.
    lipschitz_bound
        The Lipschitz constant of a loss, for the printed eta and D_i; None takes the largest that
        the paper's theorem admits.
    smallest_phase
        In the practical schedule only the first phase may have fewer records.
    step_parameter
        The paper's eta; None minimises the predicted risk.
    calibration
        ``"tight"``, or ``"printed"``. The printed noise is several times too large, unless it is
        below the errors of floats: those errors are charged too, even beyond the guarantee.

    Guarantee
    ---------
    The run spends exactly the plan's event, for every input. Its total is at most the guarantee,
    except with printed noise: a run that spends more is a simulation, and its certificate says so.
    The paper's proof has gaps, which are closed here: losses have one score and a bounded clipped
    curvature, rows are bounded, and penalties are not clipped.

    Edge cases
    ----------
    Fewer than twice ``smallest_phase`` records make one phase. Exposures are refused.

    Reference
    ---------
    Xu et al. 2025, Algorithm 3 and Theorem 1. Deviations: answers are projected onto the set, which
    later phases need. By default there is no ball around each start, since a penalised minimiser
    never reaches it; there are no phases of a few records; and minimisers are certified and not the
    end of a fixed number of steps. Such steps, and all with printed noise, are projected onto the
    set and then drawn into the balls. The result lies in all of them, but is not always the nearest
    such point. The common center of ``penalty`` and a phase's penalty is drawn there in the same
    way.

    Examples
    --------
    >>> import tailguard as tg
    >>> solver = Localised(row_limit=2.0)
    >>> problem = Problem(
    ...     tg.losses.Logistic(), n_rows=1000, n_features=3, constraint=tg.sets.L2Ball(1.0)
    ... )
    >>> solver.plan(problem, tg.GDP(0.5)).settings["phase_sizes"]
    '563, 250, 125, 62'
    """

    row_limit: float | None = None
    clip_norm: float | None = None
    gradient_scale: float | None = None
    moment_order: float = 2.0
    diameter: float | None = None
    penalty: float = 0.0
    start: float = 0.0
    schedule: str = "practical"
    exponent: float = 1.0
    lipschitz_bound: float | None = None
    smallest_phase: int = SMALLEST_ROUND
    step_parameter: float | None = None
    calibration: str = "tight"

    name: ClassVar[str] = "localised"
    example: ClassVar[SolverExample] = SolverExample(
        shown={"clip_norm": 1.0, "row_limit": 1.0, "diameter": 50.0, "step_parameter": 1.0}
    )

    def __post_init__(self) -> None:
        """Check the public numbers."""
        check_ranges(self, schedule=SCHEDULES, calibration=CALIBRATIONS)

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Cut the records into phases and set the noise, from public numbers only."""
        self._check(problem)
        phases, shares = self._phases_with_mu(problem, guarantee)
        first = self._query(problem, phases[0], self._start(problem), self._start(problem))
        noise = first.calibrate(phases[0].n_rows, problem.n_features, shares[0]).noise_std
        return Plan(
            solver=self.name,
            problem=problem,
            guarantee=guarantee,
            stages=(
                Stage(
                    "phases",
                    "minimisers of the clipped loss",
                    max(shares),
                    1,
                    problem.size,
                    block_map="phases",
                    n_blocks=len(phases) * self.n_groups(problem.n_rows),
                ),
            ),
            settings={
                "rounds": len(self.rounds(problem)),
                "phase_sizes": ", ".join(map(str, self._sizes(self.rounds(problem)[0].n_rows))),
                "row_limit": first.row_limit,
                "clip_norm": phases[0].clip_norm,
                "first_strength": phases[0].strength,
                "first_noise_std": noise,
                "schedule": self.schedule,
                "calibration": self.calibration,
            },
            assumptions=(
                "the loss is convex, with gradients whose norm has a moment of the stated order "
                "and scale",
                "few rows exceed the row limit",
                "the start is within the diameter of the optimum",
            ),
            warnings=self._warnings(phases),
            printed=self.calibration == "printed",
        )

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Release each phase's minimiser with noise and project it onto the set."""
        problem, stage = plan.problem, plan.stages[0]
        phases, shares = self._phases_with_mu(problem, plan.guarantee)
        n_groups = self.n_groups(problem.n_rows)
        sizes = tuple(phase.n_rows for phase in phases for _ in range(n_groups))
        blocks = iter(gate.partition("phases", sizes=sizes))
        point = middle = self._start(problem)
        points = np.empty((len(phases), problem.size))
        for index, phase in enumerate(phases):
            middle = point if phase.opens_round else middle
            query = self._query(problem, phase, middle, point)
            center = point * (phase.strength / query.strength)
            share = replace(stage, mu=shares[index])
            nearby = _within(set_of(problem), middle, phase.radius)
            near = query.center(center, phase.n_rows)
            moves = [gate.ask(query, center, share, block=next(blocks)) for _ in range(n_groups)]
            point = nearest_to_most(np.array([nearby.project(near + move) for move in moves]))
            points[index] = point
        return solved_at(plan, point, points)

    def _phases_with_mu(
        self, problem: Problem, guarantee: Guarantee
    ) -> tuple[tuple[Phase, ...], list[float]]:
        """Return the phases, and the mu that each of them spends.

        The mu is the whole budget. With the printed noise it is the true sensitivity of an answer,
        errors of floats included, over that noise.
        """
        n_releases = len(self.phase_sizes(problem)) * self.n_groups(problem.n_rows)
        mu = usable_mu(guarantee, n_releases * problem.size)
        phases = self.phases(problem, mu, guarantee)
        start = self._start(problem)
        queries = [self._query(problem, phase, start, start) for phase in phases]  # refused here
        if self.calibration == "tight":
            return phases, [mu] * len(phases)
        ratio, shares = printed_noise_ratio(printed_in(guarantee)), []
        for phase, query in zip(phases, queries, strict=True):
            sizes = phase.n_rows, problem.n_features
            ideal = Gaussian(query.sensitivity(*sizes).ideal / (phase.move * ratio))
            shares.append(amount_of(share_with_rounding(query, *sizes, ideal)))
        return phases, shares

    @property
    def prints(self) -> bool:
        """Whether rounds and phases are the printed ones."""
        return self.schedule != "practical"

    def rounds(self, problem: Problem) -> tuple[Round, ...]:
        """One round with all the records, anywhere in the set."""
        return (Round(problem.n_rows, math.inf),)

    def n_groups(self, n_rows: int) -> int:
        """Return how many groups of records a phase has, each with a minimiser of its own."""
        return 1

    def phase_sizes(self, problem: Problem) -> tuple[int, ...]:
        """Return the number of records of each phase, or of each of its groups."""
        return tuple(size for part in self.rounds(problem) for size in self._sizes(part.n_rows))

    def phases(self, problem: Problem, mu: float, guarantee: Guarantee) -> tuple[Phase, ...]:
        """Return the parameters of each phase that spends ``mu``, within the guarantee."""
        powers = (2.0 * self.exponent, self.exponent) if self.prints else (1.0, 1.0)
        phases: list[Phase] = []
        for part in self.rounds(problem):
            sizes = self._sizes(part.n_rows)
            if self.prints:
                clips, eta, steepest = self._printed(problem, part, sizes, guarantee)
            else:
                clips, eta, steepest = self._balanced(problem, part, sizes, mu)
            pulls = strengths(sizes, eta, first_power=powers[0], power=powers[1])
            for i, (size, pull, clip) in enumerate(zip(sizes, pulls, clips, strict=True), start=1):
                n_steps = math.ceil(size ** powers[min(i, 2) - 1])
                steps = eta / 4.0**i, n_steps, 2.0 * steepest / pull
                phases.append(Phase(size, pull, clip, part.radius, i == 1, *steps))
        return tuple(phases)

    def _balanced(
        self, problem: Problem, part: Round, sizes: tuple[int, ...], mu: float
    ) -> tuple[tuple[float, ...], float, float]:
        """Return a clip norm for all phases, the eta of least predicted risk, and no bound."""
        facts = self._facts(problem)
        clip_norm = self.clip_norm or facts.clip_norm(part.n_rows, mu)
        diameter = min(2.0 * part.radius, self._diameter(problem))
        eta = self.step_parameter or facts.step_parameter(part.n_rows, mu, diameter, clip_norm)
        return (clip_norm,) * len(sizes), eta, math.inf

    def _printed(
        self, problem: Problem, part: Round, sizes: tuple[int, ...], guarantee: Guarantee
    ) -> tuple[tuple[float, ...], float, float]:
        """Return a round's clip norms, its eta, and the bound on gradients, as printed."""
        more = self.exponent, self.lipschitz_bound
        schedule = PrintedSchedule(problem.n_rows, self._facts(problem), *_terms(guarantee), *more)
        clips = tuple(self.clip_norm or schedule.clip_norm(size, part.n_rows) for size in sizes)
        eta = self.step_parameter or self._printed_eta(problem, schedule, part)
        return clips, eta, schedule.steepest

    def _printed_eta(self, problem: Problem, schedule: PrintedSchedule, part: Round) -> float:
        """Return the eta of Algorithm 3, proportional to the diameter over the root of n."""
        return schedule.step_parameter(part.n_rows, self._diameter(problem))

    def _sizes(self, n_rows: int) -> tuple[int, ...]:
        if self.prints:
            return printed_halving_sizes(n_rows)
        return halving_sizes(n_rows, self.smallest_phase)

    def _facts(self, problem: Problem) -> GradientFacts:
        return GradientFacts.of(
            problem, row_limit=self.row_limit, scale=self.gradient_scale, order=self.moment_order
        )

    def _diameter(self, problem: Problem) -> float:
        return self.diameter or set_of(problem).diameter()

    def _start(self, problem: Problem) -> FloatArray:
        return start_of(problem, self.start)

    def _query(
        self, problem: Problem, phase: Phase, middle: FloatArray, point: FloatArray
    ) -> ClippedMinimiser:
        """Return the query of a phase that starts at a point, in a round around its middle."""
        nearby, more = set_of(problem), dict[str, Any]()
        balls = [(middle, phase.radius)]
        if self.schedule == "steps":
            balls.append((point, phase.travel))
            more = {"step_size": phase.step_size, "n_steps": phase.n_steps}
        if self.calibration == "printed" or self.schedule == "steps":
            reach = nearby.diameter()
            more["balls"] = tuple((tuple(map(float, c)), r) for c, r in balls if r < reach)
        else:
            nearby = _within(nearby, middle, phase.radius)
        return ClippedMinimiser(
            cast(Loss, problem.loss),  # the query refuses every other loss
            Units.raw(problem.n_features, intercept=problem.intercept),
            strength=phase.strength + self.penalty,
            clip_norm=phase.clip_norm,
            row_limit=self._facts(problem).row_limit,
            constraint=nearby,
            **more,
        )

    def _warnings(self, phases: Sequence[Phase]) -> tuple[str, ...]:
        """Warn if steps may take hours."""
        reads = sum(phase.n_rows * phase.n_steps for phase in phases)
        if self.schedule != "steps" or reads < MANY_READS:
            return ()
        return (
            f"Algorithm 2 takes {phases[0].n_steps:,} steps over {phases[0].n_rows:,} records in "
            "its first phase, which can take hours; schedule='printed' takes certified minimisers.",
        )

    def _check(self, problem: Problem) -> None:
        """Refuse inputs that would fail after the budget is reserved; all of them are public."""
        require(
            not problem.has_offset,
            f"offset must be None for solver {self.name!r}, whose minimiser it would make "
            "inexact; use solver='noisy-gradient-descent'.",
        )
        check_constraint(problem, self._diameter(problem))


def _within(base: ConstraintSet, center: FloatArray, radius: float) -> ConstraintSet:
    """Return the part of a set within a ball; the set itself if the ball contains it."""
    return base if radius >= base.diameter() else IntersectionWithBall(base, center, radius)


def nearest_to_most(points: FloatArray) -> FloatArray:
    """Return the point around which the smallest ball holds more than half of the points.

    If more than half lie within r of a place, it lies within ``3 r`` of that place: its ball has a
    radius of at most ``2 r`` and contains one of those points.

    *Reference.* Nemirovski and Yudin 1983; Hsu and Sabato 2016, Proposition 8.
    """
    gaps = np.linalg.norm(points[:, None] - points, axis=2)
    half = len(points) // 2
    return points[np.argmin(np.partition(gaps, half, axis=1)[:, half])]


def printed_noise_ratio(promise: ApproxDP) -> float:
    """Return the printed noise over the printed sensitivity, ``4 sqrt(log(1/delta)) / epsilon``.

    This is more than a phase needs for epsilon up to 20.7 log(1/delta).
    """
    return 4.0 * math.sqrt(-math.log(promise.delta)) / promise.epsilon


def _terms(guarantee: Guarantee) -> tuple[float, float]:
    """Return epsilon and delta of a promise: ``2 sqrt(rho)`` and ``1 / e`` if it has none."""
    if isinstance(guarantee, ApproxDP):
        return guarantee.epsilon, guarantee.delta
    return math.sqrt(2.0) * guarantee.gaussian_mu(), math.exp(-1.0)
