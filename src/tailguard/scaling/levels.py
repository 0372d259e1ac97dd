"""Scales of indicators from the counts of their levels.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms).
"""

import math

import numpy as np

from tailguard.gate.stage import Stage
from tailguard.queries.level_counts import LevelCounts
from tailguard.scaling.columns import ColumnScales, HistogramSession, MeasuredColumns
from tailguard.scaling.sizes import FAR_SHARE, MANY_ZEROS, NEAREST_BOUND

# A level has records if its count is above this many standard deviations of its noise. Of 2 and
# 3.5, by trial, 2 is better: noise costs a fit less than losing a rare level.
LEAST_SEEN = 2.0
SPREAD = math.sqrt(2.0)  # scales of indicators over the roots of their shares, by trial


def count_levels(session: HistogramSession, columns: MeasuredColumns, stage: Stage) -> ColumnScales:
    """Count the levels of all categorical columns; return what that tells of their indicators.

    A level with fewer records than stand out of the noise is not detected: its records are read as
    the baseline. The scale of others follows the root of their share, but is not so small that rows
    with one of them would be far longer than others, nor that a bound of features would cut it.
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
