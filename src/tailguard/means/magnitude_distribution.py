"""Distributions of magnitudes: assumed before any release, or estimated from a released histogram.

A distribution is a survival function on a geometric grid. Of a histogram, the cells that exceed the
noise are used. Beyond them the tail is the one that Bayes' rule expects, by the last of these cells
and all cells beyond, which exceed the noise only together.

Reference
---------
Huang, Liang and Yi 2021, Theorem 3.2: clipping at the quantile that about ``sqrt(d) / mu`` records
exceed is within a constant of the best clip level.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.scaling.noisy_distribution import (
    FAR_WIDTHS,
    SURE,
    expected_beyond,
    most_significant_window,
)

RATIO = math.sqrt(2.0)  # of neighbouring grid points
N_CELLS = 36  # from 1/8 to 2**15 times a typical magnitude
SMALLEST = 1.0 / 8.0
TAIL_CELLS = 40  # grid points of an assumed tail, up to 2**20 times the last cell
# How many cells beyond the used ones may hold magnitudes that noise hides: eight octaves. On
# simulated columns, five octaves left intervals of heavy columns too short.
CELLS_BEYOND = 16
THIRDS = 1.5  # a cell is so many thirds of an octave wide
# How many used cells tell the tail. With two, a column of two values had three times the error.
TELLING_CELLS = 1
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
    if not last:  # all magnitudes lie below the first edge
        return MagnitudeDistribution(_grid(edges[0] / SMALLEST), np.zeros(N_CELLS + TAIL_CELLS))
    told = counts[last + 1 - TELLING_CELLS : last + 1 + CELLS_BEYOND]
    ends = THIRDS * (np.arange(told.size + 1.0) - TELLING_CELLS)
    beyond = THIRDS * np.arange(CELLS_BEYOND + 1.0)
    most = SIGNIFICANT_BESIDE * noise_std  # else the first of these cells would be used
    hidden = np.minimum(expected_beyond(told, noise_std, ends, beyond), most)
    # above[i]: magnitudes beyond the lower end of cell i, and none beyond the last of them
    above = np.cumsum(np.concatenate([counts[: last + 1], hidden, [0.0]])[::-1])[::-1]
    survival = np.maximum.accumulate(np.maximum(above[1:], 0.0)[::-1])[::-1]
    points = np.append(edges[:last], edges[last - 1] * RATIO ** np.arange(1.0, CELLS_BEYOND + 2.0))
    return MagnitudeDistribution(points, np.minimum(survival / max(above[0], 1.0), 1.0))


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


def _grid(unit: float) -> FloatArray:
    return unit * SMALLEST * RATIO ** np.arange(N_CELLS + TAIL_CELLS, dtype=np.float64)
