"""Private quantiles, histograms and counts: one call each.

Reference
---------
Karwa and Vadhan 2018, Section 3 (finite-sample intervals without bounds); Dwork, McSherry, Nissim
and Smith 2006, Section 3.2 (histograms).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_between, check_integer, shown
from tailguard.summaries.released import (
    RunOptions,
    SummaryTable,
    named_columns,
    released,
    summary,
)
from tailguard.summaries.results import INTERVAL, Cell, ResultTable, SummaryResult, by_groups
from tailguard.summaries.statistics import Statistics, SummarySolution

Z = NormalDist().inv_cdf(0.975)  # half the width of a 95 % interval, in standard deviations
# The same for levels 0 and 1: the ends of a column are sought among all edges, and the noise at one
# or more of 800 edges exceeds this in 5 % of runs.
Z_OF_ALL = 4.0
MOST_LEVELS, MOST_BINS = 99, 10_000  # per column; more quantiles or bins would be mostly noise


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class QuantileResult(SummaryResult):
    """Private quantiles with their intervals.

    Attributes
    ----------
    groups, names
        The group and the column of each row. Without ``by`` all group names are empty.
    levels
        The levels of the quantiles.
    value, low, high
        Matrices with a row per column of the data, group by group, and a column per level: the
        quantile, and the ends of an interval that covers the distribution's quantile in 95 % of
        tables. An end is infinite if no released edge bounds it. Rows are NaN if the budget was too
        small to detect the column or the group.
    usable
        The released number of readable cells of each row.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> x = np.random.default_rng(0).lognormal(size=(20_000, 1))
    >>> result = tg.quantile(x, [0.25, 0.5], epsilon=1.0, delta=1e-6, random_state=0)
    >>> bool(result.low[0, 1] <= 1.0 <= result.high[0, 1])
    True
    """

    groups: tuple[str, ...]
    names: tuple[str, ...]
    levels: tuple[float, ...]
    value: FloatArray
    low: FloatArray
    high: FloatArray
    usable: FloatArray

    def tables(self) -> list[ResultTable]:
        """Return one table: a row per column and level."""
        rows: list[tuple[Cell, ...]] = [
            (*names, level, *map(float, (self.value[i, j], self.low[i, j], self.high[i, j])))
            for i, names in enumerate(zip(self.groups, self.names, strict=True))
            for j, level in enumerate(self.levels)
        ]
        return [by_groups("", ("column", "level", "quantile", *INTERVAL), rows)]


@summary
def quantile(
    X: Any,
    q: ArrayLike = 0.5,
    *,
    by: str | Sequence[str] | None = None,
    **options: Unpack[RunOptions],
) -> QuantileResult:
    """Estimate quantiles of every column, privately and jointly, without bounds.

    Parameters
    ----------
    X
        Columns of numbers: whatever ``tg.mean`` takes.
    q
        Levels between 0 and 1, one or several. All quantiles come from one distribution function,
        so they never cross.
    by
        Up to three declared columns; each combination of their levels is a group of its own.
    options
        ``epsilon``, ``delta`` or ``guarantee``. ``person`` and ``max_rows``: with them each person
        counts as one record, and her rows share this weight equally. ``sample_weight``: how much
        each row counts, one number per row or a column's name. ``weight_bound``: the largest weight
        that counts in full, known without the rows. ``columns``, ``schema``, ``ledger``,
        ``checkpoint``, ``row_id``, ``order``, ``check_records``, ``on_unusable`` and
        ``random_state`` are as for ``tg.mean``.

    Returns
    -------
    QuantileResult
        With ``value``, ``low`` and ``high``.

    Guarantee
    ---------
    The result is private at the certificate's guarantee for replace-one neighbours with public
    ``n``, for every input. With ``guarantee=tg.PureDP(epsilon)`` noise is discrete Laplace.

    Edge cases
    ----------
    A cell that is not a number does not affect the other cells of its record. If noise hides a
    column, its result is NaN, and a note says so.

    Reference
    ---------
    Hay, Rastogi, Miklau and Suciu 2010, Section 4; Karwa and Vadhan 2018, Section 3.

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=20_000, seed=0)
    >>> tg.quantile(claims.target, [0.5, 0.9], epsilon=1.0, delta=1e-6).value.shape
    (1, 2)
    """
    levels = checked_levels("q", q)

    def make(table: SummaryTable) -> Statistics:
        return Statistics(table.needs_numbers(), table.groups(by)[1], levels)

    solved, solution, table = released(X, make, by=by, **options)
    value, low, high = quantiles_of(solution, levels)
    assert solution.quantiles is not None
    groups, names = table.rows(by)
    return QuantileResult(
        solved=solved,
        title="private quantiles",
        groups=groups,
        names=names,
        levels=levels,
        value=value,
        low=low,
        high=high,
        usable=np.array([each.total for each in solution.quantiles.estimates]) * table.unit,
    )


def checked_levels(name: str, q: ArrayLike) -> tuple[float, ...]:
    """Return the levels sorted and without duplicates; refuse invalid levels."""
    levels = np.unique(np.asarray(q, dtype=np.float64).ravel())
    if not 1 <= levels.size <= MOST_LEVELS:
        raise InputError(f"{name} must have 1 to {MOST_LEVELS} levels; got {levels.size}.")
    return tuple(check_between(name, float(level), 0.0, 1.0) for level in levels)


def quantiles_of(
    solution: SummarySolution, levels: Sequence[float]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return quantiles and both ends of their intervals, a row per column; NaN if undetected."""
    quantiles = solution.quantiles
    assert quantiles is not None
    rows = np.full((3, len(quantiles.estimates), len(levels)), math.nan)
    hidden = quantiles.hidden(levels, Z, solution.unseen)
    for i, (estimate, unseen) in enumerate(zip(quantiles.estimates, solution.unseen, strict=True)):
        if not unseen:
            values = [estimate.quantile(level, quantiles.noise_std) for level in levels]
            rows[0, i] = np.where(hidden[i], math.nan, np.maximum.accumulate(values))
            z = [Z if 0.0 < level < 1.0 else Z_OF_ALL for level in levels]
            rows[1:, i] = np.transpose([*map(estimate.interval, levels, z)])
    return rows[0], rows[1], rows[2]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class HistogramResult(SummaryResult):
    """Private histograms.

    Attributes
    ----------
    groups, names
        The group and the column of each row. Without ``by`` all group names are empty.
    edges
        The edges of the bins, a row per column, group by group. A cell at an edge is in the bin
        below it.
    counts
        A row per column, group by group: the numbers of cells up to the first edge, in each bin,
        and beyond the last edge.
    noise_std
        Standard deviation of the privacy noise of each count.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> x = np.random.default_rng(0).normal(size=(20_000, 1))
    >>> result = tg.histogram(x, edges=[-1.0, 0.0, 1.0], epsilon=1.0, delta=1e-6, random_state=0)
    >>> np.round(result.counts / 20_000, 1).tolist()
    [[0.2, 0.3, 0.3, 0.2]]
    """

    picture: ClassVar[str] = "histogram"
    groups: tuple[str, ...]
    names: tuple[str, ...]
    edges: FloatArray
    counts: FloatArray
    noise_std: float

    def tables(self) -> list[ResultTable]:
        """Return one table: a row per column and bin."""
        rows: list[tuple[Cell, ...]] = []
        for *names, edges, counts in zip(
            self.groups, self.names, self.edges, self.counts, strict=True
        ):
            ends = [-math.inf, *edges.tolist(), math.inf]
            bins = zip(ends[:-1], ends[1:], map(float, counts), strict=True)
            rows += [(*names, *each, self.noise_std) for each in bins]
        return [by_groups("", ("column", "above", "up to", "cells", "privacy noise"), rows)]


@summary
def histogram(
    X: Any,
    bins: int = 20,
    *,
    edges: Any = None,
    by: str | Sequence[str] | None = None,
    **options: Unpack[RunOptions],
) -> HistogramResult:
    """Count the cells of every column in bins, privately: in a private range or by public edges.

    Parameters
    ----------
    X
        Columns of numbers: whatever ``tg.mean`` takes.
    bins
        The number of bins, evenly spaced over a released range that contains 90 to 98 % of the
        cells and costs part of the budget. Two more counts are of the cells below and above it.
    edges
        Increasing public edges for all columns, instead of a released range.
    by
        Up to three declared columns, whose levels make groups. Each group has its own private
        range.
    options
        As for ``tg.quantile``.

    Guarantee
    ---------
    The result is private at the certificate's guarantee for replace-one neighbours with public
    ``n``, for every input.

    Edge cases
    ----------
    A cell that is not a number is not counted. Counts may be negative, because of their noise.

    Reference
    ---------
    Dwork, McSherry, Nissim and Smith 2006, Section 3.2.

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=20_000, seed=0)
    >>> tg.histogram(claims.target, 10, epsilon=1.0, delta=1e-6).counts.shape
    (1, 12)
    """
    check_integer("bins (edges= for public ones)", bins, minimum=1, maximum=MOST_BINS)
    public_edges = None if edges is None else _checked_edges(edges)

    def make(table: SummaryTable) -> Statistics:
        columns, (groups, grouping) = table.needs_numbers(), table.groups(by)
        if public_edges is None:
            return Statistics(columns, grouping, bins=bins)
        return Statistics(columns, grouping, edges=(public_edges,) * (len(groups) * len(columns)))

    solved, solution, table = released(X, make, by=by, **options)
    counts, used_edges = solution.counts
    groups, names = table.rows(by)
    return HistogramResult(
        solved=solved,
        title="private histograms",
        groups=groups,
        names=names,
        edges=used_edges,
        counts=counts[:, : used_edges.shape[1] + 1] * table.unit,
        noise_std=solution.noise_std * table.unit,
    )


def _checked_edges(edges: ArrayLike) -> tuple[float, ...]:
    values = np.asarray(edges, dtype=np.float64).ravel()
    rising = np.isfinite(values).all() and (np.diff(values) > 0.0).all()
    if not (1 <= values.size <= MOST_BINS and rising):
        raise InputError(
            f"edges must be 1 to {MOST_BINS} finite, rising numbers; got {shown(edges)}."
        )
    return tuple(values.tolist())


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CountResult(SummaryResult):
    """A private count.

    Attributes
    ----------
    value, noise_std
        The count, between 0 and the number of records, and the standard deviation of its noise.
    low, high
        An interval that covers the table's own count in 95 % of runs.

    Examples
    --------
    >>> import pandas as pd
    >>> import tailguard as tg
    >>> table = pd.DataFrame({"region": ["north", "south"] * 500})
    >>> schema = {"categorical": {"region": ["north", "south"]}}
    >>> result = tg.count(
    ...     table, {"region": "south"}, schema=schema, epsilon=1.0, delta=1e-6, random_state=0
    ... )
    >>> bool(result.low < 500.0 < result.high)
    True
    """

    picture: ClassVar[str] = "counts"
    value: float
    noise_std: float
    low: float
    high: float

    def tables(self) -> list[ResultTable]:
        """Return one table of one row."""
        row = (self.value, self.low, self.high)
        return [ResultTable("", ("records", *INTERVAL), [row])]


@summary
def count(
    X: Any, where: Mapping[str, str | Sequence[str]], **options: Unpack[RunOptions]
) -> CountResult:
    """Count the records that have given levels in declared columns, privately.

    Parameters
    ----------
    X
        A table with declared columns: ``schema={"categorical": {name: [levels]}}``.
    where
        Maps a column to the level or levels that a counted record has there. ``"other"`` is any
        undeclared level, and ``"missing"`` an empty cell.
    options
        As for ``tg.quantile``, but ``check_records`` is False by default.

    Guarantee
    ---------
    The result is private at the certificate's guarantee for replace-one neighbours with public
    ``n``, for every input: one count is released, which a record changes by at most 1.

    Edge cases
    ----------
    Only the columns that ``where`` names are read, so others may have any type.

    Reference
    ---------
    Dwork, McSherry, Nissim and Smith 2006, Section 3.2.

    Examples
    --------
    >>> import pandas as pd
    >>> import tailguard as tg
    >>> table = pd.DataFrame({"region": ["north", "south"] * 500})
    >>> schema = {"categorical": {"region": ["north", "south"]}}
    >>> tg.count(table, {"region": "south"}, schema=schema, epsilon=1.0, delta=1e-6).noise_std < 5
    True
    """
    if not isinstance(where, Mapping) or not where:
        raise InputError(f"where must map columns to levels; got {shown(where)}.")

    def make(table: SummaryTable) -> Statistics:
        names, indicators = table.indicators("where", tuple(where))
        codes = tuple(table.codes(name, where[name]) for name in names)
        return Statistics(counted=(indicators, codes))

    reads = named_columns("where", tuple(where), options.get("schema"))
    options.setdefault("check_records", False)  # an empty cell may be counted, as missing
    solved, solution, table = released(X, make, reads=reads, **options)
    largest, noise_std = solved.certificate.n_rows * table.unit, solution.noise_std * table.unit
    value = float(solution.counts[0][0]) * table.unit
    # With Laplace noise this interval covers 94 % (computed: 1 - exp(-1.96 sqrt(2))).
    ends = value, value - Z * noise_std, value + Z * noise_std
    value, low, high = np.clip(ends, 0.0, largest).tolist()
    return CountResult(
        solved=solved, title="private count", value=value, noise_std=noise_std, low=low, high=high
    )
