"""Records that were brought to their places in a file without a name, which is gone with the run.

The values of identifiers are uniform, so their first digits share the records out evenly. Each
share has a part of the file of its own, into which its records are written as they come; then each
part by itself is put in order. No more than one part is in memory at a time.
"""

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError
from tailguard.kernels.base import Kernel
from tailguard.kernels.block import RecordBlock
from tailguard.noise.keyed_hash import KeyedHash
from tailguard.noise.orders import Order
from tailguard.noise.sources import Words

from .base import Rows, resolve_threads
from .reader import gathers, joined
from .streams import NUMBERS_AT_ONCE, GatheredRows, StreamRows, whole_chunks
from .summing import added, in_turn

__all__ = ["SpilledRows", "check_room"]

# Binary digits by which records are shared out: 256 parts, of which a billion records of twenty
# features have some 700 MB each.
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
        self._stored = _stored(rows)
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (see the next line)
        weakref.finalize(self, self._file.close)
        self._write(rows, hashed)

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

    def restricted(self, places: IntArray) -> Rows:
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
        found = self._read(first, min(self._length, self.n_rows - first))
        target, offset = (
            np.ascontiguousarray(found[name]) if name in self._names else None
            for name in ("target", "offset")
        )
        return RecordBlock(np.ascontiguousarray(found["features"]), target, offset, first)

    @property
    def _names(self) -> tuple[str, ...]:
        return self._stored.names or ()

    def _read(self, first: int, count: int) -> Any:
        size = self._stored.itemsize
        text = os.pread(self._file.fileno(), count * size, first * size)
        return np.frombuffer(text, dtype=self._stored)

    def _put(self, records: Any, first: int) -> None:
        text, place = memoryview(records.tobytes()), first * self._stored.itemsize
        while text:
            written = os.pwrite(self._file.fileno(), text, place)
            text, place = text[written:], place + written

    def _write(self, rows: StreamRows, hashed: KeyedHash) -> None:
        """Share the records out to their parts, and put each part in order."""
        counts = np.zeros(2**DIGITS, dtype=np.int64)
        for values in rows.read(lambda reader, run: reader.hashes(run[0], hashed)):
            counts += np.bincount(_part_of(values), minlength=2**DIGITS)
        ends = np.cumsum(counts)
        places = ends - counts
        shared = rows.read(lambda reader, run: self._shared(*reader.identified(run, hashed)))
        for records, found in shared:
            stop = np.cumsum(found)
            if (places + found > ends).any():
                raise InputError("X must have the same rows whenever it is read.")
            for part in np.flatnonzero(found):
                self._put(records[stop[part] - found[part] : stop[part]], int(places[part]))
            places += found
        for end, count in zip(ends.tolist(), counts.tolist(), strict=True):
            part = self._read(end - count, count)
            self._put(part[np.argsort(part["value"], kind="stable")], end - count)

    def _shared(self, block: RecordBlock, values: Words) -> tuple[Any, IntArray]:
        """Return records in the order of their parts, and how many each part has."""
        records = np.empty(block.n_rows, dtype=self._stored)
        records["value"], records["features"] = values, block.features
        for name in ("target", "offset"):
            if name in self._names:
                records[name] = block.vector(name)
        parts = _part_of(values)
        return records[np.argsort(parts, kind="stable")], np.bincount(parts, minlength=2**DIGITS)


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
    needed, folder = rows.n_rows * _stored(rows).itemsize, tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise InputError(
            f"row_id needs {needed / 1e9:.3g} GB in {folder!r}, where rows are put in order, and "
            f"there are {free / 1e9:.3g}: name another folder in the variable TMPDIR."
        )


def _stored(rows: StreamRows) -> np.dtype[Any]:
    """Return how a record lies in the file: features as the table has them."""
    columns: list[Any] = [("value", "u8"), ("features", rows.dtype, (rows.n_features,))]
    columns += [("target", "f8")] * rows.has_target + [("offset", "f8")] * rows.has_offset
    return np.dtype(columns)


def _part_of(values: Words) -> IntArray:
    return (values >> np.uint64(64 - DIGITS)).astype(np.int64)
