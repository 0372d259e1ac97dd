"""Private variances, covariances and correlations: one call each.

Reference
---------
Dwork, Talwar, Thakurta and Zhang 2014, Theorem 1 (second moments of bounded rows).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError
from tailguard.summaries.released import RunOptions, SummaryTable, released, summary
from tailguard.summaries.results import NOISE, Cell, ResultTable, SummaryResult, by_groups
from tailguard.summaries.statistics import Statistics


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class VarianceResult(SummaryResult):
    """Private variances.

    Attributes
    ----------
    groups, names
        The group and the column of each number. Without ``by`` all group names are empty.
    value, std
        Variance and standard deviation of each column, group by group, of cells clipped to a
        private range; NaN if the variance does not exceed twice its noise.
    noise_std
        Standard deviation of the privacy noise of each variance, and of what it may hide: cells
        above one in a column that looks like zeros and ones; infinite, with a note, if cells
        between zero and one show that it is none. Cells beyond the range do not count: a note says
        how many noise may hide there.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> x = np.random.default_rng(0).normal(size=(20_000, 1))
    >>> result = tg.variance(x, epsilon=1.0, delta=1e-6, random_state=0)
    >>> bool(abs(result.value[0] - 1.0) < 0.1)
    True
    """

    picture: ClassVar[str] = "estimates"
    groups: tuple[str, ...]
    names: tuple[str, ...]
    value: FloatArray
    std: FloatArray
    noise_std: FloatArray

    def tables(self) -> list[ResultTable]:
        """Return one table: a row per column."""
        numbers = (part.tolist() for part in (self.value, self.noise_std, self.std))
        rows = zip(self.groups, self.names, *numbers, strict=True)
        return [by_groups("", ("column", "variance", NOISE, "std"), rows)]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MatrixResult(SummaryResult):
    """A private matrix of columns by columns: covariances or correlations.

    Attributes
    ----------
    names
        The columns.
    value
        The matrix, symmetric and positive semidefinite.
    noise_std
        Standard deviation of the privacy noise of each entry off the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> x = np.random.default_rng(0).normal(size=(20_000, 2))
    >>> result = tg.correlation(x, epsilon=1.0, delta=1e-6, random_state=0)
    >>> bool(abs(result.value[0, 1]) < 0.1)
    True
    """

    picture: ClassVar[str] = "matrix"
    names: tuple[str, ...]
    value: FloatArray
    noise_std: FloatArray

    def tables(self) -> list[ResultTable]:
        """Return one table: the matrix, with the names beside it."""
        matrix = zip(self.names, self.value, strict=True)
        rows: list[tuple[Cell, ...]] = [(name, *map(float, row)) for name, row in matrix]
        return [ResultTable("", ("column", *self.names), rows)]


@summary
def variance(
    X: Any, *, by: str | Sequence[str] | None = None, **options: Unpack[RunOptions]
) -> VarianceResult:
    """Estimate the variance of every column privately, without bounds.

    Parameters
    ----------
    X
        Columns of numbers: whatever ``tg.mean`` takes.
    by
        Up to three declared columns; each combination of their levels is a group of its own.
    options
        As for ``tg.quantile``.

    Guarantee
    ---------
    The result is private at the certificate's guarantee for replace-one neighbours with public
    ``n``, for every input.

    Edge cases
    ----------
    Cells are clipped to a private range: with heavy tails the result is the variance of clipped
    cells. A cell that is not a number does not affect the other cells of its record. Columns that
    noise hides are NaN, as are variances that do not exceed twice their noise, such as those of
    equal cells.

    Reference
    ---------
    Dwork, McSherry, Nissim and Smith 2006, Section 3.1.

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=20_000, seed=0)
    >>> tg.variance(claims.features, epsilon=1.0, delta=1e-6).value.size == claims.features.shape[1]
    True
    """

    def make(table: SummaryTable) -> Statistics:
        return Statistics(table.needs_numbers(), table.groups(by)[1], moments=True)

    solved, solution, table = released(
        X, make, by=by, quantity="variance", spread="variance", **options
    )
    moments = solution.moments
    assert moments is not None
    value, std, noise = (
        np.where(solution.unseen | moments.unknown.ravel(), np.nan, part.ravel())
        for part in (moments.std**2, moments.std, moments.variance_noise)
    )
    value[moments.spread_unseen.ravel()] = std[moments.spread_unseen.ravel()] = np.nan
    groups, names = table.rows(by)
    return VarianceResult(
        solved=solved,
        title="private variances",
        groups=groups,
        names=names,
        value=value,
        std=std,
        noise_std=noise,
    )


@summary
def covariance(X: Any, **options: Unpack[RunOptions]) -> MatrixResult:
    """Estimate the covariance matrix of the columns privately, without bounds.

    Parameters
    ----------
    X
        Two or more columns of numbers: whatever ``tg.mean`` takes.
    options
        As for ``tg.quantile``. Pure differential privacy is refused.

    Guarantee
    ---------
    The result is private at the certificate's guarantee for replace-one neighbours with public
    ``n``, for every input.

    Edge cases
    ----------
    The result combines standard deviations of clipped cells with correlations of clipped rows. It
    assumes that cells of two columns are missing independently. Columns that noise hides, or whose
    spread it may explain, as that of a constant, are NaN.

    Reference
    ---------
    Dwork, Talwar, Thakurta and Zhang 2014, Theorem 1.

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=20_000, seed=0)
    >>> result = tg.covariance(claims.features[:, :2], epsilon=1.0, delta=1e-6)
    >>> result.value.shape
    (2, 2)
    """
    return _matrix("private covariances", X, options, in_units=True)


@summary
def correlation(X: Any, **options: Unpack[RunOptions]) -> MatrixResult:
    """Estimate the correlation matrix of the columns privately, without bounds.

    Parameters
    ----------
    X
        Two or more columns of numbers: whatever ``tg.mean`` takes.
    options
        As for ``tg.quantile``. Pure differential privacy is refused.

    Guarantee
    ---------
    The result is private at the certificate's guarantee for replace-one neighbours with public
    ``n``, for every input.

    Edge cases
    ----------
    Long rows are clipped, farther out if there is less noise: correlations of clipped rows are
    often closer to zero, which ``noise_std`` does not count. The result assumes that cells of two
    columns are missing independently. Columns that noise hides, or whose spread it may explain, as
    that of a constant, are NaN.

    Reference
    ---------
    Dwork, Talwar, Thakurta and Zhang 2014, Theorem 1.

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=20_000, seed=0)
    >>> result = tg.correlation(claims.features[:, :2], epsilon=1.0, delta=1e-6)
    >>> float(result.value[0, 0])
    1.0
    """
    return _matrix("private correlations", X, options)


def _matrix(title: str, X: Any, options: RunOptions, *, in_units: bool = False) -> MatrixResult:
    """Release correlations or, with ``in_units``, covariances; NaN for columns that noise hides."""

    def make(table: SummaryTable) -> Statistics:
        columns = table.needs_numbers()
        if len(columns) < 2:
            raise InputError("X must have at least two columns of numbers; got one.")
        return Statistics(columns, moments=True, products=True)

    spread = "variance" if in_units else ""
    solved, solution, table = released(X, make, quantity="variance", spread=spread, **options)
    assert solution.moments is not None
    assert solution.correlation is not None
    assert solution.correlation_noise is not None
    withheld = solution.moments.unknown[0] | solution.moments.spread_unseen[0]
    unseen = solution.unseen | (withheld & in_units)
    hidden = unseen | unseen[:, None]
    std = solution.moments.std[0] if in_units else np.ones(len(hidden))
    value, noise = (
        np.where(hidden, np.nan, part * np.outer(std, std))
        for part in (solution.correlation, solution.correlation_noise)
    )
    names = tuple(table.numbers)
    return MatrixResult(solved=solved, title=title, names=names, value=value, noise_std=noise)
