"""The iterative mean: noised means of random groups, and the centre of their bulk.

The method splits the records at random into groups of equal size, releases each group's l2-clipped
mean with its own noise, and estimates the mean by the centre of the released means. A record is in
one group, so all groups together cost as much as one. If the groups are secret, they also form a
shuffle, which allows less noise for many groups and a small epsilon. The method takes the least
noise that either proof allows.

With ``k`` groups the noise on the centre is ``sqrt(k)`` times that of the clipped mean, or less if
the shuffle counts. So the method pays off only if the tails of the sampling error are worse than
the noise; few groups are the default.

Descents use ``IterativeMean``, which releases the means of all groups as one vector. Its proof
needs only disjoint groups, whose sizes differ by at most one record.

Reference
---------
Zhao et al. 2024, Algorithm 3 and Theorems 6 and 7. Theorem 6 is false as printed: for fixed groups
nothing hides a group whose mean is far from all others, so the cost is that of one group's noise
alone. :mod:`tailguard.privacy.amplification.grouped` proves what holds for secret groups. The group
means as printed need groups of equal size.
"""

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import (
    InputError,
    check_choice,
    check_count,
    check_given,
    check_integer,
    check_open_unit,
    check_positive,
)
from tailguard.data.rows.base import Rows
from tailguard.data.rows.threads import one_blas_thread
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.gate.stage import BUDGET_MARGIN, Share, Stage, usable_guarantee
from tailguard.losses.base import Loss
from tailguard.losses.squared import Squared
from tailguard.means.base import (
    Expected,
    Level,
    MeanExample,
    MeanFacts,
    MeanMethod,
    MeanPlan,
    amount_of,
    directional_level,
    mean_solution,
    most_coordinates,
    usable_share,
)
from tailguard.means.centres import CENTRES, LEVEL, STARTS, Estimate, centre_of, own_centre
from tailguard.means.formulas import CENTRE_LOSS, check_group_count, mean_clip_norm
from tailguard.means.private_units import PrivateUnits
from tailguard.moments import Moment
from tailguard.privacy.accounting.gaussian import epsilon_of
from tailguard.privacy.accounting.total_cost import calibrate, satisfies
from tailguard.privacy.amplification.shuffling import shuffled_epsilon, shuffled_mu
from tailguard.privacy.calibration import Calibration, Sensitivity
from tailguard.privacy.events import Composed, Event, Gaussian, Shuffled
from tailguard.privacy.guarantees import ApproxDP
from tailguard.queries.base import GaussianQuery, Places, sum_sensitivity
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.loop import LatticeSum
from tailguard.queries.units import Units

ALL = "all"
"""The ``centre`` that returns the means of all groups, one after the other."""
GROUPS = "groups"  # the name of the partition of the records
PROOFS = ("least", "parallel", "amplified")
STAYED = (
    "the updates stayed at the origin, where they start: in no direction do enough of the noised "
    "group means lie ahead; start='median' starts among the group means."
)
# A shuffle is used if it raises mu by at least this fraction. Its mu is calibrated to this relative
# accuracy only, because each step of the accountant's search takes a fraction of a second.
ACCURACY = 1e-3


@dataclass(frozen=True)
class IterativeMean(GaussianQuery):
    """Centre of the noised means of groups of l2-clipped ``slope * row``; the state is the weights.

    Attributes
    ----------
    clip_norm
        The largest norm of one record's gradient.
    n_groups
        The number of random groups. The noise on the centre grows as its root.
    centre, level, start
        As in :class:`Iterative`; ``centre="all"`` returns the means of all groups. At the usual
        level, updates that start at the median hardly move, since in every direction too many group
        means lie behind it. Updates from further away end at the edge of the group means.

    Guarantee
    ---------
    Replacing any record by any other moves the sums of all groups, as one vector, by at most
    ``2 * clip_norm`` in l2 norm, plus the charged rounding, under replace-one neighbours. This
    holds for any fixed groups of consecutive records. A random, secret order serves accuracy only;
    no amplification is claimed. A record with a non-finite value contributes zero and stays
    counted.

    Examples
    --------
    >>> query = IterativeMean(None, Units.raw(3, intercept=False), clip_norm=2.0, n_groups=20)
    >>> sensitivity = query.sensitivity(n_rows=1000, n_features=3)
    >>> sensitivity.ideal, sensitivity.size
    (4.0, 60)
    """

    loss: Loss | None
    units: Units
    clip_norm: float
    n_groups: int = 20
    centre: str = "updates"
    level: float = LEVEL
    start: str = "median"

    name = "group means"
    takes_persons = True

    @classmethod
    def worst_pair(cls, units: Units) -> dict[str, Any]:
        """Return a query of three groups, and two records with slopes at opposite ends."""
        loss, weights = Squared(), np.array([0.3, -0.2, 0.1])
        query = cls(loss, units, clip_norm=1.5, n_groups=3, centre="median")
        ends = {"old": (9.0, 0.0, 0.0, 1e6), "new": (9.0, 0.0, 0.0, -1e6)}
        return {"label": "3-groups", "query": query, "state": weights, "loss": loss, **ends}

    def __post_init__(self) -> None:
        check_positive("clip_norm", self.clip_norm)
        check_integer("n_groups", self.n_groups, minimum=1)
        check_choice("centre", self.centre, (*CENTRES, ALL))
        check_choice("start", self.start, STARTS)
        check_open_unit("level", self.level)

    @property
    def places(self) -> Places:
        """Random if there are several groups: each is a run of consecutive records."""
        return "random" if self.n_groups > 1 else "any"

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of the sums of all groups, which is that of one group's sum."""
        check_group_count(self.n_groups, n_rows)
        largest_group = -(-n_rows // self.n_groups)
        size = self.n_groups * self.units.size
        return sum_sensitivity(self.clip_norm, size, largest_group)

    def answer(self, rows: Rows, state: FloatArray, calibration: Calibration) -> IntArray:
        """Sum the clipped gradients of every group at the weights ``state``, on the lattice."""
        query = MeanClippedGradient(self.loss, self.units, clip_norm=self.clip_norm)
        edges = group_edges(rows.n_rows, self.n_groups)
        groups = (rows.restricted(np.arange(start, stop)) for start, stop in pairwise(edges))
        loop = LatticeSum(query, query.read_state(state), calibration.grid, self.units.size)
        with one_blas_thread():
            return np.concatenate([group.reduce(loop) for group in groups])

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Divide each noised sum by its group's size and find the centre of the means."""
        sizes = np.diff(group_edges(n_rows, self.n_groups))
        means = noised.reshape(self.n_groups, self.units.size) / sizes[:, None]
        if self.centre == ALL:
            return means.ravel()
        return centre_of(means, self.centre, self.level, self.start)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {
            "clip_norm": self.clip_norm,
            "n_groups": self.n_groups,
            "coordinates": self.units.size,
        }


def group_edges(n_rows: int, n_groups: int) -> IntArray:
    """Return the edges of groups of consecutive records; sizes differ by at most one."""
    return np.arange(n_groups + 1) * n_rows // n_groups


@dataclass(frozen=True)
class Iterative(MeanMethod):
    """Centre of the noised means of random groups of clipped rows.

    Attributes
    ----------
    clip_norm
        A public clip norm, in the units of the data. If it is given, no scale is released.
    n_groups
        The number of groups; by default 20, or fewer so that each has 20 records.
    centre
        ``"updates"`` is the paper's, which moves a point step by step. ``"median"`` and
        ``"geometric-median"`` are as private. So is a function of your own: it takes the noised
        group means, one per row, in the units of the data, and returns a vector. The noise of its
        result is not predicted.
    level
        A fraction: an update moves in a direction only if this part of the group means lies ahead.
    start
        Where updates start, the paper's c_1: ``"median"`` of the group means, or ``"origin"``.
    proof
        ``"parallel"`` uses that groups are disjoint. ``"amplified"`` uses that they are secret as
        well. ``"least"`` takes whichever proof allows less noise.

    Guarantee
    ---------
    Gaussian noise on every release, for every input. Any centre, also a user's own function, gets
    only the group means, which are released and paid for before. So whatever it does with them is
    post-processing (Dwork and Roth 2014, Proposition 2.1).

    Edge cases
    ----------
    A function whose result has another shape is refused; non-finite values in its result count as
    zero. Groups have equal size; the remaining records, fewer than ``n_groups``, are not used. Pure
    DP is refused.

    Reference
    ---------
    Zhao et al. 2024, Algorithm 3.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.gate.plan import Problem
    >>> problem = Problem(None, 100_000, 10, moment=tg.Moment(2.0, 1.0, kind="directional"))
    >>> methods = Iterative(), Iterative(n_groups=1000)
    >>> few, many = (method.plan(problem, tg.ApproxDP(0.1, 1e-6)) for method in methods)
    >>> few.settings["proof"], many.settings["proof"]
    ('parallel', 'amplified')
    """

    clip_norm: float | None = None
    n_groups: int | None = None
    centre: str | Estimate = "updates"
    level: float = LEVEL
    start: str = "median"
    proof: str = "least"

    name = "iterative"
    option, tail_assumption = "clip_norm", "few rows exceed the clip norm"
    # Updates follow the group means less closely than their median does, so more noise is allowed.
    example = MeanExample(
        {"clip_norm": 50.0},
        Moment(2.0, 4.0, kind="directional"),
        noise_factor=2.5,
        shown={"clip_norm": 1.0, "n_groups": 1, "centre": "median"},
    )

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Release the means of all groups, and return their centre."""
        stage = plan.stage("mean")
        n_groups = stage.n_blocks
        if len(plan.stages) == 1:
            units, mean_slope = Units.raw(gate.n_features, intercept=False), 1.0
            clip_norm = float(plan.settings["clip norm"])
        else:
            combined_mu = stage.mu / math.sqrt(n_groups)
            unit_noise = _noise_per_unit(gate.n_records, gate.n_features, combined_mu)
            released = PrivateUnits.planned(plan, "norm").release(gate, unit_noise=unit_noise)
            units, clip_norm = released.units, released.clip_norm(unit_noise)
            mean_slope = released.mean_slope(clip_norm)
        groups = gate.partition(GROUPS, n_groups, equal_sizes=True, amplified=stage.shuffled)
        query = MeanClippedGradient(None, units, clip_norm=clip_norm)
        n_rows = groups[0].n_rows
        means = gate.ask(query, np.zeros(gate.n_features), stage, blocks=groups) / mean_slope
        noise = query.calibrate(n_rows, gate.n_features, stage.mu).noise_std / n_rows / mean_slope
        if callable(self.centre):
            noise, value = math.nan, own_centre(units.center + units.scale * means, self.centre)
        else:
            centre = centre_of(means, self.centre, self.level, self.start)
            value = units.center + units.scale * centre
        predicted = units.scale * (CENTRE_LOSS * noise / math.sqrt(n_groups))
        solution = mean_solution(plan, value, predicted, {"clip norm": clip_norm})
        from_origin = self.centre == "updates" and self.start == "origin"
        stayed = from_origin and not np.any(value - units.center)
        return replace(solution, notes=(STAYED,)) if stayed else solution

    def groups(self, problem: Problem) -> int:
        """Return the number of groups."""
        if self.n_groups is None:
            return max(1, min(20, problem.n_rows // 20))
        return check_group_count(self.n_groups, problem.n_rows)

    def private_plan(self, facts: MeanFacts) -> MeanPlan:
        """Plan the releases that determine a clip norm, and the mean."""
        units_plan, rest = PrivateUnits.of(facts, "norm", self._budget(facts))
        released = tuple(stage.event for stage in units_plan.stages)
        budget, shuffled = self._largest_group_share(facts, rest, released)
        combined_mu = amount_of(budget) / math.sqrt(self.groups(facts.problem))
        unit_noise = _noise_per_unit(facts.n_rows, facts.n_features, combined_mu)
        expected = units_plan.expected_of_clip(facts, unit_noise)
        expected = replace(expected, sampling=CENTRE_LOSS * expected.sampling)
        stage = self._stage(facts, budget, shuffled=shuffled)
        settings = self._settings(stage)
        return self.planned(facts, (*units_plan.stages, stage), expected, settings=settings)

    def public_plan(self, facts: MeanFacts) -> MeanPlan:
        """Choose groups, noise and clip norm."""
        n_groups = self.groups(facts.problem)
        budget, shuffled = self.group_share(facts)
        level = self.chosen_level(facts, budget, n_groups)
        records_times_mu = facts.n_rows * amount_of(budget)
        noise = 2.0 * level.value * math.sqrt(n_groups * facts.n_features) / records_times_mu
        expected = Expected(CENTRE_LOSS * noise, level.bias, CENTRE_LOSS * level.sampling)
        stage = self._stage(facts, budget, shuffled=shuffled)
        settings = {**self._settings(stage), "clip norm": level.value}
        return self.planned(facts, (stage,), expected, settings)

    def moment_level(self, facts: MeanFacts, budget: Share, groups: int) -> Level:
        """Return the clip norm of the papers' formula; each group may spend the whole budget."""
        mu = amount_of(budget) / math.sqrt(groups)
        return directional_level(facts, mean_clip_norm, rho=mu**2 / 2.0)

    def group_share(self, facts: MeanFacts) -> tuple[Share, bool]:
        """Return the budget of a group at a public clip norm, and whether a shuffle is used."""
        return self._largest_group_share(facts, self._budget(facts), ())

    def _settings(self, stage: Stage) -> dict[str, float | int | str]:
        proof = "amplified" if stage.shuffled else "parallel"
        return {"groups": stage.n_blocks, "proof": proof}

    def _stage(self, facts: MeanFacts, budget: Share, *, shuffled: bool) -> Stage:
        n_groups = self.groups(facts.problem)
        purpose = f"the clipped means of {n_groups} groups"
        blocks: dict[str, Any] = {"block_map": GROUPS, "n_blocks": n_groups}
        return Stage.of(budget, "mean", purpose, 1, facts.n_features, **blocks, shuffled=shuffled)

    def _largest_group_share(
        self, facts: MeanFacts, share: Share, released: tuple[Event, ...]
    ) -> tuple[Share, bool]:
        """Return a group's budget if ``released`` is spent too, and whether a shuffle is used."""
        promise = usable_guarantee(facts.guarantee, self._coordinates(facts))
        parallel, n_groups = (share, False), self.groups(facts.problem)
        if self.proof == "parallel" or not isinstance(promise, ApproxDP):
            return parallel

        def event_of(mu: float) -> Event:
            """Return the cost of all releases together."""
            return Composed((*released, Shuffled(mu, n_groups)))

        larger_mu = amount_of(share) * (1.0 + ACCURACY)
        # A closed form shows quickly whether a shuffle gains anything.
        shuffle_epsilon = shuffled_epsilon(larger_mu, n_units=n_groups, delta=promise.delta)
        shuffle_pays = shuffle_epsilon < epsilon_of(amount_of(share), promise.delta) and satisfies(
            event_of(larger_mu), promise
        )
        if self.proof == "least" and not shuffle_pays:
            return parallel
        guess = shuffled_mu(promise.epsilon, n_units=n_groups, delta=promise.delta)
        mu = calibrate(event_of, promise, guess=guess, accuracy=ACCURACY)
        return Gaussian(mu * (1.0 - BUDGET_MARGIN)), True

    def _coordinates(self, facts: MeanFacts) -> int:
        return most_coordinates(facts.problem) + self.groups(facts.problem) * facts.n_features

    def _budget(self, facts: MeanFacts) -> Share:
        return usable_share(facts.guarantee, coordinates=self._coordinates(facts))

    def check(self, facts: MeanFacts) -> None:
        """Check groups, centre and proof."""
        check_given(self, check_count, "n_groups")
        if not callable(self.centre):
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
    """Return the l2 norm of the noise on the centre at a clip norm of 1 and a budget ``mu``."""
    return CENTRE_LOSS * 2.0 * math.sqrt(n_features) / (n_rows * mu)
