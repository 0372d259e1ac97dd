"""Locations of columns: from signed bins in units of their size, then from finer bins if needed.

Signed logarithmic bins cover a wide range and are fine near zero. A column that is far from zero,
compared with its spread, lies within one wide bin, which does not show its scale. So linear bins
that split the wide one measure it again.

A matched filter estimates location and scale from a noised histogram. If the noise of a bin is a
large part of its count, quantiles of the bins that exceed the noise are too narrow. A fitted curve
uses all bins. It need not be the column's distribution, since it only gives units.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); Turin 1960 (matched filters): the
curve whose counts, over their norm, correlate most with the released ones is that of least squares.
"""

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
"""Bins of the first histogram, in units of the size: a median is within a few sizes of zero."""
FINE_BINS = Bins("linear", -2.0, 8.0, 32), Bins("linear", -1.0, 64.0, 128)
"""Bins of finer histograms, in units of the bin that is split: eighths of it, then 64ths of one of
these. If 64ths came first, noise would hide a column that fills the bin: each holds few records.
"""
REFINEMENTS = len(FINE_BINS)
"""How many finer histograms there are at most."""
FINEST_BINS = (*FINE_BINS, FINE_BINS[-1])
"""The same with one more, down to a 200 000th of a size."""

# The chance that noise alone counts as a curve, and the number of windows for which it holds. Both
# may be lax: a centre that is wrong by some sizes does little harm.
FALSE_LOCATION, LOCATION_WINDOWS = 0.05, 2e2
# Most columns fill many bins of a finer histogram, so noise may make the fitted curve far too
# narrow, and a scale that is too small clips all rows. So a curve gives the scale only above this
# many standard deviations of the noise. Its centre, which moves by at most two bin widths, is used
# below this, too.
SCALE_SIGNIFICANCE = 9.0
NEAR = 0.35  # of the size: a median nearer than this counts as zero, and the size gives the scale

LEAST_SHARE = 0.5  # of the records: a fitted curve that holds fewer counts as noise


@dataclass(frozen=True)
class LocationScaleFit:
    """The curve that was fitted to a histogram.

    Attributes
    ----------
    location, scale
        Its middle, and the typical absolute difference of two of its records.
    significance
        Its size in standard deviations of the noise, by the matched filter.
    narrow
        Whether it is as narrow as a bin, so that its spread is only an upper bound.
    share
        The share of all records that it holds.
    """

    location: float
    scale: float
    significance: float
    narrow: bool
    share: float


def fit_location_scale(
    counts: FloatArray, bins: Bins, total: float, noise_std: float
) -> LocationScaleFit:
    """Return the curve of ``total`` records whose counts fit best in least squares."""
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
    """Tabulate the curves that bins can distinguish: every centre with every spread.

    Two centres a bin; spreads from 0.15 bins over nine octaves, in half octaves. A curve narrower
    than 1.2 bins counts as one bin, and its spread is an upper bound.

    Return locations, scales, whether narrow, bin shares over their norms, and the norms.
    """
    position = (np.arange(2 * bins.count) + 0.5) / 2
    width = bins.value(np.floor(position) + 1.0) - bins.value(np.floor(position))
    steps = np.arange(18) / 2
    locations = np.repeat(bins.value(position), steps.size)
    scales = (0.15 * width[:, None] * 2.0**steps).ravel()
    narrow = scales < np.repeat(1.2 * width, steps.size)
    edges = bins.value(np.arange(1.0, bins.count))
    # Logistic curves have heavier tails than normal ones. Their scale is roughly 0.64 times the
    # median absolute difference of two of their records.
    below = expit((edges - locations[:, None]) / (scales[:, None] * 0.64))
    nothing, all_of_it = np.zeros((locations.size, 1)), np.ones((locations.size, 1))
    shares = np.diff(np.hstack([nothing, below, all_of_it]), axis=1)
    norms = np.linalg.norm(shares, axis=1)
    return locations, scales, narrow, shares / norms[:, None], norms


def find_locations(
    queries: ColumnQueries,
    found: ColumnScales,
    stage: Stage,
    fine: Stage,
    *,
    fine_bins: tuple[Bins, ...] = FINE_BINS,
) -> BoolArray:
    """Release centres, and scales of columns away from zero; undetected columns stay at zero.

    Return which columns lie within one bin of every finer histogram.
    """
    located = np.flatnonzero(found.detected & ~found.often_zero)
    n_narrow = np.zeros(len(found.scale))
    for column, fitted, unit in _detected_fits(
        queries, found, located, found.scale, LOCATION_BINS, stage
    ):
        if abs(fitted.location) > NEAR:
            _adopt(found, column, fitted, unit, LOCATION_BINS)
        else:
            found.center[column] = fitted.location * unit
    for bins in fine_bins:
        coarse = np.flatnonzero(found.width)
        for column, fitted, unit in _detected_fits(queries, found, coarse, found.width, bins, fine):
            if fitted.significance > SCALE_SIGNIFICANCE:
                _adopt(found, column, fitted, unit, bins)
                n_narrow[column] += 1
            else:
                found.center[column] += fitted.location * unit
                n_narrow[column] += fitted.narrow
    return np.asarray((found.width > 0.0) & (n_narrow == len(fine_bins)))


def _detected_fits(
    queries: ColumnQueries,
    found: ColumnScales,
    chosen: IndexArray,
    units: FloatArray,
    bins: Bins,
    stage: Stage,
) -> list[tuple[int, LocationScaleFit, float]]:
    """Release histograms of the chosen columns; return the fits that exceed the noise."""
    if not chosen.size:
        return []
    center, unit = found.center[chosen], units[chosen]
    counts, noise_std = queries.histograms(chosen, bins, stage, center=center, unit=unit)
    fits = [fit_location_scale(row, bins, queries.session.n_rows(), noise_std) for row in counts]
    least = detection_threshold(chosen.size, FALSE_LOCATION, LOCATION_WINDOWS)
    fitted = zip(map(int, chosen), fits, map(float, unit), strict=True)
    return [one for one in fitted if one[1].significance > least and one[1].share > LEAST_SHARE]


def _adopt(
    found: ColumnScales, column: int, fitted: LocationScaleFit, unit: float, bins: Bins
) -> None:
    """Store the fitted location and scale; if the curve is narrow, its bin's width as well."""
    index = bins.index(fitted.location)
    width = float(bins.value(index + 1) - bins.value(index))
    found.center[column] += fitted.location * unit
    found.scale[column] = fitted.scale * unit
    found.width[column] = width * unit if fitted.narrow else 0.0
