"""How well scores predict targets: explained deviance, mean deviance, area under the curve.

The table has two columns, the scores of a model that is public or was released, and the targets.

*Share explained.* It is one less the mean deviance of the scores over that of the best constant,
which is that of the mean target. Constants near the best one lose as much up to second order, so
that a rough mean does. Deviances above a released level count as that level in both means.

*Area under the curve.* That is how often a target of 1 has the higher score of two, ties counted
half, from how many targets of 0 and of 1 have their scores in each bin of a histogram, between
released quantiles of the scores.

Reference
---------
Cameron and Windmeijer 1997 (explained deviance); Hanley and McNeil 1982 (area under the curve);
DeLong, DeLong and Clarke-Pearson 1988 (its variance); Dwork and Roth 2014, Proposition 2.1.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.gate import Gate
from tailguard.gate.plan import Plan
from tailguard.gate.stage import Share, Stage
from tailguard.losses.base import Loss
from tailguard.means.base import noise_std_of, tail_noise
from tailguard.queries.bins import Bins
from tailguard.queries.deviances import N_MOMENTS, SCORE, TARGET, DevianceMoments, DevianceSizes
from tailguard.queries.value_histograms import ValueHistograms
from tailguard.scaling.noisy_distribution import NoisyDistribution
from tailguard.summaries.distribution import DistributionEstimate
from tailguard.summaries.results import Cell, ResultTable, SummaryResult
from tailguard.summaries.statistics import Statistics, SummarySolution

Z = 1.959964
"""Deviations of an interval that holds in 95 % of cases."""
SEEN = 4.0  # noise deviations by which a mean must exceed zero to be divided by
# Octaves of deviances, in units of that of a typical constant: from rounding to far out in a tail.
SIZES = Bins("octaves", low=-24.0, per_unit=1.0, count=64)
# Relative error of the estimated clipping bias (bins are an octave wide), and the largest unsure
# part of a mean that is divided by.
UNSURE, LARGEST_UNSURE = 0.5, 0.25
# Octaves beyond a limit, each of which may hold as many records as noise hides in one bin.
HIDDEN_BINS = 2.0
# Edges of the bins of scores: quantiles whose levels are even in log-odds, up to this one. Scores
# of a rare label lie near an end. Noise of the area rises by the root of the number of edges.
N_SCORE_EDGES, LARGEST_LOG_ODDS = 31, 5.0
# Predicted errors at mu 1 times the number of records, comparable to those of other statistics: of
# a histogram of sizes, of the ratio of two clipped means, and of the area where a fifth of the
# targets are 1.
ERRORS = {"deviance sizes": 6.0, "deviances": 9.0, "scores by label": 8.0}
ROUGH = 0.3  # factor on the budget of the mean target, which may be rough
PURPOSES = {
    "deviance sizes": "sizes of deviances, above which they are cut",
    "deviances": "mean deviances of scores and of a constant",
    "scores by label": "how many targets of each label have their score in each bin",
}

HIDDEN = (
    "The budget was too small to see how well the model predicts, or too few rows can be used: "
    "targets must be of the kind that the model was fitted to."
)
"""Noise hides both alike."""


class ScoreEstimate(NamedTuple):
    """A released number, with an interval of 95 %; NaN where noise hides it."""

    value: float
    low: float = math.nan
    high: float = math.nan


UNKNOWN = ScoreEstimate(math.nan)


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
        The area under the curve; of a model of labels alone, else None.
    names
        What the first two are called.

    Each has ``value``, ``low`` and ``high``: an interval of 95 % that covers privacy noise and what
    other rows would change; NaN of mean deviances without a bound, which rare rows decide.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> X = np.random.default_rng(0).standard_normal((20_000, 1))
    >>> model = tg.LinearRegression(guarantee=tg.GDP(1.0), random_state=0).fit(X, X[:, 0])
    >>> found = model.private_score(X, X[:, 0], guarantee=tg.GDP(1.0), random_state=0)
    >>> bool(found.explained.value > 0.9)
    True
    """

    explained: ScoreEstimate
    deviance: ScoreEstimate
    auc: ScoreEstimate | None
    names: tuple[str, str]

    def tables(self) -> list[ResultTable]:
        """Return one table: a row per measure."""
        measures = [*zip(self.names, (self.explained, self.deviance), strict=True)]
        measures += [("AUC", self.auc)] if self.auc else []
        rows: list[tuple[Cell, ...]] = [(name, *estimate) for name, estimate in measures]
        return [ResultTable("", ("measure", "value", "95% from", "to"), rows)]


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreSolution(SummarySolution):
    """What a score found; see :class:`ScoreResult`."""

    explained: ScoreEstimate = UNKNOWN
    deviance: ScoreEstimate = UNKNOWN
    auc: ScoreEstimate = UNKNOWN


@dataclass(frozen=True)
class ScoreStatistics(Statistics):
    """A solver, which plans and runs: how well scores predict targets, on one budget.

    Attributes
    ----------
    loss
        Whose deviances are compared.
    model
        A digest of the model's numbers, by which a checkpoint knows that it is of another one.
    """

    loss: Loss | None = None
    model: str = ""

    @classmethod
    def of(cls, loss: Loss, model: str = "") -> "ScoreStatistics":
        """Return what is released for the scores of a loss."""
        columns = (TARGET,) if loss.link.scaled else (SCORE, TARGET)
        return cls(columns, moments=True, spend={"moments": ROUGH}, loss=loss, model=model)

    @property
    def _labels(self) -> bool:
        return SCORE in self.columns

    @property
    def _errors(self) -> dict[str, float]:
        own = {name: e for name, e in ERRORS.items() if self._labels or name != "scores by label"}
        return super()._errors | own

    def _stage(self, name: str, share: Share) -> Stage:
        if name not in PURPOSES:
            return super()._stage(name, share)
        size = self._query(name).sensitivity(1, 1).size
        return Stage.of(share, name, PURPOSES[name], 1, size)

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
        """Ask for all that is planned, and put it together."""
        found = super().run(plan, gate)
        assert found.quantiles is not None
        assert found.moments is not None
        solution = ScoreSolution(
            found.coef,
            0.0,
            plan,
            found.coef,
            math.nan,
            found.trace,
            quantiles=found.quantiles,
            moments=found.moments,
            notes=(HIDDEN,),
        )
        *of_scores, targets = found.quantiles.estimates
        if solution.unseen[-1]:
            return solution
        moments = (found.moments.mean, found.moments.std, found.moments.noise_std)
        mean, std, noise = (float(each[0, -1]) for each in moments)
        if self._labels and min(mean, 1.0 - mean) <= SEEN * noise:
            return solution
        explained, deviance = self._explained(plan, gate, mean, std, targets)
        notes = (
            _effective_records(targets.total, gate, weighted=self.weighted),
            *((HIDDEN,) if math.isnan(explained.value) else ()),
        )
        solution = replace(solution, explained=explained, deviance=deviance, notes=notes)
        if not self._labels or solution.unseen.any():
            return solution
        return replace(solution, auc=self._area(plan, gate, of_scores[0], mean, noise))

    def _explained(
        self, plan: Plan, gate: Gate, mean: float, std: float, targets: DistributionEstimate
    ) -> tuple[ScoreEstimate, ScoreEstimate]:
        """Return the share of the deviance that is explained, and the mean deviance.

        Of targets that are 0 and 1 no deviance of the constant is cut: the rarer one may hide.
        """
        loss, sizes = self.loss, (gate.n_records, gate.n_features)
        assert loss is not None
        constant, unit = _constant(loss, mean, std, targets)
        asked, bins = plan.by_name, replace(SIZES, unit=unit)
        lengths, stage = DevianceSizes(loss, bins), asked["deviance sizes"]
        tail_std = tail_noise(lengths, *sizes, stage.asked)
        counts = gate.ask(lengths, constant, stage)
        query, stage = DevianceMoments(loss), asked["deviances"]
        noise = noise_std_of(query, *sizes, stage.asked) / targets.total
        spread = [NoisyDistribution.of(each, bins, tail_std) for each in counts]
        if min(each.significance for each in spread) <= SEEN:
            return UNKNOWN, UNKNOWN
        limit = _limit(spread, noise)
        if targets.like_indicator and loss.valid_target(0.0):
            limit = max(limit, float(loss.deviance(constant, [0.0, 1.0]).max()))
        sums = gate.ask(query, (constant, limit), stage) / targets.total
        lost = np.array([_clipping_bias(each, limit) for each in spread]) / limit
        explained, deviance = _ratio(
            sums, noise, lost, limit * _measure_over_loss(loss), targets.total
        )
        # Rare large ones, which no histogram shows, decide a mean of deviances without bound.
        return explained, ScoreEstimate(deviance.value) if loss.link.scaled else deviance

    def _area(
        self, plan: Plan, gate: Gate, scores: DistributionEstimate, mean: float, noise: float
    ) -> ScoreEstimate:
        """Return the area under the curve, with the mean target and its noise."""
        query, stage = self._query("scores by label"), plan.by_name["scores by label"]
        noise_std = noise_std_of(query, gate.n_records, gate.n_features, stage.asked)
        odds = np.exp(np.linspace(-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS, N_SCORE_EDGES))
        levels = odds / (1.0 + odds)
        edges = np.maximum.accumulate(scores.at(levels))
        counts = gate.ask(query, np.tile(edges, (query.n_rows_of_edges, 1)), stage)
        totals = scores.total * (1.0 - mean), scores.total * mean
        return area_under_curve(counts[0], counts[1], noise_std, totals, scores.total * noise)


def _effective_records(total: float, gate: Gate, *, weighted: bool) -> str:
    """Describe how many records count, or how many rows if these count alike."""
    records, begin = f"{gate.n_records:,} {gate.unit.noun}", "the score rests on about"
    if weighted:
        return f"{begin} {total:,.0f} times weight_bound, from {records}"
    if gate.unit.weight == "row":
        return f"{begin} {total * gate.unit.max_rows:,.0f} rows of {records}"
    return f"{begin} {total:,.0f} of {records}"


def _constant(
    loss: Loss, mean: float, std: float, targets: DistributionEstimate
) -> tuple[float, float]:
    """Return the score of the mean target, and the size of a typical deviance of a constant."""
    if loss.link.residual:
        return mean, max(std**2 / 2.0, 1e-200)
    least = 1.0 / max(targets.total, 2.0)
    if loss.link.log:
        mean = max(mean, least * max(std, 1e-100))
        return math.log(mean), float(loss.expected_curvature(math.log(mean)))
    mean = min(max(mean, least), 1.0 - least)
    return math.log(mean / (1.0 - mean)), 1.0


def _measure_over_loss(loss: Loss) -> float:
    """Return the measure over the loss: 2 for deviances, 1 for the log-loss."""
    return 2.0 if loss.link.scaled else 1.0


def _limit(spread: list[NoisyDistribution], noise: float) -> float:
    """Return the clip level at which the clipping bias of either mean balances the noise on it."""
    edges = np.unique(np.concatenate([each.edges[1:] for each in spread]))
    lost = [max(sum(_clipping_bias(each, edge)) for each in spread) for edge in edges]
    return float(edges[np.argmin(np.hypot(lost, noise * edges))])


def _clipping_bias(spread: NoisyDistribution, limit: float) -> tuple[float, float]:
    """Return the clipping bias of a mean: as estimated, and the most that noise may hide."""
    beyond = spread.mean(np.maximum(spread.points - limit, 0.0))
    return beyond, HIDDEN_BINS * spread.hidden * limit


def _ratio(
    sums: FloatArray, noise: float, lost: FloatArray, unit: float, total: float
) -> tuple[ScoreEstimate, ScoreEstimate]:
    """Return one less the ratio of two means, and the first, from means in parts of a limit.

    Their variance through sampling is that of ``a - ratio * b`` over the squared mean of ``b``. The
    estimated clipping bias is added. Its error, and what noise may hide of it, widen intervals.
    """
    assert sums.size == N_MOMENTS
    a, b, aa, bb, ab = map(float, sums)
    (seen_a, hidden_a), (seen_b, hidden_b) = map(tuple, lost)
    bias_a, bias_b = math.hypot(UNSURE * seen_a, hidden_a), math.hypot(UNSURE * seen_b, hidden_b)
    own = Z * math.hypot(noise, math.sqrt(max(aa - a * a, 0.0) / total))
    own = math.hypot(own, bias_a)
    mean_a, mean_b = max(a + seen_a, 0.0), b + seen_b
    deviance = ScoreEstimate(
        *(unit * max(each, 0.0) for each in (mean_a, mean_a - own, mean_a + own))
    )
    if mean_b <= math.hypot(SEEN * noise, bias_b / LARGEST_UNSURE):
        return UNKNOWN, deviance
    ratio = mean_a / mean_b
    sampling = max(aa - 2.0 * ratio * ab + ratio**2 * bb - (a - ratio * b) ** 2, 0.0) / total
    reach = Z * math.sqrt(sampling + noise**2 * (1.0 + ratio**2))
    reach = math.hypot(reach, bias_a, ratio * bias_b) / mean_b
    return ScoreEstimate(1.0 - ratio, 1.0 - ratio - reach, min(1.0 - ratio + reach, 1.0)), deviance


def area_under_curve(
    zeros: FloatArray,
    ones: FloatArray,
    noise_std: float,
    totals: tuple[float, float],
    total_noise: float,
) -> ScoreEstimate:
    """Return the area from noisy counts of the two labels by bin, the lowest score first.

    ``totals`` say how many targets of 0 and of 1 there are, as far as ``total_noise`` tells: counts
    of many bins, made to add up to them, have less noise.

    Examples
    --------
    >>> zeros, ones = np.array([90.0, 10.0]), np.array([10.0, 90.0])
    >>> round(area_under_curve(zeros, ones, 0.1, (100.0, 100.0), 0.1).value, 2)
    0.9
    """
    n_zeros, n_ones = totals
    if min(totals) <= SEEN * max(total_noise, noise_std):
        return UNKNOWN
    zeros = zeros + (n_zeros - zeros.sum()) / zeros.size
    ones = ones + (n_ones - ones.sum()) / ones.size
    below = (np.cumsum(zeros) - zeros / 2.0) / n_zeros
    above = 1.0 - (np.cumsum(ones) - ones / 2.0) / n_ones
    area = float(below @ ones / n_ones)
    variance = 0.0
    for share, counts, total in ((below, ones, n_ones), (above, zeros, n_zeros)):
        away = share - area
        variance += max(float(away**2 @ counts), 0.0) / total**2  # through sampling
        variance += noise_std**2 * float(((away - away.mean()) ** 2).sum()) / total**2
        variance += (total_noise * float(away.mean()) / total) ** 2
    # Of two scores in one bin that of a 1 is as often the higher one as elsewhere, at most.
    ties = max(float(zeros @ ones), 0.0) / (n_zeros * n_ones)
    reach = math.hypot(Z * math.sqrt(variance), ties * (area - 0.5))
    return ScoreEstimate(*np.clip([area, area - reach, area + reach], 0.0, 1.0).tolist())
