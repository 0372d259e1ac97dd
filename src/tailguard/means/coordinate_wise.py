"""What the coordinate-wise means share: a planned or a released threshold, then one release.

Without a moment, and without a threshold, private units are released, and a histogram of how large
entries are in them. The threshold is then the grid point at which half of the worst bias and one
standard deviation of the noise have the least sum.

Reference
---------
Kamath, Liu and Zhang 2022, Algorithms 3 and 4; Tao, Wu, Cheng and Wang 2022, Algorithms 1 and 3;
Wang, Xiao, Devadas and Xu 2020, Algorithm 4.
"""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.checks import check_integer, check_open_unit
from tailguard.gate import Gate
from tailguard.means.base import Expected, MeanMethod, MeanPlan, Task, found_mean, paper_budget
from tailguard.means.budget import Budget
from tailguard.means.magnitude_distribution import BIAS_SHARE, MagnitudeDistribution
from tailguard.means.messages import (
    ANY_TAIL,
    IN_PRIVATE_UNITS,
    IN_USER_UNITS,
    check_level,
    refuse_numerical,
    refuse_paper,
)
from tailguard.means.private_units import PrivateUnits
from tailguard.papers.common.groups import group_count, whole_groups
from tailguard.papers.common.statement import CENTRE_LOSS
from tailguard.plans.plan import Plan
from tailguard.plans.problem import Problem
from tailguard.plans.solution import Solution
from tailguard.queries.means.coordinate_mean import CoordinateMean
from tailguard.queries.units import Units


@dataclass(frozen=True)
class Level:
    """A threshold in the user's units, with the bias and sampling error of one coordinate.

    Examples
    --------
    >>> Level(3.0, bias=0.1, sampling=0.01).threshold
    3.0
    """

    threshold: float
    bias: float
    sampling: float


@dataclass(frozen=True)
class CoordinateWise(MeanMethod):
    """Base of the methods that bound every entry by itself.

    Examples
    --------
    >>> from tailguard.means.clamped import Clamped
    >>> method: CoordinateWise = Clamped(threshold=3.0, n_groups=4)
    >>> method.threshold, method.n_groups
    (3.0, 4)
    """

    threshold: float | None = None
    failure_probability: float = 0.1

    name = ""

    def query(self, units: Units, threshold: float, groups: int) -> CoordinateMean:
        """Return the query at a threshold; every method says its own."""
        raise TypeError(f"{type(self).__name__} must say what it asks.")

    def moment_level(self, task: Task, budget: Budget, groups: int) -> Level:
        """Return the cards' threshold for the task's moment."""
        raise TypeError(f"{type(self).__name__} must say what a moment gives.")

    def printed_spend(self, task: Task, threshold: float, groups: int) -> float:
        """Return what the noise that the paper prints really spends."""
        raise TypeError(f"{type(self).__name__} must say what its paper prints.")

    def groups(self, problem: Problem) -> int:
        """Return how many groups the median is taken over; one is a plain mean."""
        return 1

    def plan_task(self, task: Task) -> MeanPlan:
        """Choose a threshold, or plan to release one."""
        check_open_unit("failure_probability", self.failure_probability)
        refuse_numerical(self.name, task)
        groups = self.groups(task.problem)
        if self.threshold is None and task.moment is None:
            return self._private_plan(task, groups)
        return self._public_plan(task, groups)

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Ask once, at the planned or the released threshold."""
        stage, groups = plan.stage("mean"), int(plan.settings["groups"])
        budget, state = Budget.of_stage(stage), np.zeros(gate.n_features)
        if len(plan.stages) == 1:
            units = Units.raw(gate.n_features, intercept=False)
            query = self.query(units, float(plan.settings["threshold"]), groups)
            noise_std = budget.calibrate(query, gate.n_rows, gate.n_features).noise_std
            value = gate.ask(query, state, stage)
            return found_mean(plan, value, np.full(gate.n_features, noise_std))
        released = PrivateUnits.planned(plan, "entries").release(gate)
        threshold = self._balance(released.distribution, plan.problem, budget, groups)
        query = self.query(released.units, threshold, groups)
        found = gate.ask(query, state, stage) / released.fraction
        calibration = budget.calibrate(query, gate.n_rows, gate.n_features)
        noise_std = calibration.noise_std / released.fraction
        return found_mean(
            plan,
            released.units.center + released.units.scale * found,
            released.units.scale * noise_std,
            {"threshold in private units": threshold},
        )

    def _private_plan(self, task: Task, groups: int) -> MeanPlan:
        refuse_paper(self.name, "threshold", task)
        units_plan, d = PrivateUnits.of(task, "entries"), task.n_features
        distribution = units_plan.assumed(d)
        threshold = self._balance(distribution, task.problem, units_plan.left, groups)
        query = self.query(Units.raw(d, intercept=False), threshold, groups)
        noise = units_plan.left.calibrate(query, task.n_rows, d).noise_std
        bias = BIAS_SHARE * distribution.expected(lambda t: t - query.bound.apply(t))
        sampling = self._median_loss(groups) / math.sqrt(task.n_rows)
        stage = units_plan.left.stage("mean", f"the {query.name}", 1, d, by_place=query.by_place)
        return MeanPlan(
            self.name,
            task.problem,
            task.guarantee,
            (*units_plan.stages, stage),
            {"groups": groups},
            (ANY_TAIL,),
            expected=_over_columns(d, noise, bias, sampling),
            unit=IN_PRIVATE_UNITS,
        )

    def _public_plan(self, task: Task, groups: int) -> MeanPlan:
        budget, guarantee, d = task.budget, task.guarantee, task.n_features
        level = self._level(task, budget, groups)
        if task.calibration == "paper":
            spent = self.printed_spend(task, level.threshold, groups)
            budget, guarantee = paper_budget(task, spent)
        query = self.query(Units.raw(d, intercept=False), level.threshold, groups)
        noise = budget.calibrate(query, task.n_rows, d).noise_std
        assumed = task.moment.describe() if task.moment else "few entries exceed the threshold"
        return MeanPlan(
            self.name,
            task.problem,
            guarantee,
            (budget.stage("mean", f"the {query.name}", 1, d, by_place=query.by_place),),
            {"groups": groups, "threshold": level.threshold},
            (assumed,),
            expected=_over_columns(
                d, noise, level.bias, level.sampling * self._median_loss(groups)
            ),
            unit=IN_USER_UNITS,
        )

    def _level(self, task: Task, budget: Budget, groups: int) -> Level:
        if self.threshold is None:
            return self.moment_level(task, budget, groups)
        threshold = check_level("threshold", self.threshold)
        return Level(threshold, bias=0.0, sampling=threshold / math.sqrt(task.n_rows))

    def _balance(
        self, distribution: MagnitudeDistribution, problem: Problem, budget: Budget, groups: int
    ) -> float:
        """Return the threshold of least noise plus part of the bias; noise grows with it."""
        units = Units.raw(problem.n_features, intercept=False)
        slope = self.noise_slope(problem, budget, groups)

        def error(threshold: float) -> float:
            bound = self.query(units, threshold, groups).bound
            return slope * threshold + BIAS_SHARE * distribution.expected(
                lambda t: t - bound.apply(t)
            )

        return float(min(distribution.points, key=error))

    def noise_slope(self, problem: Problem, budget: Budget, groups: int) -> float:
        """Return the noise on a coordinate per unit of the threshold."""
        query = self.query(Units.raw(problem.n_features, intercept=False), 1.0, groups)
        return budget.calibrate(query, problem.n_rows, problem.n_features).noise_std

    def _median_loss(self, groups: int) -> float:
        return CENTRE_LOSS if groups > 2 else 1.0


def theory_groups(problem: Problem, failure_probability: float) -> int:
    """Return the papers' number of groups, made even, and at most half of the rows.

    Examples
    --------
    >>> theory_groups(Problem(None, 10_000, 10), 0.1)
    22
    """
    count = group_count(n_features=problem.n_features, failure_probability=failure_probability)
    return whole_groups(count, n_rows=problem.n_rows)


def chosen_groups(n_groups: int, problem: Problem) -> int:
    """Return a number of groups that the user chose, if there are as many rows.

    Examples
    --------
    >>> chosen_groups(4, Problem(None, 10_000, 10))
    4
    """
    return check_integer("n_groups", n_groups, minimum=1, maximum=problem.n_rows)


def _over_columns(n_features: int, noise: float, bias: float, sampling: float) -> Expected:
    root = math.sqrt(n_features)
    return Expected(noise * root, bias * root, sampling * root)
