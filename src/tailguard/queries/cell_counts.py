"""One count over the cells of several columns: what a scale shared by all of them is released with.

A quantile per column costs noise that grows with the root of the number of columns. Where the
columns are in comparable units, one quantile over all their cells serves, and it costs as much as
that of one column: a record moves the count by at most the number of columns ``k``, and the count
is ``k`` times as large.

Reference
---------
Smith 2011, Section 3 (private quantiles by noisy ranks); Dong, Roth and Su 2022, Theorem 2.7
(Gaussian mechanism).
"""

from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.kernels import counts as count_kernels
from tailguard.kernels.chunks import CHUNK_ROWS
from tailguard.privacy.events.calibration import Calibration, Sensitivity
from tailguard.queries.base import GaussianQuery
from tailguard.rows.base import Rows

__all__ = ["CountCellsBelow"]


@dataclass(frozen=True)
class CountCellsBelow(GaussianQuery):
    """The number of cells of all columns together (or of random pairs) at or below one threshold.

    The state is a vector of one threshold. Columns are numbered as in ``CountBelow``.

    Guarantee
    ---------
    Replacing one record changes one cell, or one pair in whatever order records come, of each of
    the ``k`` columns, so the count moves by at most ``k``. Counts are exact integers: nothing is
    charged for rounding.

    Edge cases
    ----------
    As for ``CountBelow``: a record with a non-finite value is counted nowhere.

    Examples
    --------
    >>> CountCellsBelow(columns=(0, 1, 2, 3)).sensitivity(n_rows=10, n_features=4).ideal
    4.0
    """

    columns: tuple[int, ...]
    paired: bool = False

    @property
    def name(self) -> str:
        """The release's name in the books."""
        what = "pair differences" if self.paired else "values"
        return f"count of {what} of all columns below a threshold"

    @property
    def random_order(self) -> bool:
        """Whether records are paired, by their places in the order that they come in."""
        return self.paired

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of the count."""
        width = float(len(self.columns))
        return Sensitivity(
            norm="l2",
            ideal=width,
            computed=width,
            size=1,
            largest_partial=width * min(CHUNK_ROWS, n_rows),
            largest_total=width * n_rows,
            integer=True,
        )

    def answer(self, rows: Rows, state: FloatArray, calibration: Calibration) -> IntArray:
        """Count exactly, in lattice steps of ``1 / multiplier``."""
        kernel = count_kernels.BelowCount(
            thresholds=np.full(len(self.columns), state[0]),
            columns=self.columns,
            paired=self.paired,
            multiplier=round(1.0 / calibration.grid),
        )
        total: IntArray = rows.reduce(kernel).sum(keepdims=True)
        return total

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"columns": len(self.columns), "paired": str(self.paired).lower()}
