"""Distributions of magnitudes: assumed before any release, or estimated from a released histogram.

A distribution is a survival function on a geometric grid. Of a histogram, the cells that exceed the
noise are used. Beyond them the tail is a power law, fitted to the last of these cells.

Reference
---------
Hill 1975 (power tails); Huang, Liang and Yi 2021, Theorem 3.2: clipping at the quantile that about
``sqrt(d) / mu`` records exceed is within a constant of the best clip level.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.scaling.noisy_distribution import FAR_WIDTHS, SURE, most_significant_window

RATIO = math.sqrt(2.0)  # of neighbouring grid points
N_CELLS = 36  # from 1/8 to 2**15 times a typical magnitude
SMALLEST = 1.0 / 8.0
TAIL_CELLS = 40  # grid points of a power tail, up to 2**20 times the last cell
# The survival function of the assumed entries is (1 + 2 t^2)^(-3/2): tails like Student's t with
# three degrees of freedom, and a root mean square of 1, in units of the median pair difference.
ASSUMED_INDEX = 3.0
# A cell is used if it exceeds this many standard deviations of the noise, so that hardly any is
# used by chance. The cells directly beyond a used cell need fewer.
SIGNIFICANT, SIGNIFICANT_BESIDE = 4.5, 2.0
# Tails on opposite sides cancel in part, so half of the worst bias is balanced against the noise.
BIAS_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class MagnitudeDistribution:
    """A survival function: ``survival[i]`` is the share of magnitudes above ``points[i]``."""

    points: FloatArray
    survival: FloatArray

    def expected(self, function: Callable[[FloatArray], FloatArray]) -> float:
        """Return the mean of a function of the magnitude."""
        first, last = self.points[:1] / 2.0, self.points[-1:] * RATIO
        values = np.concatenate([first, np.sqrt(self.points[:-1] * self.points[1:]), last])
        masses = -np.diff(self.survival, prepend=1.0, append=0.0)
        return float(masses @ function(values))

    def excess(self, level: float) -> float:
        """Return the mean excess over a level, the worst bias of clipping there."""
        return self.expected(lambda t: np.maximum(t - level, 0.0))

    def cut_bias(self, level: float) -> float:
        """Return half of the worst clipping bias."""
        return BIAS_SHARE * self.excess(level)

    def quantile(self, above: float) -> float:
        """Return the magnitude that a share ``above`` exceeds; between points, tails are powers."""
        beyond = bisect_left(self._falling, -above)
        if beyond in (0, self.points.size):
            return float(self.points[min(beyond, self.points.size - 1)])
        high, low = (max(-each, 1e-300) for each in self._falling[beyond - 1 : beyond + 1])
        step = math.log(high / above) / max(math.log(high / low), 1e-12)
        return float(self.points[beyond - 1] * RATIO ** min(max(step, 0.0), 1.0))

    @cached_property
    def _falling(self) -> list[float]:
        """The negated survival function as a list; with it, thousands of quantiles are fast."""
        return [-float(share) for share in self.survival]

    def radius(self, unit_noise: float) -> float:
        """Return the clip radius with the least sum of noise and half of the worst bias.

        The worst bias of clipping at R is the mean excess over R, whose derivative is
        ``-survival(R)``. At least half of the records are not clipped.
        """
        return self.quantile(min(unit_noise / BIAS_SHARE, 0.5))


@lru_cache(maxsize=16)  # a page of plans calls this a thousand times
def assumed_entries(scale: float = 1.0) -> MagnitudeDistribution:
    """Return the distribution assumed for entries of this scale before any release."""
    points = _grid(1.0)
    return MagnitudeDistribution(points * scale, (1.0 + 2.0 * points**2) ** (-ASSUMED_INDEX / 2.0))


def assumed_norms(n_features: int) -> MagnitudeDistribution:
    """Return the assumed distribution of norms: any one entry may have the assumed tail."""
    points = _grid(math.sqrt(n_features))
    far_entry = np.sqrt(np.maximum(points**2 - (n_features - 1), 0.0))
    tails = n_features * (1.0 + 2.0 * far_entry**2) ** (-ASSUMED_INDEX / 2.0)
    return MagnitudeDistribution(points, np.minimum(tails, 1.0))


def cell_edges(n_features: int) -> FloatArray:
    """Return the edges of the histogram of norms of ``n_features`` entries in private units."""
    return math.sqrt(n_features) * SMALLEST * RATIO ** np.arange(N_CELLS, dtype=np.float64)


def released_distribution(
    edges: FloatArray, counts: FloatArray, noise_std: float
) -> MagnitudeDistribution | None:
    """Estimate a distribution from noisy counts; None if no cell exceeds the noise."""
    last = last_visible(counts, noise_std)
    if last is None:
        return None
    above = np.cumsum(counts[last::-1])[::-1]  # above[i]: magnitudes beyond edges[i - 1]
    survival = np.maximum.accumulate(np.maximum(above[1:], 0.0)[::-1])[::-1]
    survival = np.minimum(survival / max(above[0], 1.0), 1.0)
    if not last:  # all magnitudes lie below the first edge
        return MagnitudeDistribution(_grid(edges[0] / SMALLEST), np.zeros(N_CELLS + TAIL_CELLS))
    index = _tail_index(edges[:last], survival)
    further = RATIO ** np.arange(max(TAIL_CELLS + N_CELLS - last, 1))
    # The next cell has the share 1 - RATIO**-index of the tail. If the tail were larger than
    # ``unseen``, this cell would exceed the noise.
    unseen = SIGNIFICANT * noise_std / (1.0 - RATIO**-index) / max(above[0], 1.0)
    beyond = min(survival[-1] * RATIO**-index, unseen)
    return MagnitudeDistribution(
        np.concatenate([edges[:last], edges[last - 1] * RATIO * further]),
        np.concatenate([survival, beyond * further**-index]),
    )


def last_visible(counts: FloatArray, noise_std: float) -> int | None:
    """Return the last cell that is used; None if no cell exceeds the noise.

    Cells further out are used if together they exceed the noise: few records may spread widely.
    """
    significant = np.flatnonzero(counts > SIGNIFICANT * noise_std)
    if not significant.size:
        return None
    last = int(significant[-1])
    while last + 1 < len(counts) and counts[last + 1] > SIGNIFICANT_BESIDE * noise_std:
        last += 1
    _, end, significance = most_significant_window(counts[last + 1 :], noise_std, FAR_WIDTHS)
    return last + end if significance > SURE else last


def _tail_index(points: FloatArray, survival: FloatArray) -> float:
    """Estimate the power of the tail, between the point that 0.3 exceed and the last point.

    The power is limited to a range from almost no mean to almost no tail. With too few cells it is
    the middle of this range.
    """
    least, largest, largest_share = 1.5, 4.0, 0.3
    start = int(np.argmax(survival <= largest_share))
    if len(points) - start < 3 or survival[start] > largest_share:
        return (least + largest) / 2.0
    fall = math.log(survival[start] / max(survival[-1], 1e-300))
    index = fall / math.log(points[-1] / points[start])
    return min(max(index, least), largest)


def _grid(unit: float) -> FloatArray:
    return unit * SMALLEST * RATIO ** np.arange(N_CELLS + TAIL_CELLS, dtype=np.float64)
