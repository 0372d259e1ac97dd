"""Records in memory."""

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np

from tailguard.array_types import Features, FloatArray, IntArray
from tailguard.data.design import (
    Marks,
    Offset,
    Weight,
    offset_numbers,
    takes_off,
    target_numbers,
    weight_parts,
)
from tailguard.data.inputs import Inputs, read_inputs
from tailguard.data.matrices import NUMBERS_AT_ONCE, SparseFeatures, to_features
from tailguard.data.missing import filled
from tailguard.data.rows.base import CHUNK_ROWS, Kernel, RecordBlock
from tailguard.data.rows.threads import added, resolve_threads
from tailguard.noise.orders import Order

# For fewer numbers a thread costs more time (about 0.1 ms) than it saves (reading 4 MB).
NUMBERS_WORTH_A_THREAD = 500_000


class ArrayRows:
    """Records in memory; each read makes sparse records dense, piece by piece.

    Parameters
    ----------
    records
        All records, whose features may be sparse.
    missing
        Number of a column -> the public constant for its missing cells.
    marks
        Yields the marks of all original cells: usable, empty or unreadable. None makes numbers
        their own marks.

    Examples
    --------
    >>> import numpy as np
    >>> from tailguard.queries.loop import LatticeSum
    >>> from tailguard.queries.usable_records import UsableRecords
    >>> rows = ArrayRows(RecordBlock(np.array([[1.0], [2.0], [np.nan]])))
    >>> rows.reduce(LatticeSum(UsableRecords(), None, 1.0, 1))
    array([2])
    """

    def __init__(
        self,
        records: RecordBlock,
        missing: Mapping[int, float] | None = None,
        marks: Callable[[], Iterable[Marks]] | None = None,
    ) -> None:
        resolve_threads()  # refuses a wrong setting before anything is spent
        self._records = replace(records, first=0)
        self.n_rows, self.n_features = records.features.shape
        self.has_offset, self.has_weight = records.offset is not None, records.weight is not None
        self._constants, self._marks = missing or {}, marks
        self._sparse = isinstance(records.features, SparseFeatures)
        self._order: Order | None = None

    def __repr__(self) -> str:
        return f"ArrayRows(n_rows={self.n_rows}, n_features={self.n_features})"

    def reduce(self, kernel: Kernel, n_threads: int | None = None) -> IntArray:
        """Return the kernel's lattice sum over all records: the same bits for any ``n_threads``."""
        if kernel.reads_cells and self._marks is not None:
            blocks = (RecordBlock(*marks) for marks in self._marks())
            return added(kernel.size, kernel.sum_block, blocks, n_threads=1)
        if kernel.together == "all":
            return kernel.sum_block(self.block())
        copies = bool(self._constants) or self._order is not None or self._sparse
        threads = max(1, self.n_rows * self.n_features // NUMBERS_WORTH_A_THREAD)
        if threads > 1:
            threads = min(resolve_threads(n_threads), threads)
        if threads == 1 and not copies:
            return kernel.sum_block(self._records)
        # Two pieces per thread, so that a slow thread delays the others little; more pieces if
        # records are copied. Pieces have complete chunks.
        count = 2 * threads
        if copies:
            count = max(count, self.n_rows * self.n_features // NUMBERS_AT_ONCE)
        n_chunks = -(-self.n_rows // CHUNK_ROWS)
        length = -(-n_chunks // count) * CHUNK_ROWS
        return added(
            kernel.size,
            lambda first: kernel.sum_block(self.piece(first, first + length)),
            range(0, self.n_rows, length),
            threads,
        )

    def block(self) -> RecordBlock:
        """Return all records in their order, with constants for missing cells."""
        return self.piece(0, self.n_rows)

    def piece(self, start: int, stop: int) -> RecordBlock:
        """Return some records in their order, with constants for missing cells."""
        if self._order is None:
            piece = self._records.rows(start, stop)
        else:
            first = None if self._records.alone else start
            piece = self._records.at(self._order[start:stop], first)
        if not self._constants:
            return piece
        return replace(piece, features=filled(piece.features, self._constants))

    def restricted(self, places: Order) -> "ArrayRows":
        """Return the records at these places, in this order; dense records are copied now."""
        if self._sparse:
            return self.in_order(places)
        places = places[:]
        kept = self._records.at(places if self._order is None else self._order[places])
        kept = replace(kept, features=filled(kept.features, self._constants))
        return ArrayRows(kept)

    def in_order(self, order: Order) -> "ArrayRows":
        """Return the records at these places, gathered piece by piece when they are read."""
        rows = copy(self)
        rows._order = order if self._order is None else self._order[order[:]]
        rows._marks = None  # marks belong to all records in their original order
        rows._records = replace(self._records, first=0)
        rows.n_rows = len(order)
        return rows

    def marks(self) -> Iterable[Marks]:
        """Yield marks of all cells in the original order of rows; numbers are their own marks."""
        if self._marks is not None:
            return self._marks()
        block = self.block()
        return [(block.features, block.target, block.offset, block.weight)]

    def without_order(self) -> "ArrayRows":
        """Return the same records without an order: each is rounded to the lattice separately."""
        rows = copy(self)
        rows._records = replace(self._records, first=None)
        return rows


def make_rows(
    X: Any,
    y: Any = None,
    *,
    loss: Any = None,
    classes: Any = None,
    **reading: Any,
) -> ArrayRows:
    """Wrap the user's data in memory, given as inputs or as raw data.

    Float32 features stay float32, C-contiguous float arrays are not copied, and the user's data are
    never modified.

    ``loss`` determines the valid targets. ``classes`` declares labels: a target becomes its
    position among them, and records with other labels are void. A record is void if its exposure
    is not positive or its weight is missing or negative. ``reading`` holds parameters of
    ``read_inputs``.

    Examples
    --------
    >>> import numpy as np
    >>> make_rows(np.zeros((5, 2)), ["no", "yes", "no", "?", "no"], classes=("no", "yes"))
    ArrayRows(n_rows=5, n_features=2)
    """
    inputs = X if isinstance(X, Inputs) else read_inputs(X, y, **reading)
    target, added_to_score, weight = numbers_beside(
        inputs.y, inputs.offset, inputs.weight, loss, classes, inputs.n_rows
    )
    features = cast(Features, to_features(inputs.records))
    records = RecordBlock(features, target, added_to_score, weight)
    return ArrayRows(records, inputs.missing, partial(inputs.marks, loss, classes))


def numbers_beside(
    y: Any, offset: Offset | None, weight: Weight | None, loss: Any, classes: Any, n_rows: int
) -> tuple[FloatArray | None, FloatArray | None, FloatArray | None]:
    """Return the target, the offset and the weight of each record; None for those not given.

    A record whose weight is NaN gets the weight zero and the target NaN, so it is void. If no
    target is given, one is made for this: zero for all other records.

    A loss of ``score + offset - target`` is a loss of ``score - (target - offset)``, so there the
    offset is subtracted from the target. If the difference overflows, the record is void.
    """
    target = None if y is None else target_numbers(y, loss, classes, n_rows)
    added_to_score = None if offset is None else offset_numbers(offset, n_rows)
    weights = None if weight is None else weight_parts(weight, n_rows)
    if weights is not None:
        target = np.where(np.isnan(weights), np.nan, 0.0 if target is None else target)
        weights = np.nan_to_num(weights, nan=0.0)
    if target is not None and added_to_score is not None and takes_off(loss):
        with np.errstate(all="ignore"):
            target, added_to_score = target - added_to_score, None
    return target, added_to_score, weights
