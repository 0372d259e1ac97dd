"""Private quantiles of columns, with intervals.

Reference
---------
Karwa and Vadhan 2018, Section 3 (finite-sample intervals without bounds); Hay, Rastogi, Miklau and
Suciu 2010, Section 4 (one consistent distribution function).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_between, shown
from tailguard.sets.base import as_numbers
from tailguard.summaries.released import (
    RunOptions,
    SummaryTable,
    released,
    summary,
)
from tailguard.summaries.results import INTERVAL, Cell, ResultTable, SummaryResult, by_groups
from tailguard.summaries.statistics import Statistics

MOST_LEVELS = 99  # per column; more quantiles would be mostly noise


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
        tables. An end is infinite if no released edge bounds it; a value is NaN if it lies more
        than 1.5 interquartile ranges from the only finite end. Rows are NaN if the budget was too
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
    assert solution.quantiles is not None
    value, low, high = solution.quantiles.quantiles_at(levels, solution.unseen)
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
    levels = np.unique(as_numbers(q).ravel())
    if np.isnan(levels).any():
        raise InputError(f"{name} must be numbers from 0 to 1; got {shown(q)}.")
    if not 1 <= levels.size <= MOST_LEVELS:
        raise InputError(f"{name} must have 1 to {MOST_LEVELS} levels; got {levels.size}.")
    return tuple(check_between(name, float(level), 0.0, 1.0) for level in levels)
