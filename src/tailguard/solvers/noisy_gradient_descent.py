"""Projected noisy gradient descent in the user's own units, over any private mean of gradients.

An *oracle* averages the gradients of a step: a mean of gradients that are clipped to one l2 level,
or one of the means of :mod:`tailguard.means`. A step reads all records or a block of them. The step
size follows from the diameter of the set, as in the theorem for Lipschitz losses, so no curvature
is needed.

If the user states neither a clip level nor an oracle, a tenth of the budget is for a clip level: a
quantile of the gradient norms at the start, by bisection over the floats. The bit pattern of a
positive double grows with its value, so halving the range of patterns eleven times leaves one
octave. The search needs only noised counts, and no bound on the norms.

Reference
---------
Kamath, Liu and Zhang 2022, Algorithms 1 and 2; Tao, Wu, Cheng and Wang 2022, Algorithm 2; Wang,
Xiao, Devadas and Xu 2020, Algorithms 3 and 4; Zhao et al. 2024, Algorithm 1 and Lemma 3; Bassily,
Smith and Thakurta 2014, Theorem 2.4 (step ``diameter / (G sqrt(T))`` with averaging); Andrew et al.
2021 (clip level from a private quantile); Smith 2011, Section 3 (quantiles from noisy ranks); IEEE
754-2019, section 3.4 (binary interchange format).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tailguard.checks import require
from tailguard.gate import Gate
from tailguard.gate.engine import SolverExample
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.gate.stage import BUDGET_MARGIN, Stage, concentrated_budget, usable_guarantee
from tailguard.privacy.events import ZeroConcentrated
from tailguard.privacy.guarantees import Guarantee
from tailguard.queries.base import Query
from tailguard.queries.norm_counts import CountNormsBelow
from tailguard.queries.units import Units
from tailguard.solvers.descent import (
    DECAYS,
    ITERATES,
    Batches,
    Steps,
    check_vectors,
    clipped_gradients,
    descend,
    set_of,
    solved_at,
    start_of,
)
from tailguard.solvers.options import check_ranges
from tailguard.solvers.oracles import Oracle

CLIP_SHARE = 0.1  # of mu**2
CLIP_STEPS = 13  # this many halvings leave a quarter of an octave
LARGEST_PATTERN = int(
    np.float64(np.finfo(np.float64).max).view(np.int64)
)  # the bit pattern of the largest finite float
CLIP_RELEASES = CLIP_STEPS + 1  # the first release counts the records that are not void
CLIP_QUANTILE = 0.9  # of the gradient norms at the start


@dataclass(frozen=True)
class NoisyGradientDescent:
    """Projected noisy gradient descent over any private mean of gradients.

    Parameters
    ----------
    n_steps
        The number of gradient releases.
    clip_norm
        A public clip level; None releases one for a tenth of ``mu**2``, unless ``oracle`` is given.
    step_size
        A public step; None takes ``diameter / (G sqrt(n_steps))``, which needs a bounded set and
        clipped gradients.
    iterate
        The point that is returned. ``"tail"``: the average of the later half of the points;
        ``"average"``: of all points; ``"weighted"``: of all points, but later ones count more;
        ``"last"``: the last point.
    start
        A public start, one number for every coordinate.
    oracle
        A private mean of gradients instead of the clipped one, from ``tg.solvers.make_oracle``.
    schedule
        ``"full"``: all records at every step. ``"disjoint"``: every step has its own block and the
        full budget. ``"shuffled"``: ``n_batches`` random batches in every pass. ``"sampled"``: a
        new secret sample of ``batch_rows`` records for every step.
    n_batches
        The number of batches of a shuffled pass; it divides ``n_steps``. None means one pass.
    decay
        ``"none"``: a constant step; ``"root"``: the step over the root of the step's number.
    batch_rows
        The number of records in a sample.

    Guarantee
    ---------
    The run spends exactly the plan's event, whose total is at most the guarantee, for every input
    and every loss.

    Examples
    --------
    >>> import tailguard as tg
    >>> solver = NoisyGradientDescent(n_steps=20, clip_norm=1.0)
    >>> problem = Problem(
    ...     tg.losses.Logistic(), n_rows=5000, n_features=3, constraint=tg.sets.L2Ball(1.0)
    ... )
    >>> [stage.name for stage in solver.plan(problem, tg.GDP(0.5)).stages]
    ['descent']
    >>> clamped = tg.solvers.make_oracle("clamped", threshold=2.0, n_groups=22)
    >>> solver = NoisyGradientDescent(20, oracle=clamped, step_size=0.1, schedule="disjoint")
    >>> print(solver.plan(problem, tg.GDP(0.5)).stages[0].releases)
    1 release of each of 20 blocks at mu = 0.5
    """

    # The step is the diameter over the largest gradient times the root of the number of steps. If
    # noise is small, this number decides the accuracy. On 100,000 records with ten columns and
    # lognormal noise, 100 steps and the average of all points leave an excess risk of 0.10 at
    # epsilon 0.1, 0.5 and 1; 400 steps and the average of the later half leave 0.003. More steps
    # take time.
    n_steps: int = 400
    clip_norm: float | None = None
    step_size: float | None = None
    iterate: str = "tail"
    start: float = 0.0
    oracle: Oracle | None = None
    schedule: str = "full"
    n_batches: int | None = None
    decay: str = "none"
    batch_rows: int | None = None

    example: ClassVar[SolverExample] = SolverExample(
        exact={"n_steps": 600, "clip_norm": 1e3, "step_size": 0.5, "iterate": "last"},
        shown={"n_steps": 3, "clip_norm": 1.0, "step_size": 1.0},
    )

    def __post_init__(self) -> None:
        """Check the public numbers."""
        Batches(self.schedule, self.n_steps, self.n_batches, self.batch_rows)
        check_ranges(self, iterate=ITERATES, decay=DECAYS)
        if self.oracle is not None:
            require(self.clip_norm is None, "clip_norm must be None where an oracle is given.")
            require(self.step_size is not None, "step_size must be given with an oracle.")

    @property
    def batches(self) -> Batches:
        """Which records each step reads."""
        return Batches(self.schedule, self.n_steps, self.n_batches, self.batch_rows)

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Divide the budget, from public numbers."""
        _check_constraint(problem, self.step_size)
        require(
            self.oracle is None or problem.scored is not None,
            "oracle must be None for a loss known one record at a time: its gradients are clipped.",
        )
        releases_level = self.clip_norm is None and self.oracle is None
        size = self._numbers_per_step(problem)
        promise = usable_guarantee(guarantee, CLIP_RELEASES * releases_level + self.n_steps * size)
        clip_stages = (clip_level_stage(problem, promise, self.start),) if releases_level else ()
        if self.oracle is not None and self.oracle.smooth:
            descent = self._smooth_stage(problem, promise)
        else:
            spent_mu = sum(stage.total_mu for stage in clip_stages)
            descent = self.batches.stage(promise, spent_mu, problem.n_rows, size)
            if not releases_level:  # calibrate here, so that an error comes before a run
                query = self._query(problem, self.clip_norm or 1.0)
                self._noise_std(problem, query, descent)
                descent = replace(descent, by_place=query.by_place)
        return Plan(
            solver="noisy-gradient-descent",
            problem=problem,
            guarantee=guarantee,
            stages=(*clip_stages, descent),
            settings=self._settings(),
            assumptions=("the loss is convex", "few gradients exceed the clip level"),
            takes_persons=self._query(problem, 1.0).takes_persons,
        )

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Release a clip level if none is stated, then descend."""
        problem, descent = plan.problem, plan.stage("descent")
        clip_norm = self.clip_norm or 1.0
        if self.clip_norm is None and self.oracle is None:
            clip_norm = release_clip_norm(gate, problem, plan.stage("clip level"), self.start)
        query = self._query(problem, clip_norm)
        constraint = set_of(problem)
        step_size = self.step_size
        if step_size is None:
            noise = self._noise_std(problem, query, descent) * math.sqrt(problem.size)
            scale = math.hypot(clip_norm, noise) * math.sqrt(self.n_steps)
            step_size = constraint.diameter() / scale
        weights, points = descend(
            gate,
            query,
            descent,
            Steps(self.n_steps, step_size, self.iterate, self.decay),
            start=np.full(problem.size, self.start),
            constraint=constraint,
            blocks=self.batches.blocks(descent, gate),
            gradient_of=self.oracle.gradient if self.oracle else None,
        )
        return solved_at(plan, weights, points)

    def _numbers_per_step(self, problem: Problem) -> int:
        """Return how many numbers a step releases: one vector, or one for each group."""
        if self.oracle is None or self.oracle.smooth:
            return problem.size
        rows, query = self.batches.rows_per_step(problem.n_rows), self._query(problem, 1.0)
        return int(query.sensitivity(rows, problem.n_features).size)

    def _smooth_stage(self, problem: Problem, promise: Guarantee) -> Stage:
        """Divide rho among the steps; their noise depends on the records."""
        batches = self.batches
        require(
            self.schedule in ("full", "disjoint"),
            "schedule must be 'full' or 'disjoint' for noise that follows the records: no shuffle "
            f"and no sample makes it less; got {self.schedule!r}.",
        )
        query = self._query(problem, 1.0)
        share = ZeroConcentrated(concentrated_budget(promise) / batches.n_passes)
        n_rows = batches.rows_per_step(problem.n_rows)
        public = query.calibrate_event(n_rows, problem.n_features, share)
        return Stage.of(
            share,
            "descent",
            f"{query.name}, with noise that follows the records",
            batches.n_passes,
            public.size,
            kept=public.event,
            by_place=True,
            block_map=batches.block_map,
            n_blocks=batches.n_blocks,
        )

    def _query(self, problem: Problem, clip_norm: float) -> Any:
        """Return the query of the private mean; ``clip_norm`` applies without an oracle."""
        if self.oracle is None:
            return clipped_gradients(problem, clip_norm)
        units = Units.raw(problem.n_features, intercept=problem.intercept)
        return self.oracle.query(problem.scored, units)

    def _noise_std(self, problem: Problem, query: Query, descent: Stage) -> float:
        """Return the noise of the mean gradient of a step, in each coordinate."""
        n_rows = self.batches.rows_per_step(problem.n_rows)
        calibration = query.calibrate(n_rows, problem.n_features, descent.mu)
        return float(calibration.noise_std / n_rows)

    def _settings(self) -> dict[str, float | int | str]:
        """Return the settings of the plan."""
        settings: dict[str, float | int | str] = {"iterate": self.iterate, "start": self.start}
        if self.oracle is not None:
            settings["oracle"] = self.oracle.describe()
        if self.clip_norm is not None:
            settings["clip_norm"] = self.clip_norm
        if self.step_size is not None:
            settings["step_size"] = self.step_size
        if self.schedule != "full":
            settings["schedule"] = self.schedule
        return settings


def _check_constraint(problem: Problem, step_size: float | None) -> None:
    """Refuse constraints with which a run would fail after the budget is reserved."""
    constraint = problem.constraint
    require(
        constraint is not None or step_size is not None,
        "constraint must be given, such as tg.sets.L2Ball(10.0), for "
        "solver='noisy-gradient-descent'; or else a solver with a step_size, such as "
        "tg.solvers.NoisyGradientDescent(step_size=0.1).",
    )
    require(
        step_size is not None or math.isfinite(set_of(problem).diameter()),
        "constraint must be of finite diameter where no step_size is given (a Box takes low and "
        f"high as vectors); got {constraint!r}.",
    )
    check_vectors(problem)


def clip_level_stage(problem: Problem, guarantee: Guarantee, start: float) -> Stage:
    """Plan the search for a clip level, with a tenth of the budget."""
    total_mu = guarantee.gaussian_mu() * (1.0 - BUDGET_MARGIN)
    share = total_mu * math.sqrt(CLIP_SHARE / CLIP_RELEASES)
    query = _norm_counts(problem, start)
    share = query.calibrate(problem.n_rows, problem.n_features, share).share
    return Stage("clip level", "a private clip level for the gradients", share, CLIP_RELEASES, 1)


def release_clip_norm(gate: Gate, problem: Problem, stage: Stage, start: float) -> float:
    """Release a quantile of the gradient norms at the start, found by bisection."""
    query = _norm_counts(problem, start)

    def count_below(threshold: float) -> float:
        """Release how many gradients have at most this norm."""
        return float(gate.ask(query, np.array([threshold]), stage)[0])

    level = bisect(count_below, CLIP_QUANTILE * count_below(math.inf), steps=CLIP_STEPS)
    return float(np.clip(level, 2.0**-500, 2.0**500))


def bisect(count_below: Callable[[float], float], rank: float, *, steps: int) -> float:
    """Return a float with about ``rank`` values at or below it, after ``steps`` counts."""
    low, high = 0, LARGEST_PATTERN
    for _ in range(steps):
        middle = low // 2 + high // 2
        if count_below(_float_of(middle)) >= rank:
            high = middle
        else:
            low = middle
    return _float_of(high)


def _float_of(pattern: int) -> float:
    """Return the float of a bit pattern."""
    return float(np.int64(pattern).view(np.float64))


def _norm_counts(problem: Problem, start: float) -> CountNormsBelow:
    """Return the query that counts the gradients at the start below a norm."""
    assert problem.loss is not None  # only means have no loss
    return CountNormsBelow(problem.loss, start_of(problem, start), problem.intercept)
