"""Runs of frames, and sums over the parts of a table that workers hold, cut wherever they end.

A chunk is so many rows of the whole table. So whoever holds a part sums the whole chunks in it and
hands back the few rows before the first and after the last; those of all parts are put together at
the gate. A part that is worked out twice, since a worker was lost, counts once: what comes back
names its part, and nothing is added up on the way.
"""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from tailguard.array_types import IntArray
from tailguard.checks import InputError
from tailguard.data.frames import rows_of
from tailguard.data.table import Run, Work

Edge: TypeAlias = tuple[Any, int]
"""Rows of a part outside its whole chunks, and the number of the first."""

# Rows that a worker sums at once: of twenty columns the 16 MB of a run.
RUN_ROWS = 100_000


def runs_of(frames: Iterable[Any], n_rows: int) -> Iterator[Run]:
    """Cut frames anew into runs of ``n_rows`` records, whole chunks, the last one shorter.

    Examples
    --------
    >>> import pyarrow as pa
    >>> tables = [pa.table({"age": range(n)}) for n in (700, 900, 0, 500)]
    >>> [(sum(map(len, run)), first) for run, first in runs_of(tables, 1024)]
    [(1024, 0), (1024, 1024), (52, 2048)]
    """
    held: list[Any] = []
    first = n_held = 0
    for frame in frames:
        start, stop = 0, len(frame)
        while start < stop:
            length = min(stop - start, n_rows - n_held)
            held.append(rows_of(frame, start, start + length))
            start, n_held = start + length, n_held + length
            if n_held == n_rows:
                yield held, first
                first, held, n_held = first + n_rows, [], 0
    if held:
        yield held, first


def summed_part(
    frames: Iterable[Any], length: int, first: int, work: Work, chunk_rows: int
) -> tuple[IntArray | int, list[Edge]]:
    """Return the sum over the whole chunks of a part, and its rows before and after them.

    ``frames`` follow one another from row ``first`` of the whole table on, and have ``length`` rows
    together.
    """
    start, stop = whole_chunks_of(length, first, chunk_rows)
    edges: list[Edge] = []
    place = 0

    def inside() -> Iterator[Any]:
        nonlocal place
        for frame in frames:
            for low, high in ((0, start), (start, stop), (stop, length)):
                begin, end = max(low - place, 0), min(high - place, len(frame))
                if begin >= end:
                    continue
                rows = rows_of(frame, begin, end)
                if low == start < stop:
                    yield rows
                else:
                    edges.append((rows, first + place + begin))
            place += len(frame)

    total: IntArray | int = 0
    for run, at in runs_of(inside(), max(RUN_ROWS // chunk_rows, 1) * chunk_rows):
        total = total + work((run, first + start + at))
    check_same(place, length)
    return total, edges


def whole_chunks_of(length: int, first: int, chunk_rows: int) -> tuple[int, int]:
    """Return where the whole chunks of a part begin and end in it."""
    start = min(-first % chunk_rows, length)
    return start, max(start, length - (first + length) % chunk_rows)


def check_same(found: object, before: object) -> None:
    """Refuse parts that are not those there were before, by what is public of them."""
    if found != before:
        raise InputError("X must have the same rows whenever it is worked out.")


def summed_edges(edges: Iterable[Edge], work: Work, chunk_rows: int) -> IntArray | int:
    """Return the sum over the edges of all parts, in the order of the parts."""
    total: IntArray | int = 0
    held: list[Any] = []
    begin = 0
    for frame, first in edges:
        if held and first % chunk_rows == 0:
            total, held = total + work((held, begin)), []
        begin = begin if held else first
        held.append(frame)
    return total + work((held, begin)) if held else total
