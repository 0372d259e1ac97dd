"""The protocol of rows, and the parts of sums over them: blocks of records, chunks and kernels.

A sum adds the records of a chunk in float64, rounds the sum of the chunk to the lattice, and adds
the integers of all chunks. Neighbouring datasets differ in one record, hence in one chunk. So a
sensitivity only has to cover the float error of one chunk, whatever the number of records.

Reference
---------
Higham 2002, "Accuracy and Stability of Numerical Algorithms", Section 4.2: a sum of m numbers in
any order errs by at most (m - 1) u / (1 - (m - 1) u) times the sum of their magnitudes.
Casacuberta, Shoemate, Vadhan and Wagaman 2022 show why the error must be charged.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tailguard.array_types import Features, FloatArray, IntArray
from tailguard.checks import InputError
from tailguard.data.rows.feature_loops import finite_rows
from tailguard.noise.orders import Order

CHUNK_ROWS = 1024
"""Records per chunk; record ``i`` belongs to chunk ``i // CHUNK_ROWS``."""

ROUNDOFF = 2.0**-53
"""Unit roundoff of float64."""

# Lattice steps: far above the largest sum of a calibrated query, and far below the limits of exact
# integers in int64 and float64.
LARGEST_STEPS = 2.0**51


def summation_slack(bound: float) -> float:
    """Extra l2 sensitivity of a chunk-wise float sum of vectors of norm at most ``bound``.

    Two neighbouring chunks err by at most ``CHUNK_ROWS**2 * ROUNDOFF * bound`` each.
    """
    return 2 * CHUNK_ROWS**2 * ROUNDOFF * bound


def shrink(size: int) -> float:
    """Return the factor that keeps a clipped vector of ``size`` numbers within its norm limit.

    The computed norm of a vector errs by at most ``size / 2 + 2`` roundoffs, and each product by
    one. Four times ``size + 2`` roundoffs exceed both errors together.
    """
    return 1 - 4 * (size + 2) * ROUNDOFF


BESIDE = ("target", "offset", "weight")
"""The vectors of a block, in addition to its features."""
OF_PERSONS = ("share", "person")
"""Further vectors of a block of persons."""


@dataclass(frozen=True, eq=False)
class RecordBlock:
    """Consecutive records; the first one's number is a multiple of ``CHUNK_ROWS``.

    Records without an order have no numbers: a sum rounds each record to the lattice separately, so
    the total does not depend on the division into blocks.

    A record with any non-finite entry is VOID: it contributes zero to every sum and is counted
    nowhere. Targets that are invalid for the loss are already NaN.

    Attributes
    ----------
    features
        Matrix of shape ``(m, d)``, C-contiguous, float32 or float64. The features of all rows may
        be sparse; those of any part are dense.
    target, offset
        Vectors of length ``m``, or None.
    weight
        The weight of each record, in [0, 1], zero if it is void; None if all have weight 1. The
        weight of a person's row includes its share.
    first
        Number of the first record in the whole dataset; None for records without an order.
    share, person
        If persons are protected: the share of each row in its person, and the number of the person,
        counted from 0 in the block, or among all persons if a kernel reads groups of records. The
        shares of a person add up to at most one. All rows of a person are adjacent, in one block.
        None if each row is a record.
    n_rows, alone
        Number of rows in the block, and whether each record is rounded to the lattice separately.
    """

    features: Features
    target: FloatArray | None = None
    offset: FloatArray | None = None
    weight: FloatArray | None = None
    first: int | None = 0
    share: FloatArray | None = None
    person: IntArray | None = None
    n_rows: int = field(init=False)
    alone: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_rows", len(self.features))
        object.__setattr__(self, "alone", self.first is None)

    @property
    def place(self) -> int:
        """Number of the first record, as ``first``; an error if records have no order."""
        if self.first is None:
            raise InputError("records without an order have no places.")
        return self.first

    def vector(self, name: str) -> FloatArray:
        """Return one vector of ``BESIDE``; if it is None, zeros that take no memory."""
        values: FloatArray | None = getattr(self, name)
        return np.broadcast_to(0.0, self.n_rows) if values is None else values

    def void(self) -> NDArray[np.bool_]:
        """Return which records have a non-finite entry."""
        finite = finite_rows(self.features)
        return ~(finite & np.isfinite(self.vector("target")) & np.isfinite(self.vector("offset")))

    def check_center(self, size: int) -> None:
        """Refuse a ``center`` of ``size`` entries unless there are as many features."""
        if self.features.shape[1] != size:
            raise InputError(
                f"center must have one entry per feature; got {size} for "
                f"{self.features.shape[1]} features."
            )

    def rows(self, start: int, stop: int) -> "RecordBlock":
        """Return records ``start`` to ``stop`` of this block; dense ones are not copied."""
        first = None if self.first is None else self.first + start
        return self.at(slice(start, stop), first)

    def at(self, places: slice | IntArray, first: int | None = 0) -> "RecordBlock":
        """Return the records at these places, in this order."""
        if isinstance(places, slice):
            features = self.features[places]
        else:  # ``take`` is nearly twice as fast as indexing, with the same result
            features = self.features.take(places, axis=0)
        beside: dict[str, Any] = {}
        for name in (*BESIDE, *OF_PERSONS):
            values = getattr(self, name)
            beside[name] = None if values is None else values[places]
        return RecordBlock(features, **beside, first=first)


def chunks_of(block: RecordBlock) -> Iterator[RecordBlock]:
    """Yield the chunks of a block."""
    for start in range(0, block.n_rows, CHUNK_ROWS):
        yield block.rows(start, start + CHUNK_ROWS)


Together: TypeAlias = Literal["none", "some", "groups", "all"]
"""Which records are read together, by their places in the order of records.

``"none"``: each contributes on its own. ``"some"``: pairs or chunks. ``"groups"``: those of one
group, whose places are consecutive. ``"all"``: all of them.
"""


class Kernel(Protocol):
    """A statistic that is a sum over records; ``LatticeSum`` is the kernel of a query.

    ``sum_block`` is total: it does not raise, warn or overflow for any record.
    """

    @property
    def size(self) -> int:
        """The number of integers in its sum."""
        ...

    @property
    def together(self) -> Together:
        """Which records are read together; with ``"none"`` order and blocks do not matter."""
        ...

    @property
    def reads_cells(self) -> bool:
        """Whether it reads the marks of cells (number, missing, other) instead of their values."""
        ...

    def sum_block(self, block: RecordBlock) -> IntArray:
        """Lattice sum over the chunks of one block."""
        ...


def round_to_lattice(chunk_sum: FloatArray, grid: float) -> IntArray:
    """Round the float sum of one chunk to whole steps of ``grid``."""
    units = np.rint(chunk_sum / grid)
    return np.minimum(np.maximum(units, -LARGEST_STEPS), LARGEST_STEPS).astype(np.int64)


def counted(bins: IntArray, n_bins: int, grid: float, weight: FloatArray | None) -> IntArray:
    """Count bins, weighted, in whole steps of ``grid``, which is one over an integer.

    Weights are rounded down to whole steps. So a record's counts stay in the simplex, and replacing
    it moves counts by no more than without weights. Row ``i`` of ``bins`` belongs to record ``i``;
    the bin ``n_bins`` is dropped.
    """
    if weight is None:
        return np.bincount(bins.ravel(), minlength=n_bins + 1)[:n_bins] * round(1.0 / grid)
    each = whole_steps(weight, len(bins), grid).reshape(-1, *(1,) * (bins.ndim - 1))
    each = np.broadcast_to(each, bins.shape).ravel()
    # Exact in floats: ``noise/lattice.py`` limits the sum of a chunk to 2**44 steps.
    return np.bincount(bins.ravel(), each, n_bins + 1)[:n_bins].astype(np.int64)


def whole_steps(weight: FloatArray | None, n_rows: int, grid: float) -> IntArray:
    """Return the weight of each row in whole steps of ``grid``, which is one over an integer."""
    one = round(1.0 / grid)
    if weight is None:
        return np.full(n_rows, one, dtype=np.int64)
    return np.floor(weight * one).astype(np.int64)


def rounded_alone(parts: FloatArray, grid: float) -> IntArray:
    """Round each record's contribution to whole steps of ``grid``, then add exactly, in any order.

    Each row is a record, and there are at most as many as in one chunk. So the sum of the integers
    stays below ``2**53``, and no addition is rounded.
    """
    return np.rint(parts / grid).sum(axis=0).astype(np.int64)


def rounded_sum(parts: FloatArray, grid: float, *, alone: bool) -> IntArray:
    """Return the lattice sum of the contributions of one chunk, one row per record."""
    return rounded_alone(parts, grid) if alone else round_to_lattice(parts.sum(axis=0), grid)


class Rows(Protocol):
    """Records; the only statistic that they return is the sum of a kernel.

    Attributes
    ----------
    n_rows, n_features
        Public numbers of records and of feature columns.
    has_offset, has_weight
        Whether there is an offset, and whether there are weights.
    """

    n_rows: int
    n_features: int
    has_offset: bool
    has_weight: bool

    def reduce(self, kernel: Kernel, n_threads: int | None = None) -> IntArray:
        """Return the kernel's lattice sum over all records: the same bits for any ``n_threads``."""
        ...

    def restricted(self, places: Order) -> "Rows":
        """Return the records at these places, in this order, as new rows."""
        ...

    def in_order(self, order: Order) -> "Rows":
        """Return all records in this order; they are gathered when they are read."""
        ...


class WatchedRows:
    """The same rows, with a flag ``read`` that says whether reading has begun.

    An error before reading depends on public and released numbers only. A later error may depend on
    a record, and must not be shown.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.read = False
        self.n_rows, self.n_features = rows.n_rows, rows.n_features
        self.has_offset, self.has_weight = rows.has_offset, rows.has_weight

    def reduce(self, kernel: Kernel, n_threads: int | None = None) -> IntArray:
        """Read the records."""
        self.read = True
        return self._rows.reduce(kernel, n_threads)

    def restricted(self, places: Order) -> Rows:
        """Return some of the records as new rows."""
        self.read = True
        return self._rows.restricted(places)

    def in_order(self, order: Order) -> Rows:
        """Return all records in another order."""
        self.read = True
        return self._rows.in_order(order)
