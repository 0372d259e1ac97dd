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

import numpy as np

from tailguard.checks import InputError, check_choice, check_count, check_given, check_open_unit
from tailguard.gate import Gate
from tailguard.gate.budget import BUDGET_MARGIN, Share, usable_guarantee
from tailguard.gate.plan import Plan
from tailguard.gate.problem import Problem
from tailguard.gate.solution import Solution
from tailguard.gate.stage import Stage
from tailguard.means.base import (
    Expected,
    MeanExample,
    MeanFacts,
    MeanPlan,
    found_mean,
    most_coordinates,
)
from tailguard.means.budget import amount_of, usable_share
from tailguard.means.groups import CENTRE_LOSS
from tailguard.means.levels import Level, LevelMethod, directional_level, mean_clip_norm
from tailguard.means.private_units import PrivateUnits
from tailguard.moments import Moment
from tailguard.privacy.accounting.gaussian import epsilon_of
from tailguard.privacy.accounting.total_cost import calibrate, satisfies
from tailguard.privacy.amplification.shuffling import shuffled_epsilon, shuffled_mu
from tailguard.privacy.events import Composed, Event, Gaussian, Shuffled
from tailguard.privacy.guarantees import ApproxDP
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.means.iterative import CENTRES, LEVEL, STARTS, centre_of, check_group_count
from tailguard.queries.units import Units

GROUPS = "groups"  # the partition's name
PROOFS = ("least", "parallel", "amplified")
FEW_GROUPS, FEWEST_ROWS = 20, 20  # groups, and records in each
WORTHWHILE = 1e-3  # a shuffle that allows no more than this on top is not counted on
ACCURACY = 1e-3  # of mu, where an accountant finds it in some steps of a fraction of a second


@dataclass(frozen=True)
class Iterative(LevelMethod):
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
    Gaussian noise on every release, for every input.

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
    >>> from tailguard.gate.problem import Problem
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
    option, few = "clip_norm", "few rows exceed the clip norm"
    # Its walk follows the points less closely than their median does.
    example = MeanExample(
        {"clip_norm": 50.0},
        Moment(2.0, 4.0, kind="directional"),
        noise_factor=2.5,
        shown={"clip_norm": 1.0, "n_groups": 1, "centre": "median"},
    )

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Ask for the means of all groups, and find their centre."""
        if len(plan.stages) == 1:
            units = Units.raw(gate.n_features, intercept=False)
            return self._answer(plan, gate, units, float(plan.settings["clip norm"]), 1.0)
        released = PrivateUnits.planned(plan, "norm").release(gate)
        mu, k = plan.stage("mean").mu, plan.stage("mean").n_blocks
        radius = released.distribution.radius(
            _noise_per_unit(gate.n_rows, gate.n_features, mu / math.sqrt(k))
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

    def groups(self, problem: Problem) -> int:
        """Return how many groups the records are cut into."""
        if self.n_groups is None:
            return max(1, min(FEW_GROUPS, problem.n_rows // FEWEST_ROWS))
        return check_group_count(self.n_groups, problem.n_rows)

    def private_plan(self, facts: MeanFacts) -> MeanPlan:
        """Plan to release the scale of a clip norm."""
        units_plan, left = PrivateUnits.of(facts, "norm", self._budget(facts))
        released = tuple(stage.event for stage in units_plan.stages)
        budget, shuffled = self._cheapest(facts, left, released)
        together = amount_of(budget) / math.sqrt(self.groups(facts.problem))
        unit_noise = _noise_per_unit(facts.n_rows, facts.n_features, together)
        expected = units_plan.expected_of_clip(facts, unit_noise)
        expected = replace(expected, sampling=CENTRE_LOSS * expected.sampling)
        stage = self._stage(facts, budget, shuffled=shuffled)
        settings = self._settings(stage)
        return self.planned(facts, (*units_plan.stages, stage), expected, settings=settings)

    def public_plan(self, facts: MeanFacts) -> MeanPlan:
        """Choose groups, noise and clip norm."""
        k = self.groups(facts.problem)
        budget, shuffled = self.group_share(facts)
        level = self.chosen_level(facts, budget, k)
        weight = facts.n_rows * amount_of(budget)
        noise = 2.0 * level.value * math.sqrt(k * facts.n_features) / weight
        expected = Expected(CENTRE_LOSS * noise, level.bias, CENTRE_LOSS * level.sampling)
        stage = self._stage(facts, budget, shuffled=shuffled)
        settings = {**self._settings(stage), "clip norm": level.value}
        return self.planned(facts, (stage,), expected, settings)

    def moment_level(self, facts: MeanFacts, budget: Share, groups: int) -> Level:
        """Return the cards' clip norm, for group means that spend the budget each."""
        mu = amount_of(budget) / math.sqrt(groups)
        return directional_level(facts, mean_clip_norm, rho=mu**2 / 2.0)

    def group_share(self, facts: MeanFacts) -> tuple[Share, bool]:
        """Return what a group spends at a public clip norm, and whether by a shuffle."""
        return self._cheapest(facts, self._budget(facts), ())

    def _settings(self, stage: Stage) -> dict[str, float | int | str]:
        proof = "amplified" if stage.shuffled else "parallel"
        return {"groups": stage.n_blocks, "proof": proof}

    def _stage(self, facts: MeanFacts, budget: Share, *, shuffled: bool) -> Stage:
        k = self.groups(facts.problem)
        words, cut = f"the clipped means of {k} groups", {"block_map": GROUPS, "n_blocks": k}
        return Stage.of(budget, "mean", words, 1, facts.n_features, **cut, shuffled=shuffled)

    def _cheapest(
        self, facts: MeanFacts, alone: Share, released: tuple[Event, ...]
    ) -> tuple[Share, bool]:
        """Return what a group's mean may spend beside ``released``, and whether by a shuffle."""
        promise = usable_guarantee(facts.guarantee, self._coordinates(facts))
        parallel, k = (alone, False), self.groups(facts.problem)
        if self.proof == "parallel" or not isinstance(promise, ApproxDP):
            return parallel

        def event_of(mu: float) -> Event:
            """Return what everything costs."""
            return Composed((*released, Shuffled(mu, k)))

        more = amount_of(alone) * (1.0 + WORTHWHILE)
        # A closed form tells at once where a shuffle is worth nothing.
        hidden = shuffled_epsilon(more, n_units=k, delta=promise.delta)
        pays = hidden < epsilon_of(amount_of(alone), promise.delta) and satisfies(
            event_of(more), promise
        )
        if self.proof == "least" and not pays:
            return parallel
        guess = shuffled_mu(promise.epsilon, n_units=k, delta=promise.delta)
        found = calibrate(event_of, promise, guess=guess, accuracy=ACCURACY)
        return Gaussian(found * (1.0 - BUDGET_MARGIN)), True

    def _coordinates(self, facts: MeanFacts) -> int:
        return most_coordinates(facts.problem) + self.groups(facts.problem) * facts.n_features

    def _budget(self, facts: MeanFacts) -> Share:
        return usable_share(facts.guarantee, coordinates=self._coordinates(facts))

    def check(self, facts: MeanFacts) -> None:
        """Check groups, centre and proof."""
        check_given(self, check_count, "n_groups")
        check_choice("centre", self.centre, CENTRES)
        check_open_unit("level", self.level)
        check_choice("start", self.start, STARTS)
        check_choice("proof", self.proof, PROOFS)
        if self.proof == "amplified" and not isinstance(facts.guarantee, ApproxDP):
            raise InputError(
                "proof must not be 'amplified' unless epsilon and delta are given; got "
                f"{facts.guarantee!r}."
            )


def _noise_per_unit(n_rows: int, n_features: int, mu: float) -> float:
    """Return the noise on the centre, in l2, per unit of the radius, for a release worth ``mu``."""
    return CENTRE_LOSS * 2.0 * math.sqrt(n_features) / (n_rows * mu)
