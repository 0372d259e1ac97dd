"""The number of records whose gradient norm is at most a threshold.

One record moves this count by at most 1. A search for a private clip level uses such counts.

Reference
---------
Andrew, Thakkar, McMahan and Ramaswamy 2021, Section 2 (clip levels from private quantiles of
gradient norms).
"""

from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError
from tailguard.data.rows.base import RecordBlock, chunks_of, whole_steps
from tailguard.losses.base import Loss, RecordLoss
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import GaussianQuery, count_sensitivity
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.clipping import clip_rows
from tailguard.queries.record_gradient import record_gradients
from tailguard.queries.units import Units


@dataclass(frozen=True, eq=False)
class CountNormsBelow(GaussianQuery):
    """Number of records whose gradient at fixed ``weights`` has norm at most a threshold.

    The state is an array that holds the threshold.

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
    takes_persons = True

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of the count."""
        return count_sensitivity(1.0, 1, n_rows)

    def read_state(self, state: FloatArray) -> float:
        """Return the threshold; refuse anything but one number."""
        threshold = float(np.array(state, dtype=np.float64).reshape(1)[0])
        if np.isnan(threshold):
            raise InputError("threshold must be a number; got nan.")
        return threshold

    def sum_block(self, block: RecordBlock, state: float, grid: float) -> IntArray:
        """Count exactly, in whole steps; a person counts by the shares of her rows.

        The norm is that of the gradient before any clip. Void records are not counted. Any other
        gradient that a mean would take as zero, such as one that is not finite, has norm zero.
        """
        count = 0
        if isinstance(self.loss, RecordLoss):
            size = self.loss.size(block.features.shape[1])
            for chunk in chunks_of(block):
                gradient = self.loss.record_gradient
                gradients, used = record_gradients(gradient, self.weights, size, chunk)
                norms = clip_rows(gradients, np.inf)  # clips nothing
                below = (norms <= state) & used
                count += int(whole_steps(chunk.weight, len(below), grid) @ below)
        else:
            units = Units.raw(block.features.shape[1], intercept=self.intercept)
            query = MeanClippedGradient(self.loss, units)
            for scored in units.score(block, self.weights):
                below = (np.abs(query.sizes(scored)) <= state) & ~scored.void
                count += int(whole_steps(scored.weight, len(below), grid) @ below)
        return np.array([count], dtype=np.int64)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"counts": 1}
