"""The search for quantiles of all columns and groups at once: its plan and its run.

First a histogram of octaves shows where a column lies. Then several histograms have edges where the
quantiles may be, according to all earlier releases, until noise hides any finer bin. A few
histograms with less noise follow, with edges beside the quantiles. The last one has an edge at each
quantile. Every release counts all cells of all columns, so each one improves the totals.

Reference
---------
Karwa and Vadhan 2018, Section 3 (the search for a location that spans all units); Dwork, McSherry,
Nissim and Smith 2006, Section 3.2 (histograms); Hay, Rastogi, Miklau and Suciu 2010, Section 4.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tailguard.array_types import BoolArray, FloatArray
from tailguard.gate import Gate
from tailguard.gate.plan import Plan
from tailguard.gate.stage import Share, Stage, part_of
from tailguard.means.base import noise_std_of, tail_noise
from tailguard.means.private_units import ROUNDING
from tailguard.privacy.events import Laplace
from tailguard.queries.level_tables import Indicators, n_codes
from tailguard.queries.value_histograms import ValueHistograms
from tailguard.summaries.distributions.distribution import Z_OF_ALL, DistributionEstimate, Z
from tailguard.summaries.distributions.octaves import LEAST_SIZE, OCTAVES, octaves_of

# First, the noise of a bin of octaves over the number of records. At this noise a column stands out
# by 5.7 standard deviations if its densest ``w`` octaves contain ``.45 sqrt(w)`` of the records.
# Second, the largest part of the whole budget for that noise.
SEEN_NOISE, MOST_FOR_SEEING = 0.45 / 5.7, 0.6
SEARCHES = 8
"""The most histograms of the search. Near one value, each has ten times the resolution of the last.
"""
SEARCH_STEPS = 7
"""Edges beside the quantiles, on each side, in a histogram of the search; quantiles share them."""
REFINEMENTS, REFINED_PART = 3, 0.4
"""Histograms between the search and the last one, and their part of the budget after the search."""

# How uneven a split bin may be: in the search it may hold one value; later bins are smoother. The
# first pair is for estimates, the second for placing edges. By trial.
SEARCHED_UNEVENNESS, UNEVENNESS = 1.0, 0.5
SEARCHED_HIDDEN, HIDDEN_UNEVENNESS = 0.7, 0.4
# Distances of edges from a quantile, in standard deviations. Later histograms put them closer; wide
# ones give the quantile its interval.
SEARCH_OFFSET, OFFSETS = 1.2, (2.2, 1.5, 1.2)
# A search continues if a bin of a quantile exceeds this many standard deviations of its noise, and
# is wider than these fractions of the interquartile range and of its largest value.
RESOLVED, NARROW, DIGITS = 4.0, 2.0**-9, 2.0**-40


@dataclass(frozen=True)
class QuantileSearch:
    """The quantiles to search for, in some columns and all groups.

    Attributes
    ----------
    columns, by
        The columns of numbers, and the indicators of the columns that make groups.
    levels
        The levels of the quantiles, in increasing order.
    """

    columns: tuple[int, ...]
    levels: tuple[float, ...]
    by: Indicators = ()

    @property
    def steps(self) -> int:
        """Edges of the search on each side of a quantile: more if there are few quantiles."""
        return max(1, SEARCH_STEPS // len(self.levels))

    @property
    def most_edges(self) -> int:
        """The largest number of edges per column in the histograms after the first."""
        return (2 * self.steps + 1) * len(self.levels)

    @property
    def n_estimates(self) -> int:
        """How many distributions are estimated: one per group and column."""
        return n_codes(self.by) * len(self.columns)

    def query(self, n_edges: int) -> ValueHistograms:
        """Return the query with this many edges per column."""
        return ValueHistograms(self.columns, n_edges, self.by)

    def parts(self, budget: Share, part: float, n_rows: int, n_features: int) -> tuple[float, ...]:
        """Return the parts of the whole budget for octaves, the search, and later histograms.

        ``part`` is the planned part of all quantiles. Columns must be detected first, so if octaves
        need more, they take it from all planned statistics.
        """
        noise = noise_std_of(self.query(OCTAVES.size), n_rows, n_features, budget) / n_rows
        power = 1.0 if isinstance(budget, Laplace) else 2.0
        # The target noise is a fiftieth of the records. All numbers by trial on simulated columns.
        cost = (noise / (1.0 / 50.0)) ** power
        first = float(np.clip(cost, 0.08 * part, 0.6 * part))
        per_search = float(np.clip(cost, 0.01 * part, 0.03 * part))
        needed = min((noise / SEEN_NOISE) ** power, MOST_FOR_SEEING)
        scale = min((1.0 - needed) / (1.0 - first), 1.0)
        return (
            max(first, needed),
            scale * SEARCHES * per_search,
            scale * (part - first - SEARCHES * per_search),
        )

    def stages(self, budget: Share, parts: Sequence[float]) -> tuple[Stage, ...]:
        """Distribute the whole budget over the releases, by ``parts``."""
        first, searched, rest = parts
        octaves, size = self.query(OCTAVES.size), self.query(self.most_edges).width
        refined = REFINED_PART * rest
        rows = self.n_estimates
        planned = (
            ("octaves", "where columns lie", first, 1, octaves.width),
            ("search", "bins that hold the quantiles", searched, SEARCHES, size),
            ("refinement", "finer bins beside the quantiles", refined, REFINEMENTS, size),
            ("quantiles", "the shares below the quantiles", rest - refined, 1, size),
        )
        return tuple(
            Stage.of(part_of(budget, share, times=times), name, purpose, times, rows * width)
            for name, purpose, share, times, width in planned
        )

    def run(self, plan: Plan, gate: Gate, most: float) -> "ColumnDistributions":
        """Release the histograms, and return the estimates of every column.

        ``most`` is an upper bound on the number of records in a column, up to noise.
        """
        quantiles = _release_octaves(self, plan.stage("octaves"), gate, most)
        search, n_searches = plan.stage("search"), 0
        while n_searches < search.times and quantiles.needs_search(search):
            quantiles.refine(gate, search, SEARCH_OFFSET, 0.0, SEARCHED_UNEVENNESS)
            n_searches += 1
        for offset in OFFSETS:
            quantiles.refine(gate, plan.stage("refinement"), offset, 1.0, UNEVENNESS)
        last = plan.stage("quantiles")
        if last.share is None:  # Gaussian shares may move between releases
            left = search.mu * math.sqrt(search.times - n_searches)
            last = replace(last, mu=math.hypot(last.mu, left) * ROUNDING)
        quantiles.refine(gate, last, 0.0, 0.0, UNEVENNESS)
        return quantiles


class ColumnDistributions:
    """The distribution functions of all columns, as released so far.

    The class keeps no gate, because a gate has records.

    Attributes
    ----------
    estimates
        One per group and column, group by group.
    noise_std
        The standard deviation of the noise of a bin of the last histogram.
    """

    def __init__(
        self,
        search: QuantileSearch,
        size: tuple[int, int],
        estimates: Sequence[DistributionEstimate],
        noise_std: float,
    ) -> None:
        self._search, self._size = search, size
        self.estimates, self.noise_std = estimates, noise_std

    def noise_of(self, stage: Stage) -> float:
        """Return the standard deviation of the noise of a bin in a release of the stage."""
        return noise_std_of(self._search.query(1), *self._size, stage.asked)

    def needs_search(self, stage: Stage) -> bool:
        """Whether the stage's noise is low enough to locate some quantile more precisely."""
        noise_std = self.noise_of(stage)
        return any(
            self._is_unresolved(each, RESOLVED * noise_std / each.n_rows) for each in self.estimates
        )

    def _is_unresolved(self, estimate: DistributionEstimate, least: float) -> bool:
        """Whether the bin of some quantile is wide and has more than a share ``least``."""
        quartiles = estimate.at(np.array([0.25, 0.75]))
        for level in self._search.levels:
            place, mass = estimate.bin_of(level)
            low, high = estimate.edges[place : place + 2]
            largest = max(abs(low), abs(high))
            too_wide = max(
                NARROW * (quartiles[1] - quartiles[0]), DIGITS * largest, 2.0 * LEAST_SIZE
            )
            is_open = estimate.is_open(place)
            if mass > least and high - low > too_wide and not is_open:
                return True
        return False

    def refine(
        self, gate: Gate, stage: Stage, offset: float, sampling: float, unevenness: float
    ) -> None:
        """Release a histogram with edges at the quantiles and, unless ``offset`` is 0, beside them.

        Offsets are in standard deviations of the quantile's error, which includes ``sampling``
        times the error of another sample of records.
        """
        levels, rows = np.array(self._search.levels), []
        steps = 1 if sampling else self._search.steps
        n_edges = levels.size * (2 * steps + 1 if offset else 1)
        # Noise may hide cells above one in a column like zeros and ones: an edge there shows them.
        # It takes the place of the nearest one if all columns have as many edges as planned.
        one_more = n_edges < self._search.most_edges and any(
            each.like_indicator for each in self.estimates
        )
        for estimate in self.estimates:
            edge_levels = levels
            if offset:
                hidden = HIDDEN_UNEVENNESS if sampling else SEARCHED_HIDDEN
                spreads = [
                    math.hypot(
                        estimate.spread(level, hidden),
                        sampling * math.sqrt(level * (1.0 - level) / estimate.total),
                    )
                    for level in self._search.levels
                ]
                beside = offset * np.outer(np.arange(1, steps + 1) / steps, spreads)
                edge_levels = np.concatenate(
                    [(levels - beside).ravel(), levels, (levels + beside).ravel()]
                )
            row = estimate.at(edge_levels)
            if one_more:
                row = np.append(row, row[-1])
            if estimate.like_indicator:
                row[-1 if one_more else np.abs(row - 1.0).argmin()] = 1.0
            rows.append(np.sort(row))
        edges, self.noise_std = np.array(rows), self.noise_of(stage)
        counts = gate.ask(self._search.query(edges.shape[1]), edges, stage)
        for estimate, row, counted in zip(self.estimates, edges, counts, strict=True):
            estimate.refine(row, counted[: row.size + 1], self.noise_std, unevenness)
            if not self._search.by:
                estimate.count_cells(float(counted[-1]), self.noise_std)

    def quantiles_at(
        self, levels: Sequence[float], unseen: BoolArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return quantiles and both ends of their intervals, a row per column.

        Rows of ``unseen`` columns are NaN, and so are other quantiles that noise hides.
        """
        rows = np.full((3, len(self.estimates), len(levels)), math.nan)
        for i in np.flatnonzero(~unseen).tolist():
            estimate = self.estimates[i]
            values = [estimate.quantile(level, self.noise_std) for level in levels]
            rows[0, i] = np.maximum.accumulate(values)
            for place, level in enumerate(levels):
                ends = estimate.interval(level, Z if 0.0 < level < 1.0 else Z_OF_ALL)
                rows[1:, i, place] = ends
                if estimate.hides(level, float(rows[0, i, place]), ends):
                    rows[0, i, place] = math.nan
        return rows[0], rows[1], rows[2]


def _release_octaves(
    search: QuantileSearch, stage: Stage, gate: Gate, most: float
) -> ColumnDistributions:
    """Release the histograms of octaves, and start the estimates from them."""
    edges = np.tile(OCTAVES, (search.n_estimates, 1))
    query = search.query(OCTAVES.size)
    counts = gate.ask(query, edges, stage)
    size = gate.n_records, gate.n_features
    asked = query, *size, stage.asked
    noise_std, tail_std = noise_std_of(*asked), tail_noise(*asked)
    bins, n_columns = OCTAVES.size + 1, len(search.columns)
    pooled = counts[:, :bins].reshape(-1, n_columns, bins).sum(axis=0)
    pooled_std = tail_std * math.sqrt(len(counts) / n_columns)
    known = [octaves_of(row, pooled_std)[0] for row in pooled]
    estimates = [
        DistributionEstimate(row[:bins], noise_std, most, known[place % n_columns], tail_std)
        for place, row in enumerate(counts)
    ]
    if not search.by:
        for estimate, row in zip(estimates, counts, strict=True):
            estimate.count_cells(float(row[-1]), noise_std)
    return ColumnDistributions(search, size, estimates, noise_std)
