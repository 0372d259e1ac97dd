"""A distribution as told by one noised histogram: what clip levels and scales are computed from."""

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from tailguard.queries.column_histograms import Bins

__all__ = ["POINTS", "Law", "bulk", "standing_out"]

FloatArray = NDArray[np.float64]

SEEN = 2.5  # a bin this many noise standard deviations above zero belongs to the bulk
WIDEST_GAP = 3  # bins below that inside the bulk
WINDOWS = (1, 2, 3, 4, 6, 8)  # bins taken together when looking for the bulk
POINTS = 4  # points that stand for a bin
# How often any window of pure noise may stand out in a fit, among some hundred a column.
FALSE_ALARM, FALSE_WINDOWS = 2e-3, 4e2


def standing_out(
    n_columns: float, false_alarm: float = FALSE_ALARM, windows: float = FALSE_WINDOWS
) -> float:
    """How many noise standard deviations a window must stand out to be taken for records.

    Examples
    --------
    >>> round(standing_out(1), 2), round(standing_out(100), 2)
    (4.42, 5.33)
    """
    return -NormalDist().inv_cdf(false_alarm / (windows * n_columns))


def bulk(counts: FloatArray, noise_std: float) -> tuple[int, int, float]:
    """Find the window of bins that stands out most; return its ends and how far it stands out.

    Examples
    --------
    >>> bulk(np.array([0.0, 1.0, 90.0, 80.0, -2.0, 0.0, 1.0, 0.0]), noise_std=1.0)[:2]
    (2, 4)
    """
    sums = np.concatenate([[0.0], np.cumsum(counts)])
    best = (0, 1, -math.inf)
    for width in WINDOWS:
        if width >= counts.size:
            continue
        score = (sums[width:] - sums[:-width]) / (noise_std * math.sqrt(width))
        place = int(np.argmax(score))
        if score[place] > best[2]:
            best = (place, place + width, float(score[place]))
    return best


@dataclass(frozen=True, eq=False)
class Law:
    """Probabilities of points, from the bulk of a noised histogram.

    Examples
    --------
    >>> law = Law.of(np.array([0.0, 50.0, 50.0, 0.0]), Bins("linear", 0.0, 1.0, 4), noise_std=1.0)
    >>> law.mean(law.points), law.quantile(0.5)
    (2.0, 2.0)
    """

    points: FloatArray
    mass: FloatArray
    total: float
    seen: float
    edges: FloatArray
    hidden: float = 0.0  # share of the mass that a bin beyond the bulk may hold without being seen

    @classmethod
    def of(cls, counts: FloatArray, bins: Bins, noise_std: float) -> "Law":
        """Keep the connected bulk around the most significant window, negative counts as zero."""
        low, high, seen = bulk(counts, noise_std)
        low, high = _grown(counts, low, high, SEEN * noise_std)
        kept = np.maximum(counts[low:high], 0.0)
        total = float(kept.sum())
        if total <= 0.0:
            kept, total = np.ones(high - low), 0.0
        inner = (np.arange(POINTS) + 0.5) / POINTS
        places = (np.arange(low, high)[:, None] + inner).ravel()
        mass = np.repeat(kept / kept.sum(), POINTS) / POINTS
        edges = bins.value(np.arange(low, high + 1.0))
        hidden = SEEN * noise_std / max(total, noise_std)
        return cls(bins.value(places), mass, total, seen, edges, hidden)

    def mean(self, values: FloatArray) -> float:
        """Average values given at the points."""
        return float(self.mass @ values)

    def moved(self, way: float) -> "Law":
        """Return the same law elsewhere."""
        return replace(self, points=self.points + way, edges=self.edges + way)

    def quantile(self, level: float) -> float:
        """Return the point below which the given share lies."""
        below = np.concatenate([[0.0], np.cumsum(self.mass.reshape(-1, POINTS).sum(axis=1))])
        return float(np.interp(level, below, self.edges))


def _grown(counts: FloatArray, low: int, high: int, threshold: float) -> tuple[int, int]:
    """Extend the window over neighbours above the threshold, across short gaps."""
    above = np.flatnonzero(counts > threshold)
    while True:
        left = above[(above < low) & (above >= low - WIDEST_GAP)]
        right = above[(above >= high) & (above < high + WIDEST_GAP)]
        if not left.size and not right.size:
            return low, high
        low, high = int(min([low, *left])), int(max([high, *(right + 1)]))
