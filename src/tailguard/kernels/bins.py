"""Public bins of a histogram that covers every float: a transform, then equal steps."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tailguard.checks import check_choice, check_finite, check_integer, check_positive

from .block import FloatArray, IntArray

__all__ = ["Bins"]

TRANSFORMS = ("octaves", "signed", "linear")


@dataclass(frozen=True)
class Bins:
    """``count`` equal bins of ``transform(value / unit)`` from ``low`` on, ``per_unit`` for each 1.

    ``"octaves"`` is ``log2(|value|)``, ``"signed"`` is ``sign(value) * log2(1 + |value|)``, and
    ``"linear"`` the value itself. The first and the last bin reach to the ends of the line, so that
    every number, infinities included, has one bin; NaN falls into the first.

    Examples
    --------
    >>> bins = Bins("octaves", low=-2.0, per_unit=1.0, count=4)
    >>> bins.index([0.0, 0.3, 0.6, 1e300]).tolist()
    [0, 0, 1, 3]
    >>> bins.upper().tolist()
    [0.5, 1.0, 2.0, 4.0]
    """

    transform: Literal["octaves", "signed", "linear"]
    low: float
    per_unit: float
    count: int
    unit: float = 1.0

    def __post_init__(self) -> None:
        check_choice("transform", self.transform, TRANSFORMS)
        check_finite("low", self.low)
        check_positive("per_unit", self.per_unit)
        check_integer("count", self.count, minimum=2)
        check_positive("unit", self.unit)

    @np.errstate(all="ignore")
    def index(self, values: ArrayLike) -> IntArray:
        """Return the bin of each value."""
        value = np.asarray(values, dtype=np.float64) / self.unit
        if self.transform == "octaves":
            value = np.log2(np.abs(value))
        elif self.transform == "signed":
            value = np.copysign(np.log2(1.0 + np.abs(value)), value)
        place = (np.where(np.isnan(value), -np.inf, value) - self.low) * self.per_unit
        return np.clip(np.floor(place), 0, self.count - 1).astype(np.int64)

    def upper(self) -> FloatArray:
        """Return the upper edge of each bin, as a value; the last bin's is nominal."""
        return self.value(np.arange(self.count) + 1.0)

    def middle(self) -> FloatArray:
        """Return the middle of each bin in the transformed scale, as a value."""
        return self.value(np.arange(self.count) + 0.5)

    def value(self, place: ArrayLike) -> FloatArray:
        """Return the value at a place counted in bins, 0 being the lower edge of the first."""
        return self.unit * self._value(
            self.low + np.asarray(place, dtype=np.float64) / self.per_unit
        )

    def _value(self, transformed: FloatArray) -> FloatArray:
        if self.transform == "octaves":
            return np.asarray(np.exp2(transformed), dtype=np.float64)
        if self.transform == "signed":
            return np.copysign(np.exp2(np.abs(transformed)) - 1.0, transformed)
        return transformed
