"""Sums over the parts of a table that workers hold, cut wherever they end.

A chunk is so many rows of the whole table. So whoever holds a part sums the whole chunks in it and
hands back the few rows before the first and after the last; those of all parts are put together at
the gate. A part that is worked out twice, since a worker was lost, counts once: what comes back
names its part, and nothing is added up on the way.
"""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from tailguard.array_types import IntArray
from tailguard.checks import InputError
from tailguard.data.design.runs import Work, runs_of
from tailguard.data.tables.kinds import rows_of

Edge: TypeAlias = tuple[Any, int]
"""Rows of a part outside its whole chunks, and the number of the first."""

# Rows that a worker sums at once: of twenty columns the 16 MB of a run.
RUN_ROWS = 100_000


def summed_part(
    tables: Iterable[Any], length: int, first: int, work: Work, chunk_rows: int
) -> tuple[IntArray | int, list[Edge]]:
    """Return the sum over the whole chunks of a part, and its rows before and after them.

    ``tables`` follow one another from row ``first`` of the whole table on, and have ``length`` rows
    together.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> part = [pa.table({"age": range(n)}) for n in (3, 4)]
    >>> total, edges = summed_part(part, 7, 2, lambda run: np.array([sum(map(len, run[0]))]), 4)
    >>> total, [(len(rows), first) for rows, first in edges]
    (array([4]), [(2, 2), (1, 8)])
    """
    start, stop = whole_chunks_of(length, first, chunk_rows)
    edges: list[Edge] = []
    place = 0

    def inside() -> Iterator[Any]:
        nonlocal place
        for table in tables:
            for low, high in ((0, start), (start, stop), (stop, length)):
                begin, end = max(low - place, 0), min(high - place, len(table))
                if begin >= end:
                    continue
                rows = rows_of(table, begin, end)
                if low == start < stop:
                    yield rows
                else:
                    edges.append((rows, first + place + begin))
            place += len(table)

    total: IntArray | int = 0
    for run, at in runs_of(inside(), max(RUN_ROWS // chunk_rows, 1) * chunk_rows):
        total = total + work((run, first + start + at))
    check_same(place, length)
    return total, edges


def whole_chunks_of(length: int, first: int, chunk_rows: int) -> tuple[int, int]:
    """Return where the whole chunks of a part begin and end in it.

    Examples
    --------
    >>> whole_chunks_of(7, 2, 4), whole_chunks_of(1, 2, 4)
    ((2, 6), (1, 1))
    """
    start = min(-first % chunk_rows, length)
    return start, max(start, length - (first + length) % chunk_rows)


def check_same(found: object, before: object) -> None:
    """Refuse parts that are not those there were before, by what is public of them.

    Examples
    --------
    >>> check_same(41, 50)
    Traceback (most recent call last):
    tailguard.checks.InputError: X must have the same rows whenever it is worked out.
    """
    if found != before:
        raise InputError("X must have the same rows whenever it is worked out.")


def summed_edges(edges: Iterable[Edge], work: Work, chunk_rows: int) -> IntArray | int:
    """Return the sum over the edges of all parts, in the order of the parts.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> edges = [(pa.table({"age": range(n)}), first) for n, first in ((3, 0), (1, 3), (2, 8))]
    >>> summed_edges(edges, lambda run: np.array([sum(map(len, run[0])), run[1]]), 4)
    array([6, 8])
    """
    total: IntArray | int = 0
    held: list[Any] = []
    begin = 0
    for table, first in edges:
        if held and first % chunk_rows == 0:
            total, held = total + work((held, begin)), []
        begin = begin if held else first
        held.append(table)
    return total + work((held, begin)) if held else total
