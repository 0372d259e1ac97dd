"""Persons of a table in batches: their rows are brought together in a file.

One pass over the table distributes its rows to parts of an unnamed file by the persons' keys, so
all rows of a person are in one part. Then the used rows are chosen part by part and stored by
persons. So answers have the same bits as for the same rows in memory, however the table is cut and
ordered.

*Secrecy.* The file has no name, only its owner can read it, and it disappears with the run. The
length of the file, and the time and disk space of a run, reveal the number of rows: they are not
protected. The messages of a run are protected: they count no row, and report no pass.

*Memory.* A few words for each person. For one part at a time, also a few words for each row, and
the used rows, at most ``max_rows`` per person.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, partial
from threading import Lock
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.data.columns import identifiers_of
from tailguard.data.frames import frame_column
from tailguard.data.rows.base import RecordBlock
from tailguard.data.rows.keys import NOBODY, PersonKeys
from tailguard.data.rows.persons import PersonRows, Pieces, UsedRows, chosen_places, row_values
from tailguard.data.rows.reader import RecordReader
from tailguard.data.rows.record_file import (
    BYTES_SORTED,
    FEWEST_PARTS,
    RECORDS_AT_ONCE,
    RecordFile,
    names_beside,
    record_type,
    width_of,
)
from tailguard.data.rows.streams import NUMBERS_GATHERED, StreamRows
from tailguard.data.rows.threads import in_turn, resolve_threads
from tailguard.data.table import Run
from tailguard.noise.keyed_hash import KeyedHash
from tailguard.noise.sources import Source, Words

# The most parts of a file: a run of rows needs one write for each part.
MOST_PARTS = 2**12


class FiledPersons(PersonRows):
    """Persons of a table in batches; each person is a record.

    Parameters
    ----------
    rows
        The rows as stored.
    keys
        The keys of all persons; the schema of the rows names their column.
    source
        The random source of the key that chooses rows of persons with too many.

    Examples
    --------
    >>> import polars as pl
    >>> from tailguard.data.readers.opening import opened
    >>> from tailguard.data.schema import Schema
    >>> from tailguard.noise.sources import make_source
    >>> from tailguard.privacy.unit import Unit
    >>> table = opened(pl.LazyFrame({"age": [41.0, 43.0, 50.0], "key": ["a", "a", "b"]}))
    >>> schema = Schema(features=["age"], person="key", max_rows=2)
    >>> keys = PersonKeys.of([["a", "a", "b"]], Unit(person="key", max_rows=2))
    >>> rows = StreamRows(table, RecordReader(schema, alone=True))
    >>> persons = FiledPersons(rows, keys, make_source(None))
    >>> sorted(persons.used().block(0, 1).features[:, 0].tolist())
    [41.0, 43.0]
    """

    def __init__(self, rows: StreamRows, keys: PersonKeys, source: Source) -> None:
        self._begin(rows, keys.unit, keys.count)
        self._fill_lock = Lock()
        read_rows = partial(used_rows, rows, keys, KeyedHash(source))
        counts = np.minimum(keys.n_rows, keys.unit.max_rows)
        marks = partial(read_rows, marked=True)
        self._used = None

        @cache  # shared by the same persons in another order
        def fill() -> UsedRows:
            return UsedRows.of(FiledRows(read_rows(), marks), counts, keys.unit)

        self._fill = fill

    def used(self) -> UsedRows:
        """Return the used rows, brought together on first use."""
        with self._fill_lock:
            if self._used is None:
                self._used = self._fill()
            return self._used


class FiledRows:
    """Rows in a file; if there are few, also in memory.

    Parameters
    ----------
    file
        The rows.
    marks
        Returns a file of marks of their cells.
    """

    def __init__(self, file: RecordFile, marks: Callable[[], RecordFile]) -> None:
        self._file, self._marks = file, marks
        is_small = file.n_rows * width_of(file.stored) <= NUMBERS_GATHERED
        self._in_memory = file.block(0, file.n_rows) if is_small else None

    def piece(self, start: int, stop: int) -> RecordBlock:
        """Return the rows from ``start`` to ``stop``."""
        if self._in_memory is None:
            return replace(self._file.block(start, stop - start), first=None)
        return replace(self._in_memory.rows(start, stop), first=None)

    def picked(self, pieces: Pieces) -> "FiledRows":
        """Return the rows at places that come in pieces, in this order, in a new file."""
        return FiledRows(self._file.picked(pieces), lambda: self._marks().picked(pieces))

    def marked(self, share: FloatArray) -> Iterable[RecordBlock]:
        """Yield marks of the cells of all rows, each with its share."""
        file = self._marks()
        for start in range(0, file.n_rows, RECORDS_AT_ONCE):
            part = share[start : start + RECORDS_AT_ONCE]
            yield replace(file.block(start, len(part)), first=None, share=part)


def used_rows(
    rows: StreamRows, keys: PersonKeys, hashed: KeyedHash, *, marked: bool = False
) -> RecordFile:
    """Read the table once into a file, and keep the used rows, or their marks."""
    schema, vectors = rows.reader.schema, names_beside(rows.stored)
    n_columns = len(schema.features or ()) if marked else rows.n_features
    if marked and schema.target is None:
        vectors = tuple(name for name in vectors if name != "target")
    stored = record_type(n_columns, *vectors, "person")
    # The number of parts depends on public numbers only.
    n_bytes = keys.count * keys.unit.max_rows * stored.itemsize
    n_parts = min(max(FEWEST_PARTS, n_bytes // BYTES_SORTED), MOST_PARTS, keys.count)

    def parts_of(numbers: IntArray) -> IntArray:
        return numbers * n_parts // keys.count

    def used_places(heads: Any) -> IntArray:
        return chosen_places(heads["person"], heads["value"], hashed, keys.unit.max_rows)

    counts = np.zeros(n_parts, dtype=np.int64)
    np.add.at(counts, parts_of(np.arange(keys.count)), keys.n_rows)
    file = RecordFile(stored, counts, used_places)

    def records_by_part(run: Run) -> tuple[Any, IntArray]:
        block, values = keyed_rows(rows.reader, keys, hashed, run, marked=marked)
        assert block.person is not None
        return file.shared(block, values, parts_of(block.person))

    names = [*rows.reader.numbers, *rows.reader.persons]
    file.fill(in_turn(records_by_part, rows.runs(names, report=False), resolve_threads()))
    return file


def keyed_rows(
    reader: RecordReader, keys: PersonKeys, hashed: KeyedHash, run: Run, *, marked: bool = False
) -> tuple[RecordBlock, Words]:
    """Return the rows of a run that have a key, or their marks, and the hash of each row."""
    columns = [identifiers_of(frame_column(frame, reader.persons[0])) for frame in run[0]]
    numbers = np.concatenate([keys.numbers(column) for column in columns])
    block = reader.marked(run) if marked else reader.block(run)
    of_keys = np.concatenate([hashed.of(column) for column in columns])
    values = row_values(hashed, of_keys, block, marked=marked)
    block = replace(block, person=numbers)
    with_key = np.flatnonzero(numbers != NOBODY)
    if len(with_key) == len(numbers):
        return block, values
    return block.at(with_key), values[with_key]
