"""The mean of clipped gradients of a loss of a score, in one pass over the records.

Each record contributes ``clip(slope) * row``. Public limits bound the row's norm and the slope, so
the norm of the contribution never exceeds ``norm_limit``, whatever the record holds. Replacing one
record moves the sum by at most ``2 * norm_limit``. The books also charge the float error of one
chunk and the rounding to the lattice.

Reference
---------
Zhao et al. 2024, Algorithm 2 and Theorem 2 (mean of l2-clipped vectors); Xu et al. 2025,
Algorithm 1. Here the clip works along a row's direction, so it also bounds rows near float limits.
"""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import check_positive
from tailguard.data.rows.base import RecordBlock, round_to_lattice, rounded_alone, shrink
from tailguard.losses.base import Loss
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import SumQuery, sum_sensitivity
from tailguard.queries.reading_loops import size_gradients
from tailguard.queries.units import Scored, Units


@dataclass(frozen=True)
class MeanClippedGradient(SumQuery):
    """Mean over the records of ``clip(slope) * row``; the state is the weight vector.

    Attributes
    ----------
    loss
        A loss of a score. None means slope 1, and gives the mean of the bounded rows.
    units
        The coordinate system in which rows and targets are read.
    row_limit, slope_limit, clip_norm
        Bounds on the row's norm, on the slope and on their product. Each may be infinite, but
        ``norm_limit = min(clip_norm, slope_limit * row_limit)`` must be finite.

    Guarantee
    ---------
    Replacing any record by any other moves the released sum by at most ``2 * norm_limit`` in l2
    norm, plus the charged rounding, under replace-one neighbours.

    Edge cases
    ----------
    A record with a non-finite value, an undeclared label or a slope that is not a number
    contributes zero and stays counted. A finite row that overflows in these units is cut in its
    direction.

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

    @property
    def norm_limit(self) -> float:
        """The largest norm of one record's contribution."""
        return min(self.clip_norm, self.slope_limit * self.row_limit)

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of the sum; see the module's docstring."""
        return sum_sensitivity(self.norm_limit, self.units.size, n_rows)

    def read_state(self, state: FloatArray) -> FloatArray:
        """Return the weights; refuse invalid bounds, and anything but one number per coordinate."""
        weights = self.units.weights(state)
        for name in ("row_limit", "slope_limit", "clip_norm"):
            check_positive(name, getattr(self, name), infinite=True)
        check_positive("min(clip_norm, slope_limit * row_limit)", self.norm_limit)
        return weights

    def sum_block(self, block: RecordBlock, state: FloatArray, grid: float) -> IntArray:
        """Sum the clipped gradients at the weights ``state`` on the lattice.

        The product of slope and norm is clipped, then multiplied by the row's direction. To divide
        the limit by the norm of a tiny row instead would overflow.
        """
        total = np.zeros(state.size, dtype=np.int64)
        for scored in self.units.score(block, state, self.row_limit):
            factors = np.clip(self.sizes(scored), -self.norm_limit, self.norm_limit)
            factors *= scored.inverse * shrink(state.size)
            if scored.weight is not None:
                factors *= scored.weight
            if block.alone:
                total += rounded_alone(factors[:, None] * scored.rows, grid)
            else:
                total += round_to_lattice(factors @ scored.rows, grid)
        return total

    def sizes(self, scored: Scored) -> FloatArray:
        """Return the signed length of each gradient along its row; zero for void records."""
        slope = (
            np.ones(len(scored.rows))
            if self.loss is None
            else self.loss.slope(scored.score, scored.target)
        )
        sizes = np.empty(len(scored.rows))
        slopes = np.ascontiguousarray(slope, dtype=np.float64)
        size_gradients()(slopes, scored.void, scored.radius, float(self.slope_limit), sizes)
        return sizes

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Divide the noised sum by the public number of records."""
        return noised / n_rows

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"norm_limit": self.norm_limit, "coordinates": self.units.size}
