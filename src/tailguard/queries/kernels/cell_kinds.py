"""Exact counts of the cells of each column by kind: numbers, empty cells, and anything else."""

from dataclasses import dataclass

import numpy as np

from tailguard.array_types import Features, FloatArray, IntArray
from tailguard.checks import check_integer, require
from tailguard.data.rows.base import Kernel, RecordBlock, Together, chunks_of
from tailguard.queries.kernels.steady import steady


@dataclass(frozen=True, eq=False, kw_only=True)
class CellKindCount(Kernel):
    """Per column, how many cells are numbers, empty or anything else, times a multiplier.

    Columns are the features, the target and the offset, as far as there are such. Rows hand this
    kernel marks of cells in the place of numbers: finite, NaN, or infinite.

    Guarantee
    ---------
    A record adds ``multiplier`` to one of the three counts of each column, whatever it holds.

    Edge cases
    ----------
    Cells of void records count: they are what is asked for.
    """

    n_columns: int
    multiplier: int

    reads_cells = True

    def __post_init__(self) -> None:
        check_integer("n_columns", self.n_columns, minimum=1)
        check_integer("multiplier", self.multiplier, minimum=1)

    @property
    def size(self) -> int:
        """Number of counts: three per column, column by column."""
        return 3 * self.n_columns

    @property
    def together(self) -> Together:
        """None: each record counts by itself."""
        return "none"

    @steady
    def sum_block(self, block: RecordBlock) -> IntArray:
        """Count the cells of one block."""
        total = np.zeros((self.n_columns, 3), dtype=np.int64)
        for chunk in chunks_of(block):
            vectors = (v[:, None] for v in (chunk.target, chunk.offset) if v is not None)
            counts = np.concatenate([_counts(part) for part in (chunk.features, *vectors)])
            require(
                len(counts) == self.n_columns,
                f"n_columns must be that of the records, {len(counts)}; got {self.n_columns}.",
            )
            total += counts
        return total.ravel() * self.multiplier


def _counts(marks: Features | FloatArray) -> IntArray:
    """Return one row of counts per column."""
    finite, empty = np.isfinite(marks), np.isnan(marks)
    kinds = (finite, empty, ~(finite | empty))
    return np.stack([np.count_nonzero(kind, axis=0) for kind in kinds], axis=1)
