"""Records in the order of a secret function of their identifiers, wherever they lie in a table.

A record's place is the rank of its identifier's value under a fresh secret key. So it does not
depend on the order of rows, nor on how they are cut into files and partitions; and with the places
all else is the same, too: pairs, groups and blocks. The records of the first places are a sample:
they are chosen where they lie, and no others are brought here.

*Privacy.* Identifiers tell the records apart, and are values like all others. Of neighbours, whose
records differ in one, values and identifier, the places have the same law: with a function that is
chance to whoever lacks the key, the place of the record that was replaced can be that of its
replacement, while all others stay. Given the places, one record is replaced in its place. So it is
with samples: either both records are in the sample, in one place, or neither is. Two records of one
identifier lie next to each other, so a record whose identifier is another one's is no neighbour:
identifiers must differ.

Reference
---------
Goldreich, Goldwasser and Micali 1986 (pseudo-random functions).
"""

from collections.abc import Iterable
from threading import Lock
from typing import TypeAlias

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError
from tailguard.kernels.base import Kernel
from tailguard.kernels.block import RecordBlock
from tailguard.noise.keyed_hash import KeyedHash
from tailguard.noise.orders import Order
from tailguard.noise.sources import Words

from .arrays import ArrayRows
from .base import Rows
from .reader import LARGEST_WORD, joined
from .spilled import Ranks, SpilledRows, check_room
from .streams import NUMBERS_GATHERED, StreamRows

Identified: TypeAlias = tuple[RecordBlock, Words]
"""Records, and the values of their identifiers."""


class KeyedRows:
    """Records of a table in batches, in the order of their identifiers' secret values.

    When a sum is first asked for each record is brought to its place, in memory or in a file that
    has no name. With a ``count`` they are the first so many, a sample of all.

    Examples
    --------
    >>> import polars as pl
    >>> from tailguard.kernels.gather import GatheredRecords
    >>> from tailguard.noise.sources import make_source
    >>> from tailguard.rows.reader import RecordReader
    >>> from tailguard.schema.schema import Schema
    >>> from tailguard.sources.lazy import of_polars
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
                if self._fits:
                    self._found = self._in_memory()
                else:
                    self._found = SpilledRows(self._rows, self._hashed, self._ranks())
            return self._found

    def _ranks(self) -> Ranks:
        ranks = Ranks(self._rows.counted(self._hashed), self.n_rows)
        ranks.check(self._rows.n_rows)
        return ranks

    def _in_memory(self) -> ArrayRows:
        most = LARGEST_WORD if self.n_rows == self._rows.n_rows else self._ranks().most
        block, values = smallest(self._rows.identified(self._hashed, most), self.n_rows)
        rows = ArrayRows.of_block(block, self.feature_names)
        return in_keyed_order(rows, values, self.n_rows)


def smallest(found: Iterable[Identified], count: int) -> Identified:
    """Return the ``count`` records with the smallest values, of equal ones those that came first.

    They are in the order in which they came. However many come, half as many again are held at most
    beside those that come at once.

    Examples
    --------
    >>> block = RecordBlock(np.array([[1.0], [2.0], [3.0]]))
    >>> values = np.array([7, 9, 7], dtype=np.uint64)
    >>> smallest([(block, values), (block, values)], 3)[0].features[:, 0]
    array([1., 3., 1.])
    """
    held: list[Identified] = []
    n_held = 0
    for block, values in found:
        held.append((block, values))
        n_held += block.n_rows
        if n_held > count + count // 2:
            held, n_held = _without_largest(held, count), count
    if n_held < count:
        raise InputError("X must have the same rows whenever it is read.")
    if n_held > count:
        held = _without_largest(held, count)
    blocks, every = zip(*held, strict=True)
    return joined(blocks), np.concatenate(every)


def _without_largest(held: list[Identified], count: int) -> list[Identified]:
    """Leave out all records but the ``count`` smallest."""
    chosen = np.zeros(sum(block.n_rows for block, _ in held), dtype=bool)
    chosen[np.argsort(np.concatenate([values for _, values in held]), kind="stable")[:count]] = True
    start = 0
    for k, (block, values) in enumerate(held):
        places = np.flatnonzero(chosen[start : start + block.n_rows])
        start += block.n_rows
        held[k] = block.at(places), values[places]
    return [each for each in held if each[0].n_rows]


def fits(rows: StreamRows, count: int) -> bool:
    """Whether so many records are kept in memory; refuse more if the disk lacks room.

    Examples
    --------
    >>> import polars as pl
    >>> from tailguard.rows.reader import RecordReader
    >>> from tailguard.schema.schema import Schema
    >>> from tailguard.sources.lazy import of_polars
    >>> ages = of_polars(pl.LazyFrame({"age": [41.0, 50.0, 30.0]}))
    >>> fits(StreamRows(ages, RecordReader(Schema(features=["age"]))), 3)
    True
    """
    if count * rows.width <= NUMBERS_GATHERED:
        return True
    check_room(rows, count)
    return False


def in_keyed_order(rows: ArrayRows, values: Words, count: int) -> ArrayRows:
    """Return the first ``count`` records in the order of their identifiers' values.

    Examples
    --------
    >>> rows = ArrayRows(np.array([[1.0], [2.0], [3.0]]))
    >>> in_keyed_order(rows, np.array([7, 9, 8], dtype=np.uint64), 2).block().features[:, 0]
    array([1., 3.])
    """
    return rows.restricted(np.argsort(values, kind="stable")[:count])
