"""A centre and a spread as told by one noised histogram, through a bell that is moved and widened.

Where the noise of a bin is a good part of what it counts, quantiles of the bins that stand out are
too narrow. A bell that fits all bins at once uses them all; it need not be the column's law, since
it tells units alone.

Reference
---------
Turin 1960 (matched filters): the bell whose counts, over their norm, correlate most with the
released ones is the one of least squares.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from tailguard.queries.column_histograms import Bins
from tailguard.solvers.whitened.law import POINTS, Law

__all__ = ["Bell", "bell_of"]

FloatArray = NDArray[np.float64]

CENTERS_A_BIN = 2
# Spreads in bins: the least one, and over how many octaves and in which steps they widen.
NARROWEST, OCTAVES, STEPS_AN_OCTAVE = 0.15, 9, 2
SHARP = 1.2  # bins: a narrower bell is one bin, and what lies there may be narrower still
# Bells are logistic, with heavier tails than a normal one: their scale over the median absolute
# difference of two of their records, roughly.
LOGISTIC = 0.64
QUANTILES = 64  # parts of a bell of equal mass, as a law


@dataclass(frozen=True)
class Bell:
    """What a histogram looks like.

    Attributes
    ----------
    center, spread
        Its middle, and the typical absolute difference of two of its records.
    seen
        How many noise standard deviations it stands out.
    sharp
        Whether it is as narrow as a bin, so that the spread is only a bound.
    share
        The share of all records that it is seen to hold.

    Examples
    --------
    >>> Bell(0.0, 1.0, 9.0, sharp=False, share=0.9).seen
    9.0
    """

    center: float
    spread: float
    seen: float
    sharp: bool
    share: float

    def law(self) -> Law:
        """Return it as the law of what was counted.

        Examples
        --------
        >>> law = Bell(3.0, 1.0, 9.0, sharp=False, share=0.9).law()
        >>> round(law.quantile(0.5), 9), round(law.mean(law.points), 9)
        (3.0, 3.0)
        """
        ends = np.arange(QUANTILES + 1) / QUANTILES
        ends[[0, -1]] = 0.25 / QUANTILES, 1.0 - 0.25 / QUANTILES
        count = QUANTILES * POINTS
        points, edges = (
            self.center + LOGISTIC * self.spread * logit(shares)
            for shares in ((np.arange(count) + 0.5) / count, ends)
        )
        return Law(points, np.full(count, 1.0 / count), 1.0, self.seen, edges)


def bell_of(counts: FloatArray, bins: Bins, total: float, noise_std: float) -> Bell:
    """Return the bell of ``total`` records whose counts are closest to these, in squares.

    Examples
    --------
    >>> bins = Bins("linear", -4.0, 2.0, 16)
    >>> counts = 900.0 * np.exp(-((bins.middle() - 1.0) ** 2) / 2.0)
    >>> bell = bell_of(counts, bins, total=4500.0, noise_std=1.0)
    >>> 0.7 < bell.center < 1.3, 0.7 < bell.spread < 1.4, bell.sharp
    (True, True, False)
    """
    bells = _bells(bins)
    match = bells.filters @ counts
    best = int(np.argmax((match - total * bells.norms / 2.0) * bells.norms))
    return Bell(
        center=float(bells.centers[best]),
        spread=float(bells.spreads[best]),
        seen=float(match[best]) / noise_std,
        sharp=bool(bells.sharp[best]),
        share=float(match[best] / (total * bells.norms[best])),
    )


@dataclass(frozen=True, eq=False)
class _Bells:
    """All bells that some bins can tell apart; ``filters`` are their shares over their norms."""

    centers: FloatArray
    spreads: FloatArray
    sharp: NDArray[np.bool_]
    filters: FloatArray
    norms: FloatArray


@lru_cache(maxsize=8)
def _bells(bins: Bins) -> _Bells:
    """Lay out the bells: every centre with every spread, in bins of its place."""
    place = (np.arange(CENTERS_A_BIN * bins.count) + 0.5) / CENTERS_A_BIN
    width = bins.value(np.floor(place) + 1.0) - bins.value(np.floor(place))
    steps = np.arange(OCTAVES * STEPS_AN_OCTAVE) / STEPS_AN_OCTAVE
    centers = np.repeat(bins.value(place), steps.size)
    spreads = (NARROWEST * width[:, None] * 2.0**steps).ravel()
    sharp = spreads < np.repeat(SHARP * width, steps.size)
    edges = bins.value(np.arange(1.0, bins.count))
    below = expit((edges - centers[:, None]) / (spreads[:, None] * LOGISTIC))
    nothing, all_of_it = np.zeros((centers.size, 1)), np.ones((centers.size, 1))
    shares = np.diff(np.hstack([nothing, below, all_of_it]), axis=1)
    norms = np.linalg.norm(shares, axis=1)
    return _Bells(centers, spreads, sharp, shares / norms[:, None], norms)
