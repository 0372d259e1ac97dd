"""Private histograms of columns, and counts of records.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_integer, shown
from tailguard.sets.base import as_numbers
from tailguard.summaries.distributions.distribution import Z
from tailguard.summaries.released import (
    RunOptions,
    SummaryTable,
    named_columns,
    released,
    summary,
)
from tailguard.summaries.results import INTERVAL, NOISE, Cell, ResultTable, SummaryResult, by_groups
from tailguard.summaries.statistics import Statistics

MOST_BINS = 10_000  # per column; more bins would be mostly noise


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
        return [by_groups("", ("column", "above", "up to", "cells", NOISE), rows)]


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
    values = as_numbers(edges).ravel()
    rising = np.isfinite(values).all() and (np.diff(values) > 0.0).all()
    if not (1 <= values.size <= MOST_BINS and rising):
        raise InputError(
            f"edges must be 1 to {MOST_BINS} finite, rising numbers, the same for all columns; "
            f"got {shown(edges)}."
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
