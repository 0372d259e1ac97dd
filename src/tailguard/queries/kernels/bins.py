"""Public bins of a histogram that covers every float: a transform, then equal steps."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import (
    check_between,
    check_choice,
    check_finite,
    check_integer,
    check_positive,
)
from tailguard.queries.kernels.bin_loops import place, size

TRANSFORMS = ("octaves", "signed", "linear")
LARGEST_POWER = 1000.0  # two to this, and its inverse, are normal numbers


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
        if self.transform != "linear":
            check_between("low", self.low, -LARGEST_POWER, LARGEST_POWER)
            check_between("low + count / per_unit", self._last(), -LARGEST_POWER, LARGEST_POWER)

    @np.errstate(all="ignore")
    def index(self, values: ArrayLike) -> IntArray:
        """Return the bin of each value."""
        value = np.asarray(values, dtype=np.float64)
        numbers, places = value.ravel(), np.empty(value.size, dtype=np.int64)
        transformed, signed = self._transformed(numbers), self.transform == "signed"
        place()(numbers, transformed, signed, self.low, self.per_unit, self.count - 1, places)
        return places.reshape(value.shape)

    def _transformed(self, value: FloatArray) -> FloatArray:
        """Return the transform of each value, without its sign if that is to be kept."""
        if self.transform == "linear":
            return value / self.unit
        # The logarithm of zero or infinity would take another time, which would tell of a record.
        sizes, shift = np.empty(value.size), 1.0 if self.transform == "signed" else 0.0
        size()(value, self.unit, *self._ends(), shift, sizes)
        return np.log2(sizes, out=sizes)

    def _ends(self) -> tuple[float, float]:
        """Return the magnitudes, in units, from which on the first and the last bin go on."""
        least = 2.0**self.low if self.transform == "octaves" else 0.0
        return least, 2.0 ** max(self._last(), -self.low)

    def _last(self) -> float:
        return self.low + self.count / self.per_unit

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
