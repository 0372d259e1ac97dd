"""One step of hard thresholding: the largest entries of a gradient step are released.

The vector is ``w - step_size * g`` with public ``w`` and the mean ``g`` of the gradients. If an
entry of a record's gradient exceeds ``threshold`` in magnitude, it counts as zero. So one record
moves each entry of ``g`` by at most ``2 * threshold / n_rows``. On the lattice ``g`` is an integer
vector. Its entries move by at most that over the grid, plus the float error of one chunk and
``1 + 2**-8``, as :mod:`tailguard.means.coordinate_wise` shows. Rounding ``w`` to the same lattice
reads no record, and the difference of the two is exact. A magnitude moves no more than its entry.

Reference
---------
Tao, Wu, Cheng and Wang 2022, Algorithms 4 and 5. The proof of their Theorem 10 misprints the
sensitivity; it is ``2 * threshold * step_size / n_rows``, as in their pseudo-code.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import check_integer, check_positive
from tailguard.data.rows.base import CHUNK_ROWS, RecordBlock, Rows, summation_slack
from tailguard.losses.base import Loss
from tailguard.noise.peeling import Peeling, PeelingCalibration
from tailguard.privacy.calibration import Calibration, Sensitivity
from tailguard.queries.base import GaussianQuery
from tailguard.queries.coordinates import CoordinateBound, bounded_group_sums
from tailguard.queries.loop import LatticeSum
from tailguard.queries.units import LARGEST_FEATURE, Units

LARGEST_STATE = 2.0**60  # in lattice steps; larger weights are cut to this


@dataclass(frozen=True)
class PeeledStep(GaussianQuery):
    """The ``n_nonzero`` largest entries of one gradient step, noised; the state is ``w``.

    If there is an intercept, its entry is the last. It is always released, in addition to the
    ``n_nonzero`` entries.

    Attributes
    ----------
    loss
        A loss of a score.
    units
        The coordinate system in which rows and targets are read.
    threshold
        The largest magnitude of an entry of a record's gradient; larger ones count as zero.
    step_size
        The factor of the mean gradient.
    n_nonzero
        The number of entries that are kept. If there are no more features than that, all entries
        are released, and nothing is spent on choosing.
    feature_limit
        Standardised features are cut to this magnitude, as in predictions from the result.

    Guarantee
    ---------
    Replacing any record by any other moves each entry by at most
    ``2 * threshold * step_size / n_rows``, plus the charged rounding, under replace-one neighbours.
    Calibrated with ``mu``, the release is ``mu**2 / 2``-zCDP: a mixture of exponential mechanisms
    and Gaussian noise, which the books list. Calibrated with ``epsilon``, it is ``epsilon``-DP.

    Edge cases
    ----------
    A record with a non-finite value contributes zero and stays counted.

    Reference
    ---------
    Tao, Wu, Cheng and Wang 2022, Algorithms 4 and 5.

    Examples
    --------
    >>> import tailguard as tg
    >>> step = PeeledStep(
    ...     tg.losses.Squared(), Units.raw(9, intercept=False), threshold=4.0, step_size=0.5,
    ...     n_nonzero=2,
    ... )
    >>> step.sensitivity(n_rows=1000, n_features=9).ideal
    0.004
    """

    loss: Loss | None
    units: Units
    threshold: float
    step_size: float
    n_nonzero: int
    feature_limit: float = LARGEST_FEATURE

    name = "largest entries of a gradient step"
    places = "none"
    takes_persons = True

    def __post_init__(self) -> None:
        check_positive("step_size", self.step_size)
        check_integer("n_nonzero", self.n_nonzero, minimum=1)
        check_positive("feature_limit", self.feature_limit)
        _ = self.bound  # refuses an invalid threshold, before anything is booked

    @property
    def bound(self) -> CoordinateBound:
        """The bound, which sets entries beyond ``threshold`` to zero."""
        return CoordinateBound("truncated", self.threshold)

    @property
    def n_selected(self) -> int:
        """Number of entries that are chosen by size."""
        return self.n_nonzero if self.n_nonzero < self.units.center.size else 0

    @property
    def n_free(self) -> int:
        """Number of entries that are released without a choice."""
        return int(self.units.intercept) if self.n_selected else self.units.size

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far each entry moves; see the module's proof."""
        limit = self.threshold * self.step_size
        return Sensitivity(
            norm="linf",
            ideal=2.0 * limit / n_rows,
            computed=(2.0 * limit + summation_slack(limit)) / n_rows,
            size=self.units.size,
            largest_partial=limit * min(1.0, CHUNK_ROWS / n_rows),
            largest_total=limit,
        )

    pure_sensitivity = sensitivity
    """With either noise, the cost of peeling depends on the largest move of an entry."""

    def calibrate(self, n_rows: int, n_features: int, mu: float) -> PeelingCalibration:
        """Choose lattice and noise so that the release is ``mu**2 / 2``-zCDP."""
        return self._calibrated("peeled-gaussian", self.sensitivity(n_rows, n_features), mu)

    def calibrate_pure(self, n_rows: int, n_features: int, epsilon: float) -> PeelingCalibration:
        """Choose lattice and Laplace noise so that the release is ``epsilon``-DP."""
        return self._calibrated("peeled-laplace", self.sensitivity(n_rows, n_features), epsilon)

    def with_roundings(
        self, calibration: Calibration, roundings: int, share: float
    ) -> PeelingCalibration:
        """Return the calibration for persons, whose rows are each rounded to the lattice."""
        sensitivity = replace(calibration.sensitivity, roundings=roundings)
        return self._calibrated(calibration.mechanism, sensitivity, share)

    def _calibrated(
        self, mechanism: str, sensitivity: Sensitivity, share: float
    ) -> PeelingCalibration:
        """Choose lattice and noise of the mechanism for a ``share`` of mu or epsilon."""
        return Peeling(mechanism).calibrate(
            sensitivity, share, n_selected=self.n_selected, n_free=self.n_free
        )

    def answer(self, rows: Rows, state: FloatArray, calibration: Calibration) -> IntArray:
        """Take one step from the weights ``state``, on the lattice."""
        weights, grid = self.read_state(state), calibration.grid
        loop = LatticeSum(self, (weights, rows.n_rows), grid / self.step_size, self.units.size)
        start = np.clip(np.rint(weights / grid), -LARGEST_STATE, LARGEST_STATE)
        return start.astype(np.int64) - rows.reduce(loop)

    def read_state(self, state: FloatArray) -> FloatArray:
        """Return the weights; refuse anything but one finite number per coordinate."""
        return self.units.weights(state)

    def sum_block(self, block: RecordBlock, state: Any, grid: float) -> IntArray:
        """Sum the bounded gradients of a block; the state is the weights and ``n_rows``."""
        weights, n_rows = state
        return bounded_group_sums(
            *(self.loss, self.units, self.bound, weights, block),
            n_rows=n_rows,
            n_groups=1,
            grid=grid,
            feature_limit=self.feature_limit,
        ).ravel()

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {
            "threshold": self.threshold,
            "step_size": self.step_size,
            "coordinates": self.units.size,
        }
