"""The protocol of rows, and the parts of sums over them: blocks of records, chunks and kernels.

Records are summed in float64 inside a chunk, the chunk's sum is rounded to the lattice, and
integers are added across chunks. Neighbouring datasets differ in one record, hence in one chunk, so
a sensitivity must only cover the float error of a single chunk, whatever the number of records.

Reference
---------
Higham 2002, "Accuracy and Stability of Numerical Algorithms", Section 4.2: a sum of m numbers in
any order errs by at most (m - 1) u / (1 - (m - 1) u) times the sum of their magnitudes.
Casacuberta, Shoemate, Vadhan and Wagaman 2022 show why the error must be charged.
"""

from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tailguard.array_types import Features, FloatArray, IntArray
from tailguard.checks import InputError
from tailguard.noise.orders import Order

CHUNK_ROWS = 1024
"""Records per chunk; record ``i`` belongs to chunk ``i // CHUNK_ROWS``."""

ROUNDOFF = 2.0**-53
"""Unit roundoff of float64."""

# Far above any calibrated lattice, far below the integers where int64 or float64 lose units.
LARGEST_UNITS = 2.0**51


def summation_slack(bound: float) -> float:
    """Extra l2 sensitivity of a chunk-wise float sum of vectors of norm at most ``bound``.

    Two neighbouring chunks err by at most ``CHUNK_ROWS**2 * ROUNDOFF * bound`` each.
    """
    return 2 * CHUNK_ROWS**2 * ROUNDOFF * bound


def shrink(size: int) -> float:
    """Return the factor that keeps a clipped vector of ``size`` within its limit as a float.

    The computed norm of a vector errs by at most ``size / 2 + 2`` roundoffs, and each product by
    one; four times ``size + 2`` covers both with room to spare.
    """
    return 1 - 4 * (size + 2) * ROUNDOFF


BESIDE = ("target", "offset", "weight")
"""The vectors of a block besides its features."""
OF_PERSONS = ("share", "person")
"""Further vectors of a block of persons."""


@dataclass(frozen=True, eq=False)
class RecordBlock:
    """Consecutive records; the first one's number is a multiple of ``CHUNK_ROWS``.

    Records without an order have no numbers: a sum rounds each record to the lattice separately, so
    that the total does not depend on how records are cut into blocks.

    A record with any non-finite entry is VOID: it contributes zero to every sum and is counted
    nowhere. Invalid targets of a loss were set to NaN before.

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
        If persons are protected, the share of each row in its person, and the number of that
        person, from 0 on in the block, or among all persons if groups are read. Shares of a person
        add up to at most one. Rows of a person are adjacent, all in one block. None if each row is
        a record.
    n_rows, alone
        Number of records in the block; whether each is rounded to the lattice separately.
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
        """Number of the first record, for kernels that sum by groups of records."""
        if self.first is None:
            raise InputError("records without an order have no places.")
        return self.first

    def vector(self, name: str) -> FloatArray:
        """Return one of ``BESIDE``; if there is none, zeros that take no memory."""
        values: FloatArray | None = getattr(self, name)
        return np.broadcast_to(0.0, self.n_rows) if values is None else values

    def void(self) -> NDArray[np.bool_]:
        """Return which records hold a non-finite entry."""
        finite = np.isfinite(self.features).all(axis=1)
        return ~(finite & np.isfinite(self.vector("target")) & np.isfinite(self.vector("offset")))

    def check_features(self, n_features: int) -> None:
        """Refuse another number of features than there are centres."""
        if self.features.shape[1] != n_features:
            raise InputError(
                f"center must have one entry per feature; got {n_features} for "
                f"{self.features.shape[1]} features."
            )

    def rows(self, start: int, stop: int) -> "RecordBlock":
        """Return records ``start`` to ``stop`` of this block; dense ones are not copied."""
        first = None if self.first is None else self.first + start
        return self._chosen(self.features[start:stop], slice(start, stop), first)

    def at(self, places: IntArray, first: int | None = 0) -> "RecordBlock":
        """Return a copy of the records at these places, in this order."""
        # ``take`` is nearly twice as fast as indexing, with the same result.
        return self._chosen(self.features.take(places, axis=0), places, first)

    def _chosen(
        self, features: Features, places: slice | IntArray, first: int | None
    ) -> "RecordBlock":
        beside = {name: getattr(self, name) for name in (*BESIDE, *OF_PERSONS)}
        picked = {name: None if v is None else v[places] for name, v in beside.items()}
        return RecordBlock(features, **picked, first=first)


def chunks_of(block: RecordBlock) -> list[RecordBlock]:
    """Cut a block into its chunks."""
    starts = range(0, block.n_rows, CHUNK_ROWS)
    return [block.rows(start, start + CHUNK_ROWS) for start in starts]


Together: TypeAlias = Literal["none", "some", "groups", "all"]
"""Which records are read together: none, if contributions are independent; some, in pairs or chunks
by their places; those of a group, a run of places; or all at once."""


class Kernel(Protocol):
    """A statistic that adds up over records; ``LatticeSum`` is the one of a query.

    ``sum_block`` is total: no record makes it raise, warn or overflow.
    """

    @property
    def size(self) -> int:
        """How many whole numbers it adds up."""
        ...

    @property
    def together(self) -> Together:
        """Which records are read together; with ``"none"`` order and blocks do not matter."""
        ...

    @property
    def reads_cells(self) -> bool:
        """Whether it reads marks of cells (number, missing, other) instead of their numbers."""
        ...

    def sum_block(self, block: RecordBlock) -> IntArray:
        """Lattice sum over the chunks of one block."""
        ...


def round_to_lattice(chunk_sum: FloatArray, grid: float) -> IntArray:
    """Round the float sum of one chunk to whole steps of ``grid``."""
    units = np.rint(chunk_sum / grid)
    return np.minimum(np.maximum(units, -LARGEST_UNITS), LARGEST_UNITS).astype(np.int64)


def counted(places: IntArray, n_places: int, grid: float, weight: FloatArray | None) -> IntArray:
    """Count places in whole steps of ``grid``, one over an integer; each row has its weight.

    Weights are rounded down to whole steps, so a record's counts stay in the simplex and replacing
    it moves counts by no more than without weights. Row ``i`` of ``places`` belongs to record
    ``i``; the place ``n_places`` is dropped.
    """
    if weight is None:
        return np.bincount(places.ravel(), minlength=n_places + 1)[:n_places] * round(1.0 / grid)
    each = whole_steps(weight, len(places), grid).reshape(-1, *(1,) * (places.ndim - 1))
    each = np.broadcast_to(each, places.shape).ravel()
    # Whole numbers of at most 2**44 in all, by the lattice's limit on chunks: exact as floats.
    return np.bincount(places.ravel(), each, n_places + 1)[:n_places].astype(np.int64)


def whole_steps(weight: FloatArray | None, n_rows: int, grid: float) -> IntArray:
    """Return the weight of each row in whole steps of ``grid``, one over an integer."""
    one = round(1.0 / grid)
    if weight is None:
        return np.full(n_rows, one, dtype=np.int64)
    return np.floor(weight * one).astype(np.int64)


def rounded_alone(shares: FloatArray, grid: float) -> IntArray:
    """Round each record's contribution to whole steps of ``grid``, then add exactly, in any order.

    Each row is a record, of one chunk at most: the sum of so few integers stays below ``2**53``, so
    no addition is rounded.
    """
    total: IntArray = np.rint(shares / grid).sum(axis=0).astype(np.int64)
    return total


def rounded_sum(parts: FloatArray, grid: float, *, alone: bool) -> IntArray:
    """Return the lattice sum of the contributions of one chunk, one row per record."""
    return rounded_alone(parts, grid) if alone else round_to_lattice(parts.sum(axis=0), grid)


class Rows(Protocol):
    """Records; the only question that they answer is a sum by a kernel.

    Attributes
    ----------
    n_rows, n_features
        Public numbers of records and of feature columns.
    has_offset, has_weight
        Whether there is an offset, and whether records count by weights.
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
        """Return all records in this order, gathered when they are read."""
        ...


class WatchedRows:
    """The same rows, and whether reading has begun.

    An earlier error depends on public and released numbers only. A later one may depend on a
    record, and must not be shown.
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
        """Return some of the records, as rows of their own."""
        self.read = True
        return self._rows.restricted(places)

    def in_order(self, order: Order) -> Rows:
        """Return all of the records in another order."""
        self.read = True
        return self._rows.in_order(order)
