"""Public bins of a histogram that cover every float: equally wide after a transform."""

import math
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
from tailguard.queries.loop import compiled_loop

TRANSFORMS = ("octaves", "signed", "linear")
LARGEST_POWER = 1000.0  # 2.0 to this power, and its inverse, are normal floats


def count_below(edges: FloatArray, values: ArrayLike) -> IntArray:
    """Return how many of the increasing ``edges`` lie below each value; zero for NaN.

    The running time does not depend on the values, unlike that of ``np.searchsorted``.
    """
    numbers = np.ascontiguousarray(values, dtype=np.float64)
    cells = np.zeros(numbers.shape, dtype=np.int64)
    # With one edge less than a power of two, every search takes the same number of steps.
    padded = np.full(2 ** len(edges).bit_length() - 1, np.inf)
    padded[: len(edges)] = edges
    _search()(padded, numbers.ravel(), cells.ravel())
    return cells


@compiled_loop("in vector", "in vector", "places")
def _search(edges: FloatArray, values: FloatArray, cells: IntArray) -> None:
    """Find by bisection how many edges lie below each value.

    One loop reads edges and another compares them. A single loop would be compiled to jumps, and
    the time of jumps reveals values.
    """
    compared, step = np.empty(values.size), (edges.size + 1) // 2
    while step > 0:
        for i in range(values.size):
            compared[i] = edges[cells[i] + step - 1]
        for i in range(values.size):
            cells[i] += step * (compared[i] < values[i])
        step //= 2


@compiled_loop("in vector", "float64", "float64", "float64", "float64", "vector")
def _find_sizes(
    values: FloatArray, unit: float, least: float, most: float, shift: float, sizes: FloatArray
) -> None:
    """Write ``shift`` plus magnitudes in units, cut to [least, most]; NaN counts as ``most``."""
    for i in range(values.size):
        size = abs(values[i] / unit)
        size = size if size < most else most
        sizes[i] = shift + (size if size > least else least)


@compiled_loop("in vector", "in vector", "boolean", "float64", "float64", "int64", "places")
def _find_bins(
    values: FloatArray,
    transformed: FloatArray,
    signed: bool,
    low: float,
    per_unit: float,
    last: int,
    places: IntArray,
) -> None:
    """Write the bins of transformed values, which get the signs of values if ``signed``."""
    for i in range(values.size):
        position = math.copysign(transformed[i], values[i]) if signed else transformed[i]
        position = (position - low) * per_unit
        position = position if position < last else float(last)
        position = position if position > 0.0 else 0.0
        places[i] = 0 if math.isnan(values[i]) else int(position)


@dataclass(frozen=True)
class Bins:
    """``count`` bins of ``transform(value / unit)`` from ``low`` on, each ``1 / per_unit`` wide.

    ``"octaves"`` is ``log2(|value|)``, ``"signed"`` is ``sign(value) * log2(1 + |value|)``, and
    ``"linear"`` is the value itself. The first and the last bin have no outer end, so every number
    and infinity has one bin. NaN falls into the first bin.

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
        value, signed = np.asarray(values, dtype=np.float64), self.transform == "signed"
        numbers, places = value.ravel(), np.empty(value.size, dtype=np.int64)
        if self.transform == "linear":
            transformed = numbers / self.unit
        else:
            # The time of a logarithm is different for zero and infinity, which would reveal such a
            # record. So magnitudes are cut to the range in which bins differ.
            transformed = np.empty(value.size)
            least, most = 0.0 if signed else 2.0**self.low, 2.0 ** max(self._last(), -self.low)
            _find_sizes()(numbers, self.unit, least, most, 1.0 if signed else 0.0, transformed)
            np.log2(transformed, out=transformed)
        _find_bins()(numbers, transformed, signed, self.low, self.per_unit, self.count - 1, places)
        return places.reshape(value.shape)

    def _last(self) -> float:
        """Return the nominal upper end of the last bin, transformed."""
        return self.low + self.count / self.per_unit

    def upper(self) -> FloatArray:
        """Return the upper edge of each bin, as a value; the edge of the last bin is nominal."""
        return self.value(np.arange(self.count) + 1.0)

    def middle(self) -> FloatArray:
        """Return the middle of each bin in the transformed scale, as a value."""
        return self.value(np.arange(self.count) + 0.5)

    def value(self, place: ArrayLike) -> FloatArray:
        """Return the value at a place in bins; place 0 is the lower edge of the first bin."""
        transformed = self.low + np.asarray(place, dtype=np.float64) / self.per_unit
        if self.transform == "octaves":
            return self.unit * np.asarray(np.exp2(transformed), dtype=np.float64)
        if self.transform == "signed":
            return self.unit * np.copysign(np.exp2(np.abs(transformed)) - 1.0, transformed)
        return self.unit * transformed
