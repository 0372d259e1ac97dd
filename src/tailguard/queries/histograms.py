"""Histograms with public bins: of several columns at once, and of one number per record.

``ColumnHistograms`` is the cheapest way to estimate the scales of columns. One release gives the
scale of every column to within a bin, while a bisection needs one release per step. With
``paired``, values are absolute differences of the records at places ``(2i, 2i + 1)`` of a secret
random order. So neither the column's location nor the order of a file matters.

``WhitenedHistogram`` counts lengths of whitened rows, residuals or slopes, to choose clip levels.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); Dong, Roth and Su 2022, Theorem
2.7, for the joint release; Andrew, Thakkar, McMahan and Ramaswamy 2021, Section 2 (clip levels from
private quantiles).
"""

import math
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import BoolArray, FloatArray, IntArray
from tailguard.checks import (
    InputError,
    check_between,
    check_choice,
    check_finite,
    check_integer,
    check_positive,
)
from tailguard.data.rows.base import RecordBlock, chunks_of, counted, round_to_lattice
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import (
    GaussianQuery,
    Places,
    SumQuery,
    count_sensitivity,
    sum_sensitivity,
)
from tailguard.queries.loop import compiled_loop
from tailguard.queries.view import View, Weighting

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


@compiled_loop("in vector", "in vector", "boolean", *["float64"] * 4, "int64", "places")
def _find_bins(
    values: FloatArray, transformed: FloatArray, signed: bool, low: float, per_unit: float,
    narrow: float, wide: float, last: int, places: IntArray,
) -> None:  # fmt: skip
    """Write the bins of transformed values, which get the signs of values if ``signed``."""
    for i in range(values.size):
        position = math.copysign(transformed[i], values[i]) if signed else transformed[i]
        position = (position - low) * per_unit
        beyond = narrow + (position - narrow) / wide
        position = beyond if position > narrow else position
        position = position if position < last else float(last)
        position = position if position > 0.0 else 0.0
        places[i] = 0 if math.isnan(values[i]) else int(position)


@dataclass(frozen=True)
class Bins:
    """``count`` bins of ``transform(value / unit)`` from ``low`` on, each ``1 / per_unit`` wide.

    ``"octaves"`` is ``log2(|value|)``, ``"signed"`` is ``sign(value) * log2(1 + |value|)``, and
    ``"linear"`` is the value itself. The first and the last bin have no outer end, so every number
    and infinity has one bin. NaN falls into the first bin. Bins after the first ``narrow`` are
    ``wide`` times as wide.

    Examples
    --------
    >>> bins = Bins("octaves", low=-2.0, per_unit=1.0, count=4)
    >>> bins.index([0.0, 0.3, 0.6, 1e300]).tolist()
    [0, 0, 1, 3]
    >>> bins.upper().tolist()
    [0.5, 1.0, 2.0, 4.0]
    >>> Bins("octaves", low=-2.0, per_unit=1.0, count=4, narrow=2, wide=3.0).upper().tolist()
    [0.5, 1.0, 8.0, 64.0]
    """

    transform: Literal["octaves", "signed", "linear"]
    low: float
    per_unit: float
    count: int
    unit: float = 1.0
    narrow: float = math.inf
    wide: float = 1.0

    def __post_init__(self) -> None:
        check_choice("transform", self.transform, TRANSFORMS)
        check_finite("low", self.low)
        check_positive("per_unit", self.per_unit)
        check_integer("count", self.count, minimum=2)
        check_positive("unit", self.unit)
        check_positive("wide", self.wide)
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
        shape = self.low, self.per_unit, self.narrow, self.wide, self.count - 1
        _find_bins()(numbers, transformed, signed, *shape, places)
        return places.reshape(value.shape)

    def _last(self) -> float:
        """Return the nominal upper end of the last bin, transformed."""
        return self.low + float(self.steps(self.count)) / self.per_unit

    def steps(self, place: ArrayLike) -> FloatArray:
        """Return a place in bins as one in bins of the first width."""
        places = np.asarray(place, dtype=np.float64)
        return places + (self.wide - 1.0) * np.maximum(places - self.narrow, 0.0)

    def upper(self) -> FloatArray:
        """Return the upper edge of each bin, as a value; the edge of the last bin is nominal."""
        return self.value(np.arange(self.count) + 1.0)

    def middle(self) -> FloatArray:
        """Return the middle of each bin in the transformed scale, as a value."""
        return self.value(np.arange(self.count) + 0.5)

    def value(self, place: ArrayLike) -> FloatArray:
        """Return the value at a place in bins; place 0 is the lower edge of the first bin."""
        transformed = self.low + self.steps(place) / self.per_unit
        if self.transform == "octaves":
            return self.unit * np.asarray(np.exp2(transformed), dtype=np.float64)
        if self.transform == "signed":
            return self.unit * np.copysign(np.exp2(np.abs(transformed)) - 1.0, transformed)
        return self.unit * transformed


# The center and the inverse scale of each column.
ColumnUnits = tuple[FloatArray, FloatArray]
Array = TypeVar("Array", FloatArray, BoolArray)


def cells_of(chunk: RecordBlock, columns: tuple[int, ...]) -> FloatArray:
    """Return the cells of some columns: ``0 .. d-1`` are features, ``d`` target, ``d + 1`` offset.

    The result may be the chunk's own array of features, not a copy.
    """
    width = chunk.features.shape[1]
    if columns == tuple(range(width)):
        return chunk.features.astype(np.float64, copy=False)
    extra = {width: "target", width + 1: "offset"}
    cells = np.empty((chunk.n_rows, len(columns)))
    for place, column in enumerate(columns):
        values = chunk.vector(extra[column]) if column in extra else chunk.features[:, column]
        cells[:, place] = values
    return cells


def pairs(values: Array) -> tuple[Array, Array]:
    """Return the first and the second members of all pairs; drop a last value without partner."""
    ends = len(values) // 2 * 2
    return values[:ends:2], values[1:ends:2]


@dataclass(frozen=True)
class ColumnHistograms(GaussianQuery):
    """For each column, the number of records (or random pairs) in each bin.

    The state is a pair of vectors, ``(center, inverse_scale)``, with one number per column.
    Differences are scaled and not centered. The answer has one row per column. Columns ``0 .. d-1``
    are the features, ``d`` is the target and ``d + 1`` the offset.

    Guarantee
    ---------
    A record lies in one bin of each of the ``k`` columns, or in none. Replacing it takes one count
    from a bin and adds one to another, in each column. This moves the vector by at most
    ``sqrt(2 * k)`` in l2 norm and ``2 * k`` in l1 norm. In any order, a record is in at most one
    pair, so the same holds for pairs. Counts are exact.

    Edge cases
    ----------
    A record with a non-finite value is counted nowhere, nor is a pair with such a member.

    Examples
    --------
    >>> query = ColumnHistograms((0, 1), Bins("octaves", -20.0, 1.0, 40))
    >>> query.sensitivity(n_rows=10, n_features=2).ideal
    2.0
    """

    columns: tuple[int, ...]
    bins: Bins
    paired: bool = False

    takes_weights = True
    takes_persons = True

    @property
    def name(self) -> str:
        """The release's name in the books."""
        return f"histograms of {'pair differences' if self.paired else 'values'}"

    @property
    def places(self) -> Places:
        """``"random"`` if records are paired, else ``"none"``."""
        return "random" if self.paired else "none"

    @property
    def n_counts(self) -> int:
        """Number of counts: one per column and bin, column by column."""
        return len(self.columns) * self.bins.count

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of all counts together."""
        return count_sensitivity(math.sqrt(2 * len(self.columns)), self.n_counts, n_rows)

    def pure_sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far the counts move in l1 norm."""
        return count_sensitivity(2.0 * len(self.columns), self.n_counts, n_rows, norm="l1")

    def read_state(self, state: ColumnUnits) -> ColumnUnits:
        """Return center and inverse scale; refuse anything but one finite number per column."""
        center, inverse_scale = [np.array(part, dtype=np.float64) for part in state]
        for name, numbers in (("center", center), ("inverse_scale", inverse_scale)):
            if numbers.shape != (len(self.columns),) or not np.isfinite(numbers).all():
                raise InputError(f"{name} must have one finite number per column.")
        return center, inverse_scale

    def sum_block(self, block: RecordBlock, state: ColumnUnits, grid: float) -> IntArray:
        """Count records exactly, or their weights in lattice steps.

        A lattice step is one over a whole number. A value that overflows falls into an outermost
        bin. Void records are counted in an extra place, which is dropped, so that the running time
        does not depend on them. The weight of a pair is the smaller weight of its members.
        """
        (center, inverse_scale), n_counts = state, self.n_counts
        counts = np.zeros(n_counts, dtype=np.int64)
        first_bin = np.arange(len(self.columns)) * self.bins.count
        for chunk in chunks_of(block):
            values, void, weight = cells_of(chunk, self.columns), chunk.void(), chunk.weight
            if self.paired:
                values = np.abs(np.subtract(*pairs(values)))
                void = np.logical_or(*pairs(void))
                weight = None if weight is None else np.minimum(*pairs(weight))
            else:
                values = values - center
            values *= inverse_scale
            places = self.bins.index(values)
            places += first_bin
            places = np.where(void[:, None], n_counts, places)
            counts += counted(places, n_counts, grid, weight)
        return counts

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Return one row of counts per column."""
        return np.reshape(noised, (len(self.columns), self.bins.count))

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {
            "columns": len(self.columns),
            "bins": self.bins.count,
            "paired": str(self.paired).lower(),
        }


@dataclass(frozen=True, eq=False)
class WhitenedHistogram(SumQuery):
    """How many records, each counted by its weight, have their length, residual or slope in a bin.

    The state is the vector of weights of the standardised coordinates; None if neither residuals
    nor slopes are used.

    Guarantee
    ---------
    A record adds a weight in [0, 1] to one bin. Replacing it changes two bins by at most 1 each, or
    one bin by at most 1: the vector moves by at most ``sqrt(2)``, for every input.

    Edge cases
    ----------
    A record with a non-finite value is counted nowhere.

    Examples
    --------
    >>> from tailguard.queries.units import Units
    >>> view = View.plain(None, Units.raw(2, intercept=False))
    >>> query = WhitenedHistogram(view, "length", Bins("octaves", -10.0, 2.0, 40))
    >>> round(query.sensitivity(1000, 2).ideal, 6)
    1.414214
    """

    view: View
    what: str
    bins: Bins
    weighting: Weighting = field(default_factory=Weighting)

    def __post_init__(self) -> None:
        check_choice("what", self.what, ("length", "residual", "slope"))

    @property
    def name(self) -> str:
        """The release's name in the books."""
        return f"histogram of {self.what}s"

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of the histogram; plain counts are exact integers."""
        move = math.sqrt(2.0)  # how far one record moves the vector
        if self.weighting.kind == "one":
            return count_sensitivity(move, self.bins.count, n_rows)
        return sum_sensitivity(1.0, self.bins.count, n_rows, move=move)

    def read_state(self, state: FloatArray | None) -> FloatArray:
        """Return the weights of the standardised coordinates."""
        return self.view.weights(state, rows_alone=not self._reads_scores)

    @property
    def _reads_scores(self) -> bool:
        """Whether the query uses scores."""
        return self.what != "length" or self.weighting.needs_scores

    def sum_block(self, block: RecordBlock, state: FloatArray, grid: float) -> IntArray:
        """Count on the lattice; exactly for weights of 0 or 1, if the grid is one over an integer.

        The residual is the score minus the standardised target.
        """
        total = np.zeros(self.bins.count, dtype=np.int64)
        lengths, scores = self.what == "length", self._reads_scores
        for seen in self.view.read(block, state, lengths=lengths, scores=scores):
            value = seen.length
            if self.what == "residual":
                value = seen.score - seen.target
            elif self.what == "slope":
                value = self.view.slope(seen, math.inf)
            weight = self.weighting.of(self.view, seen)
            bins = self.bins.index(value)
            if self.weighting.kind == "one" and seen.weight is not None:
                total += counted(bins, self.bins.count, grid, weight)
                continue
            if block.alone:  # each record is rounded by itself, so counts are integers
                weight = np.rint(weight / grid)
            counts = np.bincount(bins, weight, self.bins.count).astype(np.float64)
            total += round_to_lattice(counts, 1.0 if block.alone else grid)
        return total

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"bins": self.bins.count, "weights": self.weighting.kind}
