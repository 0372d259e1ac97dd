"""Private tables of declared levels, and actual and expected totals by groups.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3 (histograms and sums).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar, Unpack

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_choice
from tailguard.summaries.distributions.distribution import DistributionEstimate, Z
from tailguard.summaries.released import (
    RunOptions,
    SummaryTable,
    named_columns,
    released,
    summary,
)
from tailguard.summaries.results import INTERVAL, NOISE, Cell, ResultTable, SummaryResult
from tailguard.summaries.statistics import SURELY_MORE, Statistics


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CrosstabResult(SummaryResult):
    """Private counts of combinations of levels.

    Attributes
    ----------
    names, levels
        The columns, and the levels of each, ``other`` and ``missing`` at the end.
    counts
        An axis per column; counts are not negative, and sum to the number of records.
    noise_std
        Standard deviation of the privacy noise of a count, before the counts are adjusted.

    Examples
    --------
    >>> import pandas as pd
    >>> import tailguard as tg
    >>> table = pd.DataFrame({"region": ["north", "south"] * 500, "ill": ["no", "yes"] * 500})
    >>> schema = {"categorical": {"region": ["north", "south"], "ill": ["no", "yes"]}}
    >>> result = tg.crosstab(table, ["region", "ill"], schema=schema, epsilon=1.0, delta=1e-6)
    >>> result.counts.shape
    (4, 4)
    """

    picture: ClassVar[str] = "counts"
    names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    counts: FloatArray
    noise_std: float

    def tables(self) -> list[ResultTable]:
        """Return one table with a row for each combination of levels."""
        combined = zip(product(*self.levels), self.counts.ravel().tolist(), strict=True)
        rows: list[tuple[Cell, ...]] = [(*each, count, self.noise_std) for each, count in combined]
        return [ResultTable("", (*self.names, "records", NOISE), rows)]


@summary
def crosstab(X: Any, by: str | Sequence[str], **options: Unpack[RunOptions]) -> CrosstabResult:
    """Count the records by the levels of up to three declared columns, privately.

    Parameters
    ----------
    X
        A table with declared columns: ``schema={"categorical": {name: [levels]}}``.
    by
        The columns, one to three.
    options
        As for ``tg.quantile``, but ``check_records`` is False by default.

    Guarantee
    ---------
    The result is private at the certificate's guarantee for replace-one neighbours with public
    ``n``, for every input.

    Edge cases
    ----------
    An undeclared level counts as ``other``, and an empty cell as ``missing``. Only the columns that
    ``by`` names are read, so others may have any type.

    Reference
    ---------
    Dwork, McSherry, Nissim and Smith 2006, Section 3.2.

    Examples
    --------
    >>> import pandas as pd
    >>> import tailguard as tg
    >>> table = pd.DataFrame({"region": ["north", "south"] * 500})
    >>> schema = {"categorical": {"region": ["north", "south"]}}
    >>> tg.crosstab(table, "region", schema=schema, epsilon=1.0, delta=1e-6).counts.sum().round()
    np.float64(1000.0)
    """

    def make(table: SummaryTable) -> Statistics:
        return Statistics(tables=(table.groups(by)[1],))

    reads = named_columns("by", by, options.get("schema"))
    options.setdefault("check_records", False)  # an empty cell is counted, as missing
    solved, solution, table = released(X, make, reads=reads, **options)
    names = table.indicators("by", by)[0]
    return CrosstabResult(
        solved=solved,
        title="private table of levels",
        names=names,
        levels=tuple(table.levels[name] for name in names),
        counts=solution.counts[0] * table.unit,  # the largest weight counts as one
        noise_std=solution.noise_std * table.unit,
    )


OF_PREDICTIONS = (
    "each cell of {!r} is a prediction from its own row, by a model that is public or was released "
    "under a promise of its own"
)
"""What must hold of a column of predictions for a comparison to be private."""
NOT_ZERO = 2.0  # in standard deviations of the noise: the least expected mean of a ratio
DIVIDED_BY_NOISE = (
    "The ratio of {} of {} groups is withheld: noise may explain the whole expected total."
)
OF_DIFFERENT_ROWS = (
    "The totals of {} of {} groups are over different rows, as one column surely has more readable "
    "cells there: the ratio is that of the means instead."
)
FAR_TOO_SMALL = 0.25  # a ratio for which actual cells that look like ones need not be ones


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ActualExpectedResult(SummaryResult):
    """Private totals of actual and predicted values, by groups.

    Attributes
    ----------
    groups
        The groups; without ``by`` one group without a name.
    actual, expected
        Totals of each group, of cells clipped to a private range.
    ratio, low, high
        Actual over expected, with a 95 % interval, which covers noise and the sampling of actual
        values; NaN if noise hides the group, or may explain its whole expected total.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import tailguard as tg
    >>> expected = np.random.default_rng(0).uniform(1.0, 3.0, 20_000)
    >>> table = pd.DataFrame({"cost": 1.1 * expected, "predicted": expected})
    >>> result = tg.actual_expected(
    ...     table, "cost", "predicted", epsilon=1.0, delta=1e-6, random_state=0
    ... )
    >>> bool(result.low[0] < 1.1 < result.high[0])
    True
    """

    picture: ClassVar[str] = "estimates"
    groups: tuple[str, ...]
    actual: FloatArray
    expected: FloatArray
    ratio: FloatArray
    low: FloatArray
    high: FloatArray

    def tables(self) -> list[ResultTable]:
        """Return one table, with a row per group."""
        columns = np.stack([self.actual, self.expected, self.ratio, self.low, self.high], axis=1)
        groups = zip(self.groups, columns.tolist(), strict=True)
        rows: list[tuple[Cell, ...]] = [(group or "all", *row) for group, row in groups]
        header = ("group", "actual", "expected", "ratio", *INTERVAL)
        return [ResultTable("", header, rows)]


@summary
def actual_expected(
    X: Any,
    actual: str,
    expected: str,
    by: str | Sequence[str] | None = None,
    **options: Unpack[RunOptions],
) -> ActualExpectedResult:
    """Compare the totals of two columns privately, such as claims and a model's predictions.

    Parameters
    ----------
    X
        A table with both columns.
    actual, expected
        The names of the columns. Predictions must be those of a model that is public or was
        released, each from its own row: ``table.assign(predicted=model.predict(table))``.
    by
        Up to three declared columns, whose levels make groups.
    options
        As for ``tg.quantile``, except ``columns``.

    Guarantee
    ---------
    The result is private at the certificate's guarantee for replace-one neighbours with public
    ``n``, for every input. The cost of the model itself comes on top.

    Edge cases
    ----------
    Cells are clipped to private ranges, so totals of heavy-tailed columns are too low. The ratio is
    that of the means, which leave missing cells out: it is that of the totals unless one column
    surely has more readable cells in the group. A group that noise hides has NaN, and so has a
    ratio whose expected total noise may explain. Only the named columns are read, and a record
    without a usable cell in any of them is void.

    Reference
    ---------
    Dwork, McSherry, Nissim and Smith 2006, Section 3.1.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import tailguard as tg
    >>> table = pd.DataFrame({"cost": np.arange(5_000.0), "predicted": np.full(5_000, 2_500.0)})
    >>> result = tg.actual_expected(table, "cost", "predicted", epsilon=1.0, delta=1e-6)
    >>> result.groups
    ('',)
    """
    if actual == expected:
        raise InputError(
            f"expected must be a different column from actual; got {expected!r} twice."
        )

    def make(table: SummaryTable) -> Statistics:
        for name, column in (("actual", actual), ("expected", expected)):
            check_choice(name, column, table.numbers)
        columns = table.numbers[actual], table.numbers[expected]
        return Statistics(columns, by=table.groups(by)[1], moments=True)

    groups = () if by is None else named_columns("by", by, options.get("schema"))
    reads = tuple(dict.fromkeys((actual, expected, *groups)))
    conditions = (OF_PREDICTIONS.format(expected),)
    solved, solution, table = released(X, make, reads=reads, conditions=conditions, **options)
    moments, quantiles = solution.moments, solution.quantiles
    assert moments is not None
    assert quantiles is not None
    hidden = np.atleast_1d(solution.unseen.reshape(moments.mean.shape).any(axis=1))
    totals = _readable_cells(quantiles.estimates, moments.mean.shape)
    mean, expected_mean = moments.mean.T
    # Cells that were cut at one, though they are far larger, make the ratio far too small.
    hidden = hidden | (moments.unknown[:, 0] & (mean < FAR_TOO_SMALL * expected_mean))
    by_zero = ~hidden & (np.abs(expected_mean) <= NOT_ZERO * moments.noise_std[:, 1])
    apart = ~hidden & (totals[:, 0] != totals[:, 1])
    notes = solved.solution.notes
    for found, note in ((by_zero, DIVIDED_BY_NOISE), (apart, OF_DIFFERENT_ROWS)):
        notes += (note.format(found.sum(), found.size),) * bool(found.any())
    solved = replace(solved, solution=replace(solved.solution, notes=notes))
    with np.errstate(all="ignore"):
        sums = np.where(hidden[:, None], math.nan, moments.mean * totals * table.unit)
        ratio = np.where(hidden | by_zero, math.nan, mean / expected_mean)
        expected_noise = ratio * moments.noise_std[:, 1]
        ends = [
            ratio + z * np.hypot(error[:, 0], expected_noise) / expected_mean
            for z, error in ((-Z, moments.error_below), (Z, moments.error_std))
        ]
    return ActualExpectedResult(
        solved=solved,
        title="private totals, actual and expected",
        groups=table.groups(by)[0],
        actual=sums[:, 0],
        expected=sums[:, 1],
        ratio=ratio,
        low=np.minimum(*ends),  # an expected mean below zero exchanges the ends
        high=np.maximum(*ends),
    )


def _readable_cells(
    estimates: Sequence[DistributionEstimate], shape: tuple[int, ...]
) -> FloatArray:
    """Return the numbers of readable cells of both columns, by groups.

    Unless noise cannot explain their difference they are one number, the mean by inverse variances.
    """
    totals = np.reshape([each.total for each in estimates], shape)
    variances = np.reshape([max(each.total_std, 1e-9) ** 2 for each in estimates], shape)
    mean = (totals / variances).sum(axis=1) / (1.0 / variances).sum(axis=1)
    alike = np.abs(totals[:, 0] - totals[:, 1]) < SURELY_MORE * np.sqrt(variances.sum(axis=1))
    return np.where(alike[:, None], mean[:, None], totals)
