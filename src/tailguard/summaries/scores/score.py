"""How well scores predict targets: explained deviance, mean deviance, area under the curve.

The table has two columns, the scores of a model that is public or was released, and the targets.

*Share explained.* It is one minus a ratio: the mean deviance of the scores over the mean deviance
of the best constant score. The best constant is the score of the mean target. Constants near it
have the same mean deviance up to second order, so a rough mean target is enough. In both means,
deviances are clipped at a released level.

*Area under the curve.* It is the probability that a target of 1 has a higher score than a target of
0, where ties count half. It is computed from two histograms, of the scores of targets of 0 and of
1, whose edges are released quantiles of the scores.

Reference
---------
Cameron and Windmeijer 1997 (explained deviance); Hanley and McNeil 1982 (area under the curve);
DeLong, DeLong and Clarke-Pearson 1988 (its variance); Dwork and Roth 2014, Proposition 2.1.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.gate import Gate
from tailguard.gate.plan import Plan
from tailguard.losses.base import Loss
from tailguard.losses.multinomial import Multinomial
from tailguard.means.base import noise_std_of, tail_noise
from tailguard.queries.deviances import N_MOMENTS, SCORE, TARGET, DevianceMoments, DevianceSizes
from tailguard.queries.histograms import Bins
from tailguard.queries.value_histograms import ValueHistograms
from tailguard.scaling.noisy_distribution import NoisyDistribution
from tailguard.summaries.distributions.distribution import DistributionEstimate, Z
from tailguard.summaries.results import INTERVAL, Cell, ResultTable, SummaryResult
from tailguard.summaries.statistics import PURPOSES, Statistics, SummarySolution

SEEN = 4.0  # a mean must exceed this many standard deviations of its noise to be a divisor
# Octaves of deviances, in units of a typical deviance of a constant: from rounding errors to the
# far tail.
SIZES = Bins("octaves", low=-24.0, per_unit=1.0, count=64)
# Relative error of the estimated clipping bias (bins are an octave wide), and the largest relative
# error of a divisor that this bias may cause.
UNSURE, LARGEST_UNSURE = 0.5, 0.25
# This many octaves beyond a limit may each contain as many records as noise hides in one bin.
HIDDEN_BINS = 2.0
# The edges of the bins of scores are quantiles. The log-odds of their levels are evenly spaced up
# to the largest, because scores of a rare label lie near an end. The noise of the area increases as
# the root of the number of edges.
N_SCORE_EDGES, LARGEST_LOG_ODDS = 31, 5.0
# Predicted errors at mu 1, times the number of records, on the scale of the errors of the other
# statistics: of a histogram of sizes, of the ratio of two clipped means, and of the area if a fifth
# of the targets are 1.
ERRORS = {"deviance sizes": 6.0, "deviances": 9.0, "scores by label": 8.0}
ROUGH = 0.3  # factor on the budget of the mean target, which may be rough
OWN_PURPOSES = {
    "deviance sizes": "sizes of deviances, to choose where they are clipped",
    "deviances": "mean deviances of scores and of a constant",
    "scores by label": "how many scores of each label lie in each bin",
    "outcomes": "how many rows of each class have the largest score for it, and how many have not",
}

HIDDEN = (
    "The budget was too small to see how well the model predicts, or too few rows can be used: "
    "targets must be of the kind that the model was fitted to."
)
"""The note of a score that noise hides; from released numbers both causes look alike."""

FAR_TARGETS = (
    "The share explained has no interval, and is shown only above zero: targets so far out that "
    "noise hides them may decide it. A larger budget or more rows show them."
)
"""The note of a score of targets whose mean has no interval."""


class ScoreEstimate(NamedTuple):
    """A released number and its 95 % interval; NaN where noise hides it."""

    value: float
    low: float = math.nan
    high: float = math.nan


NO_ESTIMATE = ScoreEstimate(math.nan)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ScoreResult(SummaryResult):
    """How well a model predicts, as ``model.private_score`` releases it.

    Attributes
    ----------
    explained
        The share of the deviance that is explained, which is R2 for squares.
    deviance
        The mean squared error, the mean deviance or the log-loss.
    auc
        The area under the curve of a model of two labels; None for other models.
    accuracy
        The share of correct predictions of a model of more than two classes; None for other models.
    names
        The names of ``explained`` and ``deviance``.

    Each measure has ``value``, ``low`` and ``high``: a 95 % interval for privacy noise and
    sampling. If deviances have no bound, rare rows decide their mean, and its interval is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> X = np.random.default_rng(0).standard_normal((20_000, 1))
    >>> model = tg.LinearRegression(guarantee=tg.GDP(1.0), random_state=0).fit(X, X[:, 0])
    >>> result = model.private_score(X, X[:, 0], guarantee=tg.GDP(1.0), random_state=0)
    >>> bool(result.explained.value > 0.9)
    True
    """

    explained: ScoreEstimate
    deviance: ScoreEstimate
    auc: ScoreEstimate | None
    names: tuple[str, str]
    accuracy: ScoreEstimate | None = None

    def tables(self) -> list[ResultTable]:
        """Return one table: a row per measure."""
        measures = [*zip(self.names, (self.explained, self.deviance), strict=True)]
        measures += [("AUC", self.auc)] if self.auc else []
        measures += [("accuracy", self.accuracy)] if self.accuracy else []
        rows: list[tuple[Cell, ...]] = [(name, *estimate) for name, estimate in measures]
        return [ResultTable("", ("measure", "value", *INTERVAL), rows)]


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreSolution(SummarySolution):
    """The released measures; see :class:`ScoreResult`."""

    explained: ScoreEstimate = NO_ESTIMATE
    deviance: ScoreEstimate = NO_ESTIMATE
    auc: ScoreEstimate = NO_ESTIMATE
    accuracy: ScoreEstimate = NO_ESTIMATE

    @classmethod
    def begun(cls, plan: Plan, **found: Any) -> Self:
        """Return a solution in which no measure is known yet."""
        empty = np.zeros(0)
        return cls(empty, 0.0, plan, empty, math.nan, empty[None, :], notes=(HIDDEN,), **found)


@dataclass(frozen=True, eq=False)
class Constant:
    """A constant score, whose deviances are compared with those of the model's scores."""

    score: float | FloatArray  # or a score for each of several classes
    unit: float = 1.0  # the size of a typical deviance
    largest: float = 0.0  # the largest deviance, if that must not be clipped
    excess: float = 0.0  # how much the noise of the constant is expected to add to its mean


@dataclass(frozen=True)
class ScoreStatistics(Statistics):
    """The solver of a score: it plans and runs all its statistics on one budget.

    Attributes
    ----------
    loss
        The loss whose deviances are compared.
    model
        A digest of the model's numbers, so that a checkpoint is not used for another model.
    """

    loss: Loss | Multinomial | None = None
    model: str = ""

    purposes: ClassVar[Mapping[str, str]] = {**PURPOSES, **OWN_PURPOSES}

    @classmethod
    def of(cls, loss: Loss | Multinomial, model: str = "") -> Self:
        """Return the statistics of a score for a loss; its columns are scores and targets."""
        columns = (TARGET,) if loss.link.scaled else (SCORE, TARGET)
        rough = {"moments": ROUGH}
        return cls(columns, moments=True, far=False, spend=rough, loss=loss, model=model)

    @property
    def _labels(self) -> bool:
        """Whether targets are labels 0 and 1, so that the area is released."""
        return SCORE in self.columns

    @property
    def _errors(self) -> dict[str, float]:
        own = {name: e for name, e in ERRORS.items() if self._labels or name != "scores by label"}
        return super()._errors | own

    def _query(self, name: str) -> Any:
        assert self.loss is not None
        if name == "deviance sizes":
            return DevianceSizes(self.loss, SIZES)
        if name == "deviances":
            return DevianceMoments(self.loss)
        if name == "scores by label":
            return ValueHistograms((SCORE,), N_SCORE_EDGES, ((TARGET,),))
        return super()._query(name)

    def run(self, plan: Plan, gate: Gate) -> ScoreSolution:
        """Run all planned releases, and combine their answers."""
        summary = super().run(plan, gate)
        assert isinstance(self.loss, Loss)
        assert summary.quantiles is not None
        assert summary.moments is not None
        found = {"quantiles": summary.quantiles, "moments": summary.moments}
        solution = ScoreSolution.begun(plan, **found)
        *of_scores, targets = summary.quantiles.estimates
        if solution.unseen[-1]:
            return solution
        moments = (summary.moments.mean, summary.moments.std, summary.moments.noise_std)
        mean, std, noise = (float(each[0, -1]) for each in moments)
        if self._labels and min(mean, 1.0 - mean) <= SEEN * noise:
            return solution
        constant = _constant(self.loss, mean, std, targets)
        solution = self._explained(solution, gate, constant, targets.total)
        value = solution.explained.value
        hidden = self.loss.link.scaled and math.isinf(summary.moments.error_std[0, -1])
        if hidden and not math.isnan(value):  # below zero, they alone may have led there
            explained = ScoreEstimate(value if value > 0.0 else math.nan)
            solution = replace(solution, explained=explained, notes=(*solution.notes, FAR_TARGETS))
        if not self._labels or solution.unseen.any():
            return solution
        return replace(solution, auc=self._area(plan, gate, of_scores[0], mean, noise))

    def _explained(
        self, solution: ScoreSolution, gate: Gate, constant: Constant, total: float
    ) -> ScoreSolution:
        """Add the share of the deviance that is explained, the mean deviance, and notes."""
        explained, deviance = self._deviances(solution.plan, gate, constant, total)
        notes = (
            _effective_records(total, gate, weighted=self.weighted),
            *((HIDDEN,) if math.isnan(explained.value) else ()),
        )
        return replace(solution, explained=explained, deviance=deviance, notes=notes)

    def _deviances(
        self, plan: Plan, gate: Gate, constant: Constant, total: float
    ) -> tuple[ScoreEstimate, ScoreEstimate]:
        loss, sizes = self.loss, (gate.n_records, gate.n_features)
        assert loss is not None
        stages, bins = plan.by_name, replace(SIZES, unit=constant.unit)
        size_query, stage = DevianceSizes(loss, bins), stages["deviance sizes"]
        tail_std = tail_noise(size_query, *sizes, stage.asked)
        counts = gate.ask(size_query, constant.score, stage)
        query, stage = DevianceMoments(loss), stages["deviances"]
        noise = noise_std_of(query, *sizes, stage.asked) / total
        spread = [NoisyDistribution.of(each, bins, tail_std) for each in counts]
        if min(each.significance for each in spread) <= SEEN:
            return NO_ESTIMATE, NO_ESTIMATE
        limit = max(_limit(spread, noise), constant.largest)
        sums = gate.ask(query, (constant.score, limit), stage) / total
        biases = np.array([_clipping_bias(each, limit) for each in spread])
        biases[1, 1] += constant.excess
        unit = limit * (2.0 if loss.link.scaled else 1.0)  # a deviance is twice a loss
        explained, deviance = _ratio(sums, noise, biases / limit, unit, total)
        # Without a bound, rare large deviances that no histogram shows may decide their mean.
        return explained, ScoreEstimate(deviance.value) if loss.link.scaled else deviance

    def _area(
        self, plan: Plan, gate: Gate, scores: DistributionEstimate, mean: float, noise: float
    ) -> ScoreEstimate:
        """Return the area under the curve, from the mean target ``mean`` and its ``noise``."""
        query, stage = self._query("scores by label"), plan.by_name["scores by label"]
        noise_std = noise_std_of(query, gate.n_records, gate.n_features, stage.asked)
        odds = np.exp(np.linspace(-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS, N_SCORE_EDGES))
        levels = odds / (1.0 + odds)
        edges = np.maximum.accumulate(scores.at(levels))
        counts = gate.ask(query, np.tile(edges, (query.n_rows_of_edges, 1)), stage)
        totals = scores.total * (1.0 - mean), scores.total * mean
        return area_under_curve(counts[0], counts[1], noise_std, totals, scores.total * noise)


def _effective_records(total: float, gate: Gate, *, weighted: bool) -> str:
    """Describe how many records count, or how many rows if all rows count alike."""
    records, start = f"{gate.n_records:,} {gate.unit.noun}", "the score rests on about"
    if weighted:
        return f"{start} {total:,.0f} times weight_bound, from {records}"
    if gate.unit.weight == "row":
        return f"{start} {total * gate.unit.max_rows:,.0f} rows of {records}"
    return f"{start} {total:,.0f} of {records}"


def _constant(loss: Loss, mean: float, std: float, targets: DistributionEstimate) -> Constant:
    """Return the score of the mean target.

    If targets are 0 and 1, no deviance of it is clipped: noise may hide the rarer target.
    """
    least, unit = 1.0 / max(targets.total, 2.0), 1.0
    if loss.link.residual:
        score, unit = mean, max(std**2 / 2.0, 1e-200)
    elif loss.link.log:
        score = math.log(max(mean, least * max(std, 1e-100)))
        unit = float(loss.expected_curvature(score))
    else:
        mean = min(max(mean, least), 1.0 - least)
        score = math.log(mean / (1.0 - mean))
    if not (targets.like_indicator and loss.valid_target(0.0)):
        return Constant(score, unit)
    return Constant(score, unit, largest=float(loss.deviance(score, [0.0, 1.0]).max()))


def _limit(spread: list[NoisyDistribution], noise: float) -> float:
    """Return the clip level that balances the larger clipping bias of both means and the noise."""
    edges = np.unique(np.concatenate([each.edges[1:] for each in spread]))
    biases = [max(sum(_clipping_bias(each, edge)) for each in spread) for edge in edges]
    return float(edges[np.argmin(np.hypot(biases, noise * edges))])


def _clipping_bias(spread: NoisyDistribution, limit: float) -> tuple[float, float]:
    """Return the estimated clipping bias of a mean, and the largest bias that noise may hide."""
    beyond = spread.mean(np.maximum(spread.points - limit, 0.0))
    return beyond, HIDDEN_BINS * spread.hidden * limit


def _ratio(
    sums: FloatArray, noise: float, lost: FloatArray, unit: float, total: float
) -> tuple[ScoreEstimate, ScoreEstimate]:
    """Return one minus the ratio of two means, and the first mean, with their intervals.

    ``sums`` are the means of ``a``, ``b``, their squares and their product, in parts of a limit.
    ``unit`` is this limit, in units of the measure. ``lost`` has the estimated and the hidden
    clipping bias of both means. The sampling variance of the ratio is that of ``a - ratio * b``
    over the squared mean of ``b``. The estimated clipping bias is added. Its error and the hidden
    bias widen the intervals.
    """
    assert sums.size == N_MOMENTS
    a, b, aa, bb, ab = map(float, sums)
    (estimated_a, hidden_a), (estimated_b, hidden_b) = map(tuple, lost)
    bias_a, bias_b = (
        math.hypot(UNSURE * estimated_a, hidden_a),
        math.hypot(UNSURE * estimated_b, hidden_b),
    )
    width_a = Z * math.hypot(noise, math.sqrt(max(aa - a * a, 0.0) / total))
    width_a = math.hypot(width_a, bias_a)
    mean_a, mean_b = max(a + estimated_a, 0.0), b + estimated_b
    deviance = ScoreEstimate(
        *(unit * max(each, 0.0) for each in (mean_a, mean_a - width_a, mean_a + width_a))
    )
    if mean_b <= math.hypot(SEEN * noise, bias_b / LARGEST_UNSURE):
        return NO_ESTIMATE, deviance
    ratio = mean_a / mean_b
    sampling = max(aa - 2.0 * ratio * ab + ratio**2 * bb - (a - ratio * b) ** 2, 0.0) / total
    width = Z * math.sqrt(sampling + noise**2 * (1.0 + ratio**2))
    width = math.hypot(width, bias_a, ratio * bias_b) / mean_b
    return ScoreEstimate(1.0 - ratio, 1.0 - ratio - width, min(1.0 - ratio + width, 1.0)), deviance


def area_under_curve(
    zeros: FloatArray,
    ones: FloatArray,
    noise_std: float,
    totals: tuple[float, float],
    total_noise: float,
) -> ScoreEstimate:
    """Return the area from noisy counts of the two labels in each bin, the lowest scores first.

    ``totals`` are the numbers of targets of 0 and of 1, with noise ``total_noise``. The counts are
    shifted to add up to them, which reduces the noise of many bins.

    Examples
    --------
    >>> zeros, ones = np.array([90.0, 10.0]), np.array([10.0, 90.0])
    >>> round(area_under_curve(zeros, ones, 0.1, (100.0, 100.0), 0.1).value, 2)
    0.9
    """
    n_zeros, n_ones = totals
    if min(totals) <= SEEN * max(total_noise, noise_std):
        return NO_ESTIMATE
    zeros = zeros + (n_zeros - zeros.sum()) / zeros.size
    ones = ones + (n_ones - ones.sum()) / ones.size
    below = (np.cumsum(zeros) - zeros / 2.0) / n_zeros
    above = 1.0 - (np.cumsum(ones) - ones / 2.0) / n_ones
    area = float(below @ ones / n_ones)
    variance = 0.0
    for share, counts, total in ((below, ones, n_ones), (above, zeros, n_zeros)):
        deviations = share - area
        variance += max(float(deviations**2 @ counts), 0.0) / total**2  # through sampling
        variance += noise_std**2 * float(((deviations - deviations.mean()) ** 2).sum()) / total**2
        variance += (total_noise * float(deviations.mean()) / total) ** 2
    # Within a bin, a target of 1 has the higher score at most as often as over all bins.
    ties = max(float(zeros @ ones), 0.0) / (n_zeros * n_ones)
    width = math.hypot(Z * math.sqrt(variance), ties * (area - 0.5))
    return ScoreEstimate(*np.clip([area, area - width, area + width], 0.0, 1.0).tolist())
