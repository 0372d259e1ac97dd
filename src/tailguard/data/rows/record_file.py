"""Records in an unnamed temporary file.

Records arrive in any order, each with a value as its sort key. They are first distributed to parts
of the file. Then each part is sorted in memory, one after the other, and all or some of its records
are kept.
"""

import errno
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError, RoomError
from tailguard.data.rows.base import RecordBlock
from tailguard.data.table import CHANGED, check_same
from tailguard.noise.sources import Words

FULL_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Error numbers of a disk, a file or a quota without room."""
# Records to read at once if only some records are needed. A part of 2^25 numbers has 150 MB.
RECORDS_AT_ONCE = 2**12
# The fewest parts, and about the most bytes of one part: a part is sorted in memory.
FEWEST_PARTS, BYTES_SORTED = 256, 2**29


def record_type(n_features: int, *beside: str) -> np.dtype[Any]:
    """Return the type of a record in a file: value, features and other vectors."""
    columns: list[Any] = [("value", "u8"), ("features", "f8", (n_features,))]
    return np.dtype(columns + [(name, "i8" if name == "person" else "f8") for name in beside])


def names_beside(stored: np.dtype[Any]) -> tuple[str, ...]:
    """Return the names of a record's vectors, without its value and its features."""
    return (stored.names or ())[2:]


def width_of(stored: np.dtype[Any]) -> int:
    """Return how many numbers a record has, without its value."""
    return stored.itemsize // np.dtype(np.float64).itemsize - 1


def free_room() -> tuple[str, int]:
    """Return the folder of temporary files, and how many bytes are free there."""
    folder = tempfile.gettempdir()
    return folder, shutil.disk_usage(folder).free


def check_room(needed: int) -> None:
    """Refuse a file of ``needed`` bytes if the disk of temporary files lacks room."""
    folder, free = free_room()
    if needed > free:
        raise InputError(
            f"row_id needs {needed / 1e9:.3g} GB in {folder!r} to sort rows, but {free / 1e9:.3g} "
            "GB are free: name another folder in the variable TMPDIR."
        )


def parts_for(n_rows: int, stored: np.dtype[Any]) -> int:
    """Return the number of parts for evenly distributed records."""
    return max(FEWEST_PARTS, 1 + n_rows * stored.itemsize // BYTES_SORTED)


def by_value(records: Any) -> IntArray:
    """Return the ascending order of values; equal values keep their order of arrival."""
    return np.argsort(records["value"], kind="stable")


class RecordFile:
    """Records in a file, sorted by their values.

    Parameters
    ----------
    stored
        The type of a record in the file.
    counts
        The number of records of each part.
    order
        Returns the places of the kept records of a part, in order, from all fields except features.

    Examples
    --------
    >>> stored = np.dtype([("value", "u8"), ("features", np.float64, (1,))])
    >>> file = RecordFile(stored, np.array([1, 2]))
    >>> block, values = RecordBlock(np.array([[7.0], [8.0], [9.0]])), np.array([3, 0, 2])
    >>> file.fill([file.shared(block, values.astype(np.uint64), values // 2)])
    >>> file.block(0, 3).features[:, 0]
    array([8., 9., 7.])
    """

    def __init__(
        self,
        stored: np.dtype[Any],
        counts: IntArray,
        order: Callable[[Any], IntArray] = by_value,
    ) -> None:
        self.stored = stored
        self._counts = counts
        self._order = order
        self.n_rows = int(counts.sum())
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (see the next line)
        weakref.finalize(self, self._file.close)

    def shared(self, block: RecordBlock, values: Words, parts: IntArray) -> tuple[Any, IntArray]:
        """Return records in the order of their parts, and the number of records of each part."""
        records = np.empty(block.n_rows, dtype=self.stored)
        records["value"], records["features"] = values, block.features
        for name in names_beside(self.stored):
            records[name] = block.vector(name)
        counts = np.bincount(parts, minlength=len(self._counts))
        return records[np.argsort(parts, kind="stable")], counts

    def fill(self, shared: Iterable[tuple[Any, IntArray]]) -> None:
        """Write records to their parts, then sort each part."""
        ends = np.cumsum(self._counts)
        starts = ends - self._counts
        places = starts.copy()
        for records, counts in shared:
            stop = np.cumsum(counts)
            if (places + counts > ends).any():
                raise InputError(CHANGED)
            for part in np.flatnonzero(counts):
                self._put(records[stop[part] - counts[part] : stop[part]], int(places[part]))
            places += counts
        check_same(places.tolist(), ends.tolist())
        self.n_rows = 0
        for first, count in zip(starts.tolist(), self._counts.tolist(), strict=True):
            if count:
                records = self.at(first + self._order(self._heads(first, count)))
                self._put(records, self.n_rows)
                self.n_rows += len(records)
        os.ftruncate(self._file.fileno(), self.n_rows * self.stored.itemsize)

    def block(self, first: int, count: int) -> RecordBlock:
        """Return ``count`` records from ``first`` on."""
        records = self._read(first, count)
        vectors = {name: np.ascontiguousarray(records[name]) for name in names_beside(self.stored)}
        return RecordBlock(np.ascontiguousarray(records["features"]), **vectors, first=first)

    def picked(self, pieces: Callable[[int], Iterable[IntArray]]) -> "RecordFile":
        """Return the records at these places, in this order, in a new file.

        ``pieces`` gets a number of records and yields places, about so many at a time.
        """
        file = RecordFile(self.stored, np.zeros(1, dtype=np.int64))
        # Each step may read almost the whole file, so steps are as large as a part.
        for places in pieces(max(1, BYTES_SORTED // self.stored.itemsize)):
            file._put(self.at(places), file.n_rows)
            file.n_rows += len(places)
        return file

    def at(self, places: IntArray) -> Any:
        """Return the records at these places, in this order, as stored in the file."""
        order = np.argsort(places, kind="stable")
        ascending = places[order]
        picked = np.empty(len(places), dtype=self.stored)
        start = 0
        while start < len(ascending):
            first = int(ascending[start])
            stop = int(np.searchsorted(ascending, first + RECORDS_AT_ONCE))
            records = self._read(first, int(ascending[stop - 1]) - first + 1)
            picked[order[start:stop]] = records[ascending[start:stop] - first]
            start = stop
        return picked

    def _heads(self, first: int, count: int) -> Any:
        """Return all fields except the features of ``count`` records from ``first`` on."""
        names = ("value", *names_beside(self.stored))
        heads = np.empty(count, dtype=[(name, self.stored[name]) for name in names])
        for start in range(0, count, RECORDS_AT_ONCE):
            records = self._read(first + start, min(RECORDS_AT_ONCE, count - start))
            for name in names:
                heads[name][start : start + len(records)] = records[name]
        return heads

    def values(self, first: int, count: int) -> Words:
        """Return the values of ``count`` records from ``first`` on."""
        return self._read(first, count)["value"]

    def _read(self, first: int, count: int) -> Any:
        """Read complete records, in several system calls: one call returns at most 2 GB."""
        size = self.stored.itemsize
        content, offset = bytearray(count * size), first * size
        view = memoryview(content)
        while view:
            n_read = os.preadv(self._file.fileno(), [view], offset)
            if n_read == 0:
                raise InputError(CHANGED)
            view, offset = view[n_read:], offset + n_read
        return np.frombuffer(content, dtype=self.stored)

    def _put(self, records: Any, first: int) -> None:
        """Write records, the first one at the place ``first``; refuse a full disk."""
        content, offset = memoryview(records.view(np.uint8)), first * self.stored.itemsize
        while content:
            try:
                written = os.pwrite(self._file.fileno(), content, offset)
            except OSError as error:
                if error.errno in FULL_DISK_ERRORS:
                    raise RoomError(f"{tempfile.gettempdir()!r} is full.") from None
                raise
            content, offset = content[written:], offset + written
