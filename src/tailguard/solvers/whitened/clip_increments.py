"""Which clip level: the bias that increments show against the noise of a higher level.

Increments between levels are released side by side with shares of ``mu**2`` in proportion to their
widths: their sum is then as noisy as the top level alone, and no way of sharing does better.

Reference
---------
Stein 1981 (unbiased estimate of risk, here of the squared bias left by clipping).
"""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray

__all__ = ["ClipIncrements", "increment_shares", "levels_up_to"]


# A bias counts as far as it exceeds its own error by so many standard deviations; residuals that
# look symmetric are not biased by clipping.
SURE = 6.0


def levels_up_to(first: float, top: float, count: int) -> tuple[float, ...]:
    """Return a first level and up to ``count`` more, in equal ratios; one level if none fits.

    Examples
    --------
    >>> levels_up_to(1.0, 16.0, 4)
    (1.0, 2.0, 4.0, 8.0, 16.0)
    >>> levels_up_to(1.0, 0.5, 4)
    (1.0,)
    """
    if not top > 1.25 * first:
        return (first,)
    return tuple(float(level) for level in first * (top / first) ** (np.arange(count + 1) / count))


def increment_shares(levels: tuple[float, ...]) -> tuple[float, ...]:
    """Return shares that leave the sum of all increments with the least noise.

    With widths ``w`` and shares ``c`` of norm 1, the noise of the sum is ``sum (w / c)**2``, least
    at ``c**2`` in proportion to ``w`` (Cauchy-Schwarz).

    Examples
    --------
    >>> increment_shares((1.0, 4.0))
    (0.5, 0.8660254037844386)
    """
    widths = np.diff([0.0, *levels])
    return tuple(float(share) for share in np.sqrt(widths / widths.sum()))


@dataclass(frozen=True, eq=False)
class ClipIncrements:
    """Released increments with the variance of each, a coordinate.

    Examples
    --------
    >>> reading = ClipIncrements(np.array([[3.0, 0.0], [0.1, 0.0]]), np.array([0.01, 0.01]))
    >>> [round(bias, 2) for bias in reading.squared_biases()]
    [9.33, 0.0, 0.0]
    """

    increments: FloatArray
    variances: FloatArray

    def squared_biases(self) -> list[float]:
        """Squared bias that each level leaves, as far as it is sure; the top level leaves none."""
        width = self.increments.shape[1]
        found = []
        for level in range(len(self.increments)):
            above = self.increments[level:].sum(axis=0)
            variance = float(self.variances[level:].sum())
            error = variance * (width + SURE * math.sqrt(2.0 * width))
            found.append(max(0.0, float(above @ above) - error))
        return [*found, 0.0]
