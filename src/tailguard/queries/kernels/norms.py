"""Histograms of magnitudes of records in given units, a chunk at a time, in plain NumPy."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import check_choice, check_integer
from tailguard.data.rows.base import Kernel, RecordBlock, Together, chunks_of
from tailguard.queries.kernels.bin_loops import count_below
from tailguard.queries.kernels.numpy_twin import LARGEST_FEATURE, directions
from tailguard.queries.kernels.steady import steady


@dataclass(frozen=True, eq=False, kw_only=True)
class RowModel:
    """Rows read as ``(x - center) * inverse_scale``."""

    center: FloatArray
    inverse_scale: FloatArray
    intercept = False


@dataclass(frozen=True, eq=False, kw_only=True)
class MagnitudeCount(RowModel, Kernel):
    """How many magnitudes lie in each cell ``(edges[i - 1], edges[i]]``, times a multiplier.

    The first cell starts at zero and one more has no end. Magnitudes are norms of rows, one a
    record, or the absolute entries of rows, ``d`` a record, or of the differences of records
    ``(2i, 2i + 1)``, ``d`` a pair.

    Guarantee
    ---------
    The counts of one record, or pair, are whole, not negative, and add up to ``multiplier`` for
    norms and to ``d * multiplier`` for entries; to zero for a void record or a pair with one.
    """

    edges: FloatArray
    of: Literal["norm", "entries", "differences"]
    multiplier: int

    def __post_init__(self) -> None:
        check_choice("of", self.of, ("norm", "entries", "differences"))
        check_integer("multiplier", self.multiplier, minimum=1)

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.edges) + 1

    @property
    def together(self) -> Together:
        """Two records where pairs are counted, else none."""
        return "some" if self.of == "differences" else "none"

    @steady
    def sum_block(self, block: RecordBlock) -> IntArray:
        """Count the magnitudes of one block."""
        if block.features.shape[1] != self.inverse_scale.size:  # NumPy would repeat one scale
            raise ValueError("a scale is needed for every column")
        counts = np.zeros(self.size, dtype=np.int64)
        for chunk in chunks_of(block):
            void = chunk.void()
            if self.of == "norm":
                magnitudes = directions(self, chunk, void)[1][:, None]
            elif self.of == "differences":
                ends, void = 2 * (chunk.n_rows // 2), void[1::2] | void[: len(void) - 1 : 2]
                rows = chunk.features.astype(np.float64)
                magnitudes = np.abs((rows[:ends:2] - rows[1:ends:2]) * self.inverse_scale)
            else:
                rows = chunk.features.astype(np.float64) - self.center
                magnitudes = np.abs(rows * self.inverse_scale)
            cells = count_below(self.edges, np.fmin(magnitudes, LARGEST_FEATURE))
            # What is void is counted in a cell that is dropped: time does not tell how much it is.
            cells = np.where(void[:, None], self.size, cells)
            counts += np.bincount(cells.ravel(), minlength=self.size + 1)[: self.size]
        return counts * self.multiplier
