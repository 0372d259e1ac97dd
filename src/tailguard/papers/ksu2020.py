"""The mean of heavy-tailed records after Kamath, Singhal and Ullman (2020): a rival of ``tg.mean``.

A private histogram of every column finds its fullest bin. Then records are clipped to an interval
around that bin, whose width balances bias and noise, and their mean is released.

*Published.* For a central moment of order k the error of one column under epsilon-DP is
``1 / sqrt(n) + (1 / (n epsilon))^(1 - 1/k)``, which no method improves; d columns need d times as
many records. Only this statement was available. The algorithm and its constants are ours, and have
that rate; they were not compared with the paper's algorithms for several columns.

*Needed for privacy.* Nothing of the data. A record is in one bin of every column, for all its
values, and :class:`tailguard.queries.histograms.ColumnHistograms` proves the sensitivity to
replacing it. The centre is a function of the released counts. Around a released centre a record
moves the mean of clipped columns by at most ``2 H / n`` in each, for all its values. The half-width
``H`` follows from public numbers (:class:`tailguard.means.clamped.ClampedMean`). Costs add up.

*Needed for accuracy.* A public interval that holds the mean of every column, and a bound
``scale^k`` on the central moment of order k of every column.

*Derivation.* Bins are 6 scales wide. At least 8/9 of a column's law lie within 3 scales of its mean
(Chebyshev), in two bins at most, so that one has 4/9. A bin that lies beyond 2 scales has at most
1/4. So the fullest bin reaches within 2 scales of the mean, and its middle within 5, unless counts
err by 7 % of the records. The cut at ``H = 5 scale + t`` takes off a mean at most
``(k-1)^(k-1) / k^k scale^k / t^(k-1)``, where ``(|x| - t)_+`` is largest against ``|x|^k``.

Reference
---------
Kamath, Singhal and Ullman 2020 (setting and rate); Kamath, Liu and Zhang 2022, Theorem 4.1 (the
``t`` that balances bias and noise).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailguard.checks import InputError, check_finite
from tailguard.estimators.mean import MeanResult
from tailguard.estimators.mean import mean as estimate
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Solution
from tailguard.gate.stage import Stage, part_of
from tailguard.means.base import (
    IN_USER_UNITS,
    Expected,
    MeanFacts,
    MeanMethod,
    MeanPlan,
    check_level,
    mean_solution,
    noise_std_of,
    usable_share,
)
from tailguard.means.clamped import ClampedMean
from tailguard.means.formulas import check_order
from tailguard.papers.kamath2022 import parameters
from tailguard.queries.histograms import Bins, ColumnHistograms
from tailguard.queries.units import Units

BIN_WIDTH, REACH = 6.0, 5.0  # scales; see the derivation
HISTOGRAM_SHARE = 0.25  # of the budget; a bin only has to be found
MOST_BINS = 10_000  # of a column: more take memory without any gain
COUNT_ERROR = 0.07  # of the records, at which another bin may win: (4/9 - 1/4) / 2, rounded down


@dataclass(frozen=True)
class RangeThenMean(MeanMethod):
    """The mean of records cut to an interval around the fullest bin of every column.

    Attributes
    ----------
    radius
        Half the width of a public interval around ``center`` that holds the mean of every column.
    scale, order
        ``scale ** order`` bounds the central moment of that order of every column.
    center
        The same for every column.

    Guarantee
    ---------
    Laplace noise for pure DP, else Gaussian noise, on both releases and for every input.

    Reference
    ---------
    Kamath, Singhal and Ullman 2020.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.gate.plan import Problem
    >>> problem = Problem(None, 10_000, 2)
    >>> plan = RangeThenMean(radius=1000.0, scale=1.0).plan(problem, tg.PureDP(1.0))
    >>> plan.settings["bins"], round(plan.settings["half-width"], 1)
    (335, 66.2)
    """

    radius: float
    scale: float
    order: float = 2.0
    center: float = 0.0

    name = "range-then-mean"

    def plan_from(self, facts: MeanFacts) -> MeanPlan:
        """Choose bins and half-width from public numbers."""
        check_place(self, facts)
        check_order(self.order)
        histogram, last = self._stages(facts)
        cut = self._cut(facts.n_rows, facts.n_features, last)
        noise = noise_std_of(self._mean(np.zeros(facts.n_features), cut), *_sizes(facts, last))
        counts = self._histograms(facts.n_features)
        spread = noise_std_of(counts, *_sizes(facts, histogram))
        beyond = cut - REACH * self.scale
        bias = (self.order - 1.0) ** (self.order - 1.0) / self.order**self.order * self.scale
        bias *= (self.scale / beyond) ** (self.order - 1.0)
        root = math.sqrt(facts.n_features)
        hidden = spread * math.log(counts.n_counts) > COUNT_ERROR * facts.n_rows
        warning = "The budget is too small to find the bin of every column."
        return MeanPlan(
            self.name,
            facts.problem,
            facts.guarantee,
            (histogram, last),
            settings={"bins": counts.bins.count, "half-width": cut, "radius": self.radius},
            assumptions=(
                "tails have the stated moment",
                "the interval holds the mean of every column",
            ),
            warnings=(warning,) if hidden else (),
            expected=Expected(root * noise, root * bias, self.scale * root / facts.n_rows**0.5),
            unit=IN_USER_UNITS,
        )

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Release the histograms, and then the mean around their fullest bins."""
        histogram, last = plan.stages
        n_rows, d = gate.n_records, gate.n_features
        query = self._histograms(d)
        found = gate.ask(query, (np.full(d, self.center), np.ones(d)), histogram)
        middles = query.bins.low + BIN_WIDTH * self.scale * (np.argmax(found, axis=1) + 0.5)
        centers = self.center + middles
        mean = self._mean(centers, self._cut(n_rows, d, last))
        value = centers + gate.ask(mean, np.zeros(d), last)
        return mean_solution(plan, value, np.full(d, noise_std_of(mean, n_rows, d, last.asked)))

    def _stages(self, facts: MeanFacts) -> tuple[Stage, Stage]:
        """Split the budget between histograms and mean."""
        n_counts = self._histograms(facts.n_features).n_counts
        budget = usable_share(facts.guarantee, coordinates=n_counts + facts.n_features)
        parts = HISTOGRAM_SHARE, 1.0 - HISTOGRAM_SHARE
        first, last = (part_of(budget, part) for part in parts)
        return (
            Stage.of(first, "range", "the fullest bin of every column", 1, n_counts),
            Stage.of(last, "mean", "the mean around it", 1, facts.n_features),
        )

    def _histograms(self, n_features: int) -> ColumnHistograms:
        """Return the query for counts in bins of the public interval."""
        width = BIN_WIDTH * self.scale
        count = math.ceil(2.0 * self.radius / width) + 1
        if count > MOST_BINS:
            raise InputError(
                f"radius must be at most {MOST_BINS // 2} bins of {BIN_WIDTH:g} scales; got "
                f"{self.radius:g} for scale = {self.scale:g}."
            )
        bins = Bins("linear", -count * width / 2.0, 1.0 / width, count)
        return ColumnHistograms(tuple(range(n_features)), bins)

    def _mean(self, centers: Any, cut: float) -> ClampedMean:
        """Return the query for the mean of columns clipped at ``cut`` around their centres."""
        units = Units(centers, np.ones(len(centers)), intercept=False)
        return ClampedMean(None, units, threshold=cut / 3.0, n_groups=1)

    def _cut(self, n_rows: int, n_features: int, last: Stage) -> float:
        """Return the half-width: the bin's error plus the ``t`` that balances bias and noise."""
        known: dict[str, Any] = {"n_rows": n_rows, "n_features": n_features}
        known |= {"moment_order": self.order, "moment_bound": self.scale**self.order}
        if last.share is not None:
            return REACH * self.scale + parameters.mean_threshold_pure(**known, epsilon=last.mu)
        return REACH * self.scale + parameters.mean_threshold(**known, rho=last.mu**2 / 2.0)


def check_place(method: Any, facts: MeanFacts) -> None:
    """Refuse a moment beside the method's scale, and numbers that are no place of the mean."""
    if facts.moment is not None or facts.problem.unit is not None:
        name = type(method).__name__
        raise InputError(f"moment must not be given for {name}, which takes scale=.")
    for name in ("radius", "scale"):
        check_level(name, getattr(method, name))
    check_finite("center", method.center)


def _sizes(facts: MeanFacts, stage: Stage) -> tuple[int, int, Any]:
    return facts.n_rows, facts.n_features, stage.asked


def mean(
    X: Any, *, radius: float, scale: float, order: float = 2.0, center: float = 0.0, **options: Any
) -> MeanResult:
    """Estimate the mean of every column after Kamath, Singhal and Ullman.

    ``options`` are those of ``tg.mean`` for all methods: the promise, ``random_state``, ``ledger``.
    The other parameters are those of :class:`RangeThenMean`, and its guarantee holds.

    *Reference.* Kamath, Singhal and Ullman 2020.

    Examples
    --------
    >>> import tailguard as tg
    >>> X = 40.0 + np.random.default_rng(0).standard_t(3.0, (10_000, 3))
    >>> found = mean(X, radius=1000.0, scale=1.8, guarantee=tg.PureDP(1.0), random_state=0).value
    >>> bool(np.linalg.norm(found - 40.0) < 0.5)
    True
    """
    return estimate(X, method=RangeThenMean(radius, scale, order, center), **options)
