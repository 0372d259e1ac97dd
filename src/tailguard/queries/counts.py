"""Counts of records below a threshold, for several columns in one release.

The building stone of private quantiles: a bisection over thresholds sees nothing but these noised
counts. With ``paired`` the counted value is the absolute difference of the records in two
neighbouring places ``(2i, 2i + 1)`` of a secret random order, which does not depend on the column's
location, nor on how a file is sorted.

Reference
---------
Smith 2011, Section 3 (private quantiles by noisy ranks); Dong, Roth and Su 2022, Theorem 2.7
(Gaussian mechanism) for the joint release of ``k`` counts, of which one record moves each by at
most 1.
"""

import math
from dataclasses import dataclass

from tailguard.array_types import FloatArray, IntArray
from tailguard.data.rows.base import CHUNK_ROWS, Rows
from tailguard.noise.lattice import laplace_calibration
from tailguard.privacy.calibration import Calibration, Norm, Sensitivity
from tailguard.queries.base import GaussianQuery, Places
from tailguard.queries.kernels import counts as count_kernels


@dataclass(frozen=True)
class CountBelow(GaussianQuery):
    """Per column, the number of records (or random pairs) at or below a threshold.

    The state is one threshold per column. Columns ``0 .. d-1`` are the features, ``d`` is the
    target and ``d + 1`` the offset.

    Guarantee
    ---------
    Replacing one record moves each of the ``k`` counts by at most 1, so the vector by at most
    ``sqrt(k)`` in l2 norm and ``k`` in l1 norm. In whatever order records come, each is in one pair
    at most, so the same holds for pairs. Counts are exact integers: nothing is charged for
    rounding.

    Edge cases
    ----------
    A record with a non-finite value is counted nowhere; so is a pair with such a member. With an
    odd number of records the last one of the order has no partner.

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
        what = "pair differences" if self.paired else "values"
        return f"counts of {what} below thresholds"

    @property
    def places(self) -> Places:
        """Random ones where records are paired, else none."""
        return "random" if self.paired else "none"

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of the vector of counts."""
        return self._sensitivity(n_rows, "l2", math.sqrt(len(self.columns)))

    def calibrate_pure(self, n_rows: int, n_features: int, epsilon: float) -> Calibration:
        """Choose lattice and Laplace noise so that the release is ``epsilon``-DP."""
        return laplace_calibration(self._sensitivity(n_rows, "l1", len(self.columns)), epsilon)

    def _sensitivity(self, n_rows: int, norm: Norm, move: float) -> Sensitivity:
        return Sensitivity(
            norm=norm,
            ideal=move,
            computed=move,
            size=len(self.columns),
            largest_partial=min(CHUNK_ROWS, n_rows),
            largest_total=n_rows,
            integer=True,
        )

    def answer(self, rows: Rows, state: FloatArray, calibration: Calibration) -> IntArray:
        """Count exactly, in lattice steps of ``1 / multiplier``."""
        kernel = count_kernels.BelowCount(
            thresholds=state,
            columns=self.columns,
            paired=self.paired,
            multiplier=round(1.0 / calibration.grid),
        )
        return rows.reduce(kernel)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"counts": len(self.columns), "paired": str(self.paired).lower()}
