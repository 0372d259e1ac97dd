"""The mean of clipped gradients of a loss that is known one record at a time.

For users' own gradients and for losses of several scores. The function sees a copy of one record;
what it returns is clipped to ``clip_norm`` in l2 norm whatever it is, and an exception or a wrong
shape makes that record contribute zero.

Reference
---------
Abadi et al. 2016, Algorithm 1 (clipping per record); Zhao et al. 2024, Algorithm 2.
"""

from dataclasses import dataclass

from tailguard.array_types import FloatArray, IntArray
from tailguard.data.rows.base import Rows
from tailguard.losses.base import RecordLoss
from tailguard.privacy.calibration import Calibration, Sensitivity
from tailguard.queries.base import GaussianQuery
from tailguard.queries.clipped_gradient import clipped_sum_sensitivity
from tailguard.queries.kernels.record_gradient import RecordGradientSum


@dataclass(frozen=True)
class MeanRecordGradient(GaussianQuery):
    """Mean of l2-clipped gradients of a record loss; the state is the weight vector.

    Guarantee
    ---------
    Replacing any record by any other moves the released sum by at most ``2 * clip_norm`` in l2
    norm, plus the charged rounding, provided that the function keeps nothing between calls.

    Examples
    --------
    >>> import tailguard as tg
    >>> loss = tg.losses.RecordGradient(lambda w, x, y: (w @ x - y) * x)
    >>> MeanRecordGradient(loss, clip_norm=1.0).sensitivity(n_rows=10, n_features=2).ideal
    2.0
    """

    loss: RecordLoss
    clip_norm: float

    name = "sum of clipped record gradients"
    places = "none"

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of the sum; see the module's reference."""
        return clipped_sum_sensitivity(self.clip_norm, self.loss.size(n_features), n_rows)

    def answer(self, rows: Rows, state: FloatArray, calibration: Calibration) -> IntArray:
        """Sum the clipped gradients at the weights ``state`` on the lattice."""
        kernel = RecordGradientSum(
            gradient=self.loss.record_gradient,
            weights=state,
            n_coordinates=self.loss.size(rows.n_features),
            clip_norm=self.clip_norm,
            grid=calibration.grid,
        )
        return rows.reduce(kernel)

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Divide the noised sum by the public number of records."""
        return noised / n_rows

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"norm_limit": self.clip_norm}
