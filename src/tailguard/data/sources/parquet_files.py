"""Parquet files, one or many, as one table that is read in batches.

Files follow one another in the order of their paths. Each is read by its own types: a writer that
infers types makes text, floats or nulls of a column as its cells are, so that the files of one
table may differ in them because of one record.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from glob import glob
from pathlib import Path
from typing import Any

from tailguard.array_types import IntArray
from tailguard.checks import InputError
from tailguard.data.design.columns import BatchedTable
from tailguard.data.design.runs import Choose, Work
from tailguard.data.schema.declared import check_columns
from tailguard.data.sources.dask_table import chosen_by_workers, summed_by_workers
from tailguard.data.sources.files import checked_names, is_parquet
from tailguard.data.sources.parquet import check_number_types, opened_parquet
from tailguard.data.sources.spark_table import (
    ANSWERS,
    PartSums,
    chosen_rows,
    part_rows,
    spark_session,
)

# Bytes read at a time of each column: without a limit, whole row groups are.
BUFFER = 2**16

# From the tables of a part, and its number, to what a worker answers.
Answers = Callable[[Iterable[Any], int], Iterator[Any]]


class ParquetFiles(BatchedTable):
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
        self.names = checked_names(self.path, self._opened(self.paths[0]).schema_arrow.names)
        self.n_rows = 0
        for file in self.paths:
            opened = self._opened(file)
            check_columns(self.names, opened.schema_arrow.names, str(file))
            self.n_rows += opened.metadata.num_rows
        self.check_rows(1)

    def check_types(self, numeric: Sequence[str]) -> None:
        """Refuse files in which one of these columns has a type that is no number."""
        for file in self.paths:
            check_number_types(file, numeric)

    def check_rows(self, fewest: int) -> None:
        """Refuse fewer records, as the files state how many they have."""
        if self.n_rows < fewest:
            raise InputError(
                f"{self.where} must have at least {fewest} records; got {self.n_rows}."
            )

    def empties(self) -> Iterator[Any]:
        """Yield a table without rows for each file."""
        for file in self.paths:
            yield self._opened(file).schema_arrow.empty_table()

    def batches(self, names: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Yield all rows of all files in order; a batch ends where its file does."""
        for file in self.paths:
            yield from self._opened(file).iter_batches(n_rows, columns=list(names))

    def _opened(self, file: Path) -> Any:
        return opened_parquet(file, buffer_size=BUFFER, pre_buffer=False)


class RowGroups(ParquetFiles):
    """The same files, of which workers read a row group each, by the same paths.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> pq.write_table(pa.table({"age": [41, 50, 30]}), "ages.parquet", row_group_size=2)
    >>> RowGroups("ages.parquet").lengths
    [2, 1]
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self.groups: list[tuple[Path, int]] = []
        self.lengths: list[int] = []
        for file in self.paths:
            metadata = self._opened(file).metadata
            for number in range(metadata.num_row_groups):
                self.groups.append((file.absolute(), number))  # workers are elsewhere
                self.lengths.append(metadata.row_group(number).num_rows)


class DaskFiles(RowGroups):
    """The same files, summed by workers of Dask.

    They are those of the client that is set, or else threads of this process.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> pq.write_table(pa.table({"age": [41, 50, 30]}), "ages.parquet", row_group_size=2)
    >>> import numpy as np
    >>> files = DaskFiles("ages.parquet")
    >>> files.added(["age"], lambda run: np.array([sum(map(len, run[0]))]), chunk_rows=1024)
    array([3])
    """

    def added(self, names: Sequence[str], work: Work, chunk_rows: int) -> IntArray:
        """Return the sum of ``work`` over whole chunks: on workers, but for edges of row groups."""
        return summed_by_workers(self._parts(names), self.lengths, work, chunk_rows)

    def chosen(self, names: Sequence[str], choose: Choose) -> Iterator[Any]:
        """Yield the chosen rows of each row group, chosen by the workers."""
        return chosen_by_workers(self._parts(names), choose)

    def _parts(self, names: Sequence[str]) -> list[Any]:
        from dask import delayed  # noqa: PLC0415 (an extra)

        read = delayed(_row_group, pure=False)
        return [read(file, number, list(names)) for file, number in self.groups]


class SparkFiles(RowGroups):
    """The same files, summed by workers of Spark.

    They are those of the session that is set, or of one that is started here.

    Parameters
    ----------
    path
        The files.
    session
        Starts a session, or finds the one that is set.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> pq.write_table(pa.table({"age": [41, 50, 30]}), "ages.parquet", row_group_size=2)
    >>> SparkFiles("ages.parquet", session=lambda: None).n_rows
    3
    """

    def __init__(self, path: str | Path, session: Callable[[], Any] = spark_session) -> None:
        super().__init__(path)
        self._session = session()

    def added(self, names: Sequence[str], work: Work, chunk_rows: int) -> IntArray:
        """Return the sum of ``work`` over whole chunks: on workers, but for edges of row groups."""
        parts = PartSums.of(self.lengths, work, chunk_rows)
        return parts.added(self._read(names, parts.of_part))

    def chosen(self, names: Sequence[str], choose: Choose) -> Iterator[Any]:
        """Yield the chosen rows of each row group, chosen by the workers."""
        return chosen_rows(self._read(names, partial(part_rows, choose)))

    def _read(self, names: Sequence[str], answers: Answers) -> Any:
        read = partial(_row_groups, answers, self.groups, list(names))
        numbers = self._session.range(0, len(self.groups), 1, len(self.groups))
        return numbers.mapInArrow(read, ANSWERS)


def _row_groups(
    answers: Answers, groups: Sequence[tuple[Path, int]], names: list[str], batches: Iterable[Any]
) -> Iterator[Any]:
    """Read on a worker the row groups of these numbers, and answer for each."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            file, group = groups[number]
            yield from answers([_row_group(file, group, names)], number)


def _row_group(file: Path, number: int, names: list[str]) -> Any:
    return opened_parquet(file).read_row_group(number, columns=names)


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


def parquet_files_in(folder: Path) -> list[Path]:
    """List the Parquet files of a folder and of all below it, which must not change meanwhile.

    Examples
    --------
    >>> parquet_files_in(Path("nowhere"))
    []
    """
    try:
        return [file for file in folder.rglob("*") if is_parquet(file) and file.is_file()]
    except OSError as error:
        raise InputError(
            f"{folder} must be a folder that can be listed; it is not: {error.strerror}."
        ) from None


def _is_hidden(file: Path) -> bool:
    return any(part.startswith((".", "_")) for part in file.parts)
