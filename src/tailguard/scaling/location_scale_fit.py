"""Location and scale of a column from one noised histogram, by a matched filter.

Where the noise of a bin is a good part of what it counts, quantiles of the bins that stand out are
too narrow. A fitted curve that fits all bins at once uses them all; it need not be the column's
distribution, since it tells units alone.

Reference
---------
Turin 1960 (matched filters): the fitted curve whose counts, over their norm, correlate most with
the released ones is the one of least squares.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from tailguard.array_types import FloatArray
from tailguard.queries.column_histograms import Bins
from tailguard.scaling.noisy_distribution import POINTS, NoisyDistribution

LOCATIONS_A_BIN = 2
LEAST_SHARE = 0.5  # of the records that a fitted curve holds: else it is noise, as its spread is
# Spreads in bins: the least one, and over how many octaves and in which steps they widen.
LEAST_SPREAD, OCTAVES, STEPS_AN_OCTAVE = 0.15, 9, 2
NARROW = 1.2  # bins: a narrower fitted curve is one bin, and what lies there may be narrower still
# Fitted curves are logistic, with heavier tails than a normal one: their scale over the median
# absolute difference of two of their records, roughly.
LOGISTIC = 0.64
QUANTILES = 64  # parts of a fitted curve of equal mass, as a distribution


@dataclass(frozen=True)
class LocationScaleFit:
    """What a histogram looks like.

    Attributes
    ----------
    location, scale
        Its middle, and the typical absolute difference of two of its records.
    significance
        How many noise standard deviations it stands out.
    narrow
        Whether it is as narrow as a bin, so that the spread is only a bound.
    share
        The share of all records that it is seen to hold.
    """

    location: float
    scale: float
    significance: float
    narrow: bool
    share: float

    def distribution(self) -> NoisyDistribution:
        """Return it as the distribution of what was counted."""
        ends = np.arange(QUANTILES + 1) / QUANTILES
        ends[[0, -1]] = 0.25 / QUANTILES, 1.0 - 0.25 / QUANTILES
        count = QUANTILES * POINTS
        points, edges = (
            self.location + LOGISTIC * self.scale * logit(shares)
            for shares in ((np.arange(count) + 0.5) / count, ends)
        )
        return NoisyDistribution(points, np.full(count, 1.0 / count), 1.0, self.significance, edges)


def fit_location_scale(
    counts: FloatArray, bins: Bins, total: float, noise_std: float
) -> LocationScaleFit:
    """Return the curve of ``total`` records whose counts are closest in least squares."""
    candidates = _candidates(bins)
    match = candidates.filters @ counts
    best = int(np.argmax((match - total * candidates.norms / 2.0) * candidates.norms))
    return LocationScaleFit(
        location=float(candidates.locations[best]),
        scale=float(candidates.scales[best]),
        significance=float(match[best]) / noise_std,
        narrow=bool(candidates.narrow[best]),
        share=float(match[best] / (total * candidates.norms[best])),
    )


@dataclass(frozen=True, eq=False)
class _Candidates:
    """All curves that the bins can tell apart; ``filters`` are their shares over their norms."""

    locations: FloatArray
    scales: FloatArray
    narrow: NDArray[np.bool_]
    filters: FloatArray
    norms: FloatArray


@lru_cache(maxsize=8)
def _candidates(bins: Bins) -> _Candidates:
    """Lay out the fitted curves: every centre with every spread, in bins of its place."""
    position = (np.arange(LOCATIONS_A_BIN * bins.count) + 0.5) / LOCATIONS_A_BIN
    width = bins.value(np.floor(position) + 1.0) - bins.value(np.floor(position))
    steps = np.arange(OCTAVES * STEPS_AN_OCTAVE) / STEPS_AN_OCTAVE
    locations = np.repeat(bins.value(position), steps.size)
    scales = (LEAST_SPREAD * width[:, None] * 2.0**steps).ravel()
    narrow = scales < np.repeat(NARROW * width, steps.size)
    edges = bins.value(np.arange(1.0, bins.count))
    below = expit((edges - locations[:, None]) / (scales[:, None] * LOGISTIC))
    nothing, all_of_it = np.zeros((locations.size, 1)), np.ones((locations.size, 1))
    shares = np.diff(np.hstack([nothing, below, all_of_it]), axis=1)
    norms = np.linalg.norm(shares, axis=1)
    return _Candidates(locations, scales, narrow, shares / norms[:, None], norms)
