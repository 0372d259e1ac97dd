"""Locations of columns: from signed bins in units of their size, then from finer bins if needed.

Signed logarithmic bins cover a wide range and are narrow near zero. If a column is far from zero,
compared with its spread, it lies within one wide bin, which does not show its scale. Then a second
histogram splits this bin into linear bins.

A matched filter estimates location and scale from a noised histogram by fitting a curve. The curve
uses all bins; quantiles of the bins that exceed the noise would be too narrow if noise is a large
part of the counts. The curve need not be the column's distribution, since it only gives units.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); Turin 1960 (matched filters): of
all normalised curves, the one that correlates most with the released counts is that of least
squares.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import expit

from tailguard.array_types import BoolArray, FloatArray, IndexArray
from tailguard.gate.stage import Stage
from tailguard.queries.column_histograms import Bins
from tailguard.scaling.columns import ColumnQueries, ColumnScales
from tailguard.scaling.noisy_distribution import detection_threshold

LOCATION_BINS = Bins("signed", -3.5, 8.0, 56)
"""Bins of the first histogram, in units of the size; a median lies within a few sizes of zero."""
FINE_BINS = Bins("linear", -2.0, 8.0, 32), Bins("linear", -1.0, 64.0, 128)
"""Bins of finer histograms, in units of the bin that is split: first eighths of it, then 64ths of
one of these. If 64ths came first, each would hold few records, so noise would hide a column that
fills the bin.
"""
REFINEMENTS = len(FINE_BINS)
"""The largest number of finer histograms."""
FINEST_BINS = (*FINE_BINS, FINE_BINS[-1])
"""``FINE_BINS`` and one more histogram, which resolves a 200 000th of a size."""

# The probability that noise alone counts as a curve, and the number of windows for which it holds.
# Both may be lax: a centre that is wrong by some sizes does little harm.
FALSE_LOCATION, LOCATION_WINDOWS = 0.05, 2e2
# Most columns fill many bins of a finer histogram, so noise may make the fitted curve far too
# narrow, and then its scale would clip all rows. So a curve gives the scale only if it exceeds this
# many standard deviations of the noise. Its centre moves by at most two bin widths, so it is always
# used.
SCALE_SIGNIFICANCE = 9.0
NEAR = 0.35  # in sizes: below this distance from zero, the size gives the scale

LEAST_SHARE = 0.5  # a fitted curve with a smaller share of the records counts as noise


@dataclass(frozen=True)
class LocationScaleFit:
    """A curve fitted to a histogram.

    Attributes
    ----------
    location, scale
        Its middle, and the typical absolute difference of two records from this distribution.
    significance
        Its height in standard deviations of the noise, by the matched filter.
    narrow
        Whether it is as narrow as a bin, so that ``scale`` is only an upper bound.
    share
        The share of all records that lie under it.
    """

    location: float
    scale: float
    significance: float
    narrow: bool
    share: float


def fit_location_scale(
    counts: FloatArray, bins: Bins, total: float, noise_std: float
) -> LocationScaleFit:
    """Return the curve of ``total`` records that fits the counts best, by least squares."""
    locations, scales, narrow, filters, norms = _candidates(bins)
    match = filters @ counts
    best = int(np.argmax((match - total * norms / 2.0) * norms))
    return LocationScaleFit(
        location=float(locations[best]),
        scale=float(scales[best]),
        significance=float(match[best]) / noise_std,
        narrow=bool(narrow[best]),
        share=float(match[best] / (total * norms[best])),
    )


@lru_cache(maxsize=8)
def _candidates(bins: Bins) -> tuple[FloatArray, FloatArray, BoolArray, FloatArray, FloatArray]:
    """Tabulate the curves that bins can distinguish: every location with every scale.

    There are two locations per bin. Scales start at 0.15 bins and cover nine octaves in half
    octaves. Curves narrower than 1.2 bins are narrow: their scale is an upper bound.

    Return locations, scales, whether narrow, shares of the bins over their norms, and the norms.
    """
    position = (np.arange(2 * bins.count) + 0.5) / 2
    width = bins.value(np.floor(position) + 1.0) - bins.value(np.floor(position))
    steps = np.arange(18) / 2
    locations = np.repeat(bins.value(position), steps.size)
    scales = (0.15 * width[:, None] * 2.0**steps).ravel()
    narrow = scales < np.repeat(1.2 * width, steps.size)
    edges = bins.value(np.arange(1.0, bins.count))
    # Logistic curves have heavier tails than normal ones. Their own scale parameter is roughly 0.64
    # times the median absolute difference of two records.
    below = expit((edges - locations[:, None]) / (scales[:, None] * 0.64))
    zeros, ones = np.zeros((locations.size, 1)), np.ones((locations.size, 1))
    shares = np.diff(np.hstack([zeros, below, ones]), axis=1)
    norms = np.linalg.norm(shares, axis=1)
    return locations, scales, narrow, shares / norms[:, None], norms


def find_locations(
    queries: ColumnQueries,
    measured: ColumnScales,
    stage: Stage,
    fine: Stage,
    *,
    fine_bins: tuple[Bins, ...] = FINE_BINS,
) -> BoolArray:
    """Release centres, and scales of columns far from zero; undetected columns stay at zero.

    Return which columns lie within one bin of every finer histogram.
    """
    located = np.flatnonzero(measured.detected & ~measured.often_zero)
    n_narrow = np.zeros(len(measured.scale))
    for column, fitted, unit in _detected_fits(
        queries, measured, located, measured.scale, LOCATION_BINS, stage
    ):
        if abs(fitted.location) > NEAR:
            _adopt(measured, column, fitted, unit, LOCATION_BINS)
        else:
            measured.center[column] = fitted.location * unit
    for bins in fine_bins:
        coarse = np.flatnonzero(measured.width)
        for column, fitted, unit in _detected_fits(
            queries, measured, coarse, measured.width, bins, fine
        ):
            if fitted.significance > SCALE_SIGNIFICANCE:
                _adopt(measured, column, fitted, unit, bins)
                n_narrow[column] += 1
            else:
                measured.center[column] += fitted.location * unit
                n_narrow[column] += fitted.narrow
    return np.asarray((measured.width > 0.0) & (n_narrow == len(fine_bins)))


def _detected_fits(
    queries: ColumnQueries,
    measured: ColumnScales,
    chosen: IndexArray,
    units: FloatArray,
    bins: Bins,
    stage: Stage,
) -> Iterator[tuple[int, LocationScaleFit, float]]:
    """Release histograms of the chosen columns; yield the fits that exceed the noise."""
    if not chosen.size:
        return
    center, unit = measured.center[chosen], units[chosen]
    counts, noise_std = queries.histograms(chosen, bins, stage, center=center, unit=unit)
    least = detection_threshold(chosen.size, FALSE_LOCATION, LOCATION_WINDOWS)
    for column, row, its_unit in zip(chosen, counts, unit, strict=True):
        fitted = fit_location_scale(row, bins, queries.session.n_rows(), noise_std)
        if fitted.significance > least and fitted.share > LEAST_SHARE:
            yield int(column), fitted, float(its_unit)


def _adopt(
    measured: ColumnScales, column: int, fitted: LocationScaleFit, unit: float, bins: Bins
) -> None:
    """Store the fitted location and scale and, if the curve is narrow, the width of its bin."""
    index = bins.index(fitted.location)
    width = float(bins.value(index + 1) - bins.value(index))
    measured.center[column] += fitted.location * unit
    measured.scale[column] = fitted.scale * unit
    measured.width[column] = width * unit if fitted.narrow else 0.0
