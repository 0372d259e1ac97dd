"""The statistics of a summary: how they are planned and run on one budget.

All statistics of all columns are planned together. The budget is divided once, so that the sum of
predicted errors is least. With Gaussian noise an error is proportional to ``1 / mu``, and squares
of mu add up. So the best share of ``mu**2`` is proportional to the error at mu 1, to the power two
thirds. With Laplace noise epsilons add up, and the power is one half.

Reference
---------
Dong, Roth and Su 2022, Corollary 3.3; Dwork and Roth 2014, Theorem 3.16 (composition), and
Proposition 2.1 (post-processing); Benjamini and Hochberg 1995 (which columns are shown).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from tailguard.array_types import BoolArray, FloatArray
from tailguard.checks import InputError, shown
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.gate.stage import Stage, part_of
from tailguard.means.base import noise_std_of, usable_share
from tailguard.privacy.guarantees import Guarantee, PureDP
from tailguard.queries.bounded_moments import BoundedMoments, CellProducts
from tailguard.queries.level_tables import CountOfLevels, Indicators, LevelTables, n_codes
from tailguard.queries.value_histograms import ValueHistograms
from tailguard.scaling.noisy_distribution import detection_threshold
from tailguard.sets.simplex import nearest_shares
from tailguard.summaries.distributions.distribution import DistributionEstimate
from tailguard.summaries.distributions.exceedances import (
    FAR,
    FAR_SEEN,
    N_FAR_EDGES,
    add_far_counts,
    far_edges,
)
from tailguard.summaries.distributions.octaves import OCTAVES, WINDOWS, zero_if_tiny
from tailguard.summaries.distributions.search import (
    REFINEMENTS,
    SEARCHES,
    ColumnDistributions,
    QuantileSearch,
)
from tailguard.summaries.moments import ColumnMoments, best_range, correlations_of, moments_of

LOCATING = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Levels of the quantiles that give moments their range, if the user requests no quantiles."""
SPANNING = (0.02, 0.05, 0.5, 0.95, 0.98)
"""Levels of the quantiles that give a histogram its range."""

FALSE_COLUMN = 0.05
"""Largest expected fraction of pure noise among the columns that are shown. Also the probability
that a table of pure noise shows a column.
"""

# A predicted error at mu 1, in standard deviations of a normal column, is this constant times the
# root of the number of columns, divided by the number of records. For quantiles: 1.5 records over a
# density of 0.3. For moments: a range of 4 standard deviations. If quantiles only give a range,
# they count less.
# The count of far cells gets about a tenth of what moments and quantiles get.
QUANTILE_ERROR, LOCATING_ERROR, MOMENT_ERROR, FAR_ERROR = 5.0, 1.0, 8.0, 1.2
# The total weight may be imprecise, because every histogram counts all cells as well. A total plus
# the second number of standard deviations is an upper bound.
TOTAL_ERROR, SURELY_MORE = 0.1, 3.0
# Before products, rows are clipped at a radius times the root of the number of columns, in standard
# deviations: from the first to the second, as far as noise of a correlation stays below the third.
# On 57 real tables on which nothing was chosen, the sum of errors at epsilon 4 is .83 of that with
# the first radius alone, at 1 .99, at .5 the same; of one table an error grew by .013.
PRODUCT_RADIUS, FARTHEST_RADIUS, PRODUCT_NOISE = 1.5, 4.0, 0.012
SMALLEST_RADIUS = 1e-250  # its inverse is finite

PURPOSES = {
    FAR: "how many cells lie beyond the range of a mean",
    "moments": "means and spreads of cells clipped to a private range",
    "correlations": "products of pairs of standardised cells",
    "levels": "how many records have each declared level",
    "count": "how many records meet the declared levels",
    "weights": "how much all records weigh together",
    "histogram": "how many cells lie in each bin",
}
"""Purposes of the releases of all statistics except quantiles."""


@dataclass(frozen=True)
class Statistics:
    """The solver of a summary: it plans and runs the statistics of some columns on one budget.

    Attributes
    ----------
    columns, by
        The columns of numbers, and the indicators of each column whose levels make groups.
    levels
        The levels of the requested quantiles.
    moments, products
        Whether means and spreads, and products of pairs of columns, are released.
    tables
        The tables of declared levels to count.
    counted
        For a single count: the indicators of declared columns, and the codes that it includes.
    bins, edges
        For a histogram: the number of bins in a private range, or the public edges.
    spend
        Maps names of statistics to factors on their parts of the budget.
    weighted
        Whether records have weights. If so, their total is released before the search.
    far
        Whether cells beyond the range of moments are counted before.
    """

    columns: tuple[int, ...] = ()
    by: Indicators = ()
    levels: tuple[float, ...] = ()
    moments: bool = False
    products: bool = False
    tables: tuple[Indicators, ...] = ()
    counted: tuple[Indicators, tuple[tuple[int, ...], ...]] | None = None
    bins: int = 0
    edges: tuple[tuple[float, ...], ...] = ()
    spend: Mapping[str, float] = field(default_factory=dict)
    weighted: bool = False
    far: bool = True

    purposes: ClassVar[Mapping[str, str]] = PURPOSES

    @property
    def search(self) -> QuantileSearch | None:
        """The search for quantiles, which also gives moments and bins their range."""
        if not (self.levels or self.moments or self.bins):
            return None
        levels = self.levels or (SPANNING if self.bins else LOCATING)
        return QuantileSearch(self.columns, levels, self.by)

    @property
    def histogram(self) -> ValueHistograms:
        """The query of a histogram."""
        n_edges = self.bins + 1 if self.bins else len(self.edges[0])
        return ValueHistograms(self.columns, n_edges, self.by)

    @property
    def _errors(self) -> dict[str, float]:
        """The predicted error of each requested statistic, at mu 1."""
        n_columns = len(self.columns)
        quantile_error = QUANTILE_ERROR if self.levels else LOCATING_ERROR
        errors = {
            "quantiles": quantile_error * math.sqrt(n_columns) if self.search else 0.0,
            "moments": MOMENT_ERROR * math.sqrt(n_columns) if self.moments else 0.0,
            FAR: FAR_ERROR * math.sqrt(n_columns) if self.moments and self.far else 0.0,
            "correlations": PRODUCT_RADIUS**2 * n_columns if self.products else 0.0,
            "levels": math.sqrt(2.0 * len(self.tables)),
            "histogram": math.sqrt(2.0 * n_columns) if self.bins or self.edges else 0.0,
            "count": 1.0 if self.counted else 0.0,
            "weights": TOTAL_ERROR * math.sqrt(n_columns) if self.weighted and self.search else 0.0,
        }
        return {name: error for name, error in errors.items() if error > 0.0}

    def _parts(self, *, pure: bool) -> dict[str, float]:
        """Return the part of the budget of each statistic."""
        errors = self._errors
        for name in self.spend:
            if name not in errors:
                raise InputError(
                    f"spend must name statistics that are requested ({', '.join(errors)}); got "
                    f"{shown(name)}."
                )
        power = 1.0 / 2.0 if pure else 2.0 / 3.0
        unscaled = {name: self.spend.get(name, 1.0) * e**power for name, e in errors.items()}
        return {name: size / sum(unscaled.values()) for name, size in unscaled.items()}

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Compute stages and shares from public numbers; no record is read."""
        pure = isinstance(guarantee, PureDP)
        if pure and self.products:
            raise InputError(
                "guarantee must not be PureDP for products of columns, whose noise is Gaussian: "
                "give epsilon and delta, or leave correlations out."
            )
        size = problem.n_rows, problem.n_features
        budget = usable_share(guarantee, coordinates=self._coordinates())
        parts = self._parts(pure=pure)
        stages: list[Stage] = []
        if self.search is not None:
            planned = parts.pop("quantiles")
            shares = self.search.parts(budget, planned, *size)
            stages += self.search.stages(budget, shares)
            scale = (1.0 - sum(shares)) / (1.0 - planned) if parts else 0.0
            parts = {name: scale * part for name, part in parts.items()}
        for name, part in parts.items():
            width = self._query(name).sensitivity(1, 1).size
            stages.append(Stage.of(part_of(budget, part), name, self.purposes[name], 1, width))
        if self.search is not None:
            parts = {"quantiles": sum(shares)} | parts
        shared = ", ".join(f"{name} {part:.0%}" for name, part in parts.items())
        remark = f"budget by statistic, for the least sum of predicted errors: {shared}"
        for stage in stages:  # to refuse noise that lattices cannot represent, before any release
            noise_std_of(self._query(stage.name), *size, stage.asked)
        return Plan("summary", problem, guarantee, tuple(stages), remarks=(remark,))

    def _query(
        self, name: str
    ) -> ValueHistograms | BoundedMoments | CellProducts | LevelTables | CountOfLevels:
        """Return the query of a stage."""
        if name in {FAR, "moments"}:
            far = ValueHistograms(self.columns, N_FAR_EDGES, self.by)
            return far if name == FAR else BoundedMoments(self.columns, self.by)
        if name == "correlations":
            return CellProducts(self.columns)
        if name == "levels":
            return LevelTables(self.tables)
        if name in {"count", "weights"}:
            # Without conditions all records count.
            return CountOfLevels(*(self.counted or ((), ())))
        if name == "histogram":
            return self.histogram
        assert self.search is not None
        return self.search.query(OCTAVES.size if name == "octaves" else self.search.most_edges)

    def _coordinates(self) -> int:
        """Return an upper bound on the number of released numbers."""
        total = sum(
            self._query(name).sensitivity(1, 1).size for name in self._errors if name != "quantiles"
        )
        if self.search is None:
            return total
        rows, size = self.search.n_estimates, self.search.most_edges + 2
        return total + rows * (OCTAVES.size + 2 + (SEARCHES + REFINEMENTS + 1) * size)

    def run(self, plan: Plan, gate: Gate) -> "SummarySolution":
        """Make all planned releases, and combine their answers."""
        empty = np.zeros(0)
        solution = SummarySolution(empty, 0.0, plan, empty, math.nan, trace=empty[None, :])
        n_rows, stages = gate.n_records, plan.by_name
        total, total_std, largest_total = float(n_rows), 0.0, float(n_rows)

        def ask(name: str, state: Any) -> tuple[FloatArray, float]:
            query, stage = self._query(name), stages[name]
            noise_std = noise_std_of(query, n_rows, gate.n_features, stage.asked)
            return gate.ask(query, state, stage), noise_std

        if "weights" in stages:
            (answer,), total_std = ask("weights", None)
            total = min(max(float(answer), 1.0), largest_total)
            largest_total = min(total + SURELY_MORE * total_std, largest_total)
        if self.search is not None:
            quantiles = self.search.run(plan, gate, largest_total)
            estimates = quantiles.estimates
            full = [] if self.by else [e for e in estimates if e.settle(total, total_std)]
            if self.moments:
                asked = self._query("moments"), n_rows, gate.n_features, stages["moments"].asked
                moments, hidden_cells = self._moments_of(estimates, ask, noise_std_of(*asked))
                solution = replace(solution, moments=moments, hidden_cells=hidden_cells)
            total = float(np.mean([e.total for e in full])) if self.weighted and full else total
            solution = replace(solution, quantiles=quantiles, total=total)
        estimates = () if solution.quantiles is None else solution.quantiles.estimates
        if self.products:
            assert solution.moments is not None
            moments = solution.moments
            query, event = self._query("correlations"), stages["correlations"].asked
            noise_std = noise_std_of(query, n_rows, gate.n_features, event)
            radius = _product_radius(len(self.columns), noise_std / total)
            spread = np.maximum(moments.std, SMALLEST_RADIUS + 1e-12 * np.abs(moments.mean))
            products, noise_std = ask("correlations", (moments.mean, radius * spread))
            totals = np.array([each.total for each in estimates])
            most, hidden = max(total, float(totals.max())), solution.unseen | moments.alike[0]
            correlation, noise = correlations_of(products, totals, most, noise_std, hidden)
            solution = replace(solution, correlation=correlation, correlation_noise=noise)
        if self.tables:
            counts, noise_std = ask("levels", None)
            if self.weighted and self.search is None:
                total = self._total_of(counts, n_rows)
            tables = self._by_table(counts, total)
            solution = replace(solution, counts=tables, noise_std=noise_std, total=total)
        if self.counted:
            count, noise_std = ask("count", None)
            solution = replace(solution, counts=(count,), noise_std=noise_std)
        if self.bins or self.edges:
            edges = np.array(self.edges or [_even_edges(each, self.bins) for each in estimates])
            counts, noise_std = ask("histogram", edges)
            solution = replace(solution, counts=(counts, edges), noise_std=noise_std)
        return solution

    def _moments_of(
        self,
        estimates: Sequence[DistributionEstimate],
        ask: Callable[[str, Any], tuple[FloatArray, float]],
        noise_std: float,
    ) -> tuple[ColumnMoments, float]:
        """Release counts of far cells, then moments in the range that follows from them.

        ``noise_std`` is the noise of moments. The second result is how many far cells noise hides.
        """
        ranges = [best_range(each, noise_std) for each in estimates]
        far, far_noise = [False] * len(ranges), math.nan
        if self.far:
            pairs = zip(estimates, ranges, strict=True)
            edges = np.array([far_edges(each, *ends) for each, ends in pairs])
            counts, far_noise = ask(FAR, edges)
            far = add_far_counts(estimates, edges, counts, far_noise)
            ranges = [best_range(each, noise_std) for each in estimates]
        low, high = np.moveaxis(np.reshape(ranges, (-1, len(self.columns), 2)), 2, 0)
        sums, _ = ask("moments", ((low + high) / 2.0, (high - low) / 2.0))
        weight = BoundedMoments(self.columns, self.by).weight
        moments = moments_of(estimates, sums, low, high, noise_std, weight, far)
        return moments, FAR_SEEN * far_noise

    def _by_table(self, counts: FloatArray, total: float) -> tuple[FloatArray, ...]:
        """Return the counts of each table, adjusted so that they sum to ``total``."""
        return tuple(
            nearest_shares(part, total).reshape([len(columns) + 2 for columns in table])
            for part, table in zip(self._parts_of(counts), self.tables, strict=True)
        )

    def _total_of(self, counts: FloatArray, n_rows: int) -> float:
        """Estimate the total weight by the tables' totals, weighted by their inverse sizes."""
        parts = self._parts_of(counts)
        mean = sum(part.mean() for part in parts) / sum(1.0 / part.size for part in parts)
        return min(max(float(mean), 1.0), float(n_rows))

    def _parts_of(self, counts: FloatArray) -> list[FloatArray]:
        """Split released counts into those of each table."""
        return np.split(counts, np.cumsum([n_codes(table) for table in self.tables])[:-1])


def _even_edges(estimate: DistributionEstimate, bins: int) -> FloatArray:
    """Return evenly spaced edges over the range in which nearly all cells lie.

    The range ends at released edges. Beyond each of them lies at least 1 % of the cells, by three
    standard deviations of the noise.
    """
    shares, slack = estimate.shares, 3.0 * estimate.noise_of_shares(0.0)
    inside = np.flatnonzero((shares > 0.01 + slack) & (shares < 0.99 - slack))
    if not inside.size:
        inside = np.array([1, shares.size - 2])
    low, high = (zero_if_tiny(float(estimate.edges[place])) for place in (inside[0], inside[-1]))
    return np.linspace(low, max(high, math.nextafter(low, math.inf)), bins + 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class SummarySolution(Solution):
    """The results of a summary.

    Attributes
    ----------
    quantiles, moments, correlation
        Distributions, moments and the correlation matrix, if they were requested.
    counts, noise_std
        The counts of each table of levels, or a histogram's counts and edges, or one count. And the
        standard deviation of the noise of a count.
    correlation_noise
        Standard deviation of the privacy noise of each correlation.
    total
        The number of records, or their total weight, in parts of the bound.
    hidden_cells
        How many far cells of a column noise may hide on each side of the range of its mean.
    """

    quantiles: ColumnDistributions | None = None
    moments: ColumnMoments | None = None
    correlation: FloatArray | None = None
    counts: tuple[FloatArray, ...] = ()
    noise_std: float = math.nan
    correlation_noise: FloatArray | None = None
    total: float = math.nan
    hidden_cells: float = math.nan

    @property
    def mostly_empty(self) -> BoolArray:
        """Which columns surely have cells for less than half of the total weight of all records."""
        estimates = () if self.quantiles is None else self.quantiles.estimates
        largest = [each.total + SURELY_MORE * each.total_std for each in estimates]
        return np.array(largest) < self.total / 2.0

    @property
    def unseen(self) -> BoolArray:
        """Which columns do not exceed the noise, or have no more cells than noise may simulate.

        Among the columns shown, the expected fraction of noise is at most ``FALSE_COLUMN``: the
        more columns exceed the noise, the lower is the threshold (Benjamini and Hochberg 1995,
        Theorem 1).
        """
        estimates = () if self.quantiles is None else self.quantiles.estimates
        significance = np.array([each.significance for each in estimates])
        n_hypotheses = significance.size / (1.0 + np.arange(significance.size))
        thresholds = [detection_threshold(n, FALSE_COLUMN, WINDOWS) for n in n_hypotheses]
        ranked = np.sort(significance)[::-1]
        passing = ranked[ranked >= thresholds]
        # With this rule one in 500 levels without records is shown, and one in 40 without it
        # (computed by simulation).
        too_few = np.array([each.total < 3.0 * each.total_std for each in estimates], dtype=bool)
        return too_few | (significance < (passing[-1] if passing.size else math.inf))


def _product_radius(n_columns: int, noise_std: float) -> float:
    """Return the radius of rows before products, from the noise of a mean of products of them."""
    farthest = math.sqrt(PRODUCT_NOISE * math.sqrt(2.0) / (n_columns * noise_std))
    return math.sqrt(n_columns) * min(max(farthest, PRODUCT_RADIUS), FARTHEST_RADIUS)
