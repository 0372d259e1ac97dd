"""A location and a scale for every column from a few releases of histograms.

Typical size: the median absolute value of every column; columns that were not detected share one.
Location: from bins in units of that size, and from finer bins if it is far from zero; a curve
fitted to these bins also gives the scale. Scale: from differences of pairs, which do not depend on
the location. Without an intercept no column may be shifted, and the size is the scale. Indicators
of declared levels: the scale follows from the counts of levels.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); the search for a scale that spans
all units follows Karwa and Vadhan 2018, Section 3.
"""

import math

import numpy as np

from tailguard.gate.stage import Share, Stage, part_of
from tailguard.queries.level_tables import LevelCounts
from tailguard.queries.units import Units
from tailguard.scaling.columns import ColumnQueries, ColumnScales, HistogramSession, MeasuredColumns
from tailguard.scaling.locations import (
    FINE_BINS,
    FINEST_BINS,
    LOCATION_BINS,
    REFINEMENTS,
    find_locations,
)
from tailguard.scaling.sizes import (
    FAR_SHARE,
    MANY_ZEROS,
    NEAREST_BOUND,
    SIZE_BINS,
    find_scales,
    find_sizes,
    share_size,
)

LEVELS = "level counts"
TARGET = "target "  # begins the names of the target's own stages
PURPOSES = {
    "target typical size": "the typical absolute value of the target",
    "target location": "the location of the target",
    "target scale": "the scale of the target, from differences of pairs",
    LEVELS: "how many records have each declared level",
    "typical size": "the typical absolute value of every column",
    "typical size retry": "the same again, for columns that were not detected and may be",
    "shared size": "one typical size for all columns that were not detected",
    "location": "the location of every column",
    "fine location": "finer histograms of locations far from zero",
    "scale": "the scale of columns, from differences of pairs",
}
UNITS = tuple(PURPOSES)
"""The stages that release units."""
# A level has records if its count is above this many standard deviations of its noise. By trial, 2
# is better than 3.5: noise costs a fit less than the loss of a rare level.
LEAST_SEEN = 2.0
SPREAD = math.sqrt(2.0)  # the scale of an indicator over the root of its share, by trial


def histogram_stages(
    columns: MeasuredColumns,
    budget: Share,
    *,
    size: float = 0.0,
    location: float = 0.0,
    size_retry: float = 0.0,
    shared_size: float = 0.0,
    pair_differences: float = 0.0,
    target: float = 0.0,
    levels: float = 0.0,
    refinements: int = REFINEMENTS,
) -> list[Stage]:
    """Plan the histograms that have a share of the budget.

    The target is released alone: among ``k`` columns its noise would be ``sqrt(k)`` times as
    large, and without its units no fit is better than a guess. If ``levels`` has a share,
    indicators of declared levels are in its counts and in no other histogram.
    """
    counted = len(columns.counted) if levels > 0.0 else 0
    others = len(columns.indices) - columns.target - counted
    stages: list[tuple[str, float, int, int, int]] = []
    if columns.target and columns.target_shifted:
        # The last two are skipped if the size is not detected. Parts by trial.
        stages = [
            ("target typical size", 0.5 * target, 1, 1, SIZE_BINS.count),
            ("target location", 0.35 * target, 1 + REFINEMENTS, 1, FINE_BINS[-1].count),
            ("target scale", 0.15 * target, 1, 1, SIZE_BINS.count),
        ]
    elif columns.target:
        stages = [("target typical size", target, 1, 1, SIZE_BINS.count)]
    stages.append((LEVELS, levels, min(counted, 1), len(columns.levels) + counted, 1))
    stages.append(("typical size", size, 1, others, SIZE_BINS.count))
    stages.append(("typical size retry", size_retry, 1, others, SIZE_BINS.count))
    stages.append(("shared size", shared_size, 1, min(others, 1), SIZE_BINS.count))
    if columns.intercept:
        # Half for the first histogram, half for all finer ones, which read fewer columns.
        stages.append(("location", location / 2, 1, others, LOCATION_BINS.count))
        stages.append(("fine location", location / 2, refinements, others, FINE_BINS[-1].count))
        stages.append(("scale", pair_differences, 1, others, SIZE_BINS.count))
    planned = []
    for name, share, times, count, bins in stages:
        if share > 0.0 and times * count > 0:
            part, paired = part_of(budget, share, times=times), name in ("scale", "target scale")
            size = count * bins
            planned.append(Stage.of(part, name, PURPOSES[name], times, size, by_place=paired))
    return planned


def find_units(session: HistogramSession, columns: MeasuredColumns) -> tuple[Units, ColumnScales]:
    """Release the histograms; return units, and the scales of columns and target.

    If the target is not detected, only a constant will be fitted: its centre takes the rest of the
    budget, and no columns are measured.
    """
    scales = find_columns(session, columns, or_constant=True)
    return scales.units(columns), scales


def find_columns(
    session: HistogramSession,
    columns: MeasuredColumns,
    *,
    or_constant: bool = False,
    believe_narrow: bool = False,
) -> ColumnScales:
    """Release the histograms; return the scales of the columns, the target and the offset.

    With ``or_constant`` a target that may be shifted, and is not detected, takes the rest of the
    budget, and no columns are measured.

    A column that lies within one bin, however fine the histogram, counts as having one value in
    most records. Its size is the scale, unless differences of pairs show another: a scale that is
    far too small would clip all rows at that column. With ``believe_narrow`` locations are refined
    once more, and the width of the last bin is the scale.
    """
    indices = np.array(columns.indices)
    is_target, counted = indices == columns.n_features, np.array([], dtype=np.intp)
    whole, alone = ColumnScales.unknown(len(indices)), False
    if columns.target:
        queries = ColumnQueries(session, (columns.n_features,), TARGET)
        found = _target(queries, shifted=columns.target_shifted, or_constant=or_constant)
        alone = or_constant and columns.target_shifted and not found.detected.any()
        whole.put(is_target, found)
    if not alone and session.plans(LEVELS):
        counted = np.array(columns.counted)
        whole.put(counted, count_levels(session, columns, session.stage(LEVELS)))
    measured = ~is_target & ~np.isin(indices, counted)
    if not alone and measured.any():
        queries = ColumnQueries(session, tuple(map(int, indices[measured])))
        found = find_sizes(queries, queries.stage("typical size"))
        if columns.intercept and found.detected.any():
            _locate(queries, found, believe_narrow=believe_narrow)
        share_size(queries, found, columns.n_features)
        whole.put(measured, found)
    return whole


def count_levels(session: HistogramSession, columns: MeasuredColumns, stage: Stage) -> ColumnScales:
    """Count the levels of all categorical columns; return the scales of their indicators.

    A level whose count does not exceed the noise is not detected: its records are read as the
    baseline. The scale of another level is proportional to the root of its share, with a lower
    limit: rows with that level must not be far longer than others, and bounds of features must not
    cut its indicator.
    """
    query = LevelCounts(columns.levels)
    counts, noise_std = session.histograms(query, None, stage, columns=len(columns.levels))
    total = session.n_rows(stage)
    least = LEAST_SEEN * noise_std
    found = ColumnScales.unknown(len(columns.indices))
    smallest = max(len(columns.indices) ** -0.25, 1.0 / NEAREST_BOUND)
    for some, (baseline, *levels) in zip(columns.levels, query.by_column(counts), strict=True):
        for column, count in zip(some, levels, strict=True):
            share = min(max(count / total, 0.0), 1.0)
            if count > least:
                found.scale[column] = SPREAD * max(math.sqrt(share), smallest)
            found.often_zero[column] = share < 1.0 - MANY_ZEROS
            found.far_size[column] = float(share > FAR_SHARE)
            found.without_baseline[column] = baseline <= least
    return found.of(np.array(columns.counted))


def find_target(session: HistogramSession, columns: MeasuredColumns) -> tuple[Units, bool]:
    """Release the target's own histograms; return units, and whether it was detected."""
    whole = ColumnScales.unknown(len(columns.indices))
    if not columns.target:
        return whole.units(columns), True
    queries = ColumnQueries(session, (columns.n_features,), TARGET)
    found = _target(queries, shifted=columns.target_shifted)
    whole.put(np.array(columns.indices) == columns.n_features, found)
    return whole.units(columns), bool(found.detected.any())


def _locate(queries: ColumnQueries, found: ColumnScales, *, believe_narrow: bool) -> None:
    """Release centres, and scales about them; keep those that exceed the noise."""
    sizes = found.scale.copy()
    location, fine = queries.stage("location"), queries.stage("fine location")
    fine_bins = FINEST_BINS if believe_narrow else FINE_BINS
    narrow = find_locations(queries, found, location, fine, fine_bins=fine_bins)
    found.scale[narrow] = found.width[narrow] if believe_narrow else sizes[narrow]
    find_scales(queries, found)
    if believe_narrow:
        equal = np.isnan(found.scale) & (found.width > 0.0)  # most pairs are equal
        found.scale[equal] = found.width[equal]


def _target(queries: ColumnQueries, *, shifted: bool, or_constant: bool = False) -> ColumnScales:
    """Measure the target; if its size is not detected, its centre may take the whole rest."""
    found = find_sizes(queries, queries.stage("typical size"))
    if not shifted:
        return found
    if found.detected.any():
        _locate_target(queries, found, queries.stage("location"))
        if queries.plans("scale"):
            find_scales(queries, found)
        return found
    return _constant(queries) if or_constant else found


def _constant(queries: ColumnQueries) -> ColumnScales:
    """Spend the rest of the budget on the centre of the target, whose scale stays unknown."""
    releases = 2 + REFINEMENTS  # size, location and finer histograms
    mu = queries.session.left() / math.sqrt(releases)
    rest = Stage("rest", "all that is left", mu, releases, SIZE_BINS.count)
    found = find_sizes(queries, rest)
    if found.detected.any():
        _locate_target(queries, found, rest)
        found.scale[:] = np.nan
    return found


def _locate_target(queries: ColumnQueries, found: ColumnScales, stage: Stage) -> None:
    """Release the centre of the target, even if most of its values are zero."""
    found.often_zero[:] = False
    find_locations(queries, found, stage, stage)
