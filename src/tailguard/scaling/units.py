"""A location and a scale for every column from a few releases of histograms.

*Typical size.* The median absolute value of every column; columns that were not detected share one.
*Location.* From bins in units of that size, and from finer bins if the location is far from zero. A
curve fitted to these bins also gives the scale. *Scale.* From differences of pairs of records,
which do not depend on the location. Without an intercept no column may be shifted, and the size is
the scale. *Indicators of declared levels.* The counts of levels give their scale.

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
from tailguard.scaling.sizes_and_locations import (
    FAR_SHARE,
    FINE_BINS,
    FINEST_BINS,
    LOCATION_BINS,
    MANY_ZEROS,
    NEAREST_BOUND,
    REFINEMENTS,
    SIZE_BINS,
    find_locations,
    find_scales,
    find_sizes,
    share_size,
)

LEVELS = "level counts"
PURPOSES = {
    "target typical size": "the typical absolute value of the target",
    "target location": "the location of the target",
    "target scale": "the scale of the target, from differences of pairs",
    LEVELS: "how many records have each declared level",
    "typical size": "the typical absolute value of every column",
    "typical size retry": "a second release of this, for undetected columns with few zeros",
    "shared size": "one typical size for all columns that were not detected",
    "location": "the location of every column",
    "fine location": "finer histograms of locations far from zero",
    "scale": "the scale of columns, from differences of pairs",
}
UNITS = tuple(PURPOSES)
"""The stages that release units."""
# A level is detected if its count exceeds this many standard deviations of its noise. By trial, 2
# is better than 3.5: a fit loses less by noise than by the loss of a rare level.
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
    """Plan the histograms whose share of the budget is not zero.

    The target has releases of its own: among ``k`` columns its noise would be ``sqrt(k)`` times as
    large, and without its units no fit is better than a guess. If ``levels`` has a share, the
    indicators of declared levels are counted, and are in no other histogram.
    """
    n_counted = len(columns.counted) if levels > 0.0 else 0
    n_others = len(columns.indices) - columns.target - n_counted
    stages: list[tuple[str, float, int, int, int]] = []
    if columns.target and columns.target_shifted:
        # If the size is not detected, the last two are skipped. The parts are by trial.
        stages = [
            ("target typical size", 0.5 * target, 1, 1, SIZE_BINS.count),
            ("target location", 0.35 * target, 1 + REFINEMENTS, 1, FINE_BINS[-1].count),
            ("target scale", 0.15 * target, 1, 1, SIZE_BINS.count),
        ]
    elif columns.target:
        stages = [("target typical size", target, 1, 1, SIZE_BINS.count)]
    stages.append((LEVELS, levels, min(n_counted, 1), len(columns.levels) + n_counted, 1))
    stages.append(("typical size", size, 1, n_others, SIZE_BINS.count))
    stages.append(("typical size retry", size_retry, 1, n_others, SIZE_BINS.count))
    stages.append(("shared size", shared_size, 1, min(n_others, 1), SIZE_BINS.count))
    if columns.intercept:
        # Half is for the first histogram and half for all finer ones, which have fewer columns.
        stages.append(("location", location / 2, 1, n_others, LOCATION_BINS.count))
        stages.append(("fine location", location / 2, refinements, n_others, FINE_BINS[-1].count))
        stages.append(("scale", pair_differences, 1, n_others, SIZE_BINS.count))
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

    With ``or_constant``, an undetected target that may be shifted takes the rest of the budget, and
    no columns are measured.

    If a column lies within one bin of the finest histogram, most of its records are taken to have
    one value. Its size is then the scale, unless differences of pairs show another scale: a scale
    that is far too small would clip all rows because of this column. With ``believe_narrow``,
    locations are refined once more, and the width of the last bin is the scale.
    """
    indices = np.array(columns.indices)
    is_target, counted = indices == columns.n_features, np.array([], dtype=np.intp)
    scales, only_target = ColumnScales.unknown(len(indices)), False
    if columns.target:
        measured_scales = _target(session, columns, or_constant=or_constant)
        only_target = or_constant and columns.target_shifted and not measured_scales.detected.any()
        scales.put(is_target, measured_scales)
    if not only_target and LEVELS in session.stages:
        counted = np.array(columns.counted)
        scales.put(counted, count_levels(session, columns, session.stages[LEVELS]))
    measured = ~is_target & ~np.isin(indices, counted)
    if not only_target and measured.any():
        queries = ColumnQueries(session, tuple(map(int, indices[measured])))
        sizes, retry = session.stages["typical size"], session.stages.get("typical size retry")
        measured_scales = find_sizes(queries, sizes, retry)
        if columns.intercept and measured_scales.detected.any():
            _locate(queries, measured_scales, believe_narrow=believe_narrow)
        if "shared size" in session.stages:
            shared = session.stages["shared size"]
            share_size(queries, measured_scales, shared, columns.n_features)
        scales.put(measured, measured_scales)
    return scales


def count_levels(session: HistogramSession, columns: MeasuredColumns, stage: Stage) -> ColumnScales:
    """Count the levels of all categorical columns; return the scales of their indicators.

    If the count of a level does not exceed the noise, the level is not detected, and its records
    are read as the baseline. The scale of a detected level is proportional to the root of its
    share. It has a lower limit: rows with that level must not be far longer than others, and bounds
    of features must not clip its indicator.
    """
    query = LevelCounts(columns.levels)
    counts, noise_std = session.histograms(query, None, stage, columns=len(columns.levels))
    total = session.n_rows(stage)
    threshold = LEAST_SEEN * noise_std
    scales = ColumnScales.unknown(len(columns.indices))
    smallest = max(len(columns.indices) ** -0.25, 1.0 / NEAREST_BOUND)
    for indicators, (baseline, *levels) in zip(
        columns.levels, query.by_column(counts), strict=True
    ):
        for column, count in zip(indicators, levels, strict=True):
            share = min(max(count / total, 0.0), 1.0)
            if count > threshold:
                scales.scale[column] = SPREAD * max(math.sqrt(share), smallest)
            scales.often_zero[column] = share < 1.0 - MANY_ZEROS
            scales.far_size[column] = float(share > FAR_SHARE)
            scales.without_baseline[column] = baseline <= threshold
    return scales.of(np.array(columns.counted))


def find_target(
    session: HistogramSession, columns: MeasuredColumns, scales: ColumnScales | None = None
) -> tuple[Units, bool]:
    """Release the target's own histograms; return units, and whether it was detected.

    ``scales`` are those of columns that are known already.
    """
    scales = scales or ColumnScales.unknown(len(columns.indices))
    if not columns.target:
        return scales.units(columns), True
    target_scales = _target(session, columns)
    scales.put(np.array(columns.indices) == columns.n_features, target_scales)
    return scales.units(columns), bool(target_scales.detected.any())


def _locate(queries: ColumnQueries, scales: ColumnScales, *, believe_narrow: bool) -> None:
    """Release centres, and then scales from pairs; keep those that exceed the noise."""
    sizes, stages = scales.scale.copy(), queries.session.stages
    fine_bins = FINEST_BINS if believe_narrow else FINE_BINS
    narrow = find_locations(
        queries, scales, stages["location"], stages["fine location"], fine_bins=fine_bins
    )
    scales.scale[narrow] = scales.width[narrow] if believe_narrow else sizes[narrow]
    find_scales(queries, scales, stages["scale"])
    if believe_narrow:
        equal = np.isnan(scales.scale) & (scales.width > 0.0)  # most pairs of records are equal
        scales.scale[equal] = scales.width[equal]


def _target(
    session: HistogramSession, columns: MeasuredColumns, *, or_constant: bool = False
) -> ColumnScales:
    """Measure the target; if its size is not detected, its centre may take the rest."""
    queries, stages = ColumnQueries(session, (columns.n_features,)), session.stages
    scales = find_sizes(queries, stages["target typical size"])
    if not columns.target_shifted:
        return scales
    if scales.detected.any():
        scales.often_zero[:] = False  # the centre of the target may be zero
        location = stages["target location"]
        find_locations(queries, scales, location, location)
        if "target scale" in stages:
            find_scales(queries, scales, stages["target scale"])
        return scales
    return _constant(queries) if or_constant else scales


def _constant(queries: ColumnQueries) -> ColumnScales:
    """Spend the rest of the budget on the centre of the target, whose scale stays unknown."""
    releases = 2 + REFINEMENTS  # of the size, of the location, and finer histograms
    mu = queries.session.left() / math.sqrt(releases)
    rest = Stage("rest", "the rest of the budget", mu, releases, SIZE_BINS.count)
    scales = find_sizes(queries, rest)
    if scales.detected.any():
        scales.often_zero[:] = False
        find_locations(queries, scales, rest, rest)
        scales.scale[:] = np.nan
    return scales
