"""The coordinate-wise clamped median of means.

Every coordinate is clipped at ``3 * threshold``, averaged within groups of records, and the median
of the group means is released. ``coordinate_wise.py`` has the proof.

Reference
---------
Kamath, Liu and Zhang 2022, Algorithm 3, Theorem 4.1 and Corollary 4.2: with Gaussian noise for
zCDP, with Laplace noise for pure DP. The sensitivity here is exact; the printed one is four times
too large for an even number of groups, and twice for an odd number.
"""

import math
from dataclasses import dataclass
from typing import Any

from tailguard.checks import InputError, shown
from tailguard.gate.stage import Share
from tailguard.means.base import Level, MeanExample, MeanFacts
from tailguard.means.coordinate_wise import GroupedMean, GroupedMedian
from tailguard.means.formulas import checked, cut_factor, moment_scale
from tailguard.moments import Moment
from tailguard.privacy.events import Laplace
from tailguard.queries.coordinates import CoordinateBound
from tailguard.queries.units import Units

# The theory needs a threshold of at least 10 moment units, to cover means of that size.
FEWEST_MOMENT_UNITS = 10.0


@dataclass(frozen=True)
class ClampedMean(GroupedMean):
    """Median over groups of the means of ``clamp(slope * row)``; the state is the weight vector.

    Attributes
    ----------
    threshold
        The paper's tau; every coordinate is clipped at three times this value.
    n_groups
        The number of random groups. With an even number the median is half as sensitive.

    Guarantee
    ---------
    Replacing any record by any other moves each coordinate by at most ``3 * threshold`` over the
    size of the smallest group if ``n_groups`` is even, and by at most twice that if it is odd (1
    included); the vector by ``sqrt(d)`` times that in l2 norm and ``d`` times in l1 norm; plus the
    charged rounding. A record with a non-finite value contributes zero and stays counted.

    Examples
    --------
    >>> query = ClampedMean(None, Units.raw(1, intercept=False), threshold=10.0, n_groups=4)
    >>> query.sensitivity(n_rows=100, n_features=1).ideal
    1.2
    """

    name = "clamped median of means"

    @classmethod
    def worst_pair(cls, units: Units) -> dict[str, Any]:
        """Return a query of three groups and two records, one far below and one far above."""
        query = cls(None, units, threshold=1.5, n_groups=3)
        ends = {"old": (-1e6, -1e6, -1e6, 0.0), "new": (1e6, 1e6, 1e6, 0.0)}
        return {"label": "3-groups", "query": query, **ends, "n_groups": 3, "far": 1e6}

    @property
    def bound(self) -> CoordinateBound:
        """Clipping at ``3 * threshold``."""
        return CoordinateBound("clamped", 3.0 * self.threshold)


@dataclass(frozen=True)
class Clamped(GroupedMedian):
    """Median over groups of the means of entries clipped at three times a threshold.

    Attributes
    ----------
    threshold
        A public threshold (the paper's tau), in the units of the data; with it no scale is
        released.
    failure_probability
        Determines the number of groups, ``4 log(2 d / failure_probability)``, made even.
    n_groups
        The number of groups; 2 gives a plain clamped mean.

    Guarantee
    ---------
    Gaussian noise, or Laplace noise for pure DP, at the exact sensitivity, for every input.

    Reference
    ---------
    Kamath, Liu and Zhang 2022, Algorithm 3.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.gate.plan import Problem
    >>> plan = Clamped().plan(Problem(None, 100_000, 10, moment=tg.Moment(2.0, 1.0)), tg.ZCDP(0.5))
    >>> plan.settings["groups"], round(plan.settings["threshold"], 4)
    (22, 149.5349)
    """

    name = "clamped"
    example = MeanExample(
        {"threshold": 20.0},
        Moment(2.0, 4.0),
        refuses=(),
        shown={"threshold": 1.0, "n_groups": 1},
    )

    def query(self, units: Units, threshold: float, groups: int) -> ClampedMean:
        """Return the query at a threshold."""
        return ClampedMean(None, units, threshold, groups)

    def moment_level(self, facts: MeanFacts, budget: Share, groups: int) -> Level:
        """Return the threshold of Corollary 4.2 for central moments of order 2 and above."""
        moment = facts.known_moment("central")
        if isinstance(budget, Laplace):
            level = facts.into(mean_threshold_pure, moment, epsilon=budget.epsilon)
        else:
            level = facts.into(mean_threshold, moment, rho=budget.mu**2 / 2.0)
        threshold = max(level, FEWEST_MOMENT_UNITS * moment.scale)
        bias = facts.into(clamping_bias, moment, threshold=threshold, mean_bound=threshold)
        return Level(threshold, bias, facts.sampling)


@checked
def mean_threshold(
    *, n_rows: int, n_features: int, moment_order: float, rho: float, moment_bound: float = 1.0
) -> float:
    """Threshold of the zCDP mean, ``(n sqrt(rho) / sqrt(d))^(1/k)`` in units of the moment.

    The theory requires at least the norm of the mean, and at least 10 units.

    *Reference.* Kamath, Liu and Zhang 2022, Corollary 4.2.
    """
    return moment_scale(moment_bound * math.sqrt(rho / n_features) * n_rows, moment_order)


@checked
def mean_threshold_pure(
    *, n_rows: int, n_features: int, moment_order: float, epsilon: float, moment_bound: float = 1.0
) -> float:
    """Threshold of the pure-DP mean, ``(n epsilon / d)^(1/k)`` in units of the moment.

    *Reference.* Kamath, Liu and Zhang 2022, Corollary 4.2.
    """
    return moment_scale(moment_bound * epsilon * n_rows / n_features, moment_order)


@checked
def clamping_bias(
    *, moment_order: float, threshold: float, mean_bound: float, moment_bound: float = 1.0
) -> float:
    """Bias of a coordinate clamped to ``[-3 threshold, 3 threshold]``, with all constants.

    ``((k-1)^(k-1) / k^k) moment_bound / (3 threshold - mean_bound)^(k-1)`` for a mean of size at
    most ``mean_bound``.

    *Correction.* The paper's ``3 (14 / threshold)^(k-1)`` is valid, and vacuous below 14.

    *Reference.* Kamath, Liu and Zhang 2022, Lemma B.1, sharpened.

    Examples
    --------
    >>> round(clamping_bias(moment_order=2.0, threshold=10.0, mean_bound=1.0), 4)
    0.0086
    """
    distance = 3.0 * threshold - mean_bound
    if distance <= 0.0:
        raise InputError(
            f"threshold must be a number above mean_bound / 3 = {mean_bound / 3.0:g}; "
            f"got {shown(threshold)}."
        )
    return float(cut_factor(moment_order) * moment_bound / distance ** (moment_order - 1.0))
