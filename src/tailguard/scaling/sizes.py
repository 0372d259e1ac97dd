"""Scales by octaves: of values, which say how large a column is, and of differences of pairs.

The size, the typical absolute value, is cheap to see, since all records tell it, and is all that is
known at first; where a column is far from zero it says nothing of how far its records lie apart.
Differences of random pairs do, wherever the column lies, but there are half as many, and columns
that are mostly constant hide among zeros.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); the search for a scale that spans
all units follows Karwa and Vadhan 2018, Section 3.
"""

import math
from dataclasses import replace

import numpy as np

from tailguard.array_types import FloatArray, IndexArray
from tailguard.plans.stage import Stage
from tailguard.queries.column_histograms import Bins
from tailguard.scaling.column_queries import ColumnQueries
from tailguard.scaling.columns import ColumnScales
from tailguard.scaling.noisy_distribution import NoisyDistribution, detection_threshold

__all__ = [
    "SIZE_BINS",
    "SIZE_WINDOW",
    "fewest_records",
    "find_scales",
    "find_sizes",
    "read_octaves",
    "read_sizes",
]


SIZE_BINS = Bins("octaves", -160.0, 1.0, 320)
"""Octaves of absolute values; the first holds zeros and what is too small to tell."""

SIZE_WINDOW = 0.4
"""The share of its records that a typical column has in one window of octaves."""

ONES = int(SIZE_BINS.index(1.0))  # the bin that all ones of an indicator are in
# A rare indicator has ones that stand out as one given bin must, which noise does so often a fit,
# and all but zeros and ones are fewer than so many noise standard deviations.
FALSE_ONES, INDICATOR_REST = 2e-3, 2.0
# Units of most columns lie within so many octaves of one; others have to stand out more, as if they
# were one of so many windows more.
COMMON_OCTAVES, UNCOMMON_FACTOR = 32.0, 100.0
# A column is asked for again if its records that are not zero may be so many noise standard
# deviations after that.
RETRY_SIGNIFICANCE = 3.0
CERTAIN_FACTOR = (
    6.0  # times what a window must have that holds all: bulks hold less, and these were hidden
)
MANY_ZEROS = 0.25  # share of the records from which on zero is the centre of a column
DIFFERENCE_OVER_SIZE = 1.4  # typical difference over typical size of a normal column with mean zero
PAIRS_DETECTED = 0.12  # share of the records by which pairs of a typical column stand out
LIKELY, LIKELY_WINDOWS = (2.0**-14, 2.0**4), 1e2  # differences of pairs over the size of a column
LEAST_SCALE = 1.0 / 16.0  # in bins of a coarse centre, which is no better known than that


def find_sizes(queries: ColumnQueries, once: Stage | None = None) -> ColumnScales:
    """Release the size of every column, and again, if planned, of those not seen.

    With ``once`` it is released once, in that stage. Both releases are averaged by their
    precision. Columns that are zero nearly always are not asked for again, since their few other
    records would hide once more.

    Examples
    --------
    >>> from tailguard.plans.stage import Stage
    >>> from tailguard.solvers.example_session import example_session
    >>> stage = Stage("typical size", "sizes", 1.0, 1, 320)
    >>> session = example_session(np.full((400, 1), 5e6), stage)
    >>> bool(2.0**22 < find_sizes(ColumnQueries(session, (0,))).scale[0] < 2.0**24)
    True
    """
    if once is not None:
        counts, noise_std = queries.histograms(np.arange(len(queries)), SIZE_BINS, once)
        return read_sizes(counts, np.full(len(queries), noise_std), queries.n_rows())
    found = ColumnScales.unknown(len(queries))
    counts, noise = np.zeros((len(queries), SIZE_BINS.count)), np.full(len(queries), np.inf)
    for name in ("typical size", "typical size retry"):
        if not queries.plans(name):
            continue
        hidden, stage = np.flatnonzero(~found.detected), queries.stage(name)
        if name != "typical size":
            others = queries.n_rows() - counts[:, 0]  # that are not zero, give or take the noise
            hidden = _worth_retrying(hidden, stage.mu, others + noise, noise)
            enough = _mu_to_detect((others - noise)[hidden])
            stage = replace(stage, mu=min(stage.mu, enough))
        if hidden.size:
            more, noise_std = queries.histograms(hidden, SIZE_BINS, stage)
            weight = 1.0 / (1.0 + (noise_std / noise[hidden]) ** 2)
            counts[hidden] += weight[:, None] * (more - counts[hidden])
            noise[hidden] = noise_std * np.sqrt(weight)
            found = read_sizes(counts, noise, queries.n_rows())
    return found


def read_sizes(counts: FloatArray, noise: FloatArray, total: float) -> ColumnScales:
    """Read one histogram and its noise per column; ``total`` is the public number of records.

    Examples
    --------
    >>> counts = np.zeros((2, SIZE_BINS.count))
    >>> counts[0, 170] = 900.0
    >>> read_sizes(counts, np.full(2, 10.0), total=1000.0).detected
    array([ True, False])
    """
    least, found = detection_threshold(len(counts)), ColumnScales.unknown(len(counts))
    least_far = detection_threshold(UNCOMMON_FACTOR * len(counts))
    found.zeros = counts[:, 0] > MANY_ZEROS * total
    for column, (row, noise_std) in enumerate(zip(counts, noise, strict=True)):
        distribution = read_octaves(row, noise_std)
        size = distribution.quantile(0.5)
        found.mean_size[column] = (
            distribution.mean(distribution.points) * distribution.total / total
        )
        mostly_zero_factor = _mostly_zero_factor(row, noise_std, total, len(counts))
        if distribution.significance > (
            least if abs(math.log2(size)) < COMMON_OCTAVES else least_far
        ):
            found.scale[column] = size * (
                mostly_zero_factor if found.zeros[column] else DIFFERENCE_OVER_SIZE
            )
        elif _is_indicator(row, noise_std, total, len(counts)):
            found.scale[column] = mostly_zero_factor
    return found


def read_octaves(counts: FloatArray, noise_std: float) -> NoisyDistribution:
    """Read the distribution of sizes that are not zero: that of a histogram without its first bin.

    Examples
    --------
    >>> counts = np.zeros(SIZE_BINS.count)
    >>> counts[[0, 170]] = 900.0, 100.0
    >>> read_octaves(counts, noise_std=1.0).quantile(0.5) == 1.5 * 2.0**10
    True
    """
    return NoisyDistribution.of(np.concatenate([[0.0], counts[1:]]), SIZE_BINS, noise_std)


def fewest_records(columns: int, noise_std: float) -> float:
    """Return how many records typical columns need to stand out of histograms with such noise.

    Examples
    --------
    >>> round(fewest_records(columns=1, noise_std=10.0))
    110
    """
    return detection_threshold(columns) * noise_std / SIZE_WINDOW


def find_scales(queries: ColumnQueries, found: ColumnScales) -> None:
    """Take differences of pairs for the scale, which tell it best where they can be seen.

    Where they hardly can, by public numbers, only columns whose centres stayed too coarse are asked
    for. Where most of their pairs are seen to be equal such a column tells nothing: its scale is
    not known.

    Examples
    --------
    >>> from tailguard.plans.stage import Stage
    >>> from tailguard.solvers.example_session import example_session
    >>> x = np.random.default_rng(0).normal(50.0, 1.0, (400, 1))
    >>> session = example_session(x, Stage("scale", "sizes", 1.0, 1, 320))
    >>> found = ColumnScales.unknown(1)
    >>> found.center[:], found.scale[:] = 50.0, 70.0  # the typical value, which is no spread
    >>> find_scales(ColumnQueries(session, (0,)), found)
    >>> bool(0.5 < found.scale[0] < 2.0)
    True
    """
    stage = queries.stage("scale")
    needed = detection_threshold(len(queries)) * queries.noise_std(len(queries), stage)
    told = PAIRS_DETECTED * queries.n_rows() > needed
    chosen = np.flatnonzero(found.detected if told else found.width)
    if not chosen.size:
        return
    counts, noise_std = queries.histograms(chosen, SIZE_BINS, stage, paired=True)
    least = detection_threshold(chosen.size, windows=LIKELY_WINDOWS)
    octaves = SIZE_BINS.middle()
    for column, row in zip(chosen, counts, strict=True):
        size = max(abs(found.center[column]), found.scale[column])
        likely = (octaves > LIKELY[0] * size) & (octaves < LIKELY[1] * size)
        distribution = read_octaves(np.where(likely, row, 0.0), noise_std)
        if distribution.significance > least:
            found.scale[column] = max(distribution.quantile(0.5), LEAST_SCALE * found.width[column])
        elif found.width[column] and row[0] > least * noise_std:
            found.scale[column] = np.nan


def _worth_retrying(
    hidden: IndexArray, mu: float, at_most: FloatArray, noise: FloatArray
) -> IndexArray:
    """Return which of the hidden columns may be seen at one more release: as many as can be.

    They have ``at_most`` so many records that are not zero; ``noise`` is that of a column by now.
    The fewer columns are asked for, the less noise each has.
    """
    order = np.argsort(-at_most[hidden], kind="stable")
    ordered = hidden[order]
    anew = np.sqrt(2.0 * np.arange(1, hidden.size + 1)) / mu
    expected = anew / np.sqrt(1.0 + (anew / noise[ordered]) ** 2)
    hopeful = np.flatnonzero(at_most[ordered] > RETRY_SIGNIFICANCE * expected)
    return np.sort(ordered[: hopeful[-1] + 1 if hopeful.size else 0])


def _mu_to_detect(others: FloatArray) -> float:
    """Return the mu at which columns with so many records, in a few octaves, surely stand out."""
    size = max(others.size, 1)
    least = max(float(others.min(initial=math.inf)), 1.0)
    return CERTAIN_FACTOR * detection_threshold(size) * math.sqrt(2.0 * size) / least


def _mostly_zero_factor(row: FloatArray, noise_std: float, total: float, columns: int) -> float:
    """Return the scale of a column that is mostly zero, over the size of its other records.

    It is what its root mean square tells, but not so small that rows with one of these would be
    far longer than others, and be cut.
    """
    others = max(total - row[0], noise_std) / total
    return min(max(math.sqrt(others), 1.0 / math.sqrt(math.sqrt(columns))), 1.0)


def _is_indicator(row: FloatArray, noise_std: float, total: float, columns: int) -> bool:
    """Whether zeros are seen, and ones, and noise could hide all that is neither."""
    zeros, ones = row[0], row[ONES]
    rest = total - zeros - ones
    seen = zeros > detection_threshold(columns) * noise_std
    seen &= ones > detection_threshold(columns, FALSE_ONES, windows=1.0) * noise_std
    return bool(seen and rest < INDICATOR_REST * noise_std)
