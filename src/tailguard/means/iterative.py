"""The iterative mean: noised means of random groups, and the centre of their bulk.

The records are cut at random into groups of equal size, each group's l2-clipped mean is released
with noise of its own, and the centre of the released means is the estimate. A record is in one
group, so all of them cost one. Where the groups are secret they are a shuffle as well, which is
worth something for many groups and a small epsilon. The least noise that either proof allows is
taken.

With ``k`` groups the noise on the centre is ``sqrt(k)`` times that of the clipped mean, or what
the shuffle leaves of that. So the method pays off only where the tails of the sampling error are
worse than the noise; few groups are the default.

Reference
---------
Zhao et al. 2024, Algorithm 3 and Theorems 6 and 7. Theorem 6 is false as printed: for fixed groups
nothing hides one that lies apart, and its budget is worth what a group's noise is worth alone. What
holds for secret groups is in :mod:`tailguard.privacy.amplification.grouped`.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tailguard.checks import InputError, check_choice, check_count, check_given, check_open_unit
from tailguard.gate import Gate
from tailguard.means.base import (
    Expected,
    MeanExample,
    MeanMethod,
    MeanPlan,
    Task,
    found_mean,
    most_coordinates,
)
from tailguard.means.budget import Budget
from tailguard.means.messages import (
    ANY_TAIL,
    IN_PRIVATE_UNITS,
    IN_USER_UNITS,
    check_level,
    refuse_numerical,
    refuse_paper,
    refuse_pure,
)
from tailguard.means.private_units import PrivateUnits
from tailguard.moments import Moment
from tailguard.papers import zhao2024
from tailguard.papers.common.statement import CENTRE_LOSS
from tailguard.papers.zhao2024 import parameters as printed
from tailguard.plans.budget import BUDGET_MARGIN, usable_guarantee
from tailguard.plans.plan import Plan
from tailguard.plans.solution import Solution
from tailguard.plans.stage import Stage
from tailguard.privacy.accounting.distance import COORDINATE_DISTANCE
from tailguard.privacy.accounting.gaussian import epsilon_of
from tailguard.privacy.accounting.solve import calibrate, satisfies
from tailguard.privacy.accounting.total_cost import epsilon_at_distance
from tailguard.privacy.amplification.shuffled import shuffled_epsilon, shuffled_mu
from tailguard.privacy.events import Composed, Event, Shuffled
from tailguard.privacy.guarantees import ApproxDP, Guarantee
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.means.iterative import CENTRES, LEVEL, STARTS, centre_of, check_group_count
from tailguard.queries.units import Units

GROUPS = "groups"  # the partition's name
PROOFS = ("least", "parallel", "amplified")
FEW_GROUPS, FEWEST_ROWS = 20, 20  # groups, and records in each
WORTHWHILE = 1e-3  # a shuffle that allows no more than this on top is not counted on
ACCURACY = 1e-3  # of mu, where an accountant finds it in some steps of a fraction of a second


@dataclass(frozen=True)
class Iterative(MeanMethod):
    """Centre of the noised means of random groups of clipped rows.

    Attributes
    ----------
    clip_norm
        A public clip norm, in the units of the data; no scale is released then.
    n_groups
        How many groups; by default 20, or fewer where a group would have less than 20 records.
    centre
        ``"updates"``: the paper's, from the coordinate-wise median; ``"median"`` and
        ``"geometric-median"`` are as private.
    level
        The part of the group means that a direction of an update must have ahead.
    start
        Where updates start, the paper's c_1: ``"median"`` of the group means, or ``"origin"``.
    proof
        ``"parallel"``: groups are disjoint. ``"amplified"``: they are secret as well. ``"least"``:
        what allows less noise.

    Guarantee
    ---------
    Gaussian noise on every release, for every input. With ``calibration="paper"`` the groups have
    the noise of the paper's equation (24), and the certificate says what that is worth.

    Edge cases
    ----------
    Records that groups of equal size leave over, fewer than ``n_groups``, are not used. Pure DP is
    refused.

    Reference
    ---------
    Zhao et al. 2024, Algorithm 3.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.plans.problem import Problem
    >>> problem = Problem(None, 100_000, 10, moment=tg.Moment(2.0, 1.0, kind="directional"))
    >>> methods = Iterative(), Iterative(n_groups=1000)
    >>> few, many = (method.plan(problem, tg.ApproxDP(0.1, 1e-6)) for method in methods)
    >>> few.settings["proof"], many.settings["proof"]
    ('parallel', 'amplified')
    """

    clip_norm: float | None = None
    n_groups: int | None = None
    centre: str = "updates"
    level: float = LEVEL
    start: str = "median"
    proof: str = "least"

    name = "iterative"
    # Its walk follows the points less closely than their median does.
    example = MeanExample(
        {"clip_norm": 50.0}, Moment(2.0, 4.0, kind="directional"), noise_factor=2.5
    )

    def plan_task(self, task: Task) -> MeanPlan:
        """Choose groups, noise and clip norm, or plan to release the scale of one."""
        self._check(task)
        if self.clip_norm is None and task.moment is None:
            return self._private_plan(task)
        return self._public_plan(task)

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Ask for the means of all groups, and find their centre."""
        if len(plan.stages) == 1:
            units = Units.raw(gate.n_features, intercept=False)
            return self._answer(plan, gate, units, float(plan.settings["clip norm"]), 1.0)
        released = PrivateUnits.planned(plan, "norm").release(gate)
        mu, k = plan.stage("mean").mu, plan.stage("mean").n_blocks
        radius = released.distribution.radius(
            _center_noise_slope(gate.n_rows, gate.n_features, mu / math.sqrt(k))
        )
        slope = released.mean_slope(radius)
        return self._answer(plan, gate, released.units, radius, slope)

    def _answer(
        self, plan: Plan, gate: Gate, units: Units, clip_norm: float, slope: float
    ) -> Solution:
        stage = plan.stage("mean")
        k = stage.n_blocks
        groups = gate.partition(GROUPS, k, equal_sizes=True, amplified=stage.shuffled)
        query = MeanClippedGradient(None, units, clip_norm=clip_norm)
        n_rows = groups[0].n_rows
        means = gate.ask_each(query, np.zeros(gate.n_features), stage, blocks=groups) / slope
        noise = query.calibrate(n_rows, gate.n_features, stage.mu).noise_std / n_rows / slope
        return found_mean(
            plan,
            units.center + units.scale * centre_of(means, self.centre, self.level, self.start),
            units.scale * (CENTRE_LOSS * noise / math.sqrt(k)),
            {"clip norm": clip_norm},
        )

    def _private_plan(self, task: Task) -> MeanPlan:
        refuse_paper(self.name, "clip_norm", task)
        units_plan, d = PrivateUnits.of(task, "norm", self._budget(task)), task.n_features
        released = tuple(stage.event for stage in units_plan.stages)
        budget, shuffled = self._cheapest(task, units_plan.left, released)
        together = budget.amount / math.sqrt(self._group_count(task))
        slope = _center_noise_slope(task.n_rows, d, together)
        expected = units_plan.expected_of_clip(task, slope)
        expected = replace(expected, sampling=CENTRE_LOSS * expected.sampling)
        stages = (*units_plan.stages, self._stage(task, budget, shuffled=shuffled))
        return self._plan(task, task.guarantee, stages, expected, IN_PRIVATE_UNITS, ANY_TAIL)

    def _public_plan(self, task: Task) -> MeanPlan:
        guarantee, k = task.guarantee, self._group_count(task)
        if task.calibration == "paper":
            budget, guarantee = _printed(task, k)
            shuffled = True
        else:
            budget, shuffled = self._cheapest(task, self._budget(task), ())
        clip_norm, bias, sampling = self._level(task, budget.amount / math.sqrt(k))
        noise = 2.0 * clip_norm * math.sqrt(k * task.n_features) / (task.n_rows * budget.amount)
        expected = Expected(CENTRE_LOSS * noise, bias, CENTRE_LOSS * sampling)
        stages = (self._stage(task, budget, shuffled=shuffled),)
        assumed = task.moment.describe() if task.moment else "few rows exceed the clip norm"
        clip: dict[str, Any] = {"clip norm": clip_norm}
        return self._plan(task, guarantee, stages, expected, IN_USER_UNITS, assumed, **clip)

    def _plan(
        self,
        task: Task,
        guarantee: Guarantee,
        stages: tuple[Stage, ...],
        expected: Expected,
        unit: str,
        assumed: str,
        **settings: float | int | str,
    ) -> MeanPlan:
        proof = "amplified" if stages[-1].shuffled else "parallel"
        settings = {"groups": self._group_count(task), "proof": proof, **settings}
        facts = (self.name, task.problem, guarantee, stages, settings, (assumed,))
        return MeanPlan(*facts, expected=expected, unit=unit)

    def _stage(self, task: Task, budget: Budget, *, shuffled: bool) -> Stage:
        k = self._group_count(task)
        one = budget.stage("mean", f"the clipped means of {k} groups", 1, task.n_features)
        return replace(one, block_map=GROUPS, n_blocks=k, shuffled=shuffled)

    def _cheapest(
        self, task: Task, alone: Budget, released: tuple[Event, ...]
    ) -> tuple[Budget, bool]:
        """Return what a group's mean may spend beside ``released``, and whether by a shuffle."""
        promise = usable_guarantee(task.guarantee, self._coordinates(task))
        parallel, k = (alone, False), self._group_count(task)
        if self.proof == "parallel" or not isinstance(promise, ApproxDP):
            return parallel

        def event_of(mu: float) -> Event:
            """Return what everything costs."""
            return Composed((*released, Shuffled(mu, k)))

        more = alone.amount * (1.0 + WORTHWHILE)
        # A closed form tells at once where a shuffle is worth nothing.
        hidden = shuffled_epsilon(more, n_units=k, delta=promise.delta)
        pays = hidden < epsilon_of(alone.amount, promise.delta) and satisfies(
            event_of(more), promise
        )
        if self.proof == "least" and not pays:
            return parallel
        guess = shuffled_mu(promise.epsilon, n_units=k, delta=promise.delta)
        found = calibrate(event_of, promise, guess=guess, accuracy=ACCURACY)
        amount = found * (1.0 - BUDGET_MARGIN)
        return Budget(amount, pure=False), True

    def _level(self, task: Task, mu: float) -> tuple[float, float, float]:
        """Return clip norm, bias and sampling error, for group means that are worth ``mu``."""
        d, n = task.n_features, task.n_rows
        if self.clip_norm is not None:
            return self.clip_norm, 0.0, self.clip_norm / math.sqrt(n)
        moment = task.known_moment("directional")
        if task.calibration == "paper":
            epsilon = task.approximate.epsilon
            clip_norm = task.into(printed.iterative_clip_norm, moment, epsilon=epsilon)
        else:
            clip_norm = task.into(printed.mean_clip_norm, moment, rho=mu**2 / 2.0)
        bias = task.into(zhao2024.clipping_bias, moment, clip_norm=clip_norm)
        return clip_norm, bias, moment.scale * math.sqrt(d / n)

    def _group_count(self, task: Task) -> int:
        if self.n_groups is None:
            return max(1, min(FEW_GROUPS, task.n_rows // FEWEST_ROWS))
        return check_group_count(self.n_groups, task.n_rows)

    def _coordinates(self, task: Task) -> int:
        return most_coordinates(task.problem) + self._group_count(task) * task.n_features

    def _budget(self, task: Task) -> Budget:
        return Budget.of(task.guarantee, coordinates=self._coordinates(task))

    def _check(self, task: Task) -> None:
        refuse_pure(self.name, task)
        refuse_numerical(self.name, task)
        check_given(self, check_level, "clip_norm")
        check_given(self, check_count, "n_groups")
        check_choice("centre", self.centre, CENTRES)
        check_open_unit("level", self.level)
        check_choice("start", self.start, STARTS)
        check_choice("proof", self.proof, PROOFS)
        if self.proof == "amplified" and not isinstance(task.guarantee, ApproxDP):
            raise InputError(
                "proof must not be 'amplified' unless epsilon and delta are given; got "
                f"{task.guarantee!r}."
            )


def _printed(task: Task, n_groups: int) -> tuple[Budget, Guarantee]:
    """Return the noise that the paper prints, for secret groups, and the promise that it keeps."""
    asked = task.approximate
    rho = printed.printed_amplified_rho(n_groups=n_groups, epsilon=asked.epsilon, delta=asked.delta)
    budget = Budget(math.sqrt(2.0 * rho), pure=False)
    cost = Shuffled(budget.amount, n_groups)
    distance = COORDINATE_DISTANCE.times(n_groups * task.n_features)
    if satisfies(cost, asked, distance=distance):
        return budget, asked
    true = epsilon_at_distance(cost, asked.delta, distance).epsilon * (1.0 + BUDGET_MARGIN)
    if true == math.inf:
        raise InputError(
            "calibration must not be 'paper' here: the printed noise keeps no promise that can be "
            f"proved at delta = {asked.delta:g}."
        )
    promise = ApproxDP(true, asked.delta)
    if not task.unsafe_reproduction:
        raise InputError(
            "unsafe_reproduction must be True for this calibration='paper': the printed noise does "
            f"not keep {asked.describe()} but {promise.describe()}."
        )
    return budget, promise


def _center_noise_slope(n_rows: int, n_features: int, mu: float) -> float:
    """Return the noise on the centre, in l2, per unit of the radius, for a release worth ``mu``."""
    return CENTRE_LOSS * 2.0 * math.sqrt(n_features) / (n_rows * mu)
