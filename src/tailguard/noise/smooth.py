"""Noise whose scale depends on the records: an answer and its secret scale become lattice points.

The mechanism clips answer and scale to public ranges once more, adds ``scale / shift`` times real
noise, and rounds the sum to a public lattice. The cost is proved in real arithmetic. It also holds
for the computation, for three reasons: the queries prove that their floats, taken as exact real
numbers, are smooth; the noise is drawn and added with 120 digits; and rounding to a public lattice
is post-processing. A lattice whose step depends on the scale would reveal the scale. Float noise
would be worse: some floats are possible results of one answer and never of another. So each
standard normal number is made from 768 random binary digits, by the method of Box and Muller in
decimal arithmetic.

*The distance from ideal noise.* Let the ideal radius and angle have infinitely many digits,
beginning with those drawn. Unless the uniform number of the radius is within ``2**-120`` of 0
or ``2**-240`` of 1, the drawn and the ideal normal differ by less than ``2**-250``. Scaling
multiplies this difference by at most ``2**80``, in lattice steps (38 binary digits from the
smallest scale to the largest, 24 from the smallest shift, 18 from the slope of sinh). So the
results differ by less than ``2**-170`` of a step. They are rounded to the same point of the lattice
unless a half-way point lies between them. The probability of that is below ``2**-160``, since the
density of the result is below one per step. In all, the total variation is below ``2**-119`` for
each number.

Reference
---------
Bun and Steinke 2019 (arsinh-normal noise); Nissim, Raskhodnikova and Smith 2007 (Gaussian noise);
Box and Muller 1958; Mironov 2012 (why float noise is unsafe).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cache

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError, check_choice
from tailguard.noise.sources import Source
from tailguard.privacy.accounting.total_cost import Distance
from tailguard.privacy.calibration import SmoothCalibration
from tailguard.privacy.decimals import decimals
from tailguard.privacy.events import Event

NORMAL_VARIATION = 2.0**-119
"""How far a scaled, shifted and rounded number is from the ideal, in total variation."""

WORDS = 6  # 384 binary digits for the radius, and as many for the angle
RANGE = Decimal(2 ** (64 * WORDS))
MIDDLE = sum(2**63 << 64 * place for place in range(WORDS))
DIGITS = 120  # of the decimal arithmetic in which normals are computed


def exact_normals(size: int, source: Source) -> list[Decimal]:
    """Draw ``size`` independent standard normal numbers.

    Guarantee
    ---------
    Within ``size * NORMAL_VARIATION`` of the ideal, after the numbers are scaled, added to an
    answer and rounded to a lattice whose step is at most the width of the noise.
    """
    data, width = source.words(2 * WORDS * size).astype(">u8").tobytes(), 8 * WORDS
    # Two whole numbers of 384 uniform binary digits for each normal.
    numbers = [int.from_bytes(data[first : first + width]) for first in range(0, len(data), width)]
    with decimals(DIGITS):
        return list(map(_normal, numbers[::2], numbers[1::2]))


def _normal(radius_digits: int, angle_digits: int) -> Decimal:
    """Return radius times sine of the angle; ``MIDDLE`` stands for the angle zero."""
    uniform = (Decimal(radius_digits) + Decimal("0.5")) / RANGE
    radius = (-2 * uniform.ln()).sqrt()
    return radius * _sine(2 * _pi() * (angle_digits - MIDDLE) / RANGE)


def _sine(angle: Decimal) -> Decimal:
    """Add up the series of the sine; angles of at most 3.2 lose one or two digits."""
    square = angle * angle
    term, total, order = angle, angle, 1
    while abs(term) > Decimal("1e-125"):
        order += 2
        term *= -square / (order * (order - 1))
        total += term
    return total


@cache
def _pi() -> Decimal:
    """Return pi by Machin's formula, 16 arctan(1/5) - 4 arctan(1/239)."""
    with decimals(140):
        return 16 * _arctan_of_inverse(5) - 4 * _arctan_of_inverse(239)


def _arctan_of_inverse(whole: int) -> Decimal:
    power, total, order = Decimal(1) / whole, Decimal(0), 1
    while abs(power) > Decimal("1e-140"):
        total += power / order
        power /= -whole * whole
        order += 2
    return total


# All releases are clipped to this many lattice steps.
RELEASE_LIMIT = Decimal(2**61)


@dataclass(frozen=True, eq=False)
class SmoothAnswer:
    """An answer and its secret noise scale, on the way from a query to its mechanism."""

    value: FloatArray = field(repr=False)
    scale: FloatArray = field(repr=False)


def _hyperbolic_sine(normal: Decimal) -> Decimal:
    exponential = normal.exp()
    return (exponential - 1 / exponential) / 2


SMOOTH_NOISE: Mapping[str, Callable[[Decimal], Decimal]] = {
    "arsinh-normal": _hyperbolic_sine,
    "smooth-gaussian": lambda normal: normal,
}
"""From a standard normal number to noise of scale 1: its hyperbolic sine, or itself."""


@dataclass(frozen=True)
class SmoothMechanism:
    """Clips an answer and its scale, adds noise of that scale, and rounds to the lattice.

    ``"arsinh-normal"`` noise has a separate scale for each coordinate and satisfies zCDP.
    ``"smooth-gaussian"`` noise has one scale for all coordinates and only satisfies (epsilon,
    delta)-DP.

    Guarantee
    ---------
    The release costs ``calibration.event`` for replace-one neighbours under two conditions. Their
    answers differ by at most the scale of either: coordinate by coordinate or, with one scale, in
    l2 norm. And the logarithms of their scales differ by at most ``calibration.smoothness``.

    Edge cases
    ----------
    Scales are clipped to the public floor and ceiling, which keeps them smooth. An answer that is
    not a number counts as 0, and such a scale as the ceiling.

    Reference
    ---------
    Bun and Steinke 2019; Nissim, Raskhodnikova and Smith 2007; Wang, Xiao, Devadas and Xu 2020,
    Algorithms 1, line 6, and 2, line 3.

    Examples
    --------
    >>> from tailguard.noise.sources import make_source
    >>> public = SmoothCalibration("arsinh-normal", 1, 0.01, 0.1, "tight", 1.0, scale_ceiling=2.0)
    >>> answer = SmoothAnswer(np.zeros(1), np.full(1, 1e-6))
    >>> noised = SmoothMechanism("arsinh-normal").release(answer, public, make_source(None))
    >>> bool(abs(noised[0] * public.grid) < 0.1)
    True
    """

    name: str

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
        limit = calibration.value_limit
        floor, ceiling = calibration.scale_floor, calibration.scale_ceiling
        # For every result of a query, values are now finite and scales at least the floor.
        values = np.clip(np.nan_to_num(answer.value, nan=0.0), -limit, limit)
        scales = np.clip(np.nan_to_num(answer.scale, nan=ceiling), floor, ceiling)
        noise, shape = exact_normals(calibration.size, source), SMOOTH_NOISE[self.name]
        with decimals(DIGITS):
            per_scale, grid = 1 / Decimal(calibration.shift), Decimal(calibration.grid)
            steps = [
                _round((Decimal(value) + Decimal(scale) * per_scale * shape(number)) / grid)
                for value, scale, number in zip(
                    values.tolist(), scales.tolist(), noise, strict=True
                )
            ]
        return np.array(steps, dtype=np.int64)

    def distance(self, calibration: SmoothCalibration) -> Distance:
        """Return the distance of the sampled noise from the ideal noise."""
        return Distance(variation=NORMAL_VARIATION).times(calibration.size)


def _round(steps: Decimal) -> int:
    """Round to a whole number of steps within the limit."""
    within = max(-RELEASE_LIMIT, min(RELEASE_LIMIT, steps))
    return int(within.to_integral_value(ROUND_HALF_EVEN))
