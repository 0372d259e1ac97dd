"""Histograms of several columns at once: the cheapest way to units, whatever they are.

One release tells the scale of every column to within a bin, where a bisection needs one release per
step. With ``paired`` the counted value is the absolute difference of the records in the places
``(2i, 2i + 1)`` of a secret random order, which does not depend on the column's location, nor on
how a file is sorted.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); Dong, Roth and Su 2022, Theorem
2.7, for the joint release.
"""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.data.rows.base import CHUNK_ROWS, Rows
from tailguard.noise.lattice import laplace_calibration
from tailguard.privacy.calibration import Calibration, Norm, Sensitivity
from tailguard.queries.base import GaussianQuery, Places
from tailguard.queries.kernels.bins import Bins
from tailguard.queries.kernels.column_histograms import ColumnHistogramCount

__all__ = ["Bins", "ColumnHistograms"]


@dataclass(frozen=True)
class ColumnHistograms(GaussianQuery):
    """Per column, how many records (or random pairs) fall into each bin.

    The state is a pair of vectors, ``(center, inverse_scale)``, one number per column; differences
    are scaled only. The answer has one row per column. Columns ``0 .. d-1`` are the features, ``d``
    is the target and ``d + 1`` the offset.

    Guarantee
    ---------
    A record lies in one bin of each of the ``k`` columns, or in none: replacing it takes one count
    from a bin and adds one to another, in each column, which moves the vector by at most
    ``sqrt(2 * k)`` in l2 norm and ``2 * k`` in l1 norm. In whatever order records come, each is in
    one pair at most, so the same holds for pairs. Counts are exact.

    Edge cases
    ----------
    A record with a non-finite value is counted nowhere; so is a pair with such a member.

    Examples
    --------
    >>> query = ColumnHistograms((0, 1), Bins("octaves", -20.0, 1.0, 40))
    >>> query.sensitivity(n_rows=10, n_features=2).ideal
    2.0
    """

    columns: tuple[int, ...]
    bins: Bins
    paired: bool = False

    @property
    def name(self) -> str:
        """The release's name in the books."""
        return f"histograms of {'pair differences' if self.paired else 'values'}"

    @property
    def places(self) -> Places:
        """Random ones where records are paired, else none."""
        return "random" if self.paired else "none"

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of all counts together."""
        return self._sensitivity(n_rows, "l2", math.sqrt(2 * len(self.columns)))

    def calibrate_pure(self, n_rows: int, n_features: int, epsilon: float) -> Calibration:
        """Choose lattice and Laplace noise so that the release is ``epsilon``-DP."""
        move = 2.0 * len(self.columns)
        return laplace_calibration(self._sensitivity(n_rows, "l1", move), epsilon)

    def _sensitivity(self, n_rows: int, norm: Norm, move: float) -> Sensitivity:
        return Sensitivity(
            norm=norm,
            ideal=move,
            computed=move,
            size=len(self.columns) * self.bins.count,
            largest_partial=min(CHUNK_ROWS, n_rows),
            largest_total=n_rows,
            integer=True,
        )

    def answer(
        self, rows: Rows, state: tuple[FloatArray, FloatArray], calibration: Calibration
    ) -> IntArray:
        """Count exactly, in lattice steps of ``1 / multiplier``."""
        center, inverse_scale = state
        kernel = ColumnHistogramCount(
            bins=self.bins,
            columns=self.columns,
            center=center,
            inverse_scale=inverse_scale,
            paired=self.paired,
            multiplier=round(1.0 / calibration.grid),
        )
        return rows.reduce(kernel)

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
