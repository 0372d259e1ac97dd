"""The query and the method from which all coordinate-wise means derive.

The query bounds every entry, averages the records of each group, and takes the median of the group
means. Groups are consecutive records of a secret random order. Whatever the order, one record moves
the mean of one group only, and each coordinate of it by at most ``2 * limit`` over the group's
size. If the number of groups is odd, the median of the group means moves by at most as much. If it
is even, the median is half the sum of the two middle means, and moves by at most half as much:
sorting never increases the sum of the absolute differences of two lists, so together the sorted
means move by no more than the one mean did.

All of this is computed with integers. The mean of a group of size ``s`` is an integer in steps of
``middles * grid``. The median averages ``middles`` means, 1 or 2 of them. Each chunk's
part of a group's sum is rounded to a whole multiple of ``s * middles * grid``, and these integers
are added. The median is the sum of the ``middles`` middle integers, in steps of ``grid``, exactly.
Neighbours differ in the part of one chunk in one group; let ``a`` and ``b`` be this part of each,
before rounding. The integer of the group moves by at most ``1 + 2**-8`` more than
``|a - b| / (s * middles * grid)``, as :mod:`tailguard.noise.lattice` shows. The sum of the middle
integers moves by no more than this integer, again because of the sorting. So a coordinate moves by
at most ``2 * limit / (s * middles)``, plus the float error of one chunk, plus
``grid * (1 + 2**-8)``. This is what the calibration charges. (The step as a float has a relative
error of 2**-53. The float error charged is 2**20 times larger and covers it.)

If persons are protected, all used rows of a person are in one group. Each row is multiplied by its
share and rounded separately. So ``a - b`` is the difference of two points of the convex hull of
what a row may add, apart from float errors. Up to ``max_rows`` roundings move the integer; the gate
charges as many for one person.

The method's threshold is declared, follows from a moment, or is chosen after a release of private
units and of a histogram of the sizes of entries in these units. In the last case it is the grid
point that minimises half of the worst bias plus one standard deviation of the noise.

Reference
---------
Kamath, Liu and Zhang 2022, Algorithms 3 and 4; Tao, Wu, Cheng and Wang 2022, Algorithms 1 and 3;
Wang, Xiao, Devadas and Xu 2020, Algorithm 4. The papers write the inverse of a group's size as
``n_groups / n_rows``, which is up to 1.5 times too small if groups cannot be equal; here the
smallest group counts. They also do not use that an even number of groups halves the sensitivity.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import check_integer, check_open_unit, check_positive
from tailguard.data.rows.base import CHUNK_ROWS, RecordBlock, Rows, Together, summation_slack
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.gate.stage import Share, Stage
from tailguard.losses.base import Loss
from tailguard.means.base import (
    Expected,
    Level,
    MeanFacts,
    MeanMethod,
    MeanPlan,
    mean_solution,
    noise_std_of,
)
from tailguard.means.formulas import CENTRE_LOSS, check_group_count, whole_groups
from tailguard.means.formulas import group_count as unrounded_groups
from tailguard.means.magnitude_distribution import BIAS_SHARE, MagnitudeDistribution
from tailguard.means.private_units import PrivateUnits
from tailguard.privacy.calibration import Calibration, Norm, Sensitivity
from tailguard.privacy.events import Event
from tailguard.queries.base import GaussianQuery, Places
from tailguard.queries.coordinates import CoordinateBound, bounded_group_sums
from tailguard.queries.loop import LatticeSum
from tailguard.queries.units import Units


def median_of_groups(means: IntArray) -> IntArray:
    """Return each column's median; with an even number of rows, the sum of both middle values."""
    n_groups = len(means)
    ordered = np.sort(means, axis=0)
    return ordered[(n_groups - 1) // 2 : n_groups // 2 + 1].sum(axis=0)


@dataclass(frozen=True)
class CoordinateMean(GaussianQuery):
    """Base of the queries that bound each coordinate of ``slope * row`` separately.

    ``loss`` is a loss of a score; None means slope 1, which gives the mean of the rows. ``units``
    are the units of rows and targets.
    """

    loss: Loss | None
    units: Units

    name = "coordinate-wise mean"
    takes_persons = True

    @classmethod
    @abstractmethod
    def worst_pair(cls, units: Units) -> dict[str, Any]:
        """Return a query, and two records whose exchange moves its answer the most."""

    @property
    @abstractmethod
    def bound(self) -> CoordinateBound:
        """How every entry of a gradient is bounded."""

    @property
    def group_count(self) -> int:
        """The number of groups whose means the median combines; one group gives a plain mean."""
        return 1

    @property
    def places(self) -> Places:
        """Random if there are several groups: each is a run of consecutive records."""
        return "none" if self.group_count == 1 else "random"

    @property
    def together(self) -> Together:
        """Which records are read together: the records of a group."""
        return "none" if self.group_count == 1 else "groups"

    @property
    def middles(self) -> int:
        """How many group means the median averages."""
        return 2 - self.group_count % 2

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far the median moves in l2 norm; see the module's proof."""
        return self._sensitivity(n_rows, "l2", math.sqrt(self.units.size))

    def pure_sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far the median moves in l1 norm."""
        return self._sensitivity(n_rows, "l1", self.units.size)

    def _sensitivity(self, n_rows: int, norm: Norm, norm_of_ones: float) -> Sensitivity:
        smallest = n_rows // check_group_count(self.group_count, n_rows)
        limit = self.bound.limit
        share = norm_of_ones / (smallest * self.middles)
        return Sensitivity(
            norm=norm,
            ideal=2.0 * limit * share,
            computed=(2.0 * limit + summation_slack(limit)) * share,
            size=self.units.size,
            largest_partial=limit * min(1.0, CHUNK_ROWS / smallest) / self.middles,
            largest_total=limit,
        )

    def answer(self, rows: Rows, state: FloatArray, calibration: Calibration) -> IntArray:
        """Take the median of the group means at the weights ``state``, on the lattice."""
        size, grid = self.group_count * self.units.size, calibration.grid * self.middles
        loop = LatticeSum(self, (self.units.weights(state), rows.n_rows), grid, size)
        return median_of_groups(rows.reduce(loop).reshape(self.group_count, self.units.size))

    def sum_block(self, block: RecordBlock, state: Any, grid: float) -> IntArray:
        """Sum a block's bounded gradients by groups; the state is (weights, number of records)."""
        weights, n_rows = state
        groups = {"n_rows": n_rows, "n_groups": self.group_count}
        sums = bounded_group_sums(
            self.loss, self.units, self.bound, weights, block, grid=grid, **groups
        )
        return sums.ravel()

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {
            "limit": self.bound.limit,
            "n_groups": self.group_count,
            "coordinates": self.units.size,
        }


@dataclass(frozen=True)
class GroupedMean(CoordinateMean):
    """Base of the queries of a median over groups; ``threshold`` bounds the entries."""

    threshold: float
    n_groups: int

    def __post_init__(self) -> None:
        check_positive("threshold", self.threshold)
        check_integer("n_groups", self.n_groups, minimum=1)

    @property
    def group_count(self) -> int:
        """The number of groups whose means the median combines."""
        return self.n_groups


@dataclass(frozen=True)
class CoordinateWise(MeanMethod):
    """Base of the methods that release a ``CoordinateMean``."""

    threshold: float | None = None
    failure_probability: float = 0.1

    tail_assumption, laplace = "few entries exceed the threshold", True

    def query(self, units: Units, threshold: float, groups: int) -> CoordinateMean:
        """Return the query at a threshold; each method defines its own."""
        raise TypeError(f"{type(self).__name__} must define query.")

    def raw_query(self, n_features: int, threshold: float, groups: int) -> CoordinateMean:
        """Return the query at a threshold in the units of the data."""
        return self.query(Units.raw(n_features, intercept=False), threshold, groups)

    def check(self, facts: MeanFacts) -> None:
        """Check the failure probability."""
        check_open_unit("failure_probability", self.failure_probability)

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Release the mean once, at the planned or the released threshold."""
        stage, groups = plan.stage("mean"), int(plan.settings["groups"])
        state = np.zeros(gate.n_features)
        if len(plan.stages) == 1:
            threshold = float(plan.settings["threshold"])
            query = self.raw_query(gate.n_features, threshold, groups)
            noise_std = noise_std_of(query, gate.n_records, gate.n_features, stage.asked)
            value = gate.ask(query, state, stage)
            return mean_solution(plan, value, np.full(gate.n_features, noise_std))
        released = PrivateUnits.planned(plan, "entries").release(gate)
        threshold = self._best_threshold(released.distribution, plan.problem, stage.asked, groups)
        query = self.query(released.units, threshold, groups)
        mean = gate.ask(query, state, stage) / released.fraction
        noise_std = noise_std_of(query, gate.n_records, gate.n_features, stage.asked)
        return mean_solution(
            plan,
            released.units.center + released.units.scale * mean,
            released.units.scale * (noise_std / released.fraction),
            {"threshold in private units": threshold},
        )

    def private_plan(self, facts: MeanFacts) -> MeanPlan:
        """Plan to release units and sizes of entries, then the mean at a threshold in units."""
        groups = self.groups(facts.problem)
        units_plan, rest = PrivateUnits.of(facts, "entries")
        n_features = facts.n_features
        distribution = units_plan.assumed(n_features)
        threshold = self._best_threshold(distribution, facts.problem, rest, groups)
        query = self.raw_query(n_features, threshold, groups)
        bias = BIAS_SHARE * distribution.expected(lambda t: t - query.bound.apply(t))
        level = Level(threshold, bias, facts.sampling)
        stage, expected = self._mean_stage(facts, rest, level, groups)
        return self.planned(facts, (*units_plan.stages, stage), expected, {"groups": groups})

    def public_plan(self, facts: MeanFacts) -> MeanPlan:
        """Plan one release of the mean, at a public threshold."""
        groups = self.groups(facts.problem)
        level = self.chosen_level(facts, facts.budget, groups)
        budget = self.spent(facts, level.value, groups)
        stage, expected = self._mean_stage(facts, budget, level, groups)
        settings = {"groups": groups, "threshold": level.value}
        return self.planned(facts, (stage,), expected, settings)

    def _mean_stage(
        self, facts: MeanFacts, budget: Share, level: Level, groups: int
    ) -> tuple[Stage, Expected]:
        """Return the stage that releases the mean, and its error over all columns."""
        n_features, root = facts.n_features, math.sqrt(facts.n_features)
        query = self.raw_query(n_features, level.value, groups)
        noise = noise_std_of(query, facts.n_rows, n_features, budget)
        sampling = level.sampling * (CENTRE_LOSS if groups > 2 else 1.0)
        stage = Stage.of(
            budget, "mean", f"the {query.name}", 1, n_features, by_place=query.by_place
        )
        return stage, Expected(noise * root, level.bias * root, sampling * root)

    def _best_threshold(
        self, distribution: MagnitudeDistribution, problem: Problem, budget: Event, groups: int
    ) -> float:
        """Return the threshold with the least sum of noise and half of the worst bias."""
        unit_noise = self.noise_per_unit(problem, budget, groups)
        error = unit_noise * distribution.points + BIAS_SHARE * _biases(self, distribution, groups)
        return float(distribution.points[np.argmin(error)])

    def noise_per_unit(self, problem: Problem, budget: Event, groups: int) -> float:
        """Return the noise on a coordinate at a threshold of 1."""
        query = self.raw_query(problem.n_features, 1.0, groups)
        return noise_std_of(query, problem.n_rows, problem.n_features, budget)


@dataclass(frozen=True)
class GroupedMedian(CoordinateWise):
    """Base of the methods that release a ``GroupedMean``, by default of the papers' groups."""

    n_groups: int | None = None

    def groups(self, problem: Problem) -> int:
        """Return the number of groups whose means the median combines."""
        if self.n_groups is None:
            return theory_groups(problem, self.failure_probability)
        return check_integer("n_groups", self.n_groups, minimum=1, maximum=problem.n_rows)


@lru_cache(maxsize=16)  # plans for tables of many sizes assume the same distribution
def _biases(method: CoordinateWise, distribution: MagnitudeDistribution, groups: int) -> FloatArray:
    """Return, for each point as the threshold, the mean amount that it cuts off an entry."""

    def bias(threshold: float) -> float:
        bound = method.raw_query(1, threshold, groups).bound
        return distribution.expected(lambda t: t - bound.apply(t))

    return np.array([bias(float(point)) for point in distribution.points])


def theory_groups(problem: Problem, failure_probability: float) -> int:
    """Return the papers' number of groups, rounded to an even number, at most half of the rows."""
    count = unrounded_groups(n_features=problem.n_features, failure_probability=failure_probability)
    return whole_groups(count, n_rows=problem.n_rows)
