"""Records in a file without a name, which is gone with the run.

They come in any order, each with a value by which it is put in order. They are shared out to parts
of the file as they come, and then each part by itself is put in order: no more than one part is in
memory at a time. A part that is too long for that is shared out once more by further digits of its
values.
"""

import errno
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError, RoomError
from tailguard.data.rows.base import RecordBlock
from tailguard.noise.sources import Words

# What a system says of a disk or of a user's share of it that is full.
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# Records of a part that are copied to be written: a part of 2^25 numbers has some 150 MB.
RECORDS_WRITTEN = 2**15
# A part of so many bytes is put in order in memory: of a billion records of twenty features whose
# values differ each has some 400 MB.
BYTES_SORTED = 2**29
# Binary digits of a value, and those by which a longer part is shared out.
VALUE_DIGITS, DIGITS = 64, 8


class Width(Protocol):
    """What is public of records: how many numbers each has.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> width: Width = SimpleNamespace(n_features=20, has_target=True, has_offset=False)
    >>> record_type(width).itemsize
    176
    """

    @property
    def n_features(self) -> int:
        """How many features."""
        ...

    @property
    def has_target(self) -> bool:
        """Whether there is a target."""
        ...

    @property
    def has_offset(self) -> bool:
        """Whether there is an offset."""
        ...


def record_type(width: Width) -> np.dtype[Any]:
    """Return how a record lies in a file.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> record_type(SimpleNamespace(n_features=2, has_target=False, has_offset=False)).names
    ('value', 'features')
    """
    columns: list[Any] = [("value", "u8"), ("features", "f8", (width.n_features,))]
    columns += [("target", "f8")] * width.has_target + [("offset", "f8")] * width.has_offset
    return np.dtype(columns)


def free_room() -> tuple[str, int]:
    """Return the folder of temporary files, and how many bytes it has room for.

    Examples
    --------
    >>> folder, n_bytes = free_room()
    >>> n_bytes >= 0
    True
    """
    folder = tempfile.gettempdir()
    return folder, shutil.disk_usage(folder).free


def as_they_came(values: Words) -> IntArray:
    """Return where values are in rising order, and equal ones in the order in which they came.

    Examples
    --------
    >>> as_they_came(np.array([7, 3, 7], dtype=np.uint64))
    array([1, 0, 2])
    """
    return np.argsort(values, kind="stable")


class RecordFile:
    """Records that were put in the order of a value that each has.

    Parameters
    ----------
    stored
        How a record lies in the file.
    counts
        How many records each part has.
    order
        Returns where values are in rising order. Of a part of which all values are equal it need
        not be asked.

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
        order: Callable[[Words], IntArray] = as_they_came,
    ) -> None:
        self._stored = stored
        self._counts = counts
        self._order = order
        self.n_rows = int(counts.sum())
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (see the next line)
        weakref.finalize(self, self._file.close)

    def shared(self, block: RecordBlock, values: Words, parts: IntArray) -> tuple[Any, IntArray]:
        """Return records in the order of their parts, and how many each part has."""
        records = np.empty(block.n_rows, dtype=self._stored)
        records["value"], records["features"] = values, block.features
        for name in ("target", "offset"):
            if name in self._names:
                records[name] = block.vector(name)
        found = np.bincount(parts, minlength=len(self._counts))
        return records[np.argsort(parts, kind="stable")], found

    def fill(self, shared: Iterable[tuple[Any, IntArray]]) -> None:
        """Write records to their parts, and put each part in order."""
        self._take(shared)
        self._put_parts_in_order(0, self._counts, 0)

    def _take(self, shared: Iterable[tuple[Any, IntArray]]) -> None:
        """Write records to their parts."""
        ends = np.cumsum(self._counts)
        places = ends - self._counts
        for records, found in shared:
            stop = np.cumsum(found)
            if (places + found > ends).any():
                raise InputError("X must have the same rows whenever it is read.")
            for part in np.flatnonzero(found):
                self._put(records[stop[part] - found[part] : stop[part]], int(places[part]))
            places += found
        if (places != ends).any():
            raise InputError("X must have the same rows whenever it is read.")

    def _put_parts_in_order(self, first: int, counts: IntArray, known: int) -> None:
        """Put parts that follow one another in order; each has values of ``known`` equal digits."""
        for count in counts.tolist():
            if count * self._stored.itemsize <= BYTES_SORTED:
                self._put_in_order(first, count)
            elif known < VALUE_DIGITS:  # else all are equal, and lie as they came
                self._share_out(first, count, known)
            first += count

    def _put_in_order(self, first: int, count: int) -> None:
        """Put some records in order in memory."""
        part = self._read(first, count)
        order = self._order(part["value"])
        for start in range(0, count, RECORDS_WRITTEN):
            self._put(part[order[start : start + RECORDS_WRITTEN]], first + start)

    def _share_out(self, first: int, count: int, known: int) -> None:
        """Put many records in order: in another file by their next digits, then among equals."""
        length = max(1, BYTES_SORTED // 8 // self._stored.itemsize)
        starts = [(start, min(length, count - start)) for start in range(0, count, length)]
        shift = np.uint64(VALUE_DIGITS - known - DIGITS)

        def shared() -> Iterator[tuple[Any, IntArray]]:
            for start, n_records in starts:
                records = self._read(first + start, n_records)
                parts = (records["value"] >> shift) % np.uint64(2**DIGITS)
                found = np.bincount(parts.astype(np.int64), minlength=2**DIGITS)
                yield records[np.argsort(parts, kind="stable")], found

        counts: IntArray = sum(
            (found for _, found in shared()), np.zeros(2**DIGITS, dtype=np.int64)
        )
        if counts.max() < count:
            apart = RecordFile(self._stored, counts)
            apart._take(shared())
            for start, n_records in starts:
                self._put(apart._read(start, n_records), first + start)
            apart._file.close()  # one copy at a time takes room, however many digits are needed
        self._put_parts_in_order(first, counts, known + DIGITS)

    def block(self, first: int, count: int) -> RecordBlock:
        """Return so many records from the first on, or as many as there are."""
        found = self._read(first, min(count, self.n_rows - first))
        target, offset = (
            np.ascontiguousarray(found[name]) if name in self._names else None
            for name in ("target", "offset")
        )
        return RecordBlock(np.ascontiguousarray(found["features"]), target, offset, first)

    def values(self, first: int, count: int) -> Words:
        """Return so many values in order from the first on, or as many as there are."""
        values: Words = self._read(first, min(count, self.n_rows - first))["value"]
        return values

    @property
    def _names(self) -> tuple[str, ...]:
        return self._stored.names or ()

    def _read(self, first: int, count: int) -> Any:
        """Read whole records: one call of the system hands out 2 GB at most."""
        size = self._stored.itemsize
        text, place = bytearray(count * size), first * size
        view = memoryview(text)
        while view:
            n_read = os.preadv(self._file.fileno(), [view], place)
            if n_read == 0:
                raise InputError("X must have the same rows whenever it is read.")
            view, place = view[n_read:], place + n_read
        return np.frombuffer(text, dtype=self._stored)

    def _put(self, records: Any, first: int) -> None:
        text, place = memoryview(records.view(np.uint8)), first * self._stored.itemsize
        while text:
            try:
                written = os.pwrite(self._file.fileno(), text, place)
            except OSError as error:
                if error.errno in FULL:
                    raise RoomError(f"{tempfile.gettempdir()!r} is full.") from None
                raise
            text, place = text[written:], place + written
