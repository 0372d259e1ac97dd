"""Records that were brought to their places in a file without a name, which is gone with the run.

The values of identifiers are uniform, so their first digits share the records out evenly.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError
from tailguard.design.runs import Run
from tailguard.kernels.base import Kernel
from tailguard.kernels.block import RecordBlock
from tailguard.kernels.gather import gathers
from tailguard.noise.keyed_hash import KeyedHash
from tailguard.noise.orders import Order
from tailguard.noise.sources import Words

from .base import Rows, resolve_threads
from .reader import RecordReader, joined
from .record_file import RecordFile, free_room, record_type
from .streams import NUMBERS_AT_ONCE, GatheredRows, StreamRows, whole_chunks
from .summing import added, in_turn

# Binary digits by which records are shared out: 256 parts, of which a billion records of twenty
# features have some 400 MB each.
DIGITS = 8


class SpilledRows:
    """Records of a table in batches, in the order of their identifiers' values, in a file.

    Examples
    --------
    >>> import polars as pl
    >>> from tailguard.kernels.counts import BelowCount
    >>> from tailguard.noise.sources import make_source
    >>> from tailguard.rows.reader import RecordReader
    >>> from tailguard.schema.schema import Schema
    >>> from tailguard.sources.lazy import of_polars
    >>> table = pl.LazyFrame({"id": [1, 2, 3], "age": [41.0, 50.0, 30.0]})
    >>> reader = RecordReader(Schema(features=["age"], row_id="id"))
    >>> rows = SpilledRows(StreamRows(of_polars(table), reader), KeyedHash(make_source(None)))
    >>> rows.reduce(BelowCount(thresholds=[45.0], columns=(0,), paired=False, multiplier=1))
    array([2])
    """

    def __init__(self, rows: StreamRows, hashed: KeyedHash) -> None:
        self.n_rows = rows.n_rows
        self.n_features = rows.n_features
        self.feature_names = rows.feature_names
        self.has_target = rows.has_target
        self.has_offset = rows.has_offset
        self.width = rows.width
        self.dtype = rows.dtype
        self._file = _filled(rows, hashed)

    def reduce(self, kernel: Kernel, n_threads: int | None = None) -> IntArray:
        """Return the kernel's lattice sum over all records: the same bits for any ``n_threads``."""
        if gathers(kernel):
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
        return self._file.block(first, self._length)


def check_room(rows: StreamRows) -> None:
    """Refuse a table for which the disk of temporary files has no room; no record is read.

    Examples
    --------
    >>> import polars as pl
    >>> from tailguard.rows.reader import RecordReader
    >>> from tailguard.schema.schema import Schema
    >>> from tailguard.sources.lazy import of_polars
    >>> table = of_polars(pl.LazyFrame({"id": [1], "age": [41.0]}))
    >>> check_room(StreamRows(table, RecordReader(Schema(features=["age"], row_id="id"))))
    """
    needed = rows.n_rows * record_type(rows).itemsize
    folder, free = free_room()
    if needed > free:
        raise InputError(
            f"row_id needs {needed / 1e9:.3g} GB in {folder!r}, where rows are put in order, and "
            f"there are {free / 1e9:.3g}: name another folder in the variable TMPDIR."
        )


def _filled(rows: StreamRows, hashed: KeyedHash) -> RecordFile:
    """Count the records of each part, then share them out."""
    counts = np.zeros(2**DIGITS, dtype=np.int64)
    for values in rows.read(lambda reader, run: reader.hashes(run[0], hashed)):
        counts += np.bincount(_part_of(values), minlength=2**DIGITS)
    file = RecordFile(record_type(rows), counts)

    def shared(reader: RecordReader, run: Run) -> tuple[Any, IntArray]:
        block, values = reader.identified(run, hashed)
        return file.shared(block, values, _part_of(values))

    file.fill(rows.read(shared))
    return file


def _part_of(values: Words) -> IntArray:
    return (values >> np.uint64(64 - DIGITS)).astype(np.int64)
