"""A Spark data frame: its partitions are summed by its workers, and whole numbers come back.

Every partition answers with rows of its own, which name it and are collected. Nothing is added up
by accumulators: Spark counts those of a task that is tried again twice.
"""

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from itertools import accumulate
from typing import Any, Self

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError
from tailguard.data.design.columns import BatchedTable
from tailguard.data.design.runs import Choose, Work
from tailguard.data.sources.lazy import check_typed, silenced
from tailguard.data.sources.part_sums import check_same, summed_edges, summed_part, whole_chunks_of

ANSWERS = "part long, first long, sums array<long>, rows binary"
"""What workers send: sums of a part, without rows; or rows and the number of the first."""

Batches = Iterable[Any]


class SparkTable(BatchedTable):
    """A Spark data frame, whose partitions follow one another.

    Opening it counts its rows. It must have the same rows in the same order, cut alike, whenever it
    is worked out.

    Examples
    --------
    >>> SparkTable("claims.parquet")
    Traceback (most recent call last):
    tailguard.checks.InputError: X must be a data frame of Spark 4 or later.
    """

    where = "X"

    def __init__(self, frame: Any) -> None:
        if not hasattr(frame, "toArrow"):
            raise InputError("X must be a data frame of Spark 4 or later.")
        self._frame = frame
        self._lengths: dict[tuple[str, ...], list[int]] = {}
        self.names = tuple(frame.columns)
        if len(set(self.names)) < len(self.names):
            raise InputError(f"X must have column names that differ; got {list(self.names)}.")
        check_typed(silenced(self._plan))
        self._nothing = silenced(lambda: frame.limit(0).toArrow())
        self.n_rows = int(silenced(frame.count))
        self.check_shape()

    def empties(self) -> Iterable[Any]:
        """Return the one table without rows of the types that Spark states."""
        return [self._nothing]

    def tried_out(self, names: Sequence[str], n_rows: int) -> Iterable[Any]:
        """Work these columns out once, on the workers, and refuse a table of which that fails."""
        silenced(lambda: self._lengths_of(names))
        return []

    def batches(self, names: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Yield all rows in order; one partition is here while the next one is worked out."""
        return chosen_rows(self._chosen(names).mapInArrow(_PartRows(), ANSWERS))

    def added(self, names: Sequence[str], work: Work, chunk_rows: int) -> IntArray:
        """Return the sum of ``work`` over whole chunks: on workers, but for edges of partitions."""
        parts = PartSums.of(self._lengths_of(names), work, chunk_rows)
        return parts.added(self._chosen(names).mapInArrow(parts, ANSWERS))

    def chosen(self, names: Sequence[str], choose: Choose) -> Iterator[Any]:
        """Yield the chosen rows of each partition, chosen by the workers."""
        return chosen_rows(self._chosen(names).mapInArrow(_PartRows(choose), ANSWERS))

    def _plan(self) -> str:
        """Return what Spark says that it will do."""
        with redirect_stdout(StringIO()) as said:
            self._frame.explain(True)
        return said.getvalue()

    def _chosen(self, names: Sequence[str]) -> Any:
        return self._frame.select(*("`" + name.replace("`", "``") + "`" for name in names))

    def _lengths_of(self, names: Sequence[str]) -> list[int]:
        """Count the rows of the partitions of these columns, once: Spark cuts by their sizes."""
        chosen = tuple(names)
        if chosen not in self._lengths:
            rows = self._chosen(names).mapInArrow(_PartLength(), ANSWERS).collect()
            counted = {row.part: row.first for row in rows}
            lengths = [counted.get(part, 0) for part in range(max(counted, default=-1) + 1)]
            check_same(sum(lengths), self.n_rows)
            self._lengths[chosen] = lengths
        return self._lengths[chosen]


@dataclass(frozen=True, eq=False)
class PartSums:
    """Sums the parts of a table, each on a worker, and adds up here what they answer.

    Parameters
    ----------
    work
        From a run of tables to whole numbers.
    lengths, firsts
        How many rows each part has, and the number of its first row.
    chunk_rows
        Rows of a chunk.

    Examples
    --------
    >>> import pyarrow as pa
    >>> parts = PartSums.of([3], lambda run: np.array([len(run[0][0])]), chunk_rows=2)
    >>> sums, edge = parts.of_part([pa.table({"age": [41, 50, 30]})], 0)
    >>> sums["sums"].to_pylist(), len(rows_of_answer(edge["rows"][0].as_py()))
    ([[2]], 1)
    """

    work: Work
    lengths: Sequence[int]
    firsts: Sequence[int]
    chunk_rows: int

    @classmethod
    def of(cls, lengths: Sequence[int], work: Work, chunk_rows: int) -> Self:
        """Say where parts of these lengths begin."""
        return cls(work, lengths, list(accumulate(lengths, initial=0)), chunk_rows)

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Answer on a worker for the partition that it has."""
        return self.of_part(batches, _part())

    def of_part(self, batches: Batches, part: int) -> Iterator[Any]:
        """Answer on a worker for one part."""
        length = self.lengths[part] if part < len(self.lengths) else 0
        first = self.firsts[min(part, len(self.lengths))]
        total, edges = summed_part(batches, length, first, self.work, self.chunk_rows)
        yield _answer(part, first, sums=np.atleast_1d(total).tolist())
        for rows, start in edges:
            yield _answer(part, start, rows=rows)

    def added(self, sent: Any) -> IntArray:
        """Collect what all parts answered, each of which must be there once, and add it up."""
        answers = sorted(sent.collect(), key=lambda row: (row.part, row.first))
        sums = [row for row in answers if row.rows is None]
        summed = [row.part for row in sums if row.part < len(self.lengths)]
        expected = [part for part, length in enumerate(self.lengths) if length]
        check_same([part for part in summed if self.lengths[part]], expected)
        edges = [row for row in answers if row.rows is not None]
        tables = [rows_of_answer(row.rows) for row in edges]
        sent_rows: Counter[int] = Counter()
        for row, table in zip(edges, tables, strict=True):
            sent_rows[row.part] += len(table)
        check_same([sent_rows[part] for part in range(len(self.lengths))], self._edge_rows())
        total: Any = sum(np.array(row.sums, dtype=np.int64) for row in sums)
        ends = zip(tables, (row.first for row in edges), strict=True)
        answer: IntArray = total + summed_edges(ends, self.work, self.chunk_rows)
        return answer

    def _edge_rows(self) -> list[int]:
        """Return how many rows of each part lie outside its whole chunks."""
        inside = (
            whole_chunks_of(length, first, self.chunk_rows)
            for length, first in zip(self.lengths, self.firsts, strict=False)
        )
        return [
            length - (stop - start)
            for length, (start, stop) in zip(self.lengths, inside, strict=True)
        ]


def part_rows(choose: Choose | None, batches: Batches, part: int) -> Iterator[Any]:
    """Send the rows of one part, or those that are chosen, batch by batch.

    Examples
    --------
    >>> import pyarrow as pa
    >>> batch = pa.record_batch({"age": [41, 50]})
    >>> [len(rows_of_answer(sent["rows"][0].as_py())) for sent in part_rows(None, [batch], 0)]
    [2]
    """
    first = 0
    for batch in batches:
        yield _answer(part, first, rows=batch if choose is None else choose(batch))
        first += len(batch)


class _PartLength:
    """Counts the rows of one partition on a worker."""

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Answer with their number in place of a first one."""
        yield _answer(_part(), sum(map(len, batches)))


@dataclass(frozen=True)
class _PartRows:
    """Sends the rows of one partition, or those that are chosen."""

    choose: Choose | None = None

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Answer with a batch of rows each time."""
        yield from part_rows(self.choose, batches, _part())


def chosen_rows(sent: Any) -> Iterator[Any]:
    """Yield the tables of rows that workers send; one partition is here while the next is made.

    Examples
    --------
    >>> list(chosen_rows(type("Sent", (), {"toLocalIterator": lambda self, **_: iter([])})()))
    []
    """
    for row in sent.toLocalIterator(prefetchPartitions=True):
        yield rows_of_answer(row.rows)


def rows_of_answer(sent: bytes) -> Any:
    """Return the table that a worker sent.

    Examples
    --------
    >>> import pyarrow as pa
    >>> answer = _answer(0, 7, rows=pa.table({"age": [41, 50]}))
    >>> rows_of_answer(answer["rows"][0].as_py())["age"].to_pylist()
    [41, 50]
    """
    import pyarrow as pa  # noqa: PLC0415 (an extra)

    return pa.ipc.open_stream(pa.py_buffer(bytes(sent))).read_all()


def spark_session() -> Any:
    """Return the session of Spark that is set, or start one.

    Examples
    --------
    >>> import sys
    >>> sys.modules["pyspark.sql"] = None  # as where it is not installed
    >>> spark_session()
    Traceback (most recent call last):
    tailguard.checks.InputError: --engine spark needs pyspark: install it with pip install \
'tailguard[spark]'.
    >>> del sys.modules["pyspark.sql"]
    """
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 (an extra)
    except ImportError:
        raise InputError(
            "--engine spark needs pyspark: install it with pip install 'tailguard[spark]'."
        ) from None
    # Workers run the Python that runs here, unless somebody says which.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    except Exception:
        pass
    raise InputError(
        "--engine spark must be able to start a session of Spark, and could not: Spark 4 needs "
        "Java 17 or newer, on the path or in JAVA_HOME."
    )


def _part() -> int:
    """Return the number of the partition that this task works on."""
    from pyspark import TaskContext  # noqa: PLC0415 (an extra)

    return int(TaskContext.get().partitionId())


def _answer(part: int, first: int, sums: list[int] | None = None, rows: Any = None) -> Any:
    """Return one row of answers; of rows their Arrow stream, and no more than the slice."""
    import pyarrow as pa  # noqa: PLC0415 (an extra)

    sent = None
    if rows is not None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write(rows)
        sent = sink.getvalue().to_pybytes()
    types = {"part": pa.int64(), "first": pa.int64(), "sums": pa.list_(pa.int64())}
    schema = pa.schema([*types.items(), ("rows", pa.binary())])
    columns = [[part], [first], [sums], [sent]]
    return pa.RecordBatch.from_arrays(
        [pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)], schema=schema
    )
