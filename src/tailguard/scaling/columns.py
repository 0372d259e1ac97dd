"""Which columns are measured, how they are asked about, and what is known of them.

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

LARGEST_SCALE = 2.0**150  # so that no square of a scale, nor its inverse, leaves the floats


@dataclass(frozen=True)
class MeasuredColumns:
    """Which columns are measured: the features, then the target and the offset where they exist.

    Attributes
    ----------
    n_features
        How many features there are.
    target, offset
        Whether these are measured.
    intercept
        Whether columns may be shifted, because a constant takes up what is moved.
    residual
        Whether the target may be shifted with the score; else it is scaled alone, under a log link.
    levels
        Of each categorical column the columns of its levels' indicators: these are counted.
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
        """Return the shift that scores need where a log link has no intercept to take up the scale.

        Dividing the target divides what is expected, so its logarithm comes off every score.
        """
        alone = self.target and not self.residual and not self.intercept
        return float(np.log(target_scale)) if alone else 0.0


@dataclass(eq=False)
class ColumnScales:
    """Centre and scale of some columns, as far as they are known by now.

    Attributes
    ----------
    center, scale
        One number a column; the scale of a column that was not detected is NaN. Until a location or
        pairs tell better it is a multiple of the typical size.
    width
        How wide the bin of the centre is where it is too coarse to tell the scale, else 0.
    often_zero
        Columns that are zero so often that zero is their centre.
    binary
        Columns that may be indicators: noise hides few records, and all that are not zero or one.
    far_size
        The absolute value that one in 200 records exceeds, as far as is seen; else 0.
    near_size
        The one that one in 200 of the values that are not zero stay below, as far as is seen.
    without_baseline
        Indicators of a categorical column whose baseline has too few records to be seen.
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
        """Return the scales of columns that were not measured."""
        center, width, far_size, near_size = np.zeros((4, count))
        often_zero, binary, without = np.zeros((3, count), dtype=bool)
        sizes, scale = (far_size, near_size), np.full(count, np.nan)
        return cls(center, scale, width, often_zero, binary, *sizes, without)

    @property
    def detected(self) -> BoolArray:
        """Columns whose scale is known."""
        return ~np.isnan(self.scale)

    def of(self, chosen: IndexArray) -> "ColumnScales":
        """Return what is known of the chosen columns."""
        return ColumnScales(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def put(self, chosen: BoolArray | IndexArray, other: "ColumnScales") -> None:
        """Take over what is known of the chosen columns."""
        for field in fields(self):
            getattr(self, field.name)[chosen] = getattr(other, field.name)

    def units(self, columns: MeasuredColumns) -> Units:
        """Put each measured column where it belongs; scales that are not known are one."""
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
    """The budget of a plan while it is spent, as far as histograms of columns need it.

    Noise is a Gaussian standard deviation; of other noise, one whose tail is at least as heavy.
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
        """Return the mu that is left of the whole plan."""
        ...

    def noise_std(self, columns: int, stage: Stage) -> float:
        """Return the noise of joint histograms of this many columns of all records."""
        ...

    def histograms(
        self, query: Query, state: Any, stage: Stage, *, columns: int = 1
    ) -> tuple[FloatArray, float]:
        """Ask for histograms; return counts and their noise, both scaled to all records."""
        ...


@dataclass(frozen=True, eq=False)
class ColumnQueries:
    """Some columns and the stages that were planned for them.

    Attributes
    ----------
    session
        The session that asks for them.
    indices
        The columns as queries count them: the target is ``d``, the offset ``d + 1``.
    prefix
        What the names of their stages begin with.
    """

    session: HistogramSession
    indices: Sequence[int]
    prefix: str = ""

    def __len__(self) -> int:
        return len(self.indices)

    def plans(self, name: str) -> bool:
        """Whether the stage was planned for these columns."""
        return self.session.plans(self.prefix + name)

    def stage(self, name: str) -> Stage:
        """Return the stage that was planned for these columns."""
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
        """Release histograms of the chosen ones; return counts and their noise.

        Values are read from ``center`` and in ``unit``, one of each for every chosen column. Where
        a stage reads a sample, counts and noise are scaled to all records.
        """
        query = ColumnHistograms(tuple(self.indices[c] for c in chosen), bins, paired=paired)
        center = np.zeros(chosen.size) if center is None else center
        inverse_scale = np.ones(chosen.size) if unit is None else 1.0 / unit
        state = (center, inverse_scale)
        return self.session.histograms(query, state, stage, columns=chosen.size)
