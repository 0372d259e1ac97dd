"""Location, scale and tail of every column, released for means without an assumed moment.

The searches are those of :mod:`tailguard.solvers.private_units`, in either currency. What they get
follows from the sizes: enough that the noise of a count is a small part of the records, and never
more than a quarter of the budget.

Reference
---------
Smith 2011, Section 3 (quantiles from noisy ranks); Huang, Liang and Yi 2021 (tails before means).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.gate import Gate
from tailguard.means.base import Task, most_coordinates
from tailguard.means.budget import Budget
from tailguard.means.magnitude_distribution import SIGNIFICANT as TAIL_SIGNIFICANT
from tailguard.means.magnitude_distribution import (
    MagnitudeDistribution,
    assumed_entries,
    assumed_norms,
    cell_edges,
    released_distribution,
)
from tailguard.plans.plan import Plan
from tailguard.plans.stage import Stage
from tailguard.privacy.guarantees import Unprotected
from tailguard.queries.counts import CountBelow
from tailguard.queries.magnitudes import CountMagnitudes
from tailguard.queries.units import Units
from tailguard.solvers.bisection import bisect_quantiles
from tailguard.solvers.enough import scale_warnings
from tailguard.solvers.private_units import (
    LARGEST_SCALE,
    LOCATION_STEPS,
    RELATIVE_RESOLUTION,
    SCALE_STEPS,
)

__all__ = ["PrivateUnits", "ReleasedUnits", "affords_tail", "affords_units", "mean_scale_warnings"]

Magnitude = Literal["norm", "entries"]

SCALE_TIMES, LOCATION_TIMES = SCALE_STEPS + 2, LOCATION_STEPS + 1
COUNT_NOISE = 1.0 / 24.0  # wanted noise of a count, as a part of the records
SMALLEST_SHARE, LARGEST_SHARE = 0.02, 0.25
TAIL_SHARE = 0.1
# A search starts where the wanted count stands this many noise standard deviations above zero. One
# wrong turn of a bisection lands anywhere among the floats; of those that only just start, one in
# 2,000 takes one with Gaussian noise.
SIGNIFICANT = 4.0
MISSED = 3.0  # noise standard deviations that a count of all records must lack to be short of some
LAPLACE_TAIL = 1.8  # Laplace noise passes 8 deviations as rarely as Gaussian noise passes 4.5
SMALLEST_FRACTION = SMALLEST_SLOPE = 0.25  # that a mean is divided by


@dataclass(frozen=True, eq=False)
class ReleasedUnits:
    """Units, the distribution of magnitudes in them, and which part of the records is not void.

    Examples
    --------
    >>> ReleasedUnits(Units.raw(1, intercept=False), assumed_entries(), 1.0).fraction
    1.0
    """

    units: Units
    distribution: MagnitudeDistribution
    fraction: float

    def mean_slope(self, radius: float) -> float:
        """How far the mean of rows clipped at a radius follows the true mean."""
        beside = 1.0 - 1.0 / self.units.size
        slope = self.distribution.expected(
            lambda r: np.where(r <= radius, 1.0, beside * radius / r)
        )
        return max(slope * self.fraction, SMALLEST_SLOPE)


@dataclass(frozen=True)
class PrivateUnits:
    """The plan of these releases: two searches and one histogram, or in a public unit this alone.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.plans.problem import Problem
    >>> units_plan = PrivateUnits.of(Task(Problem(None, 10_000, 2), tg.GDP(1.0)), "norm")
    >>> [stage.name for stage in units_plan.stages], round(units_plan.left.amount, 3)
    (['scale', 'location', 'tail'], 0.938)
    """

    stages: tuple[Stage, ...]
    left: Budget
    of_what: Magnitude
    unit: float | None = None

    @classmethod
    def of(cls, task: Task, of_what: Magnitude, budget: Budget | None = None) -> "PrivateUnits":
        """Share the task's budget out, or the one that is given."""
        budget, width = budget or task.budget, task.n_features
        cells = _magnitudes(Units.raw(width, intercept=False), of_what)
        tail = budget.share(TAIL_SHARE)
        tail = replace(tail, amount=tail.calibrate(cells, task.n_rows, width).share)
        words = f"a histogram of {_WORDS[of_what]}"
        histogram = tail.stage("tail", words, 1, len(cells.edges) + 1)
        unit = task.problem.unit
        if unit is not None:
            return cls((histogram,), budget.share(1.0 - TAIL_SHARE), of_what, unit)
        part = searches_share(task, budget)
        one = budget.share(part, times=SCALE_TIMES + LOCATION_TIMES)
        # Counts live on a lattice of whole steps: what they really spend is at most the share.
        counted = CountBelow(tuple(range(width)))
        one = replace(one, amount=one.calibrate(counted, task.n_rows, width).share)
        stages = (
            one.stage("scale", "the scale of every column", SCALE_TIMES, width),
            one.stage("location", "the location of every column", LOCATION_TIMES, width),
            histogram,
        )
        return cls(stages, budget.share(1.0 - part - TAIL_SHARE), of_what)

    @classmethod
    def planned(cls, plan: Plan, of_what: Magnitude) -> "PrivateUnits":
        """Read these releases off a plan."""
        released = tuple(stage for stage in plan.stages if stage.name != "mean")
        return cls(released, Budget.of_stage(plan.stage("mean")), of_what, plan.problem.unit)

    def assumed(self, n_features: int) -> MagnitudeDistribution:
        """Return the distribution that plans assume, and runs fall back to."""
        return assumed_norms(n_features) if self.of_what == "norm" else assumed_entries()

    def release(self, gate: Gate) -> ReleasedUnits:
        """Run the searches, then count magnitudes in the units found."""
        units, tail = self._units(gate), self.stages[-1]
        query = _magnitudes(units, self.of_what)
        counts, spent = gate.ask(query, None, tail), Budget.of_stage(tail)
        noise_std = spent.calibrate(query, gate.n_rows, gate.n_features).noise_std
        tail_noise = noise_std * (LAPLACE_TAIL if spent.pure else 1.0)
        distribution = released_distribution(np.array(query.edges), counts, tail_noise)
        counted = counts.sum() / (gate.n_rows * query.per_record)
        slack = MISSED * noise_std * math.sqrt(counts.size) / (gate.n_rows * query.per_record)
        fraction = counted if counted < 1.0 - slack else 1.0
        return ReleasedUnits(
            units,
            distribution or self.assumed(gate.n_features),
            float(max(fraction, SMALLEST_FRACTION)),
        )

    def _units(self, gate: Gate) -> Units:
        """Return the public unit about zero, or search for centres and scales."""
        if self.unit is not None:
            width = gate.n_features
            return Units(np.zeros(width), np.full(width, self.unit), intercept=False)
        scale = _scales(gate, self.stages[0])
        center = _locations(gate, self.stages[1])
        scale = np.where(np.isnan(scale), np.maximum(1.0, np.abs(center)), scale)
        scale = np.maximum(scale, np.abs(center) * RELATIVE_RESOLUTION)
        scale = np.clip(scale, 1.0 / LARGEST_SCALE, LARGEST_SCALE)
        return Units(center, scale, intercept=False)


def affords_units(plan: Plan) -> bool:
    """Whether the searches of a plan are nearly sure to start.

    They want a quarter of the records, and measure it with about half of the noise of a count: a
    whole deviation more than it takes is enough.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.plans.problem import Problem
    >>> from tailguard.means.registry import make_method
    >>> problems = [Problem(None, n_rows, 4) for n_rows in (1_000, 1_200)]
    >>> method = make_method("clipped")
    >>> [affords_units(method.plan(problem, tg.GDP(0.5))) for problem in problems]
    [False, True]
    """
    noise_std = _noise_of(plan.stage("scale"), plan.problem.n_rows, plan.problem.n_features)
    return plan.problem.n_rows / 4.0 > (SIGNIFICANT + 1.0) * noise_std


def mean_scale_warnings(plan: Plan) -> tuple[str, ...]:
    """Say from public numbers alone that no scale can be expected to be seen, or refuse.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.plans.problem import Problem
    >>> from tailguard.means.registry import make_method
    >>> problems = [Problem(None, n_rows, 4) for n_rows in (100, 2_000)]
    >>> method = make_method("clipped")
    >>> [len(mean_scale_warnings(method.plan(problem, tg.GDP(0.5)))) for problem in problems]
    [1, 0]
    """
    if all(stage.name != "scale" for stage in plan.stages):
        return ()
    problem, coordinates = plan.problem, most_coordinates(plan.problem)
    noise_std = _noise_of(plan.stage("scale"), problem.n_rows, problem.n_features)
    asked = plan.guarantee.asked if isinstance(plan.guarantee, Unprotected) else plan.guarantee
    whole = Budget.of(asked, coordinates=coordinates)
    return scale_warnings(
        problem.n_rows,
        asked,
        math.ceil(4.0 * SIGNIFICANT * noise_std),  # of half of the pairs, half must be seen
        amount=lambda promise: Budget.of(promise, coordinates=coordinates).amount,
        noise_std=whole.calibrate(CountBelow((0,)), problem.n_rows, 1).noise_std,
        effect="the mean is little better than a guess unless these are near 1, or a moment is "
        "stated",
    )


def affords_tail(plan: Plan) -> bool:
    """Whether the histogram of a plan is nearly sure to show a cell with an eighth of it.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.plans.problem import Problem
    >>> from tailguard.means.registry import make_method
    >>> problems = [Problem(None, n_rows, 100, unit=1.0) for n_rows in (2_000, 3_000)]
    >>> method = make_method("soft")
    >>> [affords_tail(method.plan(problem, tg.PureDP(1.0))) for problem in problems]
    [False, True]
    """
    problem, spent = plan.problem, Budget.of_stage(plan.stage("tail"))
    cells = _magnitudes(Units.raw(problem.n_features, intercept=False), "entries")
    noise_std = spent.calibrate(cells, problem.n_rows, problem.n_features).noise_std
    tail_noise = noise_std * (LAPLACE_TAIL if spent.pure else 1.0)
    return problem.n_rows * problem.n_features / 8.0 > (TAIL_SIGNIFICANT + 1.0) * tail_noise


_WORDS = {"norm": "the rows' norms", "entries": "the entries' magnitudes"}


def searches_share(task: Task, budget: Budget) -> float:
    """Return the part of the budget at which a count's noise is as small as wanted.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.plans.problem import Problem
    >>> many, few = (Task(Problem(None, n_rows, 1), tg.GDP(1.0)) for n_rows in (10**6, 100))
    >>> searches_share(many, many.budget), searches_share(few, few.budget)
    (0.02, 0.25)
    """
    counted = CountBelow(tuple(range(task.n_features)))
    one = budget.share(LARGEST_SHARE, times=SCALE_TIMES + LOCATION_TIMES)
    noise_std = one.calibrate(counted, task.n_rows, task.n_features).noise_std
    excess = noise_std / (COUNT_NOISE * task.n_rows)
    share = LARGEST_SHARE * (excess if task.pure else excess**2)
    return min(max(share, SMALLEST_SHARE), LARGEST_SHARE)


def _magnitudes(units: Units, of_what: Magnitude) -> CountMagnitudes:
    width = units.size if of_what == "norm" else 1
    return CountMagnitudes(units, tuple(cell_edges(width).tolist()), of_what)


def _counter(gate: Gate, stage: Stage, *, paired: bool) -> Callable[[FloatArray], FloatArray]:
    query = CountBelow(tuple(range(gate.n_features)), paired=paired)

    def counts_below(thresholds: FloatArray) -> FloatArray:
        return gate.ask(query, thresholds, stage)

    return counts_below


def _noise_of(stage: Stage, n_rows: int, n_features: int) -> float:
    counted = CountBelow(tuple(range(n_features)))
    return Budget.of_stage(stage).calibrate(counted, n_rows, n_features).noise_std


def _scales(gate: Gate, stage: Stage) -> FloatArray:
    """Median of the non-zero pair differences per column; NaN where none can be told from zero."""
    below = _counter(gate, stage, paired=True)
    width = gate.n_features
    pairs = np.full(width, below(np.full(width, np.inf)).mean())
    zeros = below(np.zeros(width))
    wanted = (pairs - zeros) / 2.0
    middle = bisect_quantiles(below, zeros + wanted, steps=SCALE_STEPS, signed=False)
    return np.where(wanted > SIGNIFICANT * _noise_of(stage, gate.n_rows, width), middle, np.nan)


def _locations(gate: Gate, stage: Stage) -> FloatArray:
    """Median per column; 0 where the number of valid records cannot be told from zero."""
    below = _counter(gate, stage, paired=False)
    width = gate.n_features
    half = np.full(width, below(np.full(width, np.inf)).mean() / 2.0)
    found = bisect_quantiles(below, half, steps=LOCATION_STEPS, signed=True)
    return np.where(half > SIGNIFICANT * _noise_of(stage, gate.n_rows, width), found, 0.0)
