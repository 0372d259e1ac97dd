"""How much more, or less, candidates lose than a first one: means of bounded differences.

Candidates are scores of the same records, as fits before and after a step, or a fit and a constant.
Differences record by record are far smaller than losses, so that a bound on them costs little.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Theorem 1 (sums with bounded terms); Liu and Talwar 2019
(private selection among candidates, which this does for a few at once).
"""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import check_positive
from tailguard.data.rows.base import Rows
from tailguard.data.rows.threads import one_blas_thread
from tailguard.losses.base import Loss
from tailguard.privacy.calibration import Calibration, Sensitivity
from tailguard.queries.base import GaussianQuery
from tailguard.queries.clipped_gradient import clipped_sum_sensitivity
from tailguard.queries.kernels.loss_differences import LossDifferenceSum
from tailguard.queries.view import View


@dataclass(frozen=True, eq=False)
class LossDifferences(GaussianQuery):
    """Means of ``clip(loss of a candidate - loss of the first, -limit, limit)``.

    The state is a matrix with the weights of one candidate a row, in standardised coordinates.

    Attributes
    ----------
    loss
        Whose values are compared.
    views
        How each candidate reads the records; bounds of features may differ.
    limit
        Beyond this a difference counts as this, in the units of the loss.

    Guarantee
    ---------
    Each of ``m`` differences over the limit lies in [-1, 1], for every input: replacing a record
    moves their sums by at most ``2 * sqrt(m)``, attained where all losses of one record are far
    above, and of its replacement far below, that of the first; plus the charged rounding.

    Edge cases
    ----------
    A void record adds nothing, nor does one whose losses are both infinite.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.queries.units import Units
    >>> view = View.plain(None, Units.raw(2, intercept=False))
    >>> LossDifferences(tg.losses.Squared(), (view, view), limit=2.0).sensitivity(1000, 2).ideal
    2.0
    """

    loss: Loss
    views: tuple[View, ...]
    limit: float

    name = "mean loss differences"
    places = "none"

    @property
    def size(self) -> int:
        """Number of differences."""
        return len(self.views) - 1

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of the stacked sums, in limits."""
        check_positive("limit", self.limit)
        return clipped_sum_sensitivity(math.sqrt(self.size), self.size, n_rows)

    def answer(self, rows: Rows, state: FloatArray, calibration: Calibration) -> IntArray:
        """Sum the differences at the weights ``state`` on the lattice."""
        nothing = np.zeros((self.views[0].height, 0))
        kernel = LossDifferenceSum(
            loss=self.loss,
            candidates=tuple(
                view.through(nothing).rows(weights)
                for view, weights in zip(self.views, state, strict=True)
            ),
            limit=self.limit,
            grid=calibration.grid,
        )
        with one_blas_thread():
            return rows.reduce(kernel)

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Return mean differences in the units of the loss."""
        return np.asarray(noised * (self.limit / n_rows))

    def noise_std(self, n_rows: int, n_features: int, mu: float) -> float:
        """Return the standard deviation of the noise of each difference; public numbers only."""
        return float(self.calibrate(n_rows, n_features, mu).noise_std * self.limit / n_rows)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"differences": self.size, "limit": self.limit}
