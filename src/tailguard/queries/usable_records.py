"""Count usable records, add up their weights, and count the kinds of cells in each column.

Unusable records are void: they add nothing to any other answer. So a fit of a table of words would
waste its whole budget. At a small cost :class:`UsableRecords` shows whether most records can be
used, and :class:`CellKinds` shows which column is to blame. Only ``CellKinds`` reads cells of void
records. Weighted means are divided by the total weight of usable records.

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
from tailguard.queries.base import SumQuery, count_sensitivity

KINDS = 3  # numbers, empty cells, anything else


@dataclass(frozen=True)
class UsableRecords(SumQuery):
    """The number of usable records: those that are not void and have a valid target.

    Attributes
    ----------
    any_cell
        Whether one number among its features makes a record usable, as in summaries by column.

    Guarantee
    ---------
    A record is counted once or not at all, and only its own cells decide which. So replacing a
    record moves the count by at most 1. The count is an exact integer: nothing is charged for
    rounding. Weights do not matter, except that a missing or negative weight makes its record void.

    Examples
    --------
    >>> UsableRecords().sensitivity(n_rows=100, n_features=4).ideal
    1.0
    """

    any_cell: bool = False

    name = "number of usable records"

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of one count."""
        return count_sensitivity(1.0, 1, n_rows)

    def sum_block(self, block: RecordBlock, state: Any, grid: float) -> IntArray:
        """Count exactly; a person counts by the share of her usable rows, in whole steps."""
        total = 0
        for chunk in chunks_of(block):
            readable = ~chunk.void()
            if self.any_cell:  # a void weight makes the target of its record NaN
                has_number = np.isfinite(chunk.features).any(axis=1)
                readable = np.asarray(has_number & np.isfinite(chunk.vector("target")))
            total += int(whole_steps(chunk.share, chunk.n_rows, grid) @ readable)
        return np.array([total], dtype=np.int64)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"counts": 1}


@dataclass(frozen=True)
class WeightTotals(SumQuery):
    """Sums of the weights of usable records and of their squares, in units of the weight's bound.

    Attributes
    ----------
    squares
        Whether the sum of squares is released as well.

    Guarantee
    ---------
    A record adds ``(w, w**2)`` with ``w`` in [0, 1], each rounded down to whole steps. A void
    record adds nothing. So a replaced record moves either sum by at most 1, and both by at most
    ``sqrt(2)`` in l2 norm. Weights 0 and 1 attain these bounds. Nothing is charged for rounding.

    Edge cases
    ----------
    Without weights each record has weight one. A person's weight is the sum of the weights of her
    usable rows, cut to one.

    Examples
    --------
    >>> round(WeightTotals().sensitivity(n_rows=100, n_features=4).ideal, 6)
    1.414214
    """

    squares: bool = True

    name = "total weight of usable records"

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of all sums together."""
        return count_sensitivity(math.sqrt(self._sums), self._sums, n_rows)

    @property
    def _sums(self) -> int:
        return 1 + self.squares

    def sum_block(self, block: RecordBlock, state: Any, grid: float) -> IntArray:
        """Add up whole steps; the sums are exact."""
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
        """Return the released total: at least ``noise_std`` and 1, at most ``n_rows``."""
        return min(max(float(answer[0]), noise_std, 1.0), float(n_rows))

    @classmethod
    def totals(cls, answer: FloatArray, noise_std: float, n_rows: int) -> tuple[float, float]:
        """Return both released sums, cut to possible values."""
        total = cls.total(answer, noise_std, n_rows)
        # Squares of n weights in [0, 1] sum to at most the total, and at least its square over n.
        return total, min(max(float(answer[1]), total**2 / n_rows), total)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"sums": self._sums}


@dataclass(frozen=True)
class CellKinds(SumQuery):
    """Per column, how many cells are numbers, are empty, or hold anything else.

    The columns are the features of the table, then its target, offset and weight if it has them. A
    usable cell counts as a number: a valid target, a declared label, a positive exposure, or a
    declared level. The answer has one row per column.

    Guarantee
    ---------
    Each cell has one kind, which depends only on that cell and on public declarations. In each of
    the ``k`` columns, replacing a record takes one from a count and adds one to another. This moves
    the vector by at most ``sqrt(2 * k)`` in l2 norm. Counts are exact integers.

    Edge cases
    ----------
    Void records are counted too, since the counts show which cells make records void.

    Examples
    --------
    >>> CellKinds(n_columns=8).sensitivity(n_rows=100, n_features=7).ideal
    4.0
    """

    n_columns: int

    reads_cells = True
    name = "kinds of cells by column"

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of all counts together."""
        return count_sensitivity(math.sqrt(2.0 * self.n_columns), KINDS * self.n_columns, n_rows)

    def sum_block(self, block: RecordBlock, state: Any, grid: float) -> IntArray:
        """Count marks of cells; the block holds finite, NaN or infinite marks instead of cells."""
        total = np.zeros((self.n_columns, KINDS), dtype=np.int64)
        for chunk in chunks_of(block):
            optional = (chunk.target, chunk.offset, chunk.weight)
            vectors = (vector[:, None] for vector in optional if vector is not None)
            steps = whole_steps(chunk.share, chunk.n_rows, grid)
            counts = np.concatenate([_counts(part, steps) for part in (chunk.features, *vectors)])
            require(
                len(counts) == self.n_columns,
                f"n_columns must be {len(counts)}, as in the records; got {self.n_columns}.",
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
    """Return one row of counts per column, in lattice steps."""
    finite, empty = np.isfinite(marks), np.isnan(marks)
    kinds = (finite, empty, ~(finite | empty))
    return np.stack([steps @ kind for kind in kinds], axis=1)


def _in_steps(weight: FloatArray, steps: int) -> IntArray:
    """Return the sums of weights and of their squares, each rounded down to whole steps."""
    rounded = np.floor(np.array([weight, weight * weight]) * steps)
    return rounded.astype(np.int64).sum(axis=1)
