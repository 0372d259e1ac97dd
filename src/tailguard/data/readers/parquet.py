"""Parquet files, one or many, as one table that is read in batches.

Files are read in the order of their paths, each with its own types. A writer that infers types
stores a column as text, floats or nulls, depending on its cells, so one record may change the types
of one file. Therefore text is read cell by cell, as from a CSV file, and a column of nulls is read
as missing cells.
"""

import os
from collections.abc import Iterator, Sequence
from functools import partial
from glob import glob
from pathlib import Path
from typing import Any

from tailguard.checks import InputError
from tailguard.data.declarations import check_columns
from tailguard.data.readers.csv import refuse_pipe
from tailguard.data.readers.lazy import FAILED, silenced
from tailguard.data.table import Table, check_count, checked_names

# Bytes of each column that are read at a time: without this limit, a whole row group.
BUFFER = 2**16


class ParquetFiles(Table):
    """A Parquet file, a folder of such files, or all files that match a pattern.

    Edge cases
    ----------
    A folder includes all folders below it, except files and folders whose name begins with a dot or
    an underscore. Names of folders do not become columns.

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
        """Refuse a table with fewer records than that; the files' metadata state their numbers."""
        check_count(self.where, self.n_rows, fewest)

    def without_rows(self) -> Iterator[Any]:
        """Yield a frame without rows for each file."""
        for file in self.paths:
            yield opened_parquet(file).schema_arrow.empty_table()

    def batches(self, names: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Yield all rows of all files in order; no batch spans two files."""
        for file in self.paths:
            opened = opened_parquet(file, buffer_size=BUFFER, pre_buffer=False)
            batches = opened.iter_batches(n_rows, columns=list(names))
            read_next, failure = partial(next, batches, None), FAILED.replace("X", str(file), 1)
            while (batch := silenced(read_next, failure)) is not None:
                yield batch

    def row_groups(self) -> tuple[list[tuple[Path, int]], list[int]]:
        """Return the absolute path, number and length of each row group, for workers."""
        groups, lengths = [], []
        for file in self.paths:
            metadata = opened_parquet(file).metadata
            for number in range(metadata.num_row_groups):
                groups.append((file.absolute(), number))
                lengths.append(metadata.row_group(number).num_rows)
        return groups, lengths


def opened_parquet(path: Path, **options: Any) -> Any:
    """Open a file with options of pyarrow's ``ParquetFile``, without reading cells."""
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
    """Read one row group; runs on any worker."""
    return opened_parquet(file).read_row_group(number, columns=list(names))


def is_parquet(path: Path) -> bool:
    """Whether the file is named like a Parquet file."""
    return path.suffix.lower() in {".parquet", ".pq"}


def parquet_files_in(folder: Path) -> list[Path]:
    """List the Parquet files of a folder and its subfolders; no folder may change meanwhile."""
    try:
        return [file for file in folder.rglob("*") if is_parquet(file) and file.is_file()]
    except OSError as error:
        raise InputError(
            f"{folder} must be a folder that can be listed; it is not: {error.strerror}."
        ) from None


def _paths(where: str) -> list[Path]:
    """List the files that a path or a pattern matches."""
    path = Path(where)
    if os.path.isfile(path):
        return [path]
    refuse_pipe(where)
    if os.path.isdir(path):
        files = parquet_files_in(path)
        files = [file for file in files if not _is_hidden(file.relative_to(path))]
    else:
        files = [Path(file) for file in glob(where, recursive=True) if Path(file).is_file()]
    if not files:
        raise InputError(
            f"{where} must be a file, a folder of Parquet files or a pattern such as "
            "'claims/*.parquet'; no file matches it."
        )
    for file in files:
        if not is_parquet(file):
            raise InputError(
                f"{where} must match only Parquet files, named *.parquet or *.pq; it matches "
                f"{file}."
            )
    return sorted(files)


def _is_hidden(file: Path) -> bool:
    return any(part.startswith((".", "_")) for part in file.parts)
