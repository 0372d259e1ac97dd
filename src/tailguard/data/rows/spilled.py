"""Records that were brought to their places in a file without a name, which is gone with the run.

Values of identifiers are counted by their first digits where the records are, and whole numbers
come here. They tell which values are the smallest, and share the records out to parts of the file.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError
from tailguard.data.rows.base import Kernel, RecordBlock, Rows
from tailguard.data.rows.reader import DIGITS, LARGEST_WORD, joined
from tailguard.data.rows.record_file import RecordFile, free_room, record_type
from tailguard.data.rows.streams import NUMBERS_AT_ONCE, GatheredRows, StreamRows, whole_chunks
from tailguard.data.rows.threads import added, in_turn, resolve_threads
from tailguard.noise.keyed_hash import KeyedHash
from tailguard.noise.orders import Order
from tailguard.noise.sources import Words

# Parts of a file by which records are shared out: of a billion records of twenty features they have
# some 400 MB each.
PARTS = 256


@dataclass(frozen=True, eq=False)
class Ranks:
    """The first ``count`` records in the order of their values.

    Attributes
    ----------
    counts
        How many records have a value with these first digits.
    count
        How many of all records are wanted.

    Examples
    --------
    >>> ranks = Ranks(np.bincount([0, 2, 2, 5], minlength=2**DIGITS), count=2)
    >>> ranks.last, ranks.most < 3 * 2 ** (64 - DIGITS)
    (2, True)
    """

    counts: IntArray
    count: int

    @property
    def last(self) -> int:
        """The first digits of the last value that is wanted."""
        return int(np.searchsorted(np.cumsum(self.counts), self.count))

    @property
    def most(self) -> int:
        """The largest value with these digits."""
        return min(((self.last + 1) << (64 - DIGITS)) - 1, LARGEST_WORD)

    def parts_of(self, values: Words) -> IntArray:
        """Return the part of the chosen records to which each value belongs.

        Parts have equal ranges, and about as many records, since values are uniform.
        """
        return self._parts((values >> np.uint64(64 - DIGITS)).astype(np.int64))

    @property
    def part_counts(self) -> IntArray:
        """How many of the chosen records each part has."""
        found = np.zeros(PARTS, dtype=np.int64)
        np.add.at(found, self._parts(np.arange(self.last + 1)), self.counts[: self.last + 1])
        return found

    def _parts(self, digits: IntArray) -> IntArray:
        # Beyond the last there are none, or the table has changed.
        return np.minimum(digits * PARTS // (self.last + 1), PARTS - 1)

    def check(self, n_rows: int) -> None:
        """Refuse records that are not so many as there were before."""
        if int(self.counts.sum()) != n_rows:
            raise InputError("X must have the same rows whenever it is read.")


class SpilledRows:
    """The first records of a table in batches, in the order of their values, in a file.

    Examples
    --------
    >>> import polars as pl
    >>> from tailguard.queries.kernels.counts import BelowCount
    >>> from tailguard.noise.sources import make_source
    >>> from tailguard.data.rows.reader import RecordReader
    >>> from tailguard.data.schema.schema import Schema
    >>> from tailguard.data.sources.lazy import of_polars
    >>> table = pl.LazyFrame({"id": [1, 2, 3], "age": [41.0, 50.0, 30.0]})
    >>> reader = RecordReader(Schema(features=["age"], row_id="id"))
    >>> read, hashed = StreamRows(of_polars(table), reader), KeyedHash(make_source(None))
    >>> rows = SpilledRows(read, hashed, Ranks(read.counted(hashed), count=3))
    >>> rows.reduce(BelowCount(thresholds=[45.0], columns=(0,), paired=False, multiplier=1))
    array([2])
    """

    def __init__(self, rows: StreamRows, hashed: KeyedHash, ranks: Ranks) -> None:
        self.n_rows = ranks.count
        self.n_features = rows.n_features
        self.feature_names = rows.feature_names
        self.has_target = rows.has_target
        self.has_offset = rows.has_offset
        self.width = rows.width
        self._file = _filled(rows, hashed, ranks)

    def reduce(self, kernel: Kernel, n_threads: int | None = None) -> IntArray:
        """Return the kernel's lattice sum over all records: the same bits for any ``n_threads``."""
        if kernel.together == "all":
            return kernel.sum_block(joined(list(self.blocks())))
        return added(
            kernel.size,
            lambda first: kernel.sum_block(self._block(first)),
            range(0, self.n_rows, self._length),
            resolve_threads(n_threads),
        )

    def restricted(self, places: Order) -> Rows:
        """Return the records at these places alone, gathered in this order as they are read."""
        return GatheredRows(self, places)

    def in_order(self, order: Order) -> Rows:
        """Return all records in this order, gathered window by window as they are read."""
        return GatheredRows(self, order)

    def blocks(self, places: IntArray | None = None) -> Iterator[RecordBlock]:
        """Yield all records in order; blocks that hold none of the sorted ``places`` are left out.

        Blocks have whole chunks.
        """
        starts = np.arange(0, self.n_rows, self._length)
        if places is not None:
            starts = np.unique(places // self._length) * self._length
        return in_turn(self._block, map(int, starts), resolve_threads())

    @property
    def _length(self) -> int:
        return whole_chunks(NUMBERS_AT_ONCE, self.width)

    def _block(self, first: int) -> RecordBlock:
        return self._file.block(first, min(self._length, self.n_rows - first))


def check_room(needed: int) -> None:
    """Refuse what needs so many bytes if the disk of temporary files lacks room.

    Examples
    --------
    >>> check_room(1000)
    """
    folder, free = free_room()
    if needed > free:
        raise InputError(
            f"row_id needs {needed / 1e9:.3g} GB in {folder!r}, where rows are put in order, and "
            f"there are {free / 1e9:.3g}: name another folder in the variable TMPDIR."
        )


def _filled(rows: StreamRows, hashed: KeyedHash, ranks: Ranks) -> RecordFile:
    """Share the first records out to parts."""
    file = RecordFile(record_type(rows), ranks.part_counts, hashed.order)
    found = rows.identified(hashed, ranks.most)
    file.fill(file.shared(block, values, ranks.parts_of(values)) for block, values in found)
    return file
