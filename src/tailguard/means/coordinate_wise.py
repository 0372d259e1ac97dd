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
from tailguard.gate.budget import Share
from tailguard.gate.plan import Plan
from tailguard.gate.problem import Problem
from tailguard.gate.solution import Solution
from tailguard.gate.stage import Stage
from tailguard.means.base import Expected, MeanFacts, MeanPlan, found_mean
from tailguard.means.budget import noise_std_of
from tailguard.means.groups import CENTRE_LOSS, group_count, whole_groups
from tailguard.means.levels import Level, LevelMethod
from tailguard.means.magnitude_distribution import BIAS_SHARE, MagnitudeDistribution
from tailguard.means.private_units import PrivateUnits
from tailguard.privacy.events import Event
from tailguard.queries.means.coordinate_mean import CoordinateMean
from tailguard.queries.units import Units


@dataclass(frozen=True)
class CoordinateWise(LevelMethod):
    """Base of the methods that bound every entry by itself."""

    threshold: float | None = None
    failure_probability: float = 0.1

    laplace = True

    def query(self, units: Units, threshold: float, groups: int) -> CoordinateMean:
        """Return the query at a threshold; every method says its own."""
        raise TypeError(f"{type(self).__name__} must say what it asks.")

    def raw_query(self, n_features: int, threshold: float, groups: int) -> CoordinateMean:
        """Return the query at a threshold in the units of the data."""
        return self.query(Units.raw(n_features, intercept=False), threshold, groups)

    def check(self, facts: MeanFacts) -> None:
        """Check the chance of failure."""
        check_open_unit("failure_probability", self.failure_probability)

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Ask once, at the planned or the released threshold."""
        stage, groups = plan.stage("mean"), int(plan.settings["groups"])
        state = np.zeros(gate.n_features)
        if len(plan.stages) == 1:
            threshold = float(plan.settings["threshold"])
            query = self.raw_query(gate.n_features, threshold, groups)
            noise_std = noise_std_of(query, gate.n_rows, gate.n_features, stage.asked)
            value = gate.ask(query, state, stage)
            return found_mean(plan, value, np.full(gate.n_features, noise_std))
        released = PrivateUnits.planned(plan, "entries").release(gate)
        threshold = self._balance(released.distribution, plan.problem, stage.asked, groups)
        query = self.query(released.units, threshold, groups)
        found = gate.ask(query, state, stage) / released.fraction
        noise_std = noise_std_of(query, gate.n_rows, gate.n_features, stage.asked)
        noise_std /= released.fraction
        return found_mean(
            plan,
            released.units.center + released.units.scale * found,
            released.units.scale * noise_std,
            {"threshold in private units": threshold},
        )

    def private_plan(self, facts: MeanFacts) -> MeanPlan:
        """Plan to release a threshold."""
        groups = self.groups(facts.problem)
        units_plan, left = PrivateUnits.of(facts, "entries")
        d = facts.n_features
        distribution = units_plan.assumed(d)
        threshold = self._balance(distribution, facts.problem, left, groups)
        query = self.raw_query(d, threshold, groups)
        bias = BIAS_SHARE * distribution.expected(lambda t: t - query.bound.apply(t))
        level = Level(threshold, bias, facts.sampling)
        stages, expected = self._asked(facts, left, level, groups)
        stages = (*units_plan.stages, *stages)
        return self.planned(facts, stages, expected, settings={"groups": groups})

    def public_plan(self, facts: MeanFacts) -> MeanPlan:
        """Plan with one threshold."""
        groups = self.groups(facts.problem)
        level = self.chosen_level(facts, facts.budget, groups)
        budget = self.spent(facts, level.value, groups)
        stages, expected = self._asked(facts, budget, level, groups)
        settings = {"groups": groups, "threshold": level.value}
        return self.planned(facts, stages, expected, settings)

    def _asked(
        self, facts: MeanFacts, budget: Share, level: Level, groups: int
    ) -> tuple[tuple[Stage, ...], Expected]:
        """Return the release of the mean, and its error over all columns."""
        d, root = facts.n_features, math.sqrt(facts.n_features)
        query = self.raw_query(d, level.value, groups)
        noise = noise_std_of(query, facts.n_rows, d, budget)
        sampling = level.sampling * (CENTRE_LOSS if groups > 2 else 1.0)
        stage = Stage.of(budget, "mean", f"the {query.name}", 1, d, by_place=query.by_place)
        return (stage,), Expected(noise * root, level.bias * root, sampling * root)

    def _balance(
        self, distribution: MagnitudeDistribution, problem: Problem, budget: Event, groups: int
    ) -> float:
        """Return the threshold of least noise plus part of the bias; noise grows with it."""
        unit_noise = self.noise_per_unit(problem, budget, groups)

        def error(threshold: float) -> float:
            bound = self.raw_query(problem.n_features, threshold, groups).bound
            return unit_noise * threshold + BIAS_SHARE * distribution.expected(
                lambda t: t - bound.apply(t)
            )

        return float(min(distribution.points, key=error))

    def noise_per_unit(self, problem: Problem, budget: Event, groups: int) -> float:
        """Return the noise on a coordinate per unit of the threshold."""
        query = self.raw_query(problem.n_features, 1.0, groups)
        return noise_std_of(query, problem.n_rows, problem.n_features, budget)


def theory_groups(problem: Problem, failure_probability: float) -> int:
    """Return the papers' number of groups, made even, and at most half of the rows."""
    count = group_count(n_features=problem.n_features, failure_probability=failure_probability)
    return whole_groups(count, n_rows=problem.n_rows)


def chosen_groups(n_groups: int, problem: Problem) -> int:
    """Return a number of groups that the user chose, if there are as many rows."""
    return check_integer("n_groups", n_groups, minimum=1, maximum=problem.n_rows)
