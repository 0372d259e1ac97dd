"""Sizes, locations and scales of columns, from histograms of values and of differences of pairs.

The size of a column is its typical absolute value, from a histogram of octaves. It is cheap to
release, since all records contribute. But if a column is far from zero, its size does not show its
spread. Differences of random pairs show the spread at any location. But there are only half as many
pairs as records, and if a column is mostly constant, most differences are zero.

The location comes from signed logarithmic bins in units of the size. They cover a wide range and
are narrow near zero. If a column is far from zero, compared with its spread, it lies within one
wide bin, which does not show its scale. Then a second histogram splits this bin into linear bins.

A matched filter estimates location and scale from a noised histogram by fitting a curve. The curve
uses all bins; quantiles of the bins that exceed the noise would be too narrow if noise is a large
part of the counts. The curve need not be the column's distribution, since it only gives units.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); the search for a scale that spans
all units follows Karwa and Vadhan 2018, Section 3; Turin 1960 (matched filters): of all normalised
curves, the one that correlates most with the released counts is that of least squares.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from scipy.special import expit

from tailguard.array_types import BoolArray, FloatArray, IndexArray
from tailguard.gate.stage import Stage
from tailguard.queries.histograms import Bins, WhitenedHistogram
from tailguard.queries.units import Units
from tailguard.queries.view import View
from tailguard.scaling.columns import ColumnQueries, ColumnScales
from tailguard.scaling.noisy_distribution import POINTS, NoisyDistribution, detection_threshold

SIZE_BINS = Bins("octaves", -160.0, 1.0, 320)
"""Octaves of absolute values; the first bin also contains zeros and all smaller values."""

SIZE_WINDOW = 0.4
"""The share of a typical column's records in one window of octaves."""

# A column is a rare indicator if its ones stand out, and its values other than 0 and 1 are fewer
# than INDICATOR_REST standard deviations of the noise. FALSE_ONES is the probability in a fit that
# noise alone stands out.
FALSE_ONES, INDICATOR_REST = 2e-3, 2.0
# Sizes of most columns lie within COMMON_OCTAVES octaves of one. Other sizes must stand out more,
# as if there were UNCOMMON_FACTOR times as many windows.
COMMON_OCTAVES, UNCOMMON_FACTOR = 32.0, 100.0
MOSTLY_ZERO = 0.5  # with this share of zeros, too few other records remain to be detected
INDICATOR_STD = 0.5  # the largest standard deviation of zeros and ones
NEAREST_BOUND = 4.0  # scales: a default fit never bounds a column more narrowly
MANY_ZEROS = 0.25  # with this share of zeros, zero is the centre of a column; by trial
DIFFERENCE_OVER_SIZE = 1.4  # typical difference over typical size of a normal column with mean zero
# The pairs of a typical column in one window, as a share of the records: there are half as many
# pairs as records, and a quarter of them in one window.
PAIRS_DETECTED = 0.12
# The range of differences of pairs, in sizes of their column, and about how many windows it
# contains. Differences outside of this range are ignored. By trial.
LIKELY_DIFFERENCES, LIKELY_WINDOWS = (2.0**-14, 2.0**4), 1e2
FAR_SHARE = 0.005  # of the records exceed the far size, and as many are below the near size
LEAST_PART = 1.0 / 16.0  # smallest scale of a column over the bin width of its coarse centre


def find_sizes(queries: ColumnQueries, stage: Stage, retry: Stage | None = None) -> ColumnScales:
    """Release the size of every column and, with ``retry``, again those of undetected columns.

    Only columns that are zero in less than half of their records are released again. They are
    fewer, so each has less noise. The two releases are averaged, weighted by their precision.
    """
    total, n_columns = queries.session.n_rows(), len(queries.indices)
    counts, noise_std = queries.histograms(np.arange(n_columns), SIZE_BINS, stage)
    noise = np.full(n_columns, noise_std)
    measured = read_sizes(counts, noise, total)
    hidden = np.flatnonzero(~measured.detected & (counts[:, 0] < MOSTLY_ZERO * total))
    if not hidden.size or retry is None:
        return measured
    second, noise_std = queries.histograms(hidden, SIZE_BINS, retry)
    weight = 1.0 / (1.0 + (noise_std / noise[hidden]) ** 2)
    counts[hidden] += weight[:, None] * (second - counts[hidden])
    noise[hidden] = noise_std * np.sqrt(weight)
    return read_sizes(counts, noise, total)


def share_size(
    queries: ColumnQueries, measured: ColumnScales, stage: Stage, n_features: int
) -> None:
    """Give undetected features that are often zero a common size, from one more release.

    Each of these rare indicators and amounts is nonzero in too few records, but together they can
    be detected. If ones stand out, all possible indicators get the size of an indicator. If other
    lengths stand out of the noise, the size of the other columns is the median length of records in
    all these columns. It is larger if a detected length would exceed the nearest feature bound.
    """
    hidden = ~measured.detected & measured.often_zero & (np.array(queries.indices) < n_features)
    if not hidden.any():
        return
    chosen = np.eye(n_features)[:, np.array(queries.indices)[hidden]]
    view = View(None, Units.raw(n_features, intercept=False), chosen)
    query = WhitenedHistogram(view, "length", SIZE_BINS)
    counts, noise_std = queries.session.histograms(query, None, stage)
    if (hidden & measured.binary).any() and counts[_ones()] > _ones_threshold(1) * noise_std:
        measured.scale[hidden] = INDICATOR_STD * float(SIZE_BINS.middle()[_ones()])
        counts[_ones()] = 0.0
        hidden &= ~measured.binary
    detected_lengths = np.flatnonzero(counts[1:] > detection_threshold(1) * noise_std)
    if detected_lengths.size:
        middle = read_octaves(counts, noise_std).quantile(0.5)
        largest = float(SIZE_BINS.middle()[1 + detected_lengths[-1]])
        measured.scale[hidden] = max(INDICATOR_STD * middle, largest / NEAREST_BOUND)


def read_sizes(counts: FloatArray, noise: FloatArray, total: float) -> ColumnScales:
    """Estimate scales from a histogram per column; ``total`` is the public number of records."""
    least, measured = detection_threshold(len(counts)), ColumnScales.unknown(len(counts))
    least_far = detection_threshold(UNCOMMON_FACTOR * len(counts))
    measured.often_zero = counts[:, 0] > MANY_ZEROS * total
    rest, hidden = total - counts[:, 0] - counts[:, _ones()], INDICATOR_REST * noise
    measured.binary = (rest < hidden) & (hidden < MANY_ZEROS * total)
    for column, (row, noise_std) in enumerate(zip(counts, noise, strict=True)):
        distribution = read_octaves(row, noise_std)
        size = distribution.quantile(0.5)
        # The scale of a column that is often zero, over the size of its other records, follows
        # from the root mean square. Without the lower bound, rows with a nonzero value would be far
        # longer than others, and be clipped.
        root_mean_square = math.sqrt(max(total - row[0], noise_std) / total)
        lower_bound = 1.0 / math.sqrt(math.sqrt(len(counts)))
        often_zero_factor = min(max(root_mean_square, lower_bound), 1.0)
        if distribution.significance > (
            least if abs(math.log2(size)) < COMMON_OCTAVES else least_far
        ):
            measured.scale[column] = size * (
                often_zero_factor if measured.often_zero[column] else DIFFERENCE_OVER_SIZE
            )
            measured.far_size[column] = _far_size(distribution, FAR_SHARE * total, noise_std)
            measured.near_size[column] = distribution.quantile(FAR_SHARE)
        elif rest[column] < hidden[column]:
            zeros_seen = row[0] > least * noise_std
            if zeros_seen and row[_ones()] > _ones_threshold(len(counts)) * noise_std:
                measured.scale[column] = often_zero_factor
    return measured


def _far_size(distribution: NoisyDistribution, records: float, noise_std: float) -> float:
    """Return the size that ``records`` records exceed; within an octave, tails fall by a power.

    One standard deviation of the noise is subtracted from the counts beyond an octave. Subtracting
    more would overlook sizes of records, which would do more harm. Beyond an octave noise is
    assumed to hide one standard deviation, but at most a quarter of ``records``.
    """
    masses = distribution.total * distribution.mass.reshape(-1, POINTS).sum(axis=1)
    beyond = np.cumsum(masses[::-1])[::-1] - noise_std
    octave = int(np.flatnonzero(beyond >= min(records, beyond[0]))[-1])
    unseen = min(noise_std, records / 4.0)
    at_octave, above = np.maximum([*beyond, 0.0], unseen)[octave : octave + 2]
    part = math.log(max(at_octave / records, 1.0)) / math.log(max(at_octave / above, 2.0))
    return float(distribution.edges[octave] * 2.0 ** min(part, 1.0))


def read_octaves(counts: FloatArray, noise_std: float) -> NoisyDistribution:
    """Estimate the distribution of sizes above zero, from a histogram without its first bin."""
    return NoisyDistribution.of(np.concatenate([[0.0], counts[1:]]), SIZE_BINS, noise_std)


def fewest_records(columns: int, noise_std: float) -> float:
    """Return how many records typical columns need to be detected with this noise."""
    return detection_threshold(columns) * noise_std / SIZE_WINDOW


def find_scales(queries: ColumnQueries, measured: ColumnScales, stage: Stage) -> None:
    """Take scales from differences of pairs, which are the best source if they are detected.

    If public numbers predict that they will hardly be detected, only columns whose centres are too
    coarse are measured. If noise may hide all unequal pairs of such a column, its scale becomes
    unknown.
    """
    n_columns = len(queries.indices)
    needed = detection_threshold(n_columns) * queries.session.noise_std(n_columns, stage)
    visible = PAIRS_DETECTED * queries.session.n_rows() > needed
    chosen = np.flatnonzero(measured.detected if visible else measured.width)
    if not chosen.size:
        return
    counts, noise_std = queries.histograms(chosen, SIZE_BINS, stage, paired=True)
    least = detection_threshold(chosen.size, windows=LIKELY_WINDOWS)
    octaves, pairs = SIZE_BINS.middle(), queries.session.n_rows() // 2
    for column, row in zip(chosen, counts, strict=True):
        size = max(abs(measured.center[column]), measured.scale[column])
        likely = (octaves > LIKELY_DIFFERENCES[0] * size) & (octaves < LIKELY_DIFFERENCES[1] * size)
        distribution = read_octaves(np.where(likely, row, 0.0), noise_std)
        if distribution.significance > least:
            measured.scale[column] = max(
                distribution.quantile(0.5), LEAST_PART * measured.width[column]
            )
        elif measured.width[column] and pairs - row[0] < least * noise_std < row[0]:
            measured.scale[column] = np.nan


@cache
def _ones() -> int:
    """Return the bin that contains all ones of an indicator."""
    return int(SIZE_BINS.index(1.0))


def _ones_threshold(columns: int) -> float:
    """Return how many standard deviations of the noise the count of ones must exceed."""
    return detection_threshold(columns, FALSE_ONES, windows=1.0)


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
    return (measured.width > 0.0) & (n_narrow == len(fine_bins))


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
