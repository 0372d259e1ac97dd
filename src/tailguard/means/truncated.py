"""The coordinate-wise truncated median of means; with one group, the truncated mean.

Coordinates beyond ``threshold`` count as zero. Then records are averaged within groups, and the
median of the group means is released. ``coordinate_wise.py`` has the proof.

Reference
---------
Tao, Wu, Cheng and Wang 2022, Algorithm 3 and Theorem 3; Algorithm 1 and Theorem 1 with one group
and one coordinate. Each group mean sums over the group's own records; the printed sum over all
records is a slip.
"""

import math
from dataclasses import dataclass
from typing import Any

from tailguard.gate.plan import Problem
from tailguard.gate.stage import Share
from tailguard.means.base import Level, MeanExample, MeanFacts
from tailguard.means.coordinate_wise import GroupedMean, GroupedMedian
from tailguard.moments import Moment
from tailguard.queries.coordinates import CoordinateBound
from tailguard.queries.units import Units


@dataclass(frozen=True)
class TruncatedMean(GroupedMean):
    """Median over groups of the means of truncated ``slope * row``; the state is the weight vector.

    Attributes
    ----------
    threshold
        The largest magnitude that is kept (inclusive).
    n_groups
        The number of random groups. With an even number the median is half as sensitive.

    Guarantee
    ---------
    Replacing any record by any other moves each coordinate by at most ``threshold`` over the size
    of the smallest group if ``n_groups`` is even, and by at most twice that if it is odd (1
    included); the vector by ``sqrt(d)`` times that in l2 norm and ``d`` times in l1 norm; plus the
    charged rounding. A record with a non-finite value contributes zero and stays counted.

    Examples
    --------
    >>> query = TruncatedMean(None, Units.raw(1, intercept=False), threshold=10.0, n_groups=4)
    >>> query.sensitivity(n_rows=100, n_features=1).ideal
    0.4
    """

    n_groups: int = 1

    name = "truncated median of means"

    @classmethod
    def worst_pair(cls, units: Units) -> dict[str, Any]:
        """Return a query of seven groups, and two records at opposite thresholds."""
        query = cls(None, units, threshold=2.0, n_groups=7)
        ends = {"old": (-2.0, -2.0, -2.0, 0.0), "new": (2.0, 2.0, 2.0, 0.0)}
        return {"label": "7-groups", "query": query, **ends, "n_groups": 7, "far": 2.0}

    @property
    def bound(self) -> CoordinateBound:
        """Entries beyond ``threshold`` become zero."""
        return CoordinateBound("truncated", self.threshold)


@dataclass(frozen=True)
class Truncated(GroupedMedian):
    """Median over groups of the means of entries, where those beyond a threshold count as zero.

    Attributes
    ----------
    threshold
        A public threshold, in the units of the data. If it is given, no scale is released.
    failure_probability
        Sets the number of groups, ``4 log(2 d / failure_probability)``, made even; and the paper's
        threshold.
    n_groups
        The number of groups. One is the paper's scalar method, the default for one column.

    Guarantee
    ---------
    Gaussian noise, or Laplace noise for pure DP, at the exact sensitivity, for every input.

    Reference
    ---------
    Tao, Wu, Cheng and Wang 2022, Algorithms 1 and 3.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(None, 10_000, 1, moment=tg.Moment(2.0, 1.0, kind="raw"))
    >>> plan = Truncated().plan(problem, tg.ApproxDP(1.0, 1e-5))
    >>> round(plan.settings["threshold"], 2)
    36.61
    """

    name = "truncated"
    example = MeanExample(
        {"threshold": 50.0},
        Moment(1.5, 4.0, kind="raw"),
        refuses=(),
        shown={"threshold": 1.0, "n_groups": 1},
        far=1.0,  # entries beyond the threshold count as zero
    )

    def query(self, units: Units, threshold: float, groups: int) -> TruncatedMean:
        """Return the query at a threshold."""
        return TruncatedMean(None, units, threshold, groups)

    def groups(self, problem: Problem) -> int:
        """Return the number of groups whose means the median combines."""
        alone = self.n_groups is None and problem.n_features == 1
        return 1 if alone else super().groups(problem)

    def raw_moment(self, facts: MeanFacts) -> Moment:
        """Return the stated moment about zero, of an order up to 2."""
        moment = facts.known_moment("raw")
        return moment.at_order(min(moment.order, 2.0))

    def moment_level(self, facts: MeanFacts, budget: Share, groups: int) -> Level:
        """Return the threshold for raw moments of an order up to 2.

        ``(u v / s)^(1 / (1 + v))`` minimises the bias ``u / B^v`` plus the noise ``s B``.
        """
        moment = self.raw_moment(facts)
        order, bound = moment.order, moment.bound
        unit_noise = self.noise_per_unit(facts.problem, budget, groups)
        threshold = (bound * (order - 1.0) / unit_noise) ** (1.0 / order)
        return self.level_at(threshold, moment, facts)

    def level_at(self, threshold: float, moment: Moment, facts: MeanFacts) -> Level:
        """Return the threshold, with the largest bias and sampling error that the moment allows."""
        order, bound = moment.order, moment.bound
        sampling = facts.sampling
        if order < 2.0:  # only truncated entries surely have a variance
            sampling = math.sqrt(bound * threshold ** (2.0 - order) / facts.n_rows)
        return Level(threshold, bound / threshold ** (order - 1.0), sampling)
