"""Records in no order: sums over all of them are made where they lie, and nothing is brought here.

Each record is rounded to the lattice by itself, and whole numbers are added. So a sum is the same
under any order and any cut of the records. What pairs, groups, samples or gathers records goes by
places in a secret random order. Identifiers only see to it that a seed gives the same places
wherever the records lie (``keyed.py``).
"""

from collections.abc import Callable, Sequence
from typing import Any

from tailguard.array_types import IntArray
from tailguard.checks import InputError
from tailguard.data.rows.arrays import ArrayRows
from tailguard.data.rows.base import Kernel, Rows
from tailguard.data.rows.keyed import KeyedRows, fits, in_keyed_order
from tailguard.data.rows.streams import StreamRows
from tailguard.noise.keyed_hash import Identifiers, KeyedHash
from tailguard.noise.orders import Order
from tailguard.noise.sources import Source

# By the values of a hash, the first so many records in their order.
First = Callable[[KeyedHash, int], Rows]


class UnorderedRows:
    """Records whose order says nothing.

    Parameters
    ----------
    rows
        The records, as they lie.
    first
        Returns the first so many records in a secret random order; None where there are no
        identifiers.
    source
        Of the key by which all records have places.

    Examples
    --------
    >>> import numpy as np
    >>> from tailguard.queries.kernels.counts import BelowCount
    >>> from tailguard.noise.sources import make_source
    >>> rows = UnorderedRows.of_arrays(ArrayRows(np.array([[1.0], [2.0]])), None, make_source(None))
    >>> rows.reduce(BelowCount(thresholds=[1.5], columns=(0,), paired=False, multiplier=1))
    array([1])
    >>> rows.restricted(np.array([0]))
    Traceback (most recent call last):
    tailguard.checks.InputError: row_id must name a column that tells rows apart: they have no \
order, and are read in pairs, groups, blocks or samples for what was asked.
    """

    def __init__(self, rows: ArrayRows | StreamRows, first: First | None, source: Source) -> None:
        self._rows = rows
        self._first = first
        self._hashed = None if first is None else KeyedHash(source)
        self._placed: Rows | None = None
        self.n_rows = rows.n_rows
        self.n_features = rows.n_features
        self.feature_names = rows.feature_names
        self.has_target = rows.has_target
        self.has_offset = rows.has_offset

    @classmethod
    def of_arrays(
        cls, rows: ArrayRows, row_ids: Identifiers | None, source: Source
    ) -> "UnorderedRows":
        """Wrap records in memory, and their identifiers."""
        if row_ids is None:
            return cls(rows.without_order(), None, source)

        def first(hashed: KeyedHash, count: int) -> Rows:
            return in_keyed_order(rows, row_ids, hashed, count)

        return cls(rows.without_order(), first, source)

    @classmethod
    def of_stream(cls, rows: StreamRows, source: Source) -> "UnorderedRows":
        """Wrap records of a table in batches, whose schema names their identifiers."""

        def first(hashed: KeyedHash, count: int) -> Rows:
            return KeyedRows(rows, hashed, count)

        return cls(rows, first if rows.has_ids else None, source)

    def reduce(self, kernel: Kernel, n_threads: int | None = None) -> IntArray:
        """Return the kernel's lattice sum over all records, in whatever order they lie.

        The same bits for any ``n_threads``.
        """
        rows: Any = self._rows if kernel.together == "none" else self._by_place()
        total: IntArray = rows.reduce(kernel, n_threads)
        return total

    def restricted(self, places: Order) -> Rows:
        """Return the records at these places alone, in this order, as rows of their own."""
        return self._by_place().restricted(places)

    def in_order(self, order: Order) -> Rows:
        """Return all records in this order."""
        return self._by_place().in_order(order)

    def check_places(self, stages: Sequence[str], *, whole: bool) -> None:
        """Refuse stages that read records by place if there are no identifiers; read no record.

        Where they need the ``whole`` table, refuse one for which the disk lacks room, too.
        """
        if stages and self._first is None:
            raise _without_ids(", ".join(dict.fromkeys(stages)))
        if whole and isinstance(self._rows, StreamRows):
            fits(self._rows, self.n_rows)

    def sample(self, hashed: KeyedHash, count: int) -> Rows:
        """Return so many records: a sample in random order, under a key of its own."""
        if self._first is None:
            raise _without_ids("what was asked")
        return self._first(hashed, count)

    def _by_place(self) -> Rows:
        if self._first is None or self._hashed is None:
            raise _without_ids("what was asked")
        if self._placed is None:
            self._placed = self._first(self._hashed, self.n_rows)
        return self._placed


def _without_ids(asked: str) -> InputError:
    return InputError(
        "row_id must name a column that tells rows apart: they have no order, and are read in "
        f"pairs, groups, blocks or samples for {asked}."
    )
