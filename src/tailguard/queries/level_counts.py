"""How many records have each level of the categorical columns that a schema declares.

All columns are counted in one release. That is all which must be known of an indicator: its size
is one, its centre zero, and its scale follows from the count.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); Dong, Roth and Su 2022, Theorem
2.7, for the joint release.
"""

import math
from dataclasses import dataclass

from tailguard.array_types import FloatArray, IntArray
from tailguard.data.rows.base import CHUNK_ROWS, Rows
from tailguard.noise.lattice import laplace_calibration
from tailguard.privacy.calibration import Calibration, Norm, Sensitivity
from tailguard.queries.base import GaussianQuery
from tailguard.queries.kernels.level_counts import LevelCount


@dataclass(frozen=True)
class LevelCounts(GaussianQuery):
    """Counts of baseline and levels, column by column; the state is not used.

    Attributes
    ----------
    indicators
        Of each categorical column the columns of its levels' indicators; the baseline has none.

    Guarantee
    ---------
    A record has one level, or the baseline, of each of the ``k`` columns, whatever numbers stand in
    the indicators, or it is counted nowhere: replacing it takes one from a count and adds one to
    another, in each column, which moves the vector by at most ``sqrt(2 * k)`` in l2 norm and
    ``2 * k`` in l1 norm. Counts are exact.

    Edge cases
    ----------
    A record with a non-finite value is counted nowhere.

    Examples
    --------
    >>> query = LevelCounts(((0, 1), (2,)))
    >>> query.sensitivity(n_rows=10, n_features=3).ideal, query.size
    (2.0, 5)
    """

    indicators: tuple[tuple[int, ...], ...]

    name = "counts of levels"
    places = "none"

    @property
    def size(self) -> int:
        """Number of counts."""
        return sum(len(columns) + 1 for columns in self.indicators)

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of all counts together."""
        return self._sensitivity(n_rows, "l2", math.sqrt(2 * len(self.indicators)))

    def calibrate_pure(self, n_rows: int, n_features: int, epsilon: float) -> Calibration:
        """Choose lattice and Laplace noise so that the release is ``epsilon``-DP."""
        move = 2.0 * len(self.indicators)
        return laplace_calibration(self._sensitivity(n_rows, "l1", move), epsilon)

    def _sensitivity(self, n_rows: int, norm: Norm, move: float) -> Sensitivity:
        return Sensitivity(
            norm=norm,
            ideal=move,
            computed=move,
            size=self.size,
            largest_partial=min(CHUNK_ROWS, n_rows),
            largest_total=n_rows,
            integer=True,
        )

    def answer(self, rows: Rows, state: None, calibration: Calibration) -> IntArray:
        """Count exactly, in lattice steps of ``1 / multiplier``."""
        kernel = LevelCount(indicators=self.indicators, multiplier=round(1.0 / calibration.grid))
        return rows.reduce(kernel)

    def by_column(self, counts: FloatArray) -> list[FloatArray]:
        """Return one vector of counts per categorical column, the baseline first."""
        columns, first = [], 0
        for some in self.indicators:
            columns.append(counts[first : first + len(some) + 1])
            first += len(some) + 1
        return columns

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"columns": len(self.indicators), "counts": self.size}
