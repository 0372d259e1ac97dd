"""Records without a given order: sums need none, and all other queries use a secret one.

A sum over all records rounds each record to the lattice separately and adds integers. So it is the
same for any order and division of the records, and workers compute it where the records are stored.
Queries that pair, group, sample or gather records use their places in a secret random order.

A record's place is the rank of its identifier's hash under a fresh secret key. So places do not
depend on the order of rows, nor on their division into files and partitions. The same holds for
pairs, groups and blocks, which follow from the places. A sample consists of the records at the
first places: workers choose them where they are stored, and send no other records.

Identifiers have no other use. If they do not all differ, the number of a row in the table replaces
its identifier: the first row is 0, the next one 1. Then the order of the table affects the bits of
an answer, and nothing else.

*Privacy.* The order is uniform over all orders of the records, whatever the identifiers are. The
ranked hashes are those of n different inputs: the identifiers, or the numbers from 0 to n - 1. For
anyone without the key, a pseudo-random function maps these to independent uniform words; equal
words are put in a random order. Identifiers count as different if all their hashes under the key
differ. This event does not depend on which hash belongs to which identifier, so the order is still
uniform given the event. Numbers of rows are hashed under a separate key.

So the order has the same distribution for any two tables of n rows. This includes tables where the
replaced record had the identifier of another record, where one or all identifiers are missing, and
where a library rounded all identifiers because of one. Couple the orders of neighbouring tables so
that all other records have the same places. Then one record is replaced in its place, and the
sensitivity of every query is stated for this case. The same holds for samples: either both records
are in the sample, at the same place, or neither is. Orders under several keys are independent, so
all of them can be coupled.

Reference
---------
Goldreich, Goldwasser and Micali 1986 (pseudo-random functions).
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError
from tailguard.data.rows.arrays import ArrayRows
from tailguard.data.rows.base import Kernel, RecordBlock, Rows
from tailguard.data.rows.reader import DIGITS, LARGEST_WORD, joined
from tailguard.data.rows.record_file import RecordFile, check_room, parts_for, record_type, width_of
from tailguard.data.rows.streams import NUMBERS_GATHERED, FileRows, StreamRows
from tailguard.data.table import CHANGED, check_same
from tailguard.noise.keyed_hash import Identifiers, KeyedHash
from tailguard.noise.orders import Order
from tailguard.noise.sources import Source, Words
from tailguard.quiet import quietly

# A part may have this many values more than twice the expected number. By chance none has more: of
# 2^25 values, a part has 131 072 with a standard deviation of about 360.
SPARE_VALUES = 64


class UnorderedRows:
    """Records whose order has no meaning.

    Parameters
    ----------
    rows
        The records, as stored. The schema of a table in batches names its identifiers.
    source
        The random source of the key that determines places.
    row_ids
        The identifiers of records in memory, if there are any.

    Examples
    --------
    >>> from tailguard.data.rows.arrays import make_rows
    >>> from tailguard.queries.loop import LatticeSum
    >>> from tailguard.queries.usable_records import UsableRecords
    >>> from tailguard.noise.sources import make_source
    >>> rows = UnorderedRows(make_rows(np.array([[1.0], [2.0]])), make_source(None))
    >>> rows.reduce(LatticeSum(UsableRecords(), None, 1.0, 1))
    array([2])
    """

    def __init__(
        self, rows: ArrayRows | StreamRows, source: Source, row_ids: Identifiers | None = None
    ) -> None:
        self._rows = rows.without_order() if isinstance(rows, ArrayRows) else rows
        self._row_ids = row_ids
        has_ids = row_ids is not None or (isinstance(rows, StreamRows) and bool(rows.reader.ids))
        self._hashed = KeyedHash(source) if has_ids else None
        self._placed: Rows | None = None
        self._lock = Lock()
        self.n_rows, self.n_features = rows.n_rows, rows.n_features
        self.has_offset, self.has_weight = rows.has_offset, rows.has_weight

    def reduce(self, kernel: Kernel, n_threads: int | None = None) -> IntArray:
        """Return the kernel's lattice sum over all records, for any order of storage.

        The bits are the same for any ``n_threads``.
        """
        rows: Rows = self._rows if kernel.together == "none" else self._by_place()
        return rows.reduce(kernel, n_threads)

    def restricted(self, places: Order) -> Rows:
        """Return the records at these places, in this order, as new rows."""
        return self._by_place().restricted(places)

    def in_order(self, order: Order) -> Rows:
        """Return all records in this order."""
        return self._by_place().in_order(order)

    def check_places(self, stages: Sequence[str], *, whole: bool) -> None:
        """Refuse stages that read records by place if there are no identifiers; read no record.

        If the stages need all records by place (``whole``), also refuse a table that is too large
        for the disk.
        """
        if stages:
            self._key(", ".join(dict.fromkeys(stages)))
        if whole and isinstance(self._rows, StreamRows):
            fits(self._rows, self.n_rows)

    def sample(self, hashed: KeyedHash, count: int) -> Rows:
        """Return a sample of ``count`` records in random order, by a separate key."""
        self._key()  # refuses records without identifiers
        return in_keyed_order(self._rows, hashed, count, self._row_ids)

    def _by_place(self) -> Rows:
        with self._lock:
            if self._placed is None:
                self._placed = self.sample(self._key(), self.n_rows)
            return self._placed

    def _key(self, purpose: str = "this query") -> KeyedHash:
        """Return the hash that determines places; refuse records without identifiers."""
        if self._hashed is None:
            raise InputError(
                "row_id must name a column that identifies rows: they have no order, and are read "
                f"in pairs, groups, blocks or samples for {purpose}."
            )
        return self._hashed


def in_keyed_order(
    rows: ArrayRows | StreamRows, hashed: KeyedHash, count: int, row_ids: Identifiers | None = None
) -> Rows:
    """Return the first ``count`` records in a secret random order: all of them, or a sample.

    Records of a table in batches are sorted in memory or in an unnamed file.
    """
    if isinstance(rows, ArrayRows):
        assert row_ids is not None
        values = hashed.of(row_ids)
        if not all_differ(values):
            values = hashed.of_places(0, rows.n_rows)
        return rows.restricted(hashed.order(values)[:count])
    in_memory = fits(rows, count)
    with quietly():
        if rows.ids_differ is None:
            rows.ids_differ = ids_differ(rows, hashed)
        rows = rows if rows.ids_differ else rows.numbered()
        return (_in_memory if in_memory else _in_file)(rows, hashed, count)


def _in_memory(rows: StreamRows, hashed: KeyedHash, count: int) -> Rows:
    """Read the first records into memory, and sort them by their hashes."""
    takes_all = count == rows.n_rows
    largest = LARGEST_WORD if takes_all else Ranks.of(rows, hashed, count, 1).most
    identified = list(rows.identified(hashed, largest))
    if sum(block.n_rows for block, _ in identified) < count:
        raise InputError(CHANGED)
    blocks, values = zip(*identified, strict=True)
    order = hashed.order(np.concatenate(values))
    return ArrayRows(joined(blocks)).restricted(order[:count])


def _in_file(rows: StreamRows, hashed: KeyedHash, count: int) -> Rows:
    """Distribute the first records to parts of a file."""
    ranks = Ranks.of(rows, hashed, count, parts_for(count, rows.stored))
    file = RecordFile(rows.stored, ranks.part_counts, lambda heads: hashed.order(heads["value"]))
    identified = rows.identified(hashed, ranks.most)
    file.fill(file.shared(block, values, ranks.parts_of(values)) for block, values in identified)
    return FileRows(file, count)


def ids_differ(rows: StreamRows, hashed: KeyedHash) -> bool:
    """Whether the hashes of all identifiers differ.

    Many hashes are sorted in a file, with 8 bytes per row. If far more of them share their leading
    bits than chance allows, some are equal, and no file is written. So each part of it is short.
    """
    if rows.n_rows <= NUMBERS_GATHERED:
        return all_differ(np.concatenate(list(rows.values(hashed))))
    stored = record_type(0)
    ranks = Ranks.of(rows, hashed, rows.n_rows, parts_for(rows.n_rows, stored))
    if ranks.part_counts.max() > 2 * ranks.part_counts.mean() + SPARE_VALUES:
        deque(rows.values(hashed), maxlen=0)  # keep the number of reported passes the same
        return False
    file = RecordFile(stored, ranks.part_counts)
    file.fill(
        file.shared(RecordBlock(np.empty((len(values), 0))), values, ranks.parts_of(values))
        for values in rows.values(hashed)
    )
    ends = np.append(0, np.cumsum(ranks.part_counts)).tolist()
    return all(all_differ(file.values(a, b - a)) for a, b in pairwise(ends))


def all_differ(values: Words) -> bool:
    """Whether no value occurs twice."""
    return np.unique(values).size == values.size


def fits(rows: StreamRows, count: int) -> bool:
    """Whether ``count`` records fit in memory; refuse more if the disk lacks room."""
    in_memory = count * width_of(rows.stored) <= NUMBERS_GATHERED
    if rows.n_rows > NUMBERS_GATHERED:  # first a file of all hashes, then one of the records
        values = np.dtype(np.uint64).itemsize * rows.n_rows
        check_room(max(values, 0 if in_memory else count * rows.stored.itemsize))
    return in_memory


@dataclass(frozen=True, eq=False)
class Ranks:
    """The first ``count`` records in the order of their hashes.

    ``counts`` is a histogram of the hashes by their leading bits, which workers compute. It bounds
    the smallest hashes, and distributes the records to parts.
    """

    counts: IntArray
    count: int
    n_parts: int

    @classmethod
    def of(cls, rows: StreamRows, hashed: KeyedHash, count: int, n_parts: int) -> "Ranks":
        """Count the hashes of all records; refuse a table whose number of rows changed."""
        counts = rows.counted(hashed)
        check_same(int(counts.sum()), rows.n_rows)
        return cls(counts, count, n_parts)

    @property
    def last(self) -> int:
        """The leading bits of the last chosen hash."""
        return int(np.searchsorted(np.cumsum(self.counts), self.count))

    @property
    def most(self) -> int:
        """The largest hash with the same leading bits as the last chosen one."""
        return min(((self.last + 1) << (64 - DIGITS)) - 1, LARGEST_WORD)

    def parts_of(self, values: Words) -> IntArray:
        """Return the part of the file for each hash.

        Parts have equal ranges, and about equally many records, since hashes are uniform.
        """
        return self._parts((values >> np.uint64(64 - DIGITS)).astype(np.int64))

    @property
    def part_counts(self) -> IntArray:
        """The number of chosen records in each part."""
        counts = np.zeros(self.n_parts, dtype=np.int64)
        np.add.at(counts, self._parts(np.arange(self.last + 1)), self.counts[: self.last + 1])
        return counts

    def _parts(self, leading: IntArray) -> IntArray:
        """Return the parts of hashes with these leading bits."""
        # A hash beyond the last chosen one occurs only if the table changed.
        return np.minimum(leading * self.n_parts // (self.last + 1), self.n_parts - 1)
