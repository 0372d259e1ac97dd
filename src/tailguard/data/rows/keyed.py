"""Records in a secret random order, the same wherever they lie in a table.

A record's place is the rank of its identifier's value under a fresh secret key. So it does not
depend on the order of rows, nor on how they are cut into files and partitions; and with the places
all else is the same, too: pairs, groups and blocks. The records of the first places are a sample:
they are chosen where they lie, and no others are brought here.

That is all that identifiers are for. Where they do not all differ, the number of a row in the table
stands for its identifier: the first row is 0, the next one 1. Then the order of the table matters
to the bits of an answer, and to nothing else.

*Privacy.* The order is uniform over all orders of the records, whatever the identifiers are. For
the values that are ranked are those of n different things, of the identifiers or of the numbers
from 0 to n - 1. A function that is chance to whoever lacks the key gives independent uniform words
for these, and equal words are put in a random order. That identifiers differ is told by their
values under the key, all of which must differ: that says nothing of which value is whose, so that
given it the order is uniform still; and other things than identifiers have a key of their own.

So the law of the order is the same for any two tables of n rows: also where a record that is
replaced had the identifier of another one, where one or all are missing, or where the library that
made the column rounded all of them because of one. Pair the orders of neighbours so that all other
records have the same places: then one record is replaced in its place, for which the sensitivity of
every question is stated. So it is with samples: either both records are in the sample, in one
place, or neither is. Orders under several keys are independent, so that all of them can be paired.

Reference
---------
Goldreich, Goldwasser and Micali 1986 (pseudo-random functions).
"""

from collections import deque
from itertools import pairwise
from threading import Lock

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError
from tailguard.data.rows.arrays import ArrayRows
from tailguard.data.rows.base import Kernel, RecordBlock, Rows
from tailguard.data.rows.reader import LARGEST_WORD, joined
from tailguard.data.rows.record_file import RecordFile, record_type
from tailguard.data.rows.spilled import Ranks, SpilledRows, check_room
from tailguard.data.rows.streams import NUMBERS_GATHERED, StreamRows
from tailguard.noise.keyed_hash import Identifiers, KeyedHash
from tailguard.noise.orders import Order
from tailguard.noise.sources import Words

# A part has more than twice its share and so many values beyond it by no chance: of 2^25 values it
# has some 360 more or less than its share of 131 072.
FEW = 64


class KeyedRows:
    """Records of a table in batches, in a secret random order.

    When a sum is first asked for each record is brought to its place, in memory or in a file that
    has no name. With a ``count`` they are the first so many, a sample of all.

    Examples
    --------
    >>> import polars as pl
    >>> from tailguard.queries.kernels.gather import GatheredRecords
    >>> from tailguard.noise.sources import make_source
    >>> from tailguard.data.rows.reader import RecordReader
    >>> from tailguard.data.schema.schema import Schema
    >>> from tailguard.data.sources.lazy import of_polars
    >>> table = pl.DataFrame({"id": ["a", "b", "c"], "age": [41.0, 50.0, 30.0]})
    >>> reader = RecordReader(Schema(features=["age"], row_id="id"))
    >>> kernel = GatheredRecords(n_rows=3, n_columns=2)
    >>> one, other = (
    ...     KeyedRows(StreamRows(of_polars(given.lazy()), reader), KeyedHash(make_source(7)))
    ...     for given in (table, table.reverse())
    ... )
    >>> bool((one.reduce(kernel) == other.reduce(kernel)).all())
    True
    """

    def __init__(self, rows: StreamRows, hashed: KeyedHash, count: int | None = None) -> None:
        self._rows = rows
        self._hashed = hashed
        self._lock = Lock()
        self._found: Rows | None = None
        self.n_rows = rows.n_rows if count is None else count
        self.n_features = rows.n_features
        self.feature_names = rows.feature_names
        self.has_target = rows.has_target
        self.has_offset = rows.has_offset
        self._fits = fits(rows, self.n_rows)

    def reduce(self, kernel: Kernel, n_threads: int | None = None) -> IntArray:
        """Return the kernel's lattice sum over all records, in whatever order the table has them.

        The same bits for any ``n_threads``.
        """
        return self._settled().reduce(kernel, n_threads)

    def restricted(self, places: Order) -> Rows:
        """Return the records at these places alone, in this order, as rows of their own."""
        return self._settled().restricted(places)

    def in_order(self, order: Order) -> Rows:
        """Return all records in this order."""
        return self._settled().in_order(order)

    def _settled(self) -> Rows:
        """Bring each record to its place, the first time that one is read."""
        with self._lock:
            if self._found is None:
                if self._rows.ids_differ is None:
                    self._rows.ids_differ = ids_differ(self._rows, self._hashed)
                rows = self._rows if self._rows.ids_differ else self._rows.numbered()
                if self._fits:
                    self._found = self._in_memory(rows)
                else:
                    self._found = SpilledRows(rows, self._hashed, self._ranks(rows))
            return self._found

    def _ranks(self, rows: StreamRows) -> Ranks:
        ranks = Ranks(rows.counted(self._hashed), self.n_rows)
        ranks.check(rows.n_rows)
        return ranks

    def _in_memory(self, rows: StreamRows) -> ArrayRows:
        most = LARGEST_WORD if self.n_rows == rows.n_rows else self._ranks(rows).most
        found = list(rows.identified(self._hashed, most))
        if sum(block.n_rows for block, _ in found) < self.n_rows:
            raise InputError("X must have the same rows whenever it is read.")
        blocks, values = zip(*found, strict=True)
        chosen = ArrayRows.of_block(joined(blocks), self.feature_names)
        return first_of(chosen, np.concatenate(values), self._hashed, self.n_rows)


def ids_differ(rows: StreamRows, hashed: KeyedHash) -> bool:
    """Whether all identifiers differ, as told by their values.

    Of many these are put in order in a file of 8 bytes a row. Where more of them begin with the
    same digits than by any chance, some are equal; so every part of the file is short.

    Examples
    --------
    >>> import polars as pl
    >>> from tailguard.noise.sources import make_source
    >>> from tailguard.data.rows.reader import RecordReader
    >>> from tailguard.data.schema.schema import Schema
    >>> from tailguard.data.sources.lazy import of_polars
    >>> table = pl.LazyFrame({"id": [1, 2, 1], "age": [41.0, 50.0, 30.0]})
    >>> reader = RecordReader(Schema(features=["age"], row_id="id"))
    >>> ids_differ(StreamRows(of_polars(table), reader), KeyedHash(make_source(None)))
    False
    """
    if rows.n_rows <= NUMBERS_GATHERED:
        return all_differ(np.concatenate(list(rows.values(hashed))))
    ranks = Ranks(rows.counted(hashed), rows.n_rows)
    ranks.check(rows.n_rows)
    stored = np.dtype([("value", "u8"), ("features", "f8", (0,))])
    if ranks.part_counts.max() > 2 * ranks.part_counts.mean() + FEW:
        deque(rows.values(hashed), maxlen=0)  # who listens hears of as many passes
        return False
    file = RecordFile(stored, ranks.part_counts)
    file.fill(
        file.shared(RecordBlock(np.empty((len(values), 0))), values, ranks.parts_of(values))
        for values in rows.values(hashed)
    )
    ends = np.append(0, np.cumsum(ranks.part_counts)).tolist()
    return all(all_differ(file.values(a, b - a)) for a, b in pairwise(ends))


def all_differ(values: Words) -> bool:
    """Whether no value is there twice.

    Examples
    --------
    >>> all_differ(np.array([3, 1], dtype=np.uint64)), all_differ(np.array([3, 3], dtype=np.uint64))
    (True, False)
    """
    return np.unique(values).size == values.size


def fits(rows: StreamRows, count: int) -> bool:
    """Whether so many records are kept in memory; refuse more if the disk lacks room.

    Examples
    --------
    >>> import polars as pl
    >>> from tailguard.data.rows.reader import RecordReader
    >>> from tailguard.data.schema.schema import Schema
    >>> from tailguard.data.sources.lazy import of_polars
    >>> ages = of_polars(pl.LazyFrame({"age": [41.0, 50.0, 30.0]}))
    >>> fits(StreamRows(ages, RecordReader(Schema(features=["age"]))), 3)
    True
    """
    in_memory = count * rows.width <= NUMBERS_GATHERED
    if rows.n_rows > NUMBERS_GATHERED:  # the values of all come first, and then the records
        values = np.dtype(np.uint64).itemsize * rows.n_rows
        check_room(max(values, 0 if in_memory else count * record_type(rows).itemsize))
    return in_memory


def in_keyed_order(
    rows: ArrayRows, identifiers: Identifiers, hashed: KeyedHash, count: int
) -> ArrayRows:
    """Return the first ``count`` records in memory, in a secret random order.

    Examples
    --------
    >>> from tailguard.noise.sources import make_source
    >>> rows = ArrayRows(np.array([[1.0], [2.0], [3.0]]))
    >>> found = in_keyed_order(rows, ["a", "a", None], KeyedHash(make_source(None)), 3)
    >>> sorted(found.block().features[:, 0].tolist())
    [1.0, 2.0, 3.0]
    """
    values = hashed.of(identifiers)
    if not all_differ(values):
        values = hashed.of_places(0, rows.n_rows)
    return first_of(rows, values, hashed, count)


def first_of(rows: ArrayRows, values: Words, hashed: KeyedHash, count: int) -> ArrayRows:
    """Return the ``count`` records of the smallest values, in the order of these.

    Examples
    --------
    >>> from tailguard.noise.sources import make_source
    >>> rows, values = ArrayRows(np.array([[1.0], [2.0], [3.0]])), np.array([7, 9, 8])
    >>> found = first_of(rows, values.astype(np.uint64), KeyedHash(make_source(None)), 2)
    >>> found.block().features[:, 0]
    array([1., 3.])
    """
    return rows.restricted(hashed.order(values)[:count])
