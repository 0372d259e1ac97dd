"""Printed algorithms that are not private: their noise depends on a scale that is not smooth.

Reference
---------
Wang, Xiao, Devadas and Xu 2020, Algorithms 1 and 2.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.means.magnitude_distribution import MagnitudeDistribution
from tailguard.means.trimmed import NOISE_OVER_SCALE, TrimmedMean, published_constants
from tailguard.privacy.calibration import FLOAT_MARGIN, SmoothCalibration
from tailguard.privacy.events import Event
from tailguard.queries.sample_aggregate import (
    SampleAggregate,
    changes_until_all,
    first_ball,
    least_scale,
)
from tailguard.queries.units import LARGEST_FEATURE

# One value in 20 is trimmed at either end: the 5 percent of the paper's experiments, as its printed
# constants do not determine the number.
VALUES_PER_TRIMMED = 20


def as_printed(public: SmoothCalibration, largest_scale: float) -> SmoothCalibration:
    """Return a calibration whose cost is unknown, for scales up to ``largest_scale``."""
    ceiling = largest_scale * (1.0 + FLOAT_MARGIN)
    return replace(public, calibration="printed", scale_ceiling=ceiling)


@dataclass(frozen=True)
class PrintedTrimmedMean(TrimmedMean):
    """The trimmed mean with the scale of Algorithm 2, and one value in 20 trimmed at either end.

    Guarantee
    ---------
    None: the scale reveals a single record.
    """

    calibration: str = "published"

    def calibrate_event(self, n_rows: int, n_features: int, event: Event) -> SmoothCalibration:
        """Take the printed constants; the only limit on scales is that of features."""
        public = super().calibrate_event(n_rows, n_features, event)
        return as_printed(public, 2.0 * LARGEST_FEATURE)

    def _constants(self, n_rows: int, rho: float) -> tuple[float, float]:
        return published_constants(rho)

    def _trimming_needed(self, n_rows: int, smoothness: float) -> int:
        return max(1, n_rows // VALUES_PER_TRIMMED)

    def _scale(self, ordered: FloatArray, m: int, calibration: SmoothCalibration) -> float:
        spread = float(ordered[-1] - ordered[0]) / (ordered.size - 2 * m)
        least = math.exp(-m * calibration.smoothness) * self.width
        # The answer multiplies by this margin, which the paper does not print.
        return max(spread, least) / (1.0 + FLOAT_MARGIN)

    def expected_noise(
        self, distribution: MagnitudeDistribution, public: SmoothCalibration, n_rows: int
    ) -> float:
        """Predict the noise from the largest magnitude on either side."""
        m = int(public.facts["n_trimmed"])
        spread = 2.0 * distribution.quantile(2.0 / n_rows) / (n_rows - 2 * m)
        scale = max(spread, math.exp(-m * public.smoothness) * self.width)
        return NOISE_OVER_SCALE * scale / public.shift


def printed_smooth_scale(
    radii: FloatArray, diameter: float, smoothness: float, overlap: int = 1
) -> float:
    """Return the scale that the paper prints, which is not smooth and gives no privacy.

    Row i of ``radii`` has the radii of the balls around point i that hold 1, 2, ... points. Where
    ``queries.sample_aggregate.central_scale`` has an order statistic over the points, this has the
    mean of the ``ceil(overlap / 2)`` largest radii, or the diameter if no ball holds enough.
    """
    n_points, first, n_largest = len(radii), first_ball(len(radii), overlap), math.ceil(overlap / 2)
    scale = least_scale(n_points, diameter, smoothness, overlap)
    for k in range(changes_until_all(n_points, overlap)):
        held = radii[:, first + (k + 1) * overlap - 1]  # after k + 1 changed records
        largest = float(np.partition(held, -n_largest)[-n_largest:].mean())
        scale = max(scale, largest * math.exp(-smoothness * k))
    return 2.0 * scale


@dataclass(frozen=True)
class PrintedSampleAggregate(SampleAggregate):
    """Sample and aggregate with the scale of Algorithm 1.

    Guarantee
    ---------
    None: the scale reveals a single record.
    """

    calibration: str = "published"

    def calibrate_event(self, n_rows: int, n_features: int, event: Event) -> SmoothCalibration:
        """Take the printed constants; scales go up to twice the diameter."""
        public = super().calibrate_event(n_rows, n_features, event)
        return as_printed(public, 2.0 * self.diameter)

    def _scale(self, radii: FloatArray, calibration: SmoothCalibration, overlap: int) -> float:
        scale = printed_smooth_scale(radii, self.diameter, calibration.smoothness, overlap)
        return scale / (1.0 + FLOAT_MARGIN)
