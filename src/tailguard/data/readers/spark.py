"""A table whose parts are summed by workers of Spark; only integers come back.

The answers of a part are rows with the number of the part; they are collected. Accumulators are not
used: if a task is retried, Spark counts it twice.
"""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from itertools import accumulate
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError
from tailguard.data.readers.lazy import check_typed, silenced
from tailguard.data.readers.parquet import ParquetFiles, row_group
from tailguard.data.table import (
    Choose,
    Table,
    Work,
    check_same,
    summed_edges,
    summed_part,
    whole_chunks_of,
)

ANSWER_TYPES = "part long, first long, sums array<long>, rows binary"
"""Spark's types of one answer: sums of a part, or rows with the number of the first row."""

AnswerPart: TypeAlias = Callable[[Iterable[Any], int], Iterator[Any]]
"""From the frames of a part and its number to its answers; workers call it."""


class SparkTable(Table):
    """Partitions of a Spark data frame, or row groups of files; workers read them.

    Opening a data frame counts its rows. It must give the same rows in the same order and the same
    partitions every time.

    Parameters
    ----------
    frame
        The data frame, whose partitions follow one another.

    Examples
    --------
    >>> SparkTable("claims.parquet")
    Traceback (most recent call last):
    tailguard.checks.InputError: X must be a data frame of Spark 4 or later.
    """

    _files: ParquetFiles | None = None
    _session: Any
    _groups: list[tuple[Path, int]]
    _lengths: list[int]

    def __init__(self, frame: Any) -> None:
        if not hasattr(frame, "toArrow"):
            raise InputError("X must be a data frame of Spark 4 or later.")
        self._frame = frame
        self._lengths_by_columns: dict[tuple[str, ...], list[int]] = {}
        self.names = tuple(frame.columns)
        if len(set(self.names)) < len(self.names):
            raise InputError(f"X must have column names that differ; got {list(self.names)}.")
        check_typed(silenced(self._plan))
        self._empty = [silenced(lambda: frame.limit(0).toArrow())]
        self.n_rows = int(silenced(frame.count))
        self.check_shape()

    @classmethod
    def of_files(cls, files: ParquetFiles, session: Any) -> Self:
        """Return Parquet files: each worker of a session reads a row group at a time."""
        table = cls.__new__(cls)
        table.where, table.names, table.n_rows = files.where, files.names, files.n_rows
        table._files, table._session = files, session
        table._groups, table._lengths = files.row_groups()
        table._empty = list(files.without_rows())
        return table

    def without_rows(self) -> Iterable[Any]:
        """Return an empty frame with Spark's types, or those of files."""
        return self._empty

    def try_reading(self, names: Sequence[str], n_rows: int) -> Iterable[Any]:
        """Compute these columns once, on the workers; refuse a table that fails."""
        silenced(lambda: self._lengths_of(names))
        return []

    def batches(self, names: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Yield all rows in order; one part is read while the next one is computed."""
        if self._files is not None:
            return self._files.batches(names, n_rows)
        return _received_rows(self._ask(names, partial(_send_rows, None)))

    def worker_sum(self, names: Sequence[str], work: Work, chunk_rows: int) -> IntArray:
        """Return the sum of ``work``: workers sum whole chunks and send back the edges of parts."""
        lengths = self._lengths_of(names)
        sent = self._ask(names, partial(_send_sums, work, lengths, chunk_rows))
        return _received_sum(sent, work, lengths, chunk_rows)

    def worker_rows(self, names: Sequence[str], choose: Choose) -> Iterator[Any]:
        """Yield the chosen rows of each part, chosen by the workers."""
        return _received_rows(self._ask(names, partial(_send_rows, choose)))

    def _ask(self, names: Sequence[str], answer: AnswerPart) -> Any:
        """Return the answers of all parts of these columns as a data frame."""
        if self._files is None:
            selected = self._frame.select(*("`" + name.replace("`", "``") + "`" for name in names))
            return selected.mapInArrow(partial(_answer_partition, answer), ANSWER_TYPES)
        read_and_answer = partial(_answer_row_groups, answer, self._groups, list(names))
        numbers = self._session.range(0, len(self._groups), 1, len(self._groups))
        return numbers.mapInArrow(read_and_answer, ANSWER_TYPES)

    def _plan(self) -> str:
        """Return Spark's description of its plan."""
        with redirect_stdout(StringIO()) as printed:
            self._frame.explain(True)
        return printed.getvalue()

    def _lengths_of(self, names: Sequence[str]) -> list[int]:
        """Count rows per partition, once per set of columns: sizes of data decide Spark's cuts."""
        if self._files is not None:
            return self._lengths
        columns = tuple(names)
        if columns not in self._lengths_by_columns:
            counts = {row.part: row.first for row in self._ask(names, _send_length).collect()}
            lengths = [counts.get(part, 0) for part in range(max(counts, default=-1) + 1)]
            check_same(sum(lengths), self.n_rows)
            self._lengths_by_columns[columns] = lengths
        return self._lengths_by_columns[columns]


def _answer_partition(answer: AnswerPart, batches: Iterable[Any]) -> Iterator[Any]:
    """Answer for the partition of this worker."""
    from pyspark import TaskContext  # noqa: PLC0415 (an extra)

    yield from answer(batches, int(TaskContext.get().partitionId()))


def _answer_row_groups(
    answer: AnswerPart, groups: Sequence[tuple[Path, int]], names: list[str], batches: Iterable[Any]
) -> Iterator[Any]:
    """Read the row groups whose numbers this worker gets, and answer for each."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            file, group = groups[number]
            yield from answer([row_group(file, group, names)], number)


def _send_length(batches: Iterable[Any], part: int) -> Iterator[Any]:
    """Send the number of rows of a part, as ``first``."""
    yield _answer(part, sum(map(len, batches)))


def _send_rows(choose: Choose | None, batches: Iterable[Any], part: int) -> Iterator[Any]:
    """Send the rows of one part, or the chosen ones, batch by batch."""
    first = 0
    for batch in batches:
        yield _answer(part, first, rows=batch if choose is None else choose(batch))
        first += len(batch)


def _send_sums(
    work: Work, lengths: Sequence[int], chunk_rows: int, batches: Iterable[Any], part: int
) -> Iterator[Any]:
    """Send the sum over the whole chunks of a part, and its rows before and after them."""
    length = lengths[part] if part < len(lengths) else 0
    first = sum(lengths[:part])
    total, edges = summed_part(batches, length, first, work, chunk_rows)
    yield _answer(part, first, sums=np.atleast_1d(total).tolist())
    for rows, start in edges:
        yield _answer(part, start, rows=rows)


def _received_sum(sent: Any, work: Work, lengths: Sequence[int], chunk_rows: int) -> IntArray:
    """Add up the answers of all parts; each part must have answered once."""
    answers = sorted(sent.collect(), key=lambda row: (row.part, row.first))
    sums = [row for row in answers if row.rows is None]
    summed_parts = [row.part for row in sums if row.part < len(lengths) and lengths[row.part]]
    check_same(summed_parts, [part for part, length in enumerate(lengths) if length])
    edges = [
        (rows_of_answer(row.rows), row.first, row.part) for row in answers if row.rows is not None
    ]
    sent_rows: Counter[int] = Counter()
    for frame, _, part in edges:
        sent_rows[part] += len(frame)
    for part, last in enumerate(accumulate(lengths)):
        start, stop = whole_chunks_of(lengths[part], last - lengths[part], chunk_rows)
        check_same(sent_rows[part], lengths[part] - (stop - start))
    total: Any = sum(np.array(row.sums, dtype=np.int64) for row in sums)
    frames = ((frame, first) for frame, first, _ in edges)
    return total + summed_edges(frames, work, chunk_rows)


def _received_rows(sent: Any) -> Iterator[Any]:
    """Yield the frames that workers send; one part is read while the next is computed."""
    for row in sent.toLocalIterator(prefetchPartitions=True):
        yield rows_of_answer(row.rows)


def rows_of_answer(sent: bytes) -> Any:
    """Return the frame that a worker sent."""
    import pyarrow as pa  # noqa: PLC0415 (an extra)

    return pa.ipc.open_stream(pa.py_buffer(bytes(sent))).read_all()


def _answer(part: int, first: int, sums: list[int] | None = None, rows: Any = None) -> Any:
    """Return one row of answers; rows become an Arrow stream without the rest of their table."""
    import pyarrow as pa  # noqa: PLC0415 (an extra)

    sent = None
    if rows is not None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write(rows)
        sent = sink.getvalue().to_pybytes()
    numbers = {"part": pa.int64(), "first": pa.int64(), "sums": pa.list_(pa.int64())}
    answer = {"part": part, "first": first, "sums": sums, "rows": sent}
    return pa.RecordBatch.from_pylist([answer], pa.schema(numbers | {"rows": pa.binary()}))


def spark_session() -> Any:
    """Return the current Spark session, or start one."""
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 (an extra)
    except ImportError:
        raise InputError(
            "--engine spark needs pyspark: install it with pip install 'tailguard[spark]'."
        ) from None
    # Workers run this Python, unless the user set another one.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    except Exception:
        pass
    raise InputError(
        "--engine spark must be able to start a session of Spark, and could not: Spark 4 needs "
        "Java 17 or newer, on the path or in JAVA_HOME."
    )
