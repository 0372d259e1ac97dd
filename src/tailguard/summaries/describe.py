"""One call for the summary statistics of a table.

Reference
---------
Dong, Roth and Su 2022, Corollary 3.3 (one budget over all statistics); Dwork and Roth 2014,
Proposition 2.1 (post-processing).
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import BoolArray, FloatArray
from tailguard.checks import (
    InputError,
    check_between,
    check_boolean,
    named_arguments,
    require,
    shown,
)
from tailguard.data.readers.rows_per_person import rows_per_person as counted_rows
from tailguard.privacy.books import AnyLedger
from tailguard.privacy.guarantees import Guarantee, PureDP
from tailguard.summaries.distributions.distribution import Z
from tailguard.summaries.quantile import checked_levels
from tailguard.summaries.released import RunOptions, SummaryTable, released, summary
from tailguard.summaries.results import INTERVAL, NOISE, Cell, ResultTable, SummaryResult, by_groups
from tailguard.summaries.statistics import Statistics, SummarySolution

MOST_SPEND = 1e6  # a larger factor would leave nothing to the other parts
# The quartiles, and the ends of the middle 90 %.
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Description(SummaryResult):
    """The result of ``tg.describe``.

    Attributes
    ----------
    names, groups
        The columns of numbers, and the groups; without groups, one with an empty name.
    usable, missing
        Readable and unreadable cells of each group and column; the latter are not known by group.
    mean, mean_low, mean_high, std
        Means with their intervals, and standard deviations of cells cut to a private range. The
        interval covers sampling, noise and the cut; it is infinite if the mean may depend
        mostly on cells that noise hides. Of a column like zeros and ones, a released share above
        one adds to mean and standard deviation. A standard deviation is NaN if noise may explain
        the whole variance.
    levels, quantiles, quantiles_low, quantiles_high
        Quantiles with their intervals; the last axis is that of the levels. A quantile is NaN if
        noise hides where it lies; its interval then has at most one end.
    shares, share_noise
        Column -> level -> its share of the records, for declared columns; and the standard
        deviation of the privacy noise in each share.
    correlation
        The correlation matrix of the columns of numbers, if it was asked for.
    suppressed
        Groups and columns that noise hides: their numbers are NaN.

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=20_000, seed=0)
    >>> found = tg.describe(claims.target, epsilon=1.0, delta=1e-6, random_state=0)
    >>> found.quantiles.shape
    (1, 1, 5)
    """

    names: tuple[str, ...]
    groups: tuple[str, ...]
    usable: FloatArray
    missing: FloatArray
    mean: FloatArray
    mean_low: FloatArray
    mean_high: FloatArray
    std: FloatArray
    levels: tuple[float, ...]
    quantiles: FloatArray
    quantiles_low: FloatArray
    quantiles_high: FloatArray
    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    share_noise: float = math.nan
    correlation: FloatArray | None = None
    suppressed: BoolArray

    def tables(self) -> list[ResultTable]:
        """Return tables of columns, intervals, levels and correlations, without empty ones."""
        tables = [self._numbers(), self._intervals()] if self.names else []
        if self.shares:
            rows: list[tuple[Cell, ...]] = [
                (name, level, share, self.share_noise)
                for name, shares in self.shares.items()
                for level, share in shares.items()
            ]
            header = ("column", "level", "share", NOISE)
            tables.append(ResultTable("shares of levels", header, rows))
        if self.correlation is not None:
            matrix = zip(self.names, self.correlation, strict=True)
            rows = [(name, *(round(float(x), 3) for x in row)) for name, row in matrix]
            tables.append(ResultTable("correlations", ("column", *self.names), rows))
        return tables

    def to_frame(self) -> Any:
        """Return the columns as a pandas DataFrame, with the intervals of quantiles at its end."""
        frame = super().to_frame()
        if self.names:
            intervals = self._intervals()
            for place in range(-2 * len(self.levels), 0):
                frame[intervals.header[place]] = [row[place] for row in intervals.rows]
        return frame

    def _numbers(self) -> ResultTable:
        parts = (self.usable, self.missing, self.mean, self.mean_low, self.mean_high, self.std)
        head = ("usable", "missing", "mean", *INTERVAL, "std", *map(_percent, self.levels))

        def cells(g: int, j: int) -> tuple[Cell, ...]:
            counts = (_whole(part[g, j]) for part in parts[:2])
            values = (float(part[g, j]) for part in parts[2:])
            return (*counts, *values, *map(float, self.quantiles[g, j]))

        return self._table("", head, cells)

    def _intervals(self) -> ResultTable:
        head = [f"{_percent(level)} {end}" for level in self.levels for end in ("low", "high")]
        ends = np.stack([self.quantiles_low, self.quantiles_high], axis=-1)
        return self._table(
            "95% intervals of quantiles", head, lambda g, j: tuple(map(float, ends[g, j].ravel()))
        )

    def _table(
        self, title: str, head: Iterable[str], cells: Callable[[int, int], tuple[Cell, ...]]
    ) -> ResultTable:
        """Return a table with a row for each group and column."""
        rows = [
            (group, name, *cells(g, j))
            for g, group in enumerate(self.groups)
            for j, name in enumerate(self.names)
        ]
        return by_groups(title, ("column", *head), rows)


def _percent(level: float) -> str:
    return f"{100.0 * level:g}%"


def _whole(count: float) -> Cell:
    return count if math.isnan(count) else round(count)


@summary
def describe(
    X: Any,
    *,
    q: ArrayLike = QUANTILES,
    by: str | Sequence[str] | None = None,
    correlations: bool = True,
    spend: Mapping[str, float] | None = None,
    **options: Unpack[RunOptions],
) -> Description:
    """Describe every column of a table, privately, on one budget; no bounds are needed.

    It releases the number of readable cells, means with intervals, standard deviations, quantiles,
    shares of declared levels, and correlations.

    Parameters
    ----------
    X
        A table or a matrix: whatever ``tg.mean`` takes.
    q
        Levels of the quantiles.
    by
        Up to three declared columns; each combination of their levels is described separately,
        without correlations.
    correlations
        Whether to release correlations; with pure differential privacy none are released.
    spend
        Factors for the parts of the budget, such as ``{"quantiles": 2}``. The parts are
        ``quantiles``, ``moments``, ``far cells``, ``correlations``, ``levels`` and, of records with
        weights, ``weights``; ``explain()`` shows them.
    options
        As for ``tg.quantile``.

    Returns
    -------
    Description
        It prints as tables and renders in a notebook; ``to_frame()`` is the table of columns.

    Guarantee
    ---------
    All results together have the certificate's guarantee, for replace-one neighbours with public
    ``n`` and for every input. A replaced record may leave one group and enter another.

    Edge cases
    ----------
    A cell that is not a number does not affect the other cells of its record. Correlations assume
    that cells of two columns are missing independently. Columns and groups that noise hides are
    NaN. With ``person`` cells are counted in persons, and intervals hold whether a person's rows
    are alike or not. With ``sample_weight`` counts are sums of weights; a weight that is missing,
    infinite or negative is zero, and intervals hold whether or not weights depend on cells.

    Reference
    ---------
    Dwork, McSherry, Nissim and Smith 2006, Section 3; Hay, Rastogi, Miklau and Suciu 2010.

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=20_000, seed=0)
    >>> found = tg.describe(claims.features, epsilon=1.0, delta=1e-6)
    >>> found.certificate.mode
    'private'
    """
    levels = checked_levels("q", q)
    check_boolean("correlations", correlations)
    factors = _checked_spend(spend)
    pure = isinstance(options.get("guarantee"), PureDP)

    def make(table: SummaryTable) -> Statistics:
        columns = tuple(table.numbers.values())
        grouping = table.groups(by)[1]
        level_counts = tuple((indicators,) for indicators in table.declared.values())
        if by is not None:
            table.needs_numbers()  # raises if there is no column to describe by group
        return Statistics(
            columns,
            by=grouping,
            levels=levels if columns else (),
            moments=bool(columns),
            products=correlations and not pure and by is None and len(columns) > 1,
            tables=level_counts,
            spend=factors,
        )

    solved, solution, table = released(X, make, by=by, spread="standard deviation", **options)
    return _description(solution, table, table.groups(by)[0], levels, solved)


@named_arguments
def rows_per_person(
    person: Any,
    *,
    q: ArrayLike = QUANTILES,
    epsilon: float | None = None,
    delta: float | None = None,
    guarantee: Guarantee | None = None,
    ledger: AnyLedger | None = None,
    checkpoint: str | PathLike[str] | None = None,
    random_state: int | None = None,
) -> Description:
    """Describe how many rows persons have, privately, before ``max_rows`` is chosen.

    Parameters
    ----------
    person
        A key per row that identifies its person, such as ``table["patient_id"]``.
    q
        Levels of the quantiles.
    epsilon, delta, guarantee, ledger, checkpoint, random_state
        As for ``tg.quantile``.

    Returns
    -------
    Description
        It describes one column, the number of rows of each person: mean, spread and quantiles.

    Guarantee
    ---------
    The result is private at the certificate's guarantee for all rows of a person, however many: a
    person has one number here, which depends on that person's rows only. The number of persons is
    public.

    Edge cases
    ----------
    Rows without a key are not counted.

    Reference
    ---------
    Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms).

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> visits = np.random.default_rng(0).integers(1, 12, 5_000)
    >>> keys = np.repeat(np.arange(5_000), visits)
    >>> found = tg.rows_per_person(keys, epsilon=0.5, delta=1e-6, random_state=0)
    >>> bool(5.0 <= found.quantiles[0, 0, 2] <= 7.0)
    True
    """
    levels = checked_levels("q", q)
    require(
        hasattr(person, "__len__") and not isinstance(person, str),
        f"person must be a column of keys, such as table['patient_id']; got {shown(person)}.",
    )
    solved, solution, table = released(
        counted_rows(person),
        lambda _: Statistics((0,), levels=levels, moments=True),
        epsilon=epsilon,
        delta=delta,
        guarantee=guarantee,
        ledger=ledger,
        checkpoint=checkpoint,
        check_records=False,  # each person has a number
        random_state=random_state,
        spread="standard deviation",
        assumptions=("each person has one value, how many rows she has; all her rows are counted",),
    )
    return _description(solution, table, ("",), levels, solved)


def _description(
    solution: SummarySolution,
    table: SummaryTable,
    groups: tuple[str, ...],
    levels: tuple[float, ...],
    solved: Any,
) -> Description:
    """Arrange the released numbers by groups and columns."""
    shape = len(groups), len(table.numbers)
    suppressed = solution.unseen.reshape(shape)
    usable, quantiles = np.full(shape, math.nan), np.full((3, *shape, len(levels)), math.nan)
    mean, below, above, std = np.full((4, *shape), math.nan)
    if solution.quantiles is not None:
        usable = np.reshape([each.total for each in solution.quantiles.estimates], shape)
        estimated = solution.quantiles.quantiles_at(levels, solution.unseen)
        quantiles = np.reshape(estimated, (3, *shape, len(levels)))
    if solution.moments is not None:
        moments = solution.moments
        mean, below, above, std = (
            np.where(suppressed | moments.unknown, math.nan, part)
            for part in (moments.mean, moments.error_below, moments.error_std, moments.std)
        )
        std[moments.spread_unseen] = math.nan
    total = solution.total
    missing = np.maximum(total - usable, 0.0)
    counts = zip(table.levels.items(), solution.counts, strict=True)
    shares = {
        name: dict(zip(level_names, (level_counts / total).tolist(), strict=True))
        for (name, level_names), level_counts in counts
    }
    correlation = solution.correlation
    if correlation is not None:
        (blank,) = suppressed  # correlations are not released by group
        correlation = np.where(blank | blank[:, None], math.nan, correlation)
    return Description(
        solved=solved,
        title="private description",
        names=tuple(table.numbers),
        groups=groups,
        usable=usable * table.unit,
        missing=missing * table.unit if groups == ("",) else np.full(shape, math.nan),
        mean=mean,
        mean_low=mean - Z * below,
        mean_high=mean + Z * above,
        std=std,
        levels=levels,
        quantiles=quantiles[0],
        quantiles_low=quantiles[1],
        quantiles_high=quantiles[2],
        shares=shares,
        share_noise=solution.noise_std / total,
        correlation=correlation,
        suppressed=suppressed,
    )


def _checked_spend(spend: Any) -> dict[str, float]:
    """Return the factors, or refuse them; the plan checks their names."""
    if spend is None:
        return {}
    if not isinstance(spend, Mapping):
        raise InputError(
            f"spend must map parts such as 'quantiles' to factors; got {shown(spend)}."
        )
    return {
        name: check_between(
            f"spend must map names to factors: {shown(name)}", factor, 1.0 / MOST_SPEND, MOST_SPEND
        )
        for name, factor in spend.items()
    }
