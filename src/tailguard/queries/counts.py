"""Counts of records below a threshold, for several columns in one release.

A bisection over thresholds finds private quantiles. With ``paired``, values are absolute
differences of the records at places ``(2i, 2i + 1)`` of a secret random order. So neither the
column's location nor the order of a file matters.

Reference
---------
Smith 2011, Section 3 (private quantiles by noisy ranks); Dong, Roth and Su 2022, Theorem 2.7
(Gaussian mechanism), for the joint release of ``k`` counts that one record moves by at most 1 each.
"""

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from tailguard.array_types import BoolArray, FloatArray, IntArray
from tailguard.checks import InputError
from tailguard.data.rows.base import RecordBlock, chunks_of
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import GaussianQuery, Places, count_sensitivity

Array = TypeVar("Array", FloatArray, BoolArray)


def cells_of(chunk: RecordBlock, columns: tuple[int, ...]) -> FloatArray:
    """Return the cells of some columns: ``0 .. d-1`` are features, ``d`` target, ``d + 1`` offset.

    The result may be the chunk's values array of features, not a copy.
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
class CountBelow(GaussianQuery):
    """Per column, the number of records (or random pairs) at or below a threshold.

    The state is one threshold per column. Columns ``0 .. d-1`` are the features, ``d`` is the
    target and ``d + 1`` the offset.

    Guarantee
    ---------
    Replacing one record moves each of the ``k`` counts by at most 1, so the vector by at most
    ``sqrt(k)`` in l2 norm and ``k`` in l1 norm. In any order, a record is in at most one pair, so
    the same holds for pairs. Counts are exact integers: nothing is charged for rounding.

    Edge cases
    ----------
    A record with a non-finite value is counted nowhere, nor is a pair with such a member. If the
    number of records is odd, the last record in the order has no partner and is not counted.

    Examples
    --------
    >>> CountBelow(columns=(0, 1, 2, 3)).sensitivity(n_rows=10, n_features=4).ideal
    2.0
    """

    columns: tuple[int, ...]
    paired: bool = False

    @property
    def name(self) -> str:
        """The release's name in the books."""
        counted = "pair differences" if self.paired else "values"
        return f"counts of {counted} below thresholds"

    @property
    def places(self) -> Places:
        """``"random"`` if records are paired, else ``"none"``."""
        return "random" if self.paired else "none"

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of the vector of counts."""
        return count_sensitivity(math.sqrt(len(self.columns)), len(self.columns), n_rows)

    def pure_sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far the counts move in l1 norm."""
        return count_sensitivity(len(self.columns), len(self.columns), n_rows, norm="l1")

    def read_state(self, state: FloatArray) -> FloatArray:
        """Return the thresholds; refuse anything but one number per column."""
        thresholds = np.array(state, dtype=np.float64)
        if thresholds.shape != (len(self.columns),) or np.isnan(thresholds).any():
            raise InputError(
                f"thresholds must be one number per column, {len(self.columns)}; got an array of "
                f"shape {thresholds.shape}, or nan."
            )
        return thresholds

    def sum_block(self, block: RecordBlock, state: FloatArray, grid: float) -> IntArray:
        """Count exactly, in lattice steps; a step is one over a whole number."""
        n_features = block.features.shape[1]
        vectors = enumerate((block.target, block.offset), start=n_features)
        optional = [column for column, vector in vectors if vector is not None]
        if not {*range(n_features), *optional}.issuperset(self.columns):
            raise InputError(
                f"columns must be among the {n_features} features and, if present, the target "
                f"({n_features}) and the offset ({n_features + 1}); got "
                f"{list(self.columns)}."
            )
        counts = np.zeros(len(self.columns), dtype=np.int64)
        for chunk in chunks_of(block):
            values, used = cells_of(chunk, self.columns), ~chunk.void()
            if self.paired:
                values = np.abs(np.subtract(*pairs(values)))
                used = np.logical_and(*pairs(used))
            counts += np.count_nonzero((values <= state) & used[:, None], axis=0)
        return counts * round(1.0 / grid)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"counts": len(self.columns), "paired": str(self.paired).lower()}
