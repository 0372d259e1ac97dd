"""Records or their gradients, all of them, for queries that need to sort or to solve.

Rows can only be asked for sums of integers. So every record writes the bits of its floats into
places of its own, and zeros elsewhere: the sum over all blocks is the whole matrix, bit by bit,
however the records are cut into blocks.
"""

from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.data.rows.base import Kernel, RecordBlock, Together
from tailguard.queries.kernels.clipped_gradient import ScoreModel
from tailguard.queries.kernels.coordinates import score_gradients
from tailguard.queries.kernels.steady import steady


def _placed(values: FloatArray, block: RecordBlock, n_rows: int) -> IntArray:
    """Return the bits of a block's rows among zeros for all others."""
    placed = np.zeros((n_rows, values.shape[1]), dtype=np.float64)
    placed[block.place : block.place + block.n_rows] = values
    return placed.view(np.int64).ravel()


@dataclass(frozen=True, eq=False, kw_only=True)
class GatheredGradients(ScoreModel, Kernel):
    """The gradient ``slope * row`` of every record, each entry finite; zeros where void."""

    n_rows: int

    @property
    def size(self) -> int:
        """Number of integers, one for each float."""
        return self.n_rows * self.weights.size

    @property
    def together(self) -> Together:
        """All records."""
        return "all"

    @steady
    def sum_block(self, block: RecordBlock) -> IntArray:
        """Return the bits of the gradients of one block, in their places."""
        block.check_features(self.center.size)
        return _placed(score_gradients(self, block), block, self.n_rows)


@dataclass(frozen=True, kw_only=True)
class GatheredRecords(Kernel):
    """Features, then the target or 0, of every record; NaN throughout where void."""

    n_rows: int
    n_columns: int

    @property
    def size(self) -> int:
        """Number of integers, one for each float."""
        return self.n_rows * self.n_columns

    @property
    def together(self) -> Together:
        """All records."""
        return "all"

    @steady
    def sum_block(self, block: RecordBlock) -> IntArray:
        """Return the bits of the records of one block, in their places."""
        values = np.column_stack([block.features, block.vector("target")])
        values = np.where(block.void()[:, None], np.nan, values)
        return _placed(values.astype(np.float64, copy=False), block, self.n_rows)
