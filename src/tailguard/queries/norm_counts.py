"""The number of records whose gradient norm lies below a threshold.

One count, of which one record moves at most 1: the building stone of a private clip level.

Reference
---------
Andrew, Thakkar, McMahan and Ramaswamy 2021, Section 2 (clip levels from private quantiles of
gradient norms).
"""

from dataclasses import dataclass

from tailguard.array_types import FloatArray, IntArray
from tailguard.data.rows.base import CHUNK_ROWS, Rows
from tailguard.losses.base import Loss, RecordLoss
from tailguard.privacy.calibration import Calibration, Sensitivity
from tailguard.queries.base import GaussianQuery
from tailguard.queries.kernels.record_gradient import GradientNormCount


@dataclass(frozen=True, eq=False)
class CountNormsBelow(GaussianQuery):
    """Number of records whose gradient at fixed ``weights`` has norm at most a threshold.

    The state is an array with the one threshold.

    Guarantee
    ---------
    Replacing one record moves the count by at most 1.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> CountNormsBelow(tg.losses.Squared(), np.zeros(3)).sensitivity(10, 3).ideal
    1.0
    """

    loss: Loss | RecordLoss
    weights: FloatArray
    intercept: bool = False

    name = "count of gradient norms below a threshold"
    places = "none"

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of the count."""
        chunk = float(min(CHUNK_ROWS, n_rows))
        return Sensitivity("l2", 1.0, 1.0, 1, chunk, float(n_rows), integer=True)

    def answer(self, rows: Rows, state: FloatArray, calibration: Calibration) -> IntArray:
        """Count exactly, in lattice steps of ``1 / multiplier``."""
        kernel = GradientNormCount(
            loss=self.loss,
            weights=self.weights,
            intercept=self.intercept,
            threshold=float(state[0]),
            multiplier=round(1.0 / calibration.grid),
        )
        return rows.reduce(kernel)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"counts": 1}
