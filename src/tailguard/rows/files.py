"""Columns of CSV and Parquet files.

A CSV cell that is no number, an empty one, and a cell missing at the end of a short line are NaN;
nothing is said about them. Every line that the CSV reader finds is a record, a blank one too.

Neighbouring files differ in one *parsed* record. An unbalanced quote or a bare carriage return
joins or splits lines before there are records, so a file holding one is a file of other records.
"""

import csv
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tailguard.checks import InputError
from tailguard.kernels.block import FloatArray
from tailguard.quiet import SharedSetting
from tailguard.tables import to_matrix

from .labels import arrow_cells

__all__ = ["column_names", "read_columns", "read_texts"]


def column_names(path: str | Path) -> tuple[str, ...]:
    r"""Return the names of the columns of a file.

    Examples
    --------
    >>> place = Path("ages.csv")
    >>> _ = place.write_text("age,cost\n41,7.5\n")
    >>> column_names(place)
    ('age', 'cost')
    """
    path = _existing(path)
    if _is_parquet(path):
        return _checked_names(path, _parquet_file(path).schema_arrow.names)
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        return _header(path, csv.reader(stream))


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
    path = _existing(path)
    if _is_parquet(path):
        table = _parquet_table(path, names)
        return to_matrix(table, str(path)).astype(np.float64) if names else _no_columns(table)
    numbers = [[_number(cell) for cell in row] for row in _csv_rows(path, names)]
    return np.array(numbers, dtype=np.float64).reshape(len(numbers), len(names))


def read_texts(path: str | Path, names: Sequence[str]) -> list[list[str | None]]:
    r"""Read columns as text, one list of cells per column; None where a cell is missing.

    Examples
    --------
    >>> place = Path("regions.csv")
    >>> _ = place.write_text("region\nnorth\nsouth\n")
    >>> read_texts(place, ["region"])
    [['north', 'south']]
    """
    path = _existing(path)
    if _is_parquet(path):
        columns = zip(names, _parquet_table(path, names).columns, strict=True)
        return [_parquet_texts(column, f"Column {name!r} of {path}") for name, column in columns]
    rows = list(_csv_rows(path, names))
    return [[row[j] or None for row in rows] for j in range(len(names))]


def _parquet_texts(column: Any, where: str) -> list[str | None]:
    cells = arrow_cells(column, where, floats=False)
    return [None if cell is None else str(cell) for cell in cells]


@contextmanager
def _no_field_limit() -> Iterator[None]:
    """Let a cell be of any length: after one beyond the limit, csv resumes inside its quotes."""
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
    if not path.is_file():
        raise InputError(f"{path} must be a file; there is none.")
    return path


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in {".parquet", ".pq"}


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return np.nan


def _header(path: Path, reader: Any) -> tuple[str, ...]:
    try:
        names: list[str] = next(reader, [])
    except csv.Error:
        names = []
    if not names:
        raise InputError(f"{path} must start with a line of column names; it does not.")
    return _checked_names(path, names)


def _checked_names(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Refuse a column without a name, as pandas writes for an index, and one name for two."""
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise InputError(
                f"{path} must have a name for every column; "
                f"give column {position} a name or leave it out."
            )
    if len(set(names)) < len(names):
        raise InputError(f"{path} must have column names that differ; got {list(names)}.")
    return tuple(names)


def _places(path: Path, header: Sequence[str], names: Sequence[str]) -> list[int]:
    """Return where the wanted columns are."""
    for name in names:
        if name not in header:
            raise InputError(f"{path} must have a column {name!r}; its columns are {list(header)}.")
    return [header.index(name) for name in names]


def _csv_rows(path: Path, names: Sequence[str]) -> Iterator[list[str]]:
    """Yield the wanted cells of each record; empty text where there is none."""
    with NO_FIELD_LIMIT, path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        reader = csv.reader(stream)
        places = _places(path, _header(path, reader), names)
        n_rows = 0
        for row in _records(reader):
            n_rows += 1
            yield [row[place] if place < len(row) else "" for place in places]
    if n_rows == 0:
        raise InputError(f"{path} must have records below its header; it has none.")


def _records(reader: Any) -> Iterator[list[str]]:
    """Yield every line below the header; a blank one, or one that cannot be split, is all blanks.

    No line is skipped: what a record holds must not change the number of records.
    """
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            row = [""]
        yield row or [""]


def _pyarrow_parquet() -> Any:
    try:
        import pyarrow.parquet  # noqa: PLC0415 (an extra)
    except ImportError:
        raise InputError(
            "Reading Parquet needs pyarrow: install it with pip install 'tailguard[parquet]'."
        ) from None
    return pyarrow.parquet


def _parquet_file(path: Path) -> Any:
    parquet = _pyarrow_parquet()
    try:
        return parquet.ParquetFile(path)
    except (ValueError, OSError):
        raise InputError(f"{path} must be a Parquet file; it cannot be read as one.") from None


def _parquet_table(path: Path, names: Sequence[str]) -> Any:
    stored = _parquet_file(path)
    _places(path, _checked_names(path, stored.schema_arrow.names), names)
    table = stored.read(columns=list(names)).select(list(names))
    if stored.metadata.num_rows == 0:
        raise InputError(f"{path} must have records; it has none.")
    return table


def _no_columns(table: Any) -> FloatArray:
    return np.empty((table.num_rows, 0))
