"""Mechanisms whose noise is as wide as the records ask for: answer and scale in, lattice out.

Both limit answer and scale to public ranges once more, add ``scale / shift`` times real noise, and
round to a public lattice. The cost is stated in real arithmetic. What is computed keeps to it: the
queries prove that their floats, taken as the real numbers that they are, are smooth; the noise is
drawn and added in 120 digits; and rounding to a public lattice is post-processing.

Reference
---------
Bun and Steinke 2019 (arsinh-normal noise); Nissim, Raskhodnikova and Smith 2007 (Gaussian noise).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal
from typing import ClassVar

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError, check_choice
from tailguard.noise.exact_normal import NORMAL_VARIATION, exact_normals, precisely
from tailguard.noise.sources import Source
from tailguard.privacy.accounting.distance import Distance
from tailguard.privacy.events import Event
from tailguard.privacy.events.smooth_calibration import SmoothCalibration

# Beyond this many lattice steps releases are clipped, whatever the records are.
RELEASE_LIMIT = Decimal(2**61)


@dataclass(frozen=True, eq=False)
class SmoothAnswer:
    """An answer and its secret noise scale, on the way from a query to its mechanism."""

    value: FloatArray = field(repr=False)
    scale: FloatArray = field(repr=False)


@dataclass(frozen=True)
class SmoothMechanism(ABC):
    """Base of the two: limits, scales, adds and rounds; each says its noise."""

    name: ClassVar[str]

    @abstractmethod
    def shape(self, normal: Decimal) -> Decimal:
        """Turn a standard normal number into noise of scale 1."""

    def event(self, calibration: SmoothCalibration) -> Event:
        """Return what one release of this calibration costs."""
        check_choice("calibration.mechanism", calibration.mechanism, (self.name,))
        return calibration.event

    def release(
        self, answer: SmoothAnswer, calibration: SmoothCalibration, source: Source
    ) -> IntArray:
        """Return the answer with fresh noise of its scale, in steps of ``calibration.grid``."""
        check_choice("calibration.mechanism", calibration.mechanism, (self.name,))
        if {answer.value.shape, answer.scale.shape} != {(calibration.size,)}:
            raise InputError(f"answer and scale must be vectors of {calibration.size} coordinates.")
        limit, floor, ceiling = (
            calibration.value_limit,
            calibration.scale_floor,
            calibration.scale_ceiling,
        )
        # Whatever a query returns: finite, within public limits, and never without noise.
        values = np.clip(np.nan_to_num(answer.value, nan=0.0), -limit, limit)
        scales = np.clip(np.nan_to_num(answer.scale, nan=ceiling), floor, ceiling)
        noise = exact_normals(calibration.size, source)
        with precisely():
            per_scale, grid = 1 / Decimal(calibration.shift), Decimal(calibration.grid)
            steps = [
                _round((Decimal(value) + Decimal(scale) * per_scale * self.shape(number)) / grid)
                for value, scale, number in zip(
                    values.tolist(), scales.tolist(), noise, strict=True
                )
            ]
        return np.array(steps, dtype=np.int64)

    def distance(self, calibration: SmoothCalibration) -> Distance:
        """Return how far the noise is from the ideal."""
        return Distance(variation=NORMAL_VARIATION).times(calibration.size)


def _round(steps: Decimal) -> int:
    """Round to a whole number of steps within the limit."""
    within = max(-RELEASE_LIMIT, min(RELEASE_LIMIT, steps))
    return int(within.to_integral_value(ROUND_HALF_EVEN))


class ArsinhNormal(SmoothMechanism):
    """Noise ``sinh(Y)`` with a standard normal Y: concentrated on a smooth scale.

    Guarantee
    ---------
    ``calibration.event`` for replace-one neighbours of which, coordinate by coordinate, the answers
    differ by at most either scale and the logarithms of the scales by at most
    ``calibration.smoothness``.

    Edge cases
    ----------
    Scales below the public floor count as the floor, those above the ceiling as the ceiling; both
    keep a scale smooth. An answer or scale that is not a number counts as 0 or the ceiling.

    Reference
    ---------
    Bun and Steinke 2019; Wang, Xiao, Devadas and Xu 2020, Algorithm 2, line 3.

    Examples
    --------
    >>> from tailguard.noise.sources import make_source
    >>> public = SmoothCalibration("arsinh-normal", 1, 0.01, 0.1, "tight", 1.0, scale_ceiling=2.0)
    >>> answer = SmoothAnswer(np.zeros(1), np.full(1, 1e-6))
    >>> noised = ArsinhNormal().release(answer, public, make_source(None))
    >>> bool(abs(noised[0] * public.grid) < 0.1)
    True
    """

    name = "arsinh-normal"

    def shape(self, normal: Decimal) -> Decimal:
        """Return the hyperbolic sine."""
        grown = normal.exp()
        return (grown - 1 / grown) / 2


class SmoothGaussian(SmoothMechanism):
    """Standard normal noise: (epsilon, delta)-DP on a smooth scale, and nothing else.

    Guarantee
    ---------
    As for :class:`ArsinhNormal`, with one scale for all coordinates and answers that differ by at
    most either scale in l2 norm.

    Edge cases
    ----------
    As for :class:`ArsinhNormal`.

    Reference
    ---------
    Nissim, Raskhodnikova and Smith 2007; Wang, Xiao, Devadas and Xu 2020, Algorithm 1, line 6.

    Examples
    --------
    >>> from tailguard.noise.sources import make_source
    >>> public = SmoothCalibration(
    ...     "smooth-gaussian", 1, 0.01, 0.1, "tight", 1.0, scale_ceiling=2.0, delta=1e-6
    ... )
    >>> answer = SmoothAnswer(np.zeros(1), np.full(1, 1e-6))
    >>> noised = SmoothGaussian().release(answer, public, make_source(None))
    >>> bool(abs(noised[0] * public.grid) < 1e-3)
    True
    """

    name = "smooth-gaussian"

    def shape(self, normal: Decimal) -> Decimal:
        """Return it as it is."""
        return normal
