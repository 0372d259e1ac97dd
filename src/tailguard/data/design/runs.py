"""Runs of tables that follow one another: what the one worker function of every engine takes."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from tailguard.array_types import IntArray
from tailguard.data.tables.kinds import rows_of

Run: TypeAlias = tuple[list[Any], int]
"""Tables that follow one another, and the number of their first record, which begins a chunk."""

Work: TypeAlias = Callable[[Run], IntArray]
"""From a run to whole numbers."""

Choose: TypeAlias = Callable[[Any], Any]
"""From a table to those of its rows that are wanted."""


def runs_of(tables: Iterable[Any], n_rows: int) -> Iterator[Run]:
    """Cut tables anew into runs of ``n_rows`` records, whole chunks, the last one shorter.

    Examples
    --------
    >>> import pyarrow as pa
    >>> tables = [pa.table({"age": range(n)}) for n in (700, 900, 0, 500)]
    >>> [(sum(map(len, run)), first) for run, first in runs_of(tables, 1024)]
    [(1024, 0), (1024, 1024), (52, 2048)]
    """
    held: list[Any] = []
    first = n_held = 0
    for table in tables:
        start, stop = 0, len(table)
        while start < stop:
            length = min(stop - start, n_rows - n_held)
            held.append(rows_of(table, start, start + length))
            start, n_held = start + length, n_held + length
            if n_held == n_rows:
                yield held, first
                first, held, n_held = first + n_rows, [], 0
    if held:
        yield held, first
