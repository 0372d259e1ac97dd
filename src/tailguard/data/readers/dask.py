"""A table whose parts are summed by workers of Dask; they return integers and a few edge rows.

If a worker is lost, its part is computed again, with the same integers. Processes of a pool pass
results to one another through this process. So each of them computes and sums a part in one task,
which keeps rows out of this process.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import chain
from typing import Any, Self

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError
from tailguard.data.frames import rows_at, rows_of
from tailguard.data.readers.lazy import check_typed, silenced
from tailguard.data.readers.parquet import ParquetFiles, row_group
from tailguard.data.table import Choose, Edge, Table, Work, check_same, summed_edges, summed_part

# Partial sums that one task adds.
BRANCHES = 8
# Parts in memory at the same time when records are gathered.
PARTS_AT_ONCE = 4


class DaskTable(Table):
    """Partitions of a Dask data frame, or row groups of files, which workers compute.

    Opening a data frame counts the rows of its partitions. It must give the same rows in the same
    order every time. Workers are those of the current client, or else threads of this process.

    Parameters
    ----------
    frame
        The data frame, with its partitions in order.

    Examples
    --------
    >>> import dask.dataframe as dd, pandas as pd
    >>> table = DaskTable(dd.from_pandas(pd.DataFrame({"age": range(5)}), npartitions=2))
    >>> table.n_rows, [len(batch) for batch in table.batches(["age"], 1000)]
    (5, [3, 2])
    """

    _files: ParquetFiles | None = None

    def __init__(self, frame: Any) -> None:
        self.names = tuple(frame.columns)
        if not all(isinstance(name, str) for name in self.names):
            raise InputError("X must be a Dask data frame whose column names are text.")
        self._empty_frames = [frame._meta]

        def parts(names: Sequence[str]) -> list[Any]:
            all_columns = set(names) == set(self.names)  # to select all would copy them
            chosen = frame if all_columns else frame[list(names)]
            # Full optimisation may join files, more if fewer columns are chosen.
            return list(chosen.simplify().to_delayed(optimize_graph=False))

        self._keep_parts(parts)
        check_typed(" ".join(silenced(lambda: _steps(frame))))
        heads = silenced(lambda: self._heads(self.names[:1]))
        self._lengths: list[int] = [length for length, _ in heads]
        self.n_rows = sum(self._lengths)
        self.check_shape()

    @classmethod
    def of_files(cls, files: ParquetFiles) -> Self:
        """Return the table of Parquet files; workers need them at the same paths."""
        from dask import delayed  # noqa: PLC0415 (an extra)

        table = cls.__new__(cls)
        table.where, table.names, table.n_rows = files.where, files.names, files.n_rows
        groups, table._lengths = files.row_groups()
        read_part = delayed(row_group, pure=False)
        table._files = files
        table._empty_frames = list(files.without_rows())
        table._keep_parts(lambda names: [read_part(*group, list(names)) for group in groups])
        return table

    def _keep_parts(self, parts: Callable[[Sequence[str]], list[Any]]) -> None:
        """Keep the delayed parts of each set of columns, since Dask makes them slowly."""
        cached_parts = cache(parts)
        self._parts: Callable[[Sequence[str]], list[Any]] = lambda names: cached_parts(tuple(names))

    def without_rows(self) -> Iterable[Any]:
        """Return Dask's empty frame with its types, or those of files."""
        return self._empty_frames

    def try_reading(self, names: Sequence[str], n_rows: int) -> Iterable[Any]:
        """Compute these columns once, on the workers; refuse a table that fails.

        The types of a partition may differ from those that Dask has recorded, since the
        partition may have the types of its own file.
        """
        if self._files is not None:
            return []
        heads = silenced(lambda: self._heads(names))
        check_same([length for length, _ in heads], self._lengths)
        return [empty for _, empty in heads]

    def batches(self, names: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Yield the partitions, a few computed at once; read files in this process."""
        from dask import compute  # noqa: PLC0415 (an extra)

        if self._files is not None:
            yield from self._files.batches(names, n_rows)
            return
        parts = self._parts(names)
        for start in range(0, len(parts), PARTS_AT_ONCE):
            lengths = self._lengths[start : start + PARTS_AT_ONCE]
            batches = compute(*parts[start : start + PARTS_AT_ONCE])
            for batch, length in zip(batches, lengths, strict=True):
                check_same(len(batch), length)
                yield batch

    def worker_sum(self, names: Sequence[str], work: Work, chunk_rows: int) -> IntArray:
        """Return the sum of ``work``: workers sum complete chunks and send the edges of parts."""
        from dask import compute, delayed  # noqa: PLC0415 (an extra)

        sums, edges, first = [], [], 0
        for part, length in zip(_for_pool(self._parts(names)), self._lengths, strict=True):
            result = delayed(_summed, nout=2)(part, length, first, work, chunk_rows)
            sums.append(result[0])
            edges.append(result[1])
            first += length
        while len(sums) > 1:
            groups = [sums[start : start + BRANCHES] for start in range(0, len(sums), BRANCHES)]
            sums = [delayed(sum)(group) for group in groups]
        total, edges = compute(sums[0], edges)
        return total + summed_edges(chain(*edges), work, chunk_rows)

    def worker_rows(self, names: Sequence[str], choose: Choose) -> Iterator[Any]:
        """Yield the rows that workers choose from each part, a few parts at once."""
        from dask import compute, delayed  # noqa: PLC0415 (an extra)

        parts = _for_pool(self._parts(names))
        for start in range(0, len(parts), PARTS_AT_ONCE):
            batch = parts[start : start + PARTS_AT_ONCE]
            yield from compute(*(delayed(_chosen)(part, choose) for part in batch))

    def _heads(self, names: Sequence[str]) -> list[tuple[int, Any]]:
        """Return the number of rows of each part, and an empty frame with its types."""
        from dask import compute, delayed  # noqa: PLC0415 (an extra)

        return list(compute(*map(delayed(_head), _for_pool(self._parts(names)))))


def _steps(frame: Any) -> list[str]:
    """Return the names of all tasks and steps, among them readers of files, such as read-csv.

    Optimised frames join steps into one task with a shorter name.
    """
    steps, waiting = [], [getattr(frame, "expr", None)]  # frames of an older Dask have none
    while waiting:
        for step in () if (joined := waiting.pop()) is None else joined.walk():
            steps.append(str(step._name))
            # Not by ``getattr``, which would find a column of that name.
            waiting += step.operand("exprs") if "exprs" in step._parameters else []
    return [*map(str, frame.__dask_graph__()), *steps]


def _for_pool(parts: Sequence[Any]) -> Sequence[Any]:
    """Return parts as functions if a process pool computes them and they share no task."""
    from dask import base, get, multiprocessing, optimization, utils  # noqa: PLC0415 (an extra)

    if base.get_scheduler(collections=list(parts)) is not multiprocessing.get:
        return parts
    graphs = [
        optimization.cull(utils.ensure_dict(part.__dask_graph__()), [part.key])[0] for part in parts
    ]
    if len(set().union(*graphs)) < sum(map(len, graphs)):
        return parts
    return [partial(get, graph, part.key) for graph, part in zip(graphs, parts, strict=True)]


def _computed(part: Any) -> Any:
    """Return the frame of a part, which may be a function that computes it."""
    return part() if isinstance(part, partial) else part


def _head(part: Any) -> tuple[int, Any]:
    """Return the number of rows of a part, and an empty frame with its types."""
    frame = _computed(part)
    return len(frame), rows_of(frame, 0, 0)


def _chosen(part: Any, choose: Choose) -> Any:
    return choose(_computed(part))


def _summed(
    part: Any, length: int, first: int, work: Work, chunk_rows: int
) -> tuple[IntArray | int, list[Edge]]:
    total, edges = summed_part([_computed(part)], length, first, work, chunk_rows)
    # Copy the rows: an Arrow slice would be sent with its whole buffer.
    return total, [(rows_at(rows, np.arange(len(rows))), place) for rows, place in edges]
