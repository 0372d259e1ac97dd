"""Histograms of several columns at once: the cheapest way to estimate the scales of columns.

One release gives the scale of every column to within a bin, while a bisection needs one release per
step. With ``paired``, values are absolute differences of the records at places ``(2i, 2i + 1)`` of
a secret random order. So neither the column's location nor the order of a file matters.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); Dong, Roth and Su 2022, Theorem
2.7, for the joint release.
"""

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from tailguard.array_types import BoolArray, FloatArray, IntArray
from tailguard.checks import InputError
from tailguard.data.rows.base import RecordBlock, chunks_of, counted
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import GaussianQuery, Places, count_sensitivity
from tailguard.queries.bins import Bins

__all__ = ["Bins", "ColumnHistograms"]

# The center and the inverse scale of each column.
ColumnUnits = tuple[FloatArray, FloatArray]
Array = TypeVar("Array", FloatArray, BoolArray)


def cells_of(chunk: RecordBlock, columns: tuple[int, ...]) -> FloatArray:
    """Return the cells of some columns: ``0 .. d-1`` are features, ``d`` target, ``d + 1`` offset.

    The result may be the chunk's own array of features, not a copy.
    """
    width = chunk.features.shape[1]
    if columns == tuple(range(width)):
        return chunk.features.astype(np.float64, copy=False)
    extra = {width: "target", width + 1: "offset"}
    cells = np.empty((chunk.n_rows, len(columns)))
    for place, column in enumerate(columns):
        values = chunk.vector(extra[column]) if column in extra else chunk.features[:, column]
        cells[:, place] = values
    return cells


def pairs(values: Array) -> tuple[Array, Array]:
    """Return the first and the second members of all pairs; drop a last value without partner."""
    ends = len(values) // 2 * 2
    return values[:ends:2], values[1:ends:2]


@dataclass(frozen=True)
class ColumnHistograms(GaussianQuery):
    """For each column, the number of records (or random pairs) in each bin.

    The state is a pair of vectors, ``(center, inverse_scale)``, with one number per column.
    Differences are scaled and not centered. The answer has one row per column. Columns ``0 .. d-1``
    are the features, ``d`` is the target and ``d + 1`` the offset.

    Guarantee
    ---------
    A record lies in one bin of each of the ``k`` columns, or in none. Replacing it takes one count
    from a bin and adds one to another, in each column. This moves the vector by at most
    ``sqrt(2 * k)`` in l2 norm and ``2 * k`` in l1 norm. In any order, a record is in at most one
    pair, so the same holds for pairs. Counts are exact.

    Edge cases
    ----------
    A record with a non-finite value is counted nowhere, nor is a pair with such a member.

    Examples
    --------
    >>> query = ColumnHistograms((0, 1), Bins("octaves", -20.0, 1.0, 40))
    >>> query.sensitivity(n_rows=10, n_features=2).ideal
    2.0
    """

    columns: tuple[int, ...]
    bins: Bins
    paired: bool = False

    takes_weights = True
    takes_persons = True

    @property
    def name(self) -> str:
        """The release's name in the books."""
        return f"histograms of {'pair differences' if self.paired else 'values'}"

    @property
    def places(self) -> Places:
        """``"random"`` if records are paired, else ``"none"``."""
        return "random" if self.paired else "none"

    @property
    def n_counts(self) -> int:
        """Number of counts: one per column and bin, column by column."""
        return len(self.columns) * self.bins.count

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of all counts together."""
        return count_sensitivity(math.sqrt(2 * len(self.columns)), self.n_counts, n_rows)

    def pure_sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far the counts move in l1 norm."""
        return count_sensitivity(2.0 * len(self.columns), self.n_counts, n_rows, norm="l1")

    def read_state(self, state: ColumnUnits) -> ColumnUnits:
        """Return center and inverse scale; refuse anything but one finite number per column."""
        center, inverse_scale = [np.array(part, dtype=np.float64) for part in state]
        for name, numbers in (("center", center), ("inverse_scale", inverse_scale)):
            if numbers.shape != (len(self.columns),) or not np.isfinite(numbers).all():
                raise InputError(f"{name} must have one finite number per column.")
        return center, inverse_scale

    def sum_block(self, block: RecordBlock, state: ColumnUnits, grid: float) -> IntArray:
        """Count records exactly, or their weights in lattice steps.

        A lattice step is one over a whole number. A value that overflows falls into an outermost
        bin. Void records are counted in an extra place, which is dropped, so that the running time
        does not depend on them. The weight of a pair is the smaller weight of its members.
        """
        (center, inverse_scale), n_counts = state, self.n_counts
        counts = np.zeros(n_counts, dtype=np.int64)
        first_bin = np.arange(len(self.columns)) * self.bins.count
        for chunk in chunks_of(block):
            values, void, weight = cells_of(chunk, self.columns), chunk.void(), chunk.weight
            if self.paired:
                values = np.abs(np.subtract(*pairs(values)))
                void = np.logical_or(*pairs(void))
                weight = None if weight is None else np.minimum(*pairs(weight))
            else:
                values = values - center
            values *= inverse_scale
            places = self.bins.index(values)
            places += first_bin
            places = np.where(void[:, None], n_counts, places)
            counts += counted(places, n_counts, grid, weight)
        return counts

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Return one row of counts per column."""
        return np.reshape(noised, (len(self.columns), self.bins.count))

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {
            "columns": len(self.columns),
            "bins": self.bins.count,
            "paired": str(self.paired).lower(),
        }
