r"""CSV files, read record by record: a faulty line never changes another record.

A CSV writer encloses a cell that contains a comma, a quotation mark or a line break in quotation
marks, and doubles quotation marks inside it. This module reads such files exactly: one record for
each written record, whatever its cells contain.

Other files have unpaired quotation marks. Most readers pair one with the next, even if many records
are between them. Here a record spans several lines only if these lines together are one valid CSV
record with as many cells as the header. Otherwise every line is a record, and a fault in a line
affects that record only.

All lines end like the header. If they end in ``\n``, a ``\r`` is part of a cell, since some writers
do not quote it. If they end in ``\r``, a ``\n`` is part of a cell. The reader of the standard
library treats both as line ends, so this module replaces those inside cells before it splits lines.

Every record counts, even a blank line. An empty cell is None, and so is a cell that is missing at
the end of a short line.
"""

import csv
import os
import re
import sys
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from tailguard.checks import InputError
from tailguard.data.table import Table, check_count, checked_names
from tailguard.quiet import SharedSetting

QUOTE = '"'
# Replaces a line break inside a cell; no decoded file contains half of a surrogate pair.
HIDDEN = "\ud80d"
# Signs in a header that show another encoding.
NOT_UTF_8 = "\0\ufffd"
# How files that are not text begin, and what to do with them.
OTHER_FILES = {
    rb"\x1f\x8b": "it is compressed by gzip: decompress it",
    rb"BZh[1-9]1AY&SY": "it is compressed by bzip2: decompress it",
    rb"\xfd7zXZ": "it is compressed by xz: decompress it",
    rb"\x28\xb5\x2f\xfd": "it is compressed by Zstandard: decompress it",
    rb"PK\x03\x04": "it is an Excel workbook or a ZIP archive: save the sheet as CSV, or unpack it",
    rb"\xd0\xcf\x11\xe0": "it is an Excel workbook: save the sheet as CSV",
    rb"PAR1\x15": "it is a Parquet file: name it *.parquet",
}


class CsvTable(Table):
    r"""The columns of a CSV file, as text; opening it reads the header only.

    Examples
    --------
    >>> _ = Path("ages.csv").write_text("age,cost\n41,7.5\n,3\n")
    >>> table = CsvTable("ages.csv")
    >>> list(table.batches(["cost", "age"], 10))
    [{'cost': ['7.5', '3'], 'age': ['41', None]}]
    """

    streamed = False
    n_rows = 0  # unknown until the file is read

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.where = str(path)
        with _opened(self.path) as records:
            _check_text(self.path)
            names = next(records, [""])
        if names == [""]:
            raise InputError(f"{path} must start with a line of column names; it does not.")
        if any(sign in name for name in names for sign in NOT_UTF_8):
            raise InputError(f"{path} must be UTF-8; its header is not: save the file as UTF-8.")
        self.names = checked_names(self.where, names)

    def check_rows(self, fewest: int) -> None:
        """Refuse a file with fewer than ``fewest`` records; read no more than that."""
        with closing(self._rows([])) as rows:
            count = sum(1 for _ in islice(rows, fewest))
        check_count(self.where, count, fewest)

    def without_rows(self) -> Iterable[Any]:
        """Return nothing: text has no types."""
        return []

    def batches(self, names: Sequence[str], n_rows: int) -> Iterator[dict[str, list[Any]]]:
        """Yield columns of text by their names."""
        rows = self._rows(names)
        while part := list(islice(rows, n_rows)):
            yield {name: [row[place] for row in part] for place, name in enumerate(names)}

    def _rows(self, names: Sequence[str]) -> Generator[list[str | None]]:
        """Yield the cells of these columns for each record."""
        n_rows = 0
        with _opened(self.path) as records:
            header = next(records)
            places = [header.index(name) for name in names]
            for row in records:
                n_rows += 1
                yield [(row[place] or None) if place < len(row) else None for place in places]
        if n_rows == 0:
            raise InputError(f"{self.path} must have records below its header; it has none.")


def _check_text(path: Path) -> None:
    """Refuse a file that begins like one of another format."""
    with path.open("rb") as file:
        beginning = file.read(16)
    for pattern, words in OTHER_FILES.items():
        if re.match(pattern, beginning):
            raise InputError(f"{path} must be a CSV file, as text; {words}.")


def refuse_pipe(path: str | Path) -> None:
    """Refuse a pipe, a device, and a hyphen, which stands for the standard input."""
    is_device = os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))
    if is_device or (str(path) == "-" and not os.path.exists(path)):
        raise InputError(
            f"{path} must be a regular file, since it is read several times; it is a pipe or a "
            "device: save its content as a file."
        )


@contextmanager
def _no_field_limit() -> Iterator[None]:
    """Allow cells of any length: by default ``csv`` refuses a long cell."""
    limit = csv.field_size_limit()
    try:
        csv.field_size_limit(sys.maxsize)
    except OverflowError:  # a C long has 32 bits on Windows
        csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


# The limit belongs to the whole process.
NO_FIELD_LIMIT = SharedSetting(_no_field_limit)


@contextmanager
def _opened(path: Path) -> Iterator[Iterator[list[str]]]:
    """Open a CSV file as records, the header first; all lines end like the first one."""
    options: Any = {"encoding": "utf-8-sig", "errors": "replace"}
    try:
        with path.open(newline="", **options) as stream:
            end = "\r" if stream.readline().endswith("\r") else "\n"
        with NO_FIELD_LIMIT, path.open(newline=end, **options) as stream:
            yield csv_records(stream, end)
    except OSError as error:
        raise InputError(
            f"{path} must be a file that can be read; it is not: {error.strerror}."
        ) from None


def csv_records(lines: Iterable[str], end: str = "\n") -> Iterator[list[str]]:
    r"""Yield the cells of each record, the header first; a blank line has one blank cell.

    ``end`` is ``\n`` or ``\r``; it ends every line and occurs nowhere else.
    """
    other_end = "\r" if end == "\n" else "\n"
    waiting: deque[str] = deque()  # lines read ahead that belong to no record yet
    source = (line.replace(other_end, HIDDEN) for line in lines)
    tail = HIDDEN + "\n"  # the end of each line if the header ends in both characters
    width: int | None = None
    while (first := _next(waiting, source)) is not None:
        candidate = [first]
        if _is_odd(first):
            # In valid CSV the record ends with the next odd line.
            while (following := _next(waiting, source)) is not None:
                candidate.append(following)
                if _is_odd(following):
                    break
        record = _one_record(candidate, width, tail) if candidate[1:] else None
        if record is None:
            waiting.extendleft(reversed(candidate[1:]))
            candidate = [first]
            record = _cells(_with_one_end(first, tail), end)
        if width is None:
            width, tail = len(record), tail if candidate[-1].endswith(tail) else end
        yield [cell.replace(HIDDEN, other_end) for cell in record]


def _next(waiting: deque[str], source: Iterator[str]) -> str | None:
    """Return the next line; None at the end."""
    return waiting.popleft() if waiting else next(source, None)


def _is_odd(line: str) -> bool:
    """Whether a line has an odd number of quotation marks: a quoted cell begins or ends in it."""
    return line.count(QUOTE) % 2 == 1


def _with_one_end(line: str, tail: str) -> str:
    """Shorten a line end of two characters to one."""
    return line.removesuffix(tail) + tail[-1] if line.endswith(tail) else line


def _cells(line: str, end: str) -> list[str]:
    """Split one line; a line that cannot be split becomes blank."""
    if QUOTE not in line:
        return line.removesuffix(end).split(",")
    try:
        return next(csv.reader([line]), [""])
    except csv.Error:
        return [""]


def _one_record(lines: list[str], width: int | None, tail: str) -> list[str] | None:
    """Return the cells if these lines are one record of strict CSV with that width, else None."""
    reader = csv.reader([*lines[:-1], _with_one_end(lines[-1], tail)], strict=True)
    try:
        record = next(reader, [])
    except csv.Error:
        return None
    is_complete = reader.line_num == len(lines) and width in (None, len(record))
    return record if is_complete else None
