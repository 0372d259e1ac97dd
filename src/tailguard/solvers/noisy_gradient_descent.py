"""Projected noisy gradient descent in the user's own units, for any loss over a bounded set.

Gradients are clipped to one l2 level. Where the user states none, a tenth of the budget buys a
quantile of the gradient norms at the start. The step follows from the set's diameter, as in the
theorem for Lipschitz losses, so no curvature is needed.

Reference
---------
Zhao et al. 2024, Algorithm 1 and Lemma 3; Bassily, Smith and Thakurta 2014, Theorem 2.4 (step
``diameter / (G sqrt(T))`` with averaging); Andrew et al. 2021 (clip level from a private quantile).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailguard.checks import InputError, check_choice, check_finite, check_integer, check_positive
from tailguard.gate import Gate
from tailguard.privacy.guarantees import Guarantee
from tailguard.queries.base import Query
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.norm_counts import CountNormsBelow
from tailguard.queries.record_gradient import MeanRecordGradient
from tailguard.queries.units import Units
from tailguard.sets.whole_space import WholeSpace
from tailguard.solvers.base import Plan, Problem, Solution, Stage, require, usable_mu
from tailguard.solvers.bisection import UNSIGNED_OCTAVE_STEPS, bisect_quantiles
from tailguard.solvers.descent import Schedule, descend

__all__ = ["NoisyGradientDescent"]

FloatArray = NDArray[np.float64]

CLIP_SHARE = 0.1  # of mu**2, where the clip level is bought
CLIP_STEPS = UNSIGNED_OCTAVE_STEPS + 2  # to a quarter of an octave
CLIP_QUANTILE = 0.9  # of the gradient norms at the start
DEFAULT_STEPS = 100


@dataclass(frozen=True)
class NoisyGradientDescent:
    """Projected noisy gradient descent over l2-clipped gradients.

    Parameters
    ----------
    n_steps
        The number of gradient releases.
    clip_norm
        A public clip level; None buys one with a tenth of the budget.
    step_size
        A public step; None takes ``diameter / (G sqrt(n_steps))``, which needs a bounded set.
    iterate
        ``"average"``, ``"tail"`` or ``"last"``.
    start
        A public start, one number for every coordinate.

    Guarantee
    ---------
    The run spends exactly the plan's event, whose total is at most the guarantee, for every input.

    Examples
    --------
    >>> import tailguard as tg
    >>> solver = NoisyGradientDescent(n_steps=20, clip_norm=1.0)
    >>> problem = Problem(
    ...     tg.losses.Logistic(), n_rows=5000, n_features=3, constraint=tg.sets.L2Ball(1.0)
    ... )
    >>> [stage.name for stage in solver.plan(problem, tg.GDP(0.5)).stages]
    ['descent']
    """

    n_steps: int = DEFAULT_STEPS
    clip_norm: float | None = None
    step_size: float | None = None
    iterate: str = "average"
    start: float = 0.0

    def __post_init__(self) -> None:
        """Check the public numbers."""
        check_integer("n_steps", self.n_steps, minimum=1)
        check_choice("iterate", self.iterate, ("average", "tail", "last"))
        check_finite("start", self.start)
        if self.clip_norm is not None:
            check_positive("clip_norm", self.clip_norm)
        if self.step_size is not None:
            check_positive("step_size", self.step_size)

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Share the budget out; numbers only."""
        _check_constraint(problem, self.step_size)
        coordinates = CLIP_STEPS + 1 + self.n_steps * problem.size
        total_mu = usable_mu(guarantee, coordinates)
        stages: tuple[Stage, ...] = ()
        if self.clip_norm is None:
            share = total_mu * math.sqrt(CLIP_SHARE / (CLIP_STEPS + 1))
            share = (
                _norm_counts(problem, self.start)
                .calibrate(problem.n_rows, problem.n_features, share)
                .share
            )
            purpose = "a private clip level for the gradients"
            stages = (Stage("clip level", purpose, share, CLIP_STEPS + 1, 1),)
        left = math.sqrt(total_mu**2 - sum(stage.total_mu**2 for stage in stages))
        descent_mu = left / math.sqrt(self.n_steps)
        descent = Stage(
            "descent", "gradients of the clipped loss", descent_mu, self.n_steps, problem.size
        )
        settings: dict[str, float | int | str] = {"iterate": self.iterate, "start": self.start}
        if self.clip_norm is not None:
            settings["clip_norm"] = self.clip_norm
        if self.step_size is not None:
            settings["step_size"] = self.step_size
        return Plan(
            solver="noisy-gradient-descent",
            problem=problem,
            guarantee=guarantee,
            stages=(*stages, descent),
            settings=settings,
            assumptions=("the loss is convex", "few gradients exceed the clip level"),
        )

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Buy a clip level where none is stated, then descend."""
        problem = plan.problem
        constraint = problem.constraint or WholeSpace()
        clip_norm = self.clip_norm
        if clip_norm is None:
            clip_norm = _buy_clip_norm(gate, plan)
        query = _gradient_query(problem, clip_norm)
        descent = plan.stage("descent")
        step_size = self.step_size
        if step_size is None:
            calibration = query.calibrate(gate.n_rows, gate.n_features, descent.mu)
            noise = calibration.noise_std / gate.n_rows * math.sqrt(problem.size)
            reach = math.hypot(clip_norm, noise) * math.sqrt(self.n_steps)
            step_size = constraint.diameter() / reach
        schedule = Schedule(self.n_steps, step_size, descent.mu, self.iterate)
        start = np.full(problem.size, self.start)
        weights, points = descend(gate, query, schedule, start=start, constraint=constraint)
        coef, intercept = _split(problem, weights)
        unknown = np.full(coef.shape, np.nan)
        return Solution(coef, intercept, plan, unknown, math.nan, points)


def _check_constraint(problem: Problem, step_size: float | None) -> None:
    """Refuse what could only fail after the budget is reserved; all of it is public."""
    require(
        problem.scored is not None or not problem.intercept,
        "intercept must be False for a loss known one record at a time: its gradient covers all "
        "weights, a constant column included.",
    )
    constraint = problem.constraint
    if constraint is None:
        require(
            step_size is not None,
            "constraint must be given, such as tg.sets.L2Ball(10.0), or else a solver with a "
            "step_size, such as tg.solvers.NoisyGradientDescent(step_size=0.1).",
        )
        return
    require(
        step_size is not None or math.isfinite(constraint.diameter()),
        "constraint must be of finite diameter where no step_size is given (a Box takes low and "
        f"high as vectors); got {constraint!r}.",
    )
    try:
        constraint.project(np.zeros(problem.size))
    except InputError:
        raise InputError(
            f"constraint must be a set of vectors of {problem.size} weights; got {constraint!r}."
        ) from None


def _gradient_query(problem: Problem, clip_norm: float) -> Query:
    if problem.by_record:
        return MeanRecordGradient(problem.by_record, clip_norm)
    units = Units.raw(problem.n_features, intercept=problem.intercept)
    return MeanClippedGradient(problem.scored, units, clip_norm=clip_norm)


def _norm_counts(problem: Problem, start: float) -> CountNormsBelow:
    point = (problem.constraint or WholeSpace()).project(np.full(problem.size, start))
    return CountNormsBelow(problem.loss, point, problem.intercept)


def _buy_clip_norm(gate: Gate, plan: Plan) -> float:
    """Bisect for a quantile of the gradient norms at the start."""
    stage = plan.stage("clip level")
    query = _norm_counts(plan.problem, float(plan.settings["start"]))

    def counts_below(thresholds: FloatArray) -> FloatArray:
        return gate.ask(query, thresholds, mu=stage.mu)

    counted = counts_below(np.array([np.inf]))
    level = bisect_quantiles(counts_below, CLIP_QUANTILE * counted, steps=CLIP_STEPS, signed=False)
    return float(np.clip(level[0], 2.0**-500, 2.0**500))


def _split(problem: Problem, weights: FloatArray) -> tuple[FloatArray, float]:
    if problem.scored and problem.intercept:
        return weights[:-1], float(weights[-1])
    return weights, 0.0
