"""The measured columns, the session that releases their histograms, and their scales.

Reference
---------
Karwa and Vadhan 2018, Section 3 (a location and a scale of a column without bounds);
Dong, Roth and Su 2022, Theorem 2.7: one release of ``k`` columns costs what one of a vector of
``l2`` sensitivity ``sqrt(2 k)`` does, so fewer columns get less noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from tailguard.array_types import BoolArray, FloatArray, IndexArray
from tailguard.gate.stage import Stage
from tailguard.queries.base import Query
from tailguard.queries.column_histograms import Bins, ColumnHistograms
from tailguard.queries.units import Units

LARGEST_SCALE = 2.0**150  # squares of scales, and their inverses, stay in the range of floats


@dataclass(frozen=True)
class MeasuredColumns:
    """The measured columns: the features, then target and offset if they exist.

    Attributes
    ----------
    n_features
        How many features there are.
    target, offset
        Whether these are measured.
    intercept
        Whether columns may be shifted, because the constant absorbs the shift.
    residual
        Whether the target may be shifted with the score; under a log link it is only scaled.
    levels
        The indicator columns of each categorical column; these are counted.
    """

    n_features: int
    target: bool = False
    offset: bool = False
    intercept: bool = True
    residual: bool = False
    levels: tuple[tuple[int, ...], ...] = ()

    @property
    def counted(self) -> tuple[int, ...]:
        """The columns whose levels are counted."""
        return tuple(column for columns in self.levels for column in columns)

    @property
    def indices(self) -> tuple[int, ...]:
        """Column numbers as queries count them: target ``d``, offset ``d + 1``."""
        d = self.n_features
        return (*range(d), *(d,) * self.target, *(d + 1,) * self.offset)

    @property
    def target_shifted(self) -> bool:
        """Whether the target may be shifted."""
        return self.intercept and self.residual

    def unmet_shift(self, target_scale: float) -> float:
        """Return the shift of scores for a log link without an intercept to absorb the scale.

        Dividing the target by its scale divides the expected target too, so every score falls by
        the logarithm of the scale.
        """
        alone = self.target and not self.residual and not self.intercept
        return float(np.log(target_scale)) if alone else 0.0


@dataclass(eq=False)
class ColumnScales:
    """Centre and scale of some columns, as far as they are known.

    Attributes
    ----------
    center, scale
        One number per column; the scale of an undetected column is NaN. It is a multiple of the
        typical size until a location or pairs of records give a better one.
    width
        Width of the bin that holds the centre, if it is too coarse to show the scale; else 0.
    often_zero
        Columns that are zero so often that zero is their centre.
    binary
        Columns that may be indicators: nearly all records are zero or one, as far as noise shows.
    far_size
        The absolute value that one in 200 records exceeds, if it was detected; else 0.
    near_size
        The absolute value that one in 200 nonzero records stays below, if it was detected; else 0.
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
        often_zero, binary, without = np.zeros((3, count), dtype=bool)
        sizes, scale = (far_size, near_size), np.full(count, np.nan)
        return cls(center, scale, width, often_zero, binary, *sizes, without)

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
        """Return units of features, target and offset; an unknown scale is one."""
        scale = np.where(self.detected, self.scale, 1.0)
        scale = np.clip(scale, 1.0 / LARGEST_SCALE, LARGEST_SCALE)
        center, d = self.center, columns.n_features
        target_center, target_scale = 0.0, 1.0
        if columns.target:
            target_scale = float(scale[d])
            if columns.residual:
                target_center = float(center[d])
        offset_center = float(center[-1]) if columns.offset else 0.0
        offset_center += columns.unmet_shift(target_scale)
        return Units(
            center[:d], scale[:d], columns.intercept, target_center, target_scale, offset_center
        )


class HistogramSession(Protocol):
    """The part of a session that histograms of columns use.

    Noise is the standard deviation of Gaussian noise; other noise is stated as that of Gaussian
    noise whose tail is at least as heavy.
    """

    def n_rows(self, stage: Stage | None = None) -> int:
        """Return how many records the stage reads; without a stage, how many there are."""
        ...

    def plans(self, name: str) -> bool:
        """Whether a stage of that name was planned."""
        ...

    def stage(self, name: str) -> Stage:
        """Return the planned stage of that name."""
        ...

    def left(self) -> float:
        """Return the mu left of the whole plan."""
        ...

    def noise_std(self, columns: int, stage: Stage) -> float:
        """Return the noise of joint histograms of this many columns of all records."""
        ...

    def histograms(
        self, query: Query, state: Any, stage: Stage, *, columns: int = 1
    ) -> tuple[FloatArray, float]:
        """Release histograms; return counts and their noise, both scaled to all records."""
        ...


@dataclass(frozen=True, eq=False)
class ColumnQueries:
    """Some columns and their planned stages.

    Attributes
    ----------
    session
        The session that releases their histograms.
    indices
        The columns as queries count them: the target is ``d``, the offset ``d + 1``.
    prefix
        The beginning of the names of their stages.
    """

    session: HistogramSession
    indices: Sequence[int]
    prefix: str = ""

    def __len__(self) -> int:
        return len(self.indices)

    def plans(self, name: str) -> bool:
        """Whether this stage was planned for these columns."""
        return self.session.plans(self.prefix + name)

    def stage(self, name: str) -> Stage:
        """Return this stage of these columns."""
        return self.session.stage(self.prefix + name)

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

        ``center`` is subtracted and the result divided by ``unit``, one number per chosen column.
        If a stage reads a sample, counts and noise are scaled to all records.
        """
        query = ColumnHistograms(tuple(self.indices[c] for c in chosen), bins, paired=paired)
        center = np.zeros(chosen.size) if center is None else center
        inverse_scale = np.ones(chosen.size) if unit is None else 1.0 / unit
        state = (center, inverse_scale)
        return self.session.histograms(query, state, stage, columns=chosen.size)
