"""A Dask data frame: its partitions are summed by its workers, and whole numbers come back.

A lost worker's partition is worked out again, to the same whole numbers. Processes of a pool hand
over what they made by way of this one: there a partition is worked out and summed in one task, so
that no rows come here for it.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError
from tailguard.data.design.columns import BatchedTable
from tailguard.data.design.runs import Choose, Work
from tailguard.data.sources.lazy import check_typed, silenced
from tailguard.data.sources.part_sums import Edge, check_same, summed_edges, summed_part
from tailguard.data.tables.kinds import rows_at, rows_of

# Partial sums that one task adds up.
BRANCHES = 8
# Partitions that are here at the same time where records are gathered.
AT_ONCE = 4


class DaskTable(BatchedTable):
    """A Dask data frame, whose partitions follow one another.

    Opening it counts the rows of its partitions. It must have the same rows in the same order
    whenever it is worked out.

    Examples
    --------
    >>> import dask.dataframe as dd, pandas as pd
    >>> table = DaskTable(dd.from_pandas(pd.DataFrame({"age": range(5)}), npartitions=2))
    >>> table.n_rows, [len(batch) for batch in table.batches(["age"], 1000)]
    (5, [3, 2])
    """

    where = "X"

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._planned: dict[tuple[str, ...], list[Any]] = {}
        self.names = tuple(frame.columns)
        if not all(isinstance(name, str) for name in self.names):
            raise InputError("X must be a Dask data frame whose columns have names of text.")
        check_typed(" ".join(map(str, silenced(lambda: list(frame.__dask_graph__())))))
        heads = silenced(lambda: self._heads(self.names[:1]))
        self._lengths: list[int] = [length for length, _ in heads]
        self.n_rows = sum(self._lengths)
        self.check_shape()

    def empties(self) -> Iterable[Any]:
        """Return the one table without rows that Dask keeps of its types."""
        return [self._frame._meta]

    def tried_out(self, names: Sequence[str], n_rows: int) -> Iterable[Any]:
        """Work these columns out once, on the workers, and refuse a table of which that fails.

        A partition may have other types than Dask keeps, such as those of its own file.
        """
        heads = silenced(lambda: self._heads(names))
        check_same([length for length, _ in heads], self._lengths)
        return [empty for _, empty in heads]

    def batches(self, names: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Yield the partitions, of which a few are worked out at once."""
        from dask import compute  # noqa: PLC0415 (an extra)

        parts = self._parts(names)
        for start in range(0, len(parts), AT_ONCE):
            lengths = self._lengths[start : start + AT_ONCE]
            for batch, length in zip(
                compute(*parts[start : start + AT_ONCE]), lengths, strict=True
            ):
                check_same(len(batch), length)
                yield batch

    def added(self, names: Sequence[str], work: Work, chunk_rows: int) -> IntArray:
        """Return the sum of ``work`` over whole chunks: on workers, but for edges of partitions."""
        return summed_by_workers(self._parts(names), self._lengths, work, chunk_rows)

    def chosen(self, names: Sequence[str], choose: Choose) -> Iterator[Any]:
        """Yield the chosen rows of each partition, chosen by the workers."""
        return chosen_by_workers(self._parts(names), choose)

    def _heads(self, names: Sequence[str]) -> list[tuple[int, Any]]:
        """Return how many rows each partition has, and a table of its types without rows."""
        from dask import compute, delayed  # noqa: PLC0415 (an extra)

        return list(compute(*map(delayed(_head), _for_pool(self._parts(names)))))

    def _parts(self, names: Sequence[str]) -> list[Any]:
        """Return the partitions of these columns, planned once: Dask takes long over its plans."""
        if tuple(names) not in self._planned:
            every = set(names) == set(self.names)  # to pick them would copy all of them
            frame = self._frame if every else self._frame[list(names)]
            self._planned[tuple(names)] = list(frame.to_delayed())
        return self._planned[tuple(names)]


def summed_by_workers(
    parts: Sequence[Any], lengths: Sequence[int], work: Work, chunk_rows: int
) -> IntArray:
    """Return the sum of work over tables that workers make, whose lengths are known.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from dask import delayed
    >>> parts = [delayed(pd.DataFrame)({"age": range(n)}) for n in (3, 2)]
    >>> summed_by_workers(parts, [3, 2], lambda run: np.array([sum(map(len, run[0]))]), 4)
    array([5])
    """
    from dask import compute, delayed  # noqa: PLC0415 (an extra)

    sums, edges, first = [], [], 0
    for part, length in zip(_for_pool(parts), lengths, strict=True):
        cut = delayed(_summed, nout=2)(part, length, first, work, chunk_rows)
        sums.append(cut[0])
        edges.append(cut[1])
        first += length
    while len(sums) > 1:
        groups = (sums[i : i + BRANCHES] for i in range(0, len(sums), BRANCHES))
        sums = [delayed(sum)(group) for group in groups]
    total, found = compute(sums[0], edges)
    answer: IntArray = total + summed_edges(chain(*found), work, chunk_rows)
    return answer


def chosen_by_workers(parts: Sequence[Any], choose: Choose) -> Iterator[Any]:
    """Yield the chosen rows of tables that workers make, of which a few are worked out at once.

    Examples
    --------
    >>> import pandas as pd
    >>> from dask import delayed
    >>> parts = [delayed(pd.DataFrame)({"age": range(n)}) for n in (3, 2)]
    >>> [len(rows) for rows in chosen_by_workers(parts, lambda table: table[table["age"] > 0])]
    [2, 1]
    """
    from dask import compute, delayed  # noqa: PLC0415 (an extra)

    parts = _for_pool(parts)
    for start in range(0, len(parts), AT_ONCE):
        some = parts[start : start + AT_ONCE]
        yield from compute(*(delayed(_chosen)(part, choose) for part in some))


class _Recipe:
    """Tasks that make one part, which a worker works out itself."""

    def __init__(self, tasks: Any, key: Any) -> None:
        self._tasks = tasks
        self._key = key

    def made(self) -> Any:
        """Return the part."""
        from dask import get  # noqa: PLC0415 (an extra)

        return get(self._tasks, self._key)


def _for_pool(parts: Sequence[Any]) -> Sequence[Any]:
    """Return parts as recipes if a pool of processes works, and they have no task in common."""
    from dask import base, multiprocessing, optimization, utils  # noqa: PLC0415 (an extra)

    if base.get_scheduler(collections=list(parts)) is not multiprocessing.get:
        return parts
    graphs = [
        optimization.cull(utils.ensure_dict(part.__dask_graph__()), [part.key])[0] for part in parts
    ]
    if len(set().union(*graphs)) < sum(map(len, graphs)):
        return parts
    return [_Recipe(graph, part.key) for graph, part in zip(graphs, parts, strict=True)]


def _made(part: Any) -> Any:
    return part.made() if isinstance(part, _Recipe) else part


def _head(part: Any) -> tuple[int, Any]:
    table = _made(part)
    return len(table), rows_of(table, 0, 0)


def _chosen(part: Any, choose: Choose) -> Any:
    return choose(_made(part))


def _summed(
    part: Any, length: int, first: int, work: Work, chunk_rows: int
) -> tuple[IntArray | int, list[Edge]]:
    total, edges = summed_part([_made(part)], length, first, work, chunk_rows)
    # Copied: of a slice of Arrow all that it was cut from would be sent.
    return total, [(rows_at(rows, np.arange(len(rows))), place) for rows, place in edges]
