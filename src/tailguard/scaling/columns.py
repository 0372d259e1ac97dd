"""Which columns are measured, as public facts, and what is known of them.

Reference
---------
Karwa and Vadhan 2018, Section 3 (a location and a scale of a column of which nothing is known).
"""

from dataclasses import dataclass

import numpy as np

from tailguard.array_types import BoolArray, FloatArray
from tailguard.queries.units import Units

LARGEST_SCALE = 2.0**150  # so that no square of a scale, nor its inverse, leaves the floats


@dataclass(frozen=True)
class Columns:
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
    """

    n_features: int
    target: bool = False
    offset: bool = False
    intercept: bool = True
    residual: bool = False

    @property
    def indices(self) -> tuple[int, ...]:
        """Column numbers as queries count them: target ``d``, offset ``d + 1``."""
        chosen = list(range(self.n_features))
        if self.target:
            chosen.append(self.n_features)
        if self.offset:
            chosen.append(self.n_features + 1)
        return tuple(chosen)

    @property
    def target_shifted(self) -> bool:
        """Whether the target may be shifted."""
        return self.intercept and self.residual

    def unmet_shift(self, target_scale: float) -> float:
        """Return what scores are short of where a log link has no intercept to take up the scale.

        Dividing the target divides what is expected, so that much has to come off every score.
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
    """

    center: FloatArray
    scale: FloatArray
    width: FloatArray
    often_zero: BoolArray
    binary: BoolArray
    far_size: FloatArray

    @classmethod
    def unknown(cls, count: int) -> "ColumnScales":
        """Of columns that were not measured."""
        zeros = np.zeros(count)
        nothing = np.zeros(count, dtype=bool)
        scale = np.full(count, np.nan)
        return cls(zeros, scale, zeros.copy(), nothing, nothing.copy(), zeros.copy())

    @property
    def detected(self) -> BoolArray:
        """Columns whose scale is known."""
        return ~np.isnan(self.scale)

    def put(self, chosen: BoolArray, other: "ColumnScales") -> None:
        """Take over what is known of the chosen columns."""
        for name in ("center", "scale", "width", "often_zero", "binary", "far_size"):
            getattr(self, name)[chosen] = getattr(other, name)

    def units(self, columns: Columns) -> Units:
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
