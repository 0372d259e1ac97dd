"""Exact histograms of several columns over the same bins, in one pass."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError, check_integer
from tailguard.data.rows.base import Kernel, RecordBlock, Together, chunks_of
from tailguard.queries.kernels.bins import Bins
from tailguard.queries.kernels.steady import steady


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnHistogramCount(Kernel):
    """Per column, how many records have ``(value - center) * inverse_scale`` in each bin.

    Columns ``0 .. d-1`` are the features, ``d`` the target, ``d + 1`` the offset. With ``paired``
    the absolute differences of records ``(2i, 2i + 1)`` are counted instead of values.

    Guarantee
    ---------
    A record (or pair) adds ``multiplier`` to one bin of each column, or nothing at all.

    Edge cases
    ----------
    A void record is counted nowhere, nor is a pair with a void member or a last record without a
    partner. A value that overflows falls into an outermost bin.
    """

    bins: Bins
    columns: Sequence[int]
    center: ArrayLike
    inverse_scale: ArrayLike
    paired: bool
    multiplier: int

    def __post_init__(self) -> None:
        check_integer("multiplier", self.multiplier, minimum=1)
        for name in ("center", "inverse_scale"):
            numbers = np.array(getattr(self, name), dtype=np.float64)
            if numbers.shape != (len(self.columns),) or not np.isfinite(numbers).all():
                raise InputError(f"{name} must have one finite number per column.")
            object.__setattr__(self, name, numbers)

    @property
    def size(self) -> int:
        """Number of counts: one per column and bin, column by column."""
        return len(self.columns) * self.bins.count

    @property
    def together(self) -> Together:
        """Two records where pairs are counted, else none."""
        return "some" if self.paired else "none"

    @steady
    def sum_block(self, block: RecordBlock) -> IntArray:
        """Count the records of one block."""
        counts = np.zeros(self.size, dtype=np.int64)
        first_bin = np.arange(len(self.columns)) * self.bins.count
        for chunk in chunks_of(block):
            values, void = self._values(chunk)
            # What is void is counted in a place that is dropped: time does not tell how much it is.
            places = np.where(void[:, None], self.size, self.bins.index(values) + first_bin)
            counts += np.bincount(places.ravel(), minlength=self.size + 1)[: self.size]
        return counts * self.multiplier

    def _values(self, chunk: RecordBlock) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Return the counted numbers of one chunk, and which records or pairs are void."""
        extra = {chunk.features.shape[1]: "target", chunk.features.shape[1] + 1: "offset"}
        values = np.column_stack(
            [
                chunk.vector(extra[column]) if column in extra else chunk.features[:, column]
                for column in self.columns
            ]
        ).astype(np.float64)
        void = chunk.void()
        if self.paired:
            n_pairs = chunk.n_rows // 2
            values = np.abs(values[: 2 * n_pairs : 2] - values[1 : 2 * n_pairs : 2])
            void = void[: 2 * n_pairs : 2] | void[1 : 2 * n_pairs : 2]
        else:
            values = values - np.asarray(self.center)
        return np.asarray(values * np.asarray(self.inverse_scale)), void
