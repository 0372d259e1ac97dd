"""The measured columns, the session that releases their histograms, and their scales.

Reference
---------
Karwa and Vadhan 2018, Section 3 (a location and a scale of a column without bounds);
Dong, Roth and Su 2022, Theorem 2.7: a release of ``k`` columns costs as much as a release of a
vector with ``l2`` sensitivity ``sqrt(2 k)``, so fewer columns get less noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from tailguard.array_types import BoolArray, FloatArray, IndexArray
from tailguard.gate.plan import Problem
from tailguard.gate.stage import Stage
from tailguard.queries.base import Query
from tailguard.queries.histograms import Bins, ColumnHistograms
from tailguard.queries.units import Units

LARGEST_SCALE = 2.0**150  # so that squares of scales, and their inverses, are floats
# Exposures are counted from a reference one scale above their median, in logarithms, since most of
# their sum lies above it: log-uniform over four decades, their mean is 2.4 above the median. The
# limit is for two modes, whose scale is far too large.
MOST_ABOVE = 2.0


@dataclass(frozen=True)
class MeasuredColumns:
    """The measured columns: the features, then target and offset if they exist.

    Attributes
    ----------
    n_features
        The number of features.
    target, offset
        Whether the target and the offset are measured.
    intercept
        Whether columns may be shifted, because the intercept absorbs the shift.
    residual
        Whether the target may be shifted with the score. Under a log link it is only scaled.
    levels
        The indicator columns of each categorical column, whose levels are counted.
    """

    n_features: int
    target: bool = False
    offset: bool = False
    intercept: bool = True
    residual: bool = False
    levels: tuple[tuple[int, ...], ...] = ()

    @property
    def counted(self) -> tuple[int, ...]:
        """The indicator columns of all categorical columns."""
        return tuple(column for columns in self.levels for column in columns)

    @property
    def indices(self) -> tuple[int, ...]:
        """Numbers of the columns in queries: the target is ``n_features``, the offset one more."""
        n_features = self.n_features
        return (*range(n_features), *(n_features,) * self.target, *(n_features + 1,) * self.offset)

    @property
    def target_shifted(self) -> bool:
        """Whether the target may be shifted."""
        return self.intercept and self.residual


def columns_of(problem: Problem) -> MeasuredColumns:
    """Return the columns that are measured, by the public facts."""
    return MeasuredColumns(
        problem.n_features,
        target=problem.link.scaled,
        offset=problem.has_offset,
        intercept=problem.intercept,
        residual=problem.link.residual,
        levels=problem.levels,
    )


@dataclass(eq=False)
class ColumnScales:
    """Centre and scale of some columns, as far as they are known.

    Attributes
    ----------
    center, scale
        One number per column. A scale is a multiple of the typical size until a location or pairs
        of records give a better one. The scale of an undetected column is NaN.
    width
        The width of the bin that holds the centre, if the bin is too wide to show the scale; else
        0.
    often_zero
        Columns that are zero so often that zero is their centre.
    binary
        Columns that may be indicators: as far as noise shows, nearly all records are zero or one.
    far_size
        The absolute value that one in 200 records exceeds; 0 if it was not detected.
    near_size
        The absolute value that one in 200 nonzero records is below; 0 if it was not detected.
    without_baseline
        Indicators of a categorical column whose baseline was not detected.
    """

    center: FloatArray
    scale: FloatArray
    width: FloatArray
    often_zero: BoolArray
    binary: BoolArray
    far_size: FloatArray
    near_size: FloatArray
    without_baseline: BoolArray

    @classmethod
    def unknown(cls, count: int) -> "ColumnScales":
        """Return the scales of unmeasured columns."""
        center, width, far_size, near_size = np.zeros((4, count))
        often_zero, binary, without_baseline = np.zeros((3, count), dtype=bool)
        sizes, scale = (far_size, near_size), np.full(count, np.nan)
        return cls(center, scale, width, often_zero, binary, *sizes, without_baseline)

    @property
    def detected(self) -> BoolArray:
        """Columns whose scale is known."""
        return ~np.isnan(self.scale)

    def of(self, chosen: IndexArray) -> "ColumnScales":
        """Return the scales of the chosen columns."""
        return ColumnScales(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def put(self, chosen: BoolArray | IndexArray, other: "ColumnScales") -> None:
        """Copy the scales of the chosen columns from ``other``."""
        for field in fields(self):
            getattr(self, field.name)[chosen] = getattr(other, field.name)

    def units(self, columns: MeasuredColumns) -> Units:
        """Return units of features, target and offset; unknown scales are set to one."""
        scale = np.where(self.detected, self.scale, 1.0)
        scale = np.clip(scale, 1.0 / LARGEST_SCALE, LARGEST_SCALE)
        center, n_features = self.center, columns.n_features
        target_center, target_scale = 0.0, 1.0
        if columns.target:
            target_scale = float(scale[n_features])
            if columns.residual:
                target_center = float(center[n_features])
        offset_center = float(center[-1]) if columns.offset else 0.0
        exposed = columns.offset and columns.target and not columns.residual
        if exposed and columns.intercept and self.detected[-1]:
            offset_center += min(float(scale[-1]), MOST_ABOVE)
        if columns.target and not columns.residual and not columns.intercept:
            # Dividing the target of a log link by its scale also divides the expected target. So
            # every score falls by the logarithm of the scale, which no intercept absorbs.
            offset_center += float(np.log(target_scale))
        return Units(
            center[:n_features],
            scale[:n_features],
            columns.intercept,
            target_center,
            target_scale,
            offset_center,
        )


class HistogramSession(Protocol):
    """The part of a session that histograms of columns use; ``stages`` are the planned ones.

    Noise is stated as the standard deviation of Gaussian noise. For other noise this is Gaussian
    noise whose tail is at least as heavy.
    """

    stages: dict[str, Stage]

    def n_rows(self, stage: Stage | None = None) -> int:
        """Return the number of records that the stage reads; without a stage, of all records."""
        ...

    def left(self) -> float:
        """Return the mu of the whole plan that is not spent yet."""
        ...

    def noise_std(self, columns: int, stage: Stage) -> float:
        """Return the noise of one release of histograms of this many columns, for all records."""
        ...

    def histograms(
        self, query: Query, state: Any, stage: Stage, *, columns: int = 1
    ) -> tuple[FloatArray, float]:
        """Release histograms; return counts and their noise, both scaled to all records."""
        ...


@dataclass(frozen=True, eq=False)
class ColumnQueries:
    """Some columns and the session that releases their histograms.

    Attributes
    ----------
    indices
        Numbers of the columns in queries: the target is ``n_features``, the offset one more.
    """

    session: HistogramSession
    indices: Sequence[int]

    def histograms(
        self,
        chosen: IndexArray,
        bins: Bins,
        stage: Stage,
        *,
        center: FloatArray | None = None,
        unit: FloatArray | None = None,
        paired: bool = False,
    ) -> tuple[FloatArray, float]:
        """Release histograms of the chosen columns; return counts and their noise.

        ``center`` is subtracted and the result is divided by ``unit``, each with one number per
        chosen column. If a stage reads a sample, counts and noise are scaled to all records.
        """
        columns = tuple(np.take(self.indices, chosen).tolist())
        query = ColumnHistograms(columns, bins, paired=paired)
        center = np.zeros(chosen.size) if center is None else center
        inverse_scale = np.ones(chosen.size) if unit is None else 1.0 / unit
        state = (center, inverse_scale)
        return self.session.histograms(query, state, stage, columns=chosen.size)
