"""Columns of CSV and Parquet files.

A cell that is no number, an empty one, and a cell missing at the end of a short line are NaN;
nothing is said about them. Every record of the file counts, a blank line too.
"""

import csv
import os
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError
from tailguard.data.schema.declared import check_columns
from tailguard.data.sources.csv_records import csv_records
from tailguard.data.sources.parquet import (
    check_number_types,
    opened_parquet,
    parquet_cells,
    parquet_column,
    parquet_names,
    parquet_numbers,
    parquet_rows,
)
from tailguard.data.tables.cells import cell_numbers
from tailguard.quiet import SharedSetting

# Text takes some ten times the memory of the numbers that are read from it.
ROWS_AT_ONCE = 10_000


class FileColumns:
    r"""The columns of a file; nothing but the header is read before cells are asked for.

    Examples
    --------
    >>> _ = Path("ages.csv").write_text("age,cost\n41,7.5\n")
    >>> FileColumns("ages.csv").names
    ('age', 'cost')
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.where = str(path)
        self.names = file_column_names(path)

    def check_types(self, numeric: Sequence[str]) -> None:
        """Refuse a Parquet file in which one of these columns has a type that is no number."""
        if is_parquet(self.path):
            check_number_types(self.path, numeric)

    def check_rows(self, fewest: int) -> None:
        """Refuse a file with fewer records; it is not read any further than that."""
        if is_parquet(self.path):
            found = parquet_rows(self.path)
        else:
            with closing(_csv_rows(self.path, [])) as rows:
                found = sum(1 for _ in islice(rows, fewest))
        if found < fewest:
            raise InputError(f"{self.where} must have at least {fewest} records; got {found}.")

    def numbers(self, names: Sequence[str]) -> FloatArray:
        """Return columns as a matrix of numbers."""
        return read_columns(self.path, names)

    def cells(self, names: Sequence[str]) -> list[list[Any]]:
        """Return columns as lists of cells; those of a CSV file are text."""
        return read_cells(self.path, names)

    def target(self, name: str, classes: Sequence[Any] | None) -> Any:
        """Return the target as Parquet has it, or of a CSV file as the declared labels are."""
        if is_parquet(self.path):
            return parquet_column(_with_columns(self.path, [name]), name)
        if classes is not None and any(isinstance(label, str) for label in classes):
            return np.array(self.cells([name])[0], dtype=object)
        return self.numbers([name])[:, 0]

    def pieces(self, names: Sequence[str], n_rows: int) -> Iterator[Mapping[str, Any]]:
        """Yield columns by their names, of so many rows at a time; those of a CSV file are text."""
        path = _with_columns(self.path, names)
        if is_parquet(path):
            for batch in opened_parquet(path).iter_batches(n_rows, columns=list(names)):
                yield {name: batch.column(name) for name in names}
            return
        rows = _csv_rows(path, names)
        while part := list(islice(rows, min(n_rows, ROWS_AT_ONCE))):
            yield {name: [row[place] for row in part] for place, name in enumerate(names)}


def file_column_names(path: str | Path) -> tuple[str, ...]:
    r"""Return the names of the columns of a file.

    Examples
    --------
    >>> place = Path("ages.csv")
    >>> _ = place.write_text("age,cost\n41,7.5\n")
    >>> file_column_names(place)
    ('age', 'cost')
    """
    path = _existing(path)
    if is_parquet(path):
        return checked_names(path, parquet_names(path))
    with _csv_records(path) as records:
        return _header(path, records)


def read_columns(path: str | Path, names: Sequence[str]) -> FloatArray:
    r"""Read numeric columns as a float64 matrix of shape ``(n_rows, len(names))``.

    Examples
    --------
    >>> place = Path("ages.csv")
    >>> _ = place.write_text("age,cost\n41,7.5\n?,3\n")
    >>> read_columns(place, ["cost", "age"])
    array([[ 7.5, 41. ],
           [ 3. ,  nan]])
    """
    path = _with_columns(path, names)
    if is_parquet(path):
        return parquet_numbers(path, names)
    rows = _csv_rows(path, names)
    read = [np.empty((0, len(names)))]
    while part := list(islice(rows, ROWS_AT_ONCE)):
        read.append(cell_numbers(chain.from_iterable(part)).reshape(len(part), len(names)))
    return np.concatenate(read)


def read_cells(path: str | Path, names: Sequence[str]) -> list[list[Any]]:
    r"""Read columns as lists of cells, those of a CSV file as text; None where one is missing.

    Examples
    --------
    >>> place = Path("regions.csv")
    >>> _ = place.write_text("region\nnorth\nsouth\n")
    >>> read_cells(place, ["region"])
    [['north', 'south']]
    """
    path = _with_columns(path, names)
    if is_parquet(path):
        return parquet_cells(path, names)
    rows = list(_csv_rows(path, names))
    return [[row[j] or None for row in rows] for j in range(len(names))]


@contextmanager
def _no_field_limit() -> Iterator[None]:
    """Let a cell be of any length: csv would give up a line that has a long one."""
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


def _existing(path: str | Path) -> Path:
    path = Path(path)
    if not os.path.isfile(path):
        raise InputError(f"{path} must be a file; there is none.")
    return path


def _with_columns(path: str | Path, names: Sequence[str]) -> Path:
    """Return the path of a file that has these columns."""
    check_columns(names, file_column_names(path), str(path))
    return Path(path)


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet by its name.

    Examples
    --------
    >>> is_parquet(Path("claims.PQ")), is_parquet(Path("claims.csv"))
    (True, False)
    """
    return path.suffix.lower() in {".parquet", ".pq"}


def _header(path: Path, records: Iterator[list[str]]) -> tuple[str, ...]:
    names = next(records, [""])
    if names == [""]:
        raise InputError(f"{path} must start with a line of column names; it does not.")
    return checked_names(path, names)


def checked_names(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Refuse a column without a name, as pandas writes for an index, and one name for two.

    Examples
    --------
    >>> checked_names(Path("ages.csv"), ["age", "age"])
    Traceback (most recent call last):
    tailguard.checks.InputError: ages.csv must have column names that differ; got 'age' twice.
    """
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise InputError(
                f"{path} must have a name for every column; "
                f"give column {position} a name or leave it out."
            )
    if len(set(names)) < len(names):
        repeated = next(name for name in names if list(names).count(name) > 1)
        raise InputError(f"{path} must have column names that differ; got {repeated!r} twice.")
    return tuple(names)


@contextmanager
def _csv_records(path: Path) -> Iterator[Iterator[list[str]]]:
    """Open a CSV file as records, the header first; all lines end as the first one does."""
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


def _csv_rows(path: Path, names: Sequence[str]) -> Generator[list[str]]:
    """Yield the wanted cells of each record; empty text where there is none."""
    with _csv_records(path) as records:
        header = next(records)
        places = [header.index(name) for name in names]
        n_rows = 0
        for row in records:
            n_rows += 1
            yield [row[place] if place < len(row) else "" for place in places]
    if n_rows == 0:
        raise InputError(f"{path} must have records below its header; it has none.")
