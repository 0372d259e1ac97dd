"""Locations of columns: signed bins in units of their size, then finer ones where these are coarse.

Signed logarithmic bins reach far and are fine near zero. A column that lies far from zero, compared
with its spread, is one sharp fitted curve in a wide bin there: its scale is not known yet, and it
is measured again in linear bins that split this one.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms).
"""

import numpy as np

from tailguard.array_types import BoolArray, FloatArray, IndexArray
from tailguard.gate.stage import Stage
from tailguard.queries.column_histograms import Bins
from tailguard.scaling.column_queries import ColumnQueries
from tailguard.scaling.columns import ColumnScales
from tailguard.scaling.location_scale_fit import LEAST_SHARE, LocationScaleFit, fit_location_scale
from tailguard.scaling.noisy_distribution import detection_threshold

LOCATION_BINS = Bins("signed", -3.5, 8.0, 56)
"""Bins of the first histogram, in units of the size: a median is within a few sizes of zero."""
FINE_BINS = Bins("linear", -2.0, 8.0, 32), Bins("linear", -1.0, 64.0, 128)
"""Bins of finer histograms, in units of the bin that is split: eighths of it, then 64ths of one of
these. In 64ths at once a column that fills the bin would hide, a little in each.
"""
REFINEMENTS = len(FINE_BINS)
"""How many finer histograms there are at most."""
FINEST_BINS = (*FINE_BINS, FINE_BINS[-1])
"""With one more, to a two hundred thousandth of a size."""

# A fitted curve is wrong as often as this, among so few windows: a centre that is wrong by some
# sizes does little harm.
FALSE_LOCATION, LOCATION_WINDOWS = 0.05, 2e2
# In a finer histogram, where most columns fill many bins, noise makes fitted curves that are far
# too narrow; a scale that is too small cuts all rows. Their spread is believed from so many noise
# standard deviations on; the centre, which moves by two widths of the bin at most, before that.
SCALE_SIGNIFICANCE = 9.0
NEAR = 0.35  # of the size: a median within that is no offset, and the size tells the scale


def find_locations(
    queries: ColumnQueries,
    found: ColumnScales,
    stage: Stage,
    fine: Stage,
    *,
    fine_bins: tuple[Bins, ...] = FINE_BINS,
) -> BoolArray:
    """Release centres, and scales of columns that lie away from zero; who hides stays at zero.

    Return who is but one bin in the finest histogram.
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
    """Release how the chosen ones lie around their centres; return the fits that stand out."""
    if not chosen.size:
        return []
    center, unit = found.center[chosen], units[chosen]
    counts, noise_std = queries.histograms(chosen, bins, stage, center=center, unit=unit)
    fits = [fit_location_scale(row, bins, queries.n_rows(), noise_std) for row in counts]
    least = detection_threshold(chosen.size, FALSE_LOCATION, LOCATION_WINDOWS)
    fitted = zip(map(int, chosen), fits, map(float, unit), strict=True)
    return [one for one in fitted if one[1].significance > least and one[1].share > LEAST_SHARE]


def _adopt(
    found: ColumnScales, column: int, fitted: LocationScaleFit, unit: float, bins: Bins
) -> None:
    """Take over the fitted location, and the fitted scale unless it is as narrow as one bin."""
    index = bins.index(fitted.location)
    width = float(bins.value(index + 1) - bins.value(index))
    found.center[column] += fitted.location * unit
    found.scale[column] = fitted.scale * unit
    found.width[column] = width * unit if fitted.narrow else 0.0
