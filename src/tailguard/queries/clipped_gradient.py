"""The mean of clipped gradients of a loss of a score, in one pass over the records.

Each record contributes ``clip(slope) * row`` with the row's norm and the slope bounded by public
limits, so its norm never exceeds ``norm_limit``, whatever the record holds. Replacing one record
moves the sum by at most ``2 * norm_limit``; the books also charge the float error of one chunk and
the rounding to the lattice.

Reference
---------
Zhao et al. 2024, Algorithm 2 and Theorem 2 (mean of l2-clipped vectors); Xu et al. 2025,
Algorithm 1. The direction form of the clip bounds rows near the float limits as well.
"""

import math
from dataclasses import dataclass

from tailguard.array_types import FloatArray, IntArray
from tailguard.data.rows.base import CHUNK_ROWS, Rows, summation_slack
from tailguard.losses.base import Loss
from tailguard.privacy.calibration import Calibration, Sensitivity
from tailguard.queries.base import GaussianQuery
from tailguard.queries.kernels.clipped_gradient import ClippedGradientSum
from tailguard.queries.units import Units


def clipped_sum_sensitivity(norm_limit: float, size: int, n_rows: int) -> Sensitivity:
    """State the sensitivity of a chunk-wise sum of vectors of norm at most ``norm_limit``.

    Neighbours differ in one record, hence in one chunk: the float error of that chunk alone is
    charged on top of ``2 * norm_limit``.
    """
    ideal = 2.0 * norm_limit
    return Sensitivity(
        norm="l2",
        ideal=ideal,
        computed=ideal + summation_slack(norm_limit),
        size=size,
        largest_partial=min(CHUNK_ROWS, n_rows) * norm_limit,
        largest_total=n_rows * norm_limit,
    )


@dataclass(frozen=True)
class MeanClippedGradient(GaussianQuery):
    """Mean over the records of ``clip(slope) * row``; the state is the weight vector.

    Attributes
    ----------
    loss
        A loss of a score, or None for slope 1: the mean of the bounded rows themselves.
    units
        The coordinate system in which rows and targets are read.
    row_limit, slope_limit, clip_norm
        Bounds on the row's norm, on the slope and on their product. Any may be infinite as long as
        ``norm_limit = min(clip_norm, slope_limit * row_limit)`` is finite.

    Guarantee
    ---------
    Replacing any record by any other moves the released sum by at most ``2 * norm_limit`` in l2
    norm, plus the charged rounding, under replace-one neighbours.

    Edge cases
    ----------
    A record with a non-finite value, an undeclared label or a slope that is not a number
    contributes zero and stays counted. A finite row that overflows in these units is bounded in
    its direction.

    Examples
    --------
    >>> import tailguard as tg
    >>> query = MeanClippedGradient(
    ...     tg.losses.Squared(), Units.raw(2, intercept=False), row_limit=3.0, slope_limit=2.0
    ... )
    >>> query.sensitivity(n_rows=1000, n_features=2).ideal
    12.0
    """

    loss: Loss | None
    units: Units
    row_limit: float = math.inf
    slope_limit: float = math.inf
    clip_norm: float = math.inf

    name = "sum of clipped gradients"
    places = "none"

    @classmethod
    def wide(cls, reach: float) -> dict[str, float]:
        """Return parameters with which hardly anything within ``reach`` of zero is cut."""
        return {"clip_norm": reach}

    @property
    def norm_limit(self) -> float:
        """The largest norm of one record's contribution."""
        return min(self.clip_norm, self.slope_limit * self.row_limit)

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of the sum; see the module's reference."""
        return clipped_sum_sensitivity(self.norm_limit, self.units.size, n_rows)

    def answer(self, rows: Rows, state: FloatArray, calibration: Calibration) -> IntArray:
        """Sum the clipped gradients at the weights ``state`` on the lattice."""
        kernel = ClippedGradientSum(
            weights=state,
            **self.units.for_kernels(),
            loss=self.loss,
            row_limit=self.row_limit,
            slope_limit=self.slope_limit,
            clip_norm=self.clip_norm,
            grid=calibration.grid,
        )
        return rows.reduce(kernel)

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Divide the noised sum by the public number of records."""
        return noised / n_rows

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"norm_limit": self.norm_limit, "coordinates": self.units.size}
