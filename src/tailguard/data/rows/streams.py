"""Records of a table that is read in batches: a pass over it for every sum.

Memory is bounded, however long the table is, and each sum has the same bits as for an array.
Records in another order, or at some places only, are gathered window by window, one pass for each;
the last window is kept.

A table must not change between two passes; only a changed length is noticed.
"""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import compress
from threading import Lock
from typing import Any

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError
from tailguard.data.rows.arrays import ArrayRows
from tailguard.data.rows.base import BESIDE, CHUNK_ROWS, Kernel, RecordBlock, Rows
from tailguard.data.rows.reader import DIGITS, LARGEST_WORD, RecordReader, joined
from tailguard.data.rows.record_file import (
    RecordFile,
    free_room,
    names_beside,
    record_type,
    width_of,
)
from tailguard.data.rows.threads import added, in_turn, resolve_threads
from tailguard.data.table import Run, Table, Work, runs_of
from tailguard.noise.keyed_hash import KeyedHash
from tailguard.noise.orders import KeyedOrder, Order
from tailguard.noise.sources import Words
from tailguard.progress import LISTENER

Selection = Callable[[int, int], tuple[IntArray, IntArray]]
"""From a range of the table to the wanted places in it, and their positions in the order."""

# Numbers of one run: 16 MB of floats; each thread has a few runs at a time. Runs of half the size
# take a tenth more processor time, because of the work per column and run.
NUMBERS_AT_ONCE = 2_000_000
# A table of at most this many numbers, 128 MB of floats, is kept in memory after the first pass.
NUMBERS_KEPT = 2**24
# Numbers of one window: 256 MB of floats.
NUMBERS_GATHERED = 2**25
# The largest share of the free disk space that a file of records may take.
ROOM_USED = 0.5


def whole_chunks(n_numbers: int, width: int) -> int:
    """Return how many records, in whole chunks, hold about this many numbers."""
    return max(1, n_numbers // (width * CHUNK_ROWS)) * CHUNK_ROWS


class StreamRows:
    """Records of a table in batches.

    Parameters
    ----------
    table
        The table.
    reader
        How a record is read: names and declarations.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from tailguard.queries.loop import LatticeSum
    >>> from tailguard.queries.usable_records import UsableRecords
    >>> from tailguard.data.readers.opening import opened
    >>> from tailguard.data.schema import Schema
    >>> pq.write_table(pa.table({"age": [41.0, 50.0, None]}), "ages.parquet")
    >>> rows = StreamRows(opened("ages.parquet"), RecordReader(Schema(features=["age"])))
    >>> rows.reduce(LatticeSum(UsableRecords(), None, 1.0, 1))
    array([2])
    """

    def __init__(self, table: Table, reader: RecordReader) -> None:
        resolve_threads()  # refuses a wrong setting before anything is spent
        self._table = table
        self.reader = reader
        self._kept: ArrayRows | None = None
        self.ids_differ: bool | None = None  # not known yet
        self.n_rows = table.n_rows
        schema = reader.schema
        self.n_features = len(schema.coefficient_names)
        self.has_offset, self.has_weight = reader.has_offset, schema.weight is not None
        has_target = schema.target is not None or self.has_weight  # NaN there marks a void weight
        has = has_target, self.has_offset, self.has_weight
        self.stored = record_type(self.n_features, *compress(BESIDE, has))
        self.width = width_of(self.stored)
        reader.check(table, whole_chunks(NUMBERS_AT_ONCE, self.width))

    def reduce(self, kernel: Kernel, n_threads: int | None = None) -> IntArray:
        """Return the kernel's lattice sum over all records: the same bits for any ``n_threads``."""
        if self._is_short and not kernel.reads_cells:
            return self._as_array().reduce(kernel, n_threads)
        if kernel.together == "all":
            return kernel.sum_block(joined(list(self.blocks())))
        work = partial(self.reader.sum_of, kernel)
        return self._summed(self.reader.numbers, work, kernel.size, n_threads)

    def counted(self, hashed: KeyedHash) -> IntArray:
        """Count the hashes of all identifiers by their first digits, on the workers."""
        names = self.reader.ids or self.reader.numbers[:1]  # without identifiers, any one column
        return self._summed(names, partial(self.reader.counted, hashed), 2**DIGITS)

    def values(self, hashed: KeyedHash) -> Iterator[Words]:
        """Yield the hashes of all identifiers, run by run; only their column is read."""
        work = partial(self.reader.hashes, hashed=hashed)
        return in_turn(work, self.runs(self.reader.ids), resolve_threads())

    def numbered(self) -> "StreamRows":
        """Return the same records, with places in the table instead of identifiers."""
        rows = copy(self)
        rows.reader = replace(self.reader, numbered=True)
        return rows

    def _summed(
        self, names: list[str], work: Work, size: int, n_threads: int | None = None
    ) -> IntArray:
        # Sums of records without an order need no chunks, so every row stays on its worker.
        chunk_rows = 1 if self.reader.alone else CHUNK_ROWS
        added_by_workers = self._table.worker_sum(names, work, chunk_rows)
        if added_by_workers is not None:
            return added_by_workers
        return added(size, work, self.runs(names), resolve_threads(n_threads))

    def identified(
        self, hashed: KeyedHash, most: int = LARGEST_WORD
    ) -> Iterator[tuple[RecordBlock, Words]]:
        """Yield records whose identifiers have hashes of at most ``most``, and these hashes.

        Workers choose these records and send no others. Records known by their places are chosen in
        this process, since a worker may not know where its part begins.
        """
        work = partial(self.reader.identified, hashed=hashed, most=most)
        choose = partial(self.reader.chosen, hashed, most)
        tables = self._table.worker_rows(self.reader.names, choose) if most < LARGEST_WORD else None
        runs: Iterable[Run] = self.runs(report=tables is None)
        if tables is not None and not self.reader.numbered:
            runs = (([table], 0) for table in tables)
        parts = in_turn(work, runs, resolve_threads())
        return (part for part in parts if part is not None)

    def restricted(self, places: Order) -> Rows:
        """Return only the records at these places, gathered in this order as they are read."""
        if self._is_short:
            return self._as_array().restricted(places)
        return GatheredRows(self, places)

    def in_order(self, order: Order) -> Rows:
        """Return all records in this order, gathered window by window when they are read."""
        if self._is_short:
            return self._as_array().in_order(order)
        return GatheredRows(self, order)

    def runs(self, names: list[str] | None = None, *, report: bool = True) -> Iterator[Run]:
        """Yield all records in runs of whole chunks, not read yet; or some columns of them.

        Progress is reported if ``report``; it is False if values of records choose the runs.
        """
        length = whole_chunks(NUMBERS_AT_ONCE, self.width)
        n_rows = 0
        batches = self._table.batches(names or self.reader.names, length)
        for tables, first in runs_of(batches, length):
            n_rows = first + sum(map(len, tables))
            yield tables, first
            if report:
                LISTENER.get().read(n_rows, self.n_rows)
        if n_rows != self.n_rows:  # the number is secret if persons are protected
            raise InputError(f"{self._table.where} must have the same rows whenever it is read.")

    def blocks(self, places: IntArray | None = None) -> Iterator[RecordBlock]:
        """Yield all records in order; runs that hold none of the sorted ``places`` are left out."""
        runs = (run for run in self.runs() if places is None or _holds(run, places))
        return in_turn(self.reader.block, runs, resolve_threads())

    @property
    def _is_short(self) -> bool:
        return self.n_rows * self.width <= NUMBERS_KEPT

    def _as_array(self) -> ArrayRows:
        """Return a short table as rows in memory; the first sum reads it."""
        if self._kept is None:
            kept = ArrayRows(joined(list(self.blocks())))
            self._kept = kept.without_order() if self.reader.alone else kept
        return self._kept


class FileRows:
    """The first ``n_rows`` records of an unnamed file, in its order."""

    def __init__(self, file: RecordFile, n_rows: int) -> None:
        self._file = file
        self.stored = file.stored
        self.has_offset, self.has_weight = (n in names_beside(file.stored) for n in BESIDE[1:])
        self.n_rows, self.n_features = n_rows, file.stored["features"].shape[0]
        self._length = whole_chunks(NUMBERS_AT_ONCE, width_of(file.stored))

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
        """Return the records at these places, gathered in this order as they are read."""
        return GatheredRows(self, places)

    in_order = restricted

    def blocks(self, places: IntArray | None = None) -> Iterator[RecordBlock]:
        """Yield all records in order; blocks that hold none of the sorted ``places`` are left out.

        Blocks have whole chunks.
        """
        starts = np.arange(0, self.n_rows, self._length)
        if places is not None:
            starts = np.unique(places // self._length) * self._length
        return in_turn(self._block, map(int, starts), resolve_threads())

    def _block(self, first: int) -> RecordBlock:
        return self._file.block(first, min(self._length, self.n_rows - first))


class GatheredRows:
    """Records at places of a table in batches, or of a file, in the order of the places.

    Records that fit one window are gathered into memory in one pass over the table. More records
    are written to their places in a file, also in one pass. Without room for a file, each window is
    gathered whenever it is read.

    Examples
    --------
    >>> import polars as pl
    >>> from tailguard.data.readers.opening import opened
    >>> from tailguard.data.schema import Schema
    >>> from tailguard.queries.loop import LatticeSum
    >>> from tailguard.queries.usable_records import UsableRecords
    >>> ages = opened(pl.LazyFrame({"age": [41.0, 50.0, 30.0]}))
    >>> rows = StreamRows(ages, RecordReader(Schema(features=["age"])))
    >>> some = GatheredRows(rows, np.array([2, 1]))
    >>> some.reduce(LatticeSum(UsableRecords(), None, 1.0, 1))
    array([2])
    """

    def __init__(self, rows: StreamRows | FileRows, places: Order) -> None:
        self._rows = rows
        self._places = places
        self._window: RecordBlock | None = None
        self._file: FileRows | None = None
        self._lock = Lock()
        self.n_rows, self.n_features = len(places), rows.n_features
        self.stored = rows.stored
        self.has_offset, self.has_weight = rows.has_offset, rows.has_weight
        self._length = whole_chunks(NUMBERS_GATHERED, width_of(rows.stored))  # of a window

    def reduce(self, kernel: Kernel, n_threads: int | None = None) -> IntArray:
        """Return the kernel's lattice sum over all records: the same bits for any ``n_threads``."""
        if kernel.together == "all":
            return kernel.sum_block(self._gathered(0, self.n_rows))
        if (in_file := self._in_file()) is not None:
            return in_file.reduce(kernel, n_threads)
        n_threads = resolve_threads(n_threads)
        piece = whole_chunks(NUMBERS_AT_ONCE, width_of(self.stored))
        total = np.zeros(kernel.size, dtype=np.int64)
        for start in range(0, self.n_rows, self._length):
            window = self._window_at(start)
            pieces = (window.rows(a, a + piece) for a in range(0, window.n_rows, piece))
            total += added(kernel.size, kernel.sum_block, pieces, n_threads)
        return total

    def restricted(self, places: Order) -> Rows:
        """Return the records at these places, in this order; within one window they are copied."""
        places = places[:]
        start = int(places.min()) // self._length * self._length
        if places.max() >= start + self._length:
            return GatheredRows(self._rows, self._places[places])
        return ArrayRows(self._window_at(start).at(places - start))

    def in_order(self, order: Order) -> Rows:
        """Return all records in this order, gathered window by window as they are read."""
        return GatheredRows(self._rows, self._places[order[:]])

    def _window_at(self, start: int) -> RecordBlock:
        """Return the window that begins there; the last one is kept."""
        with self._lock:  # one window is kept; each caller keeps its own reference
            window = self._window
            if window is None or window.first != start:
                window = self._window = None
                window = self._gathered(start, min(self.n_rows, start + self._length))
                self._window = window
        return window

    def _in_file(self) -> FileRows | None:
        """Return all records in a file; None if they fit one window, or the disk lacks room."""
        with self._lock:
            size = self.n_rows * self.stored.itemsize
            large = self._file is None and self.n_rows > self._length
            if large and size <= ROOM_USED * free_room()[1]:
                self._file = FileRows(self._written(), self.n_rows)
            return self._file

    def _written(self) -> RecordFile:
        """Write all records to their places in a file, in one pass over the table."""
        edges = np.append(np.arange(0, self.n_rows, self._length), self.n_rows)
        file = RecordFile(self.stored, np.diff(edges))
        places, find = _by_place(self._places)

        def by_window(block: RecordBlock) -> tuple[Any, IntArray]:
            wanted, positions = find(block.place, block.place + block.n_rows)
            chosen = block.at(wanted - block.place)
            return file.shared(chosen, positions.astype(np.uint64), positions // self._length)

        file.fill(in_turn(by_window, self._rows.blocks(places), resolve_threads()))
        return file

    def _gathered(self, start: int, stop: int) -> RecordBlock:
        """Gather the records of a window in one pass over the table."""
        places = self._places[start:stop]
        by_place = np.argsort(places)
        places = places[by_place]
        features = np.empty((len(places), self.n_features))
        beside: dict[str, Any] = {name: np.empty(len(places)) for name in names_beside(self.stored)}
        for block in self._rows.blocks(places):
            low, high = np.searchsorted(places, [block.place, block.place + block.n_rows])
            chosen = block.at(places[low:high] - block.place)
            features[by_place[low:high]] = chosen.features
            for name, column in beside.items():
                column[by_place[low:high]] = getattr(chosen, name)
        return RecordBlock(features, **beside, first=start)


def _by_place(order: Order) -> tuple[IntArray | None, Selection]:
    """Return the sorted places (None: all), and a function that finds those in a range.

    A keyed order is inverted; all other orders are short enough to be kept.
    """
    if isinstance(order, KeyedOrder):
        return None, lambda start, stop: order.find(np.arange(start, stop))
    positions = np.argsort(order, kind="stable")
    places = order[positions]

    def kept(start: int, stop: int) -> tuple[IntArray, IntArray]:
        low, high = np.searchsorted(places, [start, stop])
        return places[low:high], positions[low:high]

    return places, kept


def _holds(run: Run, places: IntArray) -> bool:
    """Whether a run holds any of the sorted places."""
    tables, first = run
    low, high = np.searchsorted(places, [first, first + sum(map(len, tables))])
    return bool(low < high)
