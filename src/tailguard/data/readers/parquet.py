"""Parquet files, one or many, as one table that is read in batches.

Files follow one another in the order of their paths. Each is read by its own types: a writer that
infers types makes text, floats or nulls of a column as its cells are, so that the files of one
table may differ in them because of one record. So text is read as a CSV file's is, cell by cell,
and a column without any value as missing cells.
"""

import os
from collections.abc import Iterator, Sequence
from glob import glob
from pathlib import Path
from typing import Any

from tailguard.checks import InputError
from tailguard.data.declarations import check_columns
from tailguard.data.table import Table, checked_names

# Bytes read at a time of each column: without a limit, whole row groups are.
BUFFER = 2**16


class ParquetFiles(Table):
    """A Parquet file, a folder of such files, or those that fit a pattern.

    Edge cases
    ----------
    Of a folder, files of all folders below it are read, but none whose name begins with a dot or an
    underscore. What the names of folders say of records is not read.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> for part in (1, 2):
    ...     pq.write_table(pa.table({"age": [41, 50], "cost": [7.5, 3.0]}), f"part-{part}.parquet")
    >>> files = ParquetFiles("part-*.parquet")
    >>> files.names, files.n_rows
    (('age', 'cost'), 4)
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.where = str(path)
        self.paths = _paths(self.where)
        self.names = checked_names(self.where, opened_parquet(self.paths[0]).schema_arrow.names)
        self.n_rows = 0
        for file in self.paths:
            opened = opened_parquet(file)
            check_columns(self.names, opened.schema_arrow.names, str(file))
            self.n_rows += opened.metadata.num_rows
        self.check_rows(1)

    def check_rows(self, fewest: int) -> None:
        """Refuse fewer records, as the files state how many they have."""
        if self.n_rows < fewest:
            raise InputError(
                f"{self.where} must have at least {fewest} records; got {self.n_rows}."
            )

    def empties(self) -> Iterator[Any]:
        """Yield a frame without rows for each file."""
        for file in self.paths:
            yield opened_parquet(file).schema_arrow.empty_table()

    def batches(self, names: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Yield all rows of all files in order; a batch ends where its file does."""
        for file in self.paths:
            opened = opened_parquet(file, buffer_size=BUFFER, pre_buffer=False)
            yield from opened.iter_batches(n_rows, columns=list(names))

    def row_groups(self) -> tuple[list[tuple[Path, int]], list[int]]:
        """Return where each row group is, by a path that workers elsewhere know, and its length."""
        groups, lengths = [], []
        for file in self.paths:
            metadata = opened_parquet(file).metadata
            for number in range(metadata.num_row_groups):
                groups.append((file.absolute(), number))
                lengths.append(metadata.row_group(number).num_rows)
        return groups, lengths


def opened_parquet(path: Path, **options: Any) -> Any:
    """Open a file, with options of pyarrow's ``ParquetFile``; no cell is read."""
    try:
        from pyarrow.parquet import ParquetFile  # noqa: PLC0415 (an extra)
    except ImportError:
        raise InputError(
            "Reading Parquet needs pyarrow: install it with pip install 'tailguard[parquet]'."
        ) from None
    try:
        return ParquetFile(path, **options)
    except (ValueError, OSError):
        raise InputError(f"{path} must be a Parquet file; it cannot be read as one.") from None


def row_group(file: Path, number: int, names: Sequence[str]) -> Any:
    """Read one row group, on whatever worker."""
    return opened_parquet(file).read_row_group(number, columns=list(names))


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet by its name."""
    return path.suffix.lower() in {".parquet", ".pq"}


def parquet_files_in(folder: Path) -> list[Path]:
    """List the Parquet files of a folder and of all below it, which must not change meanwhile."""
    try:
        return [file for file in folder.rglob("*") if is_parquet(file) and file.is_file()]
    except OSError as error:
        raise InputError(
            f"{folder} must be a folder that can be listed; it is not: {error.strerror}."
        ) from None


def _paths(where: str) -> list[Path]:
    """List the files that a path or a pattern names."""
    place = Path(where)
    if os.path.isfile(place):
        return [place]
    if os.path.isdir(place):
        found = parquet_files_in(place)
        found = [file for file in found if not _is_hidden(file.relative_to(place))]
    else:
        found = [Path(file) for file in glob(where, recursive=True) if Path(file).is_file()]
    if not found:
        raise InputError(
            f"{where} must be a file, a folder of Parquet files or a pattern such as "
            "'claims/*.parquet' that some fit; there is none."
        )
    for file in found:
        if not is_parquet(file):
            raise InputError(
                f"{where} must fit Parquet files alone, named *.parquet or *.pq; it fits {file}."
            )
    return sorted(found)


def _is_hidden(file: Path) -> bool:
    return any(part.startswith((".", "_")) for part in file.parts)
