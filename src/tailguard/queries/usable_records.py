"""Count usable records, add up their weights, and count the kinds of cells in each column.

Records that cannot be used are void: they add nothing to any other answer, so a fit of a table of
words would spend its whole budget on nothing. At a small cost one count shows whether most records
can be used, and another which column is to blame. The latter is the only query that reads cells of
void records. Weighted means are divided by the total weight of usable records.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms, and sums of bounded terms); Dong,
Roth and Su 2022, Theorem 2.7 (Gaussian mechanism); Kish 1965, Section 8.2 (the effective number of
records: the squared sum of weights over the sum of their squares).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailguard.array_types import Features, FloatArray, IntArray
from tailguard.checks import require
from tailguard.data.rows.base import RecordBlock, chunks_of, whole_steps
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import GaussianQuery, count_sensitivity

KINDS = 3  # numbers, empty cells, anything else


@dataclass(frozen=True)
class UsableRecords(GaussianQuery):
    """The number of records that can be used: not void, with a valid target.

    Attributes
    ----------
    any_cell
        Whether a record can be used if any of its features is a number, as in summaries by column.

    Guarantee
    ---------
    A record is counted once or not at all, by what it holds itself, so replacing one moves the
    count by at most 1. The count is an exact integer: nothing is charged for rounding. Weights do
    not matter, except that a missing or negative one makes its record void.

    Examples
    --------
    >>> UsableRecords().sensitivity(n_rows=100, n_features=4).ideal
    1.0
    """

    any_cell: bool = False

    name = "number of usable records"
    places = "none"
    takes_weights = True
    takes_persons = True

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of one count."""
        return count_sensitivity(1.0, 1, n_rows)

    def sum_block(self, block: RecordBlock, state: Any, grid: float) -> IntArray:
        """Count exactly; a person counts by the share of her usable rows, in whole steps."""
        total = 0
        for chunk in chunks_of(block):
            readable = ~chunk.void()
            if self.any_cell:  # a void weight makes the target of its record NaN
                some = np.isfinite(chunk.features).any(axis=1)
                readable = np.asarray(some & np.isfinite(chunk.vector("target")))
            total += int(whole_steps(chunk.share, chunk.n_rows, grid) @ readable)
        return np.array([total], dtype=np.int64)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"counts": 1}


@dataclass(frozen=True)
class WeightTotals(GaussianQuery):
    """The sum of the weights of usable records, and of their squares, in units of the bound.

    Attributes
    ----------
    squares
        Whether the sum of squares is released as well.

    Guarantee
    ---------
    A record adds ``(w, w**2)`` with ``w`` in [0, 1], each rounded down to whole steps, or nothing
    if it is void. Any two of these differ by at most 1 in either sum: replacing a record moves them
    by at most ``sqrt(2)``, and the first alone by at most 1, both attained by weights 0 and 1.
    Nothing is charged for rounding.

    Edge cases
    ----------
    Without weights each record counts as one. A person's weight is the sum of the weights of her
    usable rows, at most one.

    Examples
    --------
    >>> round(WeightTotals().sensitivity(n_rows=100, n_features=4).ideal, 6)
    1.414214
    """

    squares: bool = True

    name = "total weight of usable records"
    places = "none"
    takes_weights = True
    takes_persons = True

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of all sums together."""
        return count_sensitivity(math.sqrt(self._sums), self._sums, n_rows)

    @property
    def _sums(self) -> int:
        return 1 + self.squares

    def sum_block(self, block: RecordBlock, state: Any, grid: float) -> IntArray:
        """Add up whole steps, which is exact."""
        steps, total = round(1.0 / grid), np.zeros(2, dtype=np.int64)
        if block.person is not None and block.n_rows:
            assert block.weight is not None
            weight = np.bincount(block.person, np.where(block.void(), 0.0, block.weight))
            return (total + _in_steps(np.minimum(weight, 1.0), steps))[: self._sums]
        for chunk in chunks_of(block):
            own = np.ones(chunk.n_rows) if chunk.weight is None else chunk.weight
            total += _in_steps(np.where(chunk.void(), 0.0, own), steps)
        return total[: self._sums]

    @staticmethod
    def total(answer: FloatArray, noise_std: float, n_rows: int) -> float:
        """Return the released total: at least its noise, and at least one full weight."""
        return min(max(float(answer[0]), noise_std, 1.0), float(n_rows))

    @classmethod
    def totals(cls, answer: FloatArray, noise_std: float, n_rows: int) -> tuple[float, float]:
        """Return both released sums, cut to values that weights can have."""
        total = cls.total(answer, noise_std, n_rows)
        # Squares of n weights in [0, 1] sum to at most the total, and at least its square over n.
        return total, min(max(float(answer[1]), total**2 / n_rows), total)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"sums": self._sums}


@dataclass(frozen=True)
class CellKinds(GaussianQuery):
    """Per column, how many cells are numbers, empty, or anything else.

    Columns are those of the table: its features, and the target, offset and weight if it has them.
    A number is a cell that can be used: a valid target, a declared label, a positive
    exposure, a level of a column of declared levels. The answer has one row per column.

    Guarantee
    ---------
    Each cell of a record is of one kind, which that cell and public declarations decide. Replacing
    a record takes one from one count of each of the ``k`` columns and adds one to another, which
    moves the vector by at most ``sqrt(2 * k)`` in l2 norm. Counts are exact integers.

    Edge cases
    ----------
    Void records are counted too, since the counts are to show which cells make records void.

    Examples
    --------
    >>> CellKinds(n_columns=8).sensitivity(n_rows=100, n_features=7).ideal
    4.0
    """

    n_columns: int

    reads_cells = True
    name = "kinds of cells by column"
    places = "none"
    takes_weights = True
    takes_persons = True

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of all counts together."""
        return count_sensitivity(math.sqrt(2.0 * self.n_columns), KINDS * self.n_columns, n_rows)

    def sum_block(self, block: RecordBlock, state: Any, grid: float) -> IntArray:
        """Count the marks of cells, which replace their numbers: finite, NaN, infinite."""
        total = np.zeros((self.n_columns, KINDS), dtype=np.int64)
        for chunk in chunks_of(block):
            beside = (chunk.target, chunk.offset, chunk.weight)
            vectors = (v[:, None] for v in beside if v is not None)
            steps = whole_steps(chunk.share, chunk.n_rows, grid)
            counts = np.concatenate([_counts(part, steps) for part in (chunk.features, *vectors)])
            require(
                len(counts) == self.n_columns,
                f"n_columns must be that of the records, {len(counts)}; got {self.n_columns}.",
            )
            total += counts
        return total.ravel()

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Return one row of counts per column."""
        return np.reshape(noised, (self.n_columns, KINDS))

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"columns": self.n_columns, "kinds": KINDS}


def _counts(marks: Features | FloatArray, steps: IntArray) -> IntArray:
    """Return one row of counts per column, in steps."""
    finite, empty = np.isfinite(marks), np.isnan(marks)
    kinds = (finite, empty, ~(finite | empty))
    return np.stack([steps @ kind for kind in kinds], axis=1)


def _in_steps(weight: FloatArray, steps: int) -> IntArray:
    """Return the sums of weights and of their squares, each rounded down to whole steps."""
    down = np.floor(np.array([weight, weight * weight]) * steps)
    return np.asarray(down.astype(np.int64).sum(axis=1))
