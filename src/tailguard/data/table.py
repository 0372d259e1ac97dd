"""A table: named columns of typed cells, whose rows are read in one fixed order.

The names, types and number of records of a table are public. A table yields its cells as frames
(``frames.py``). Code that reads cells hides its failures (``quiet.py``).

Workers may hold parts of a table. A part may begin at any row, but chunks are counted from the
first row of the whole table. So a worker sums the complete chunks of its part and sends back the
few rows before and after them; the gate joins these rows of all parts into chunks. If a worker is
lost, its part is computed again. The part still counts once: each answer names its part, and
workers keep no totals.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, TypeAlias

from tailguard.array_types import IntArray
from tailguard.checks import InputError
from tailguard.data.columns import numbers_of
from tailguard.data.frames import check_in_memory, column_names, frame_column, rows_of

Run: TypeAlias = tuple[list[Any], int]
"""Consecutive frames, and the number of their first record, which begins a chunk."""

Work: TypeAlias = Callable[[Run], IntArray]
"""From a run to whole numbers: the function that workers of every engine run."""

Choose: TypeAlias = Callable[[Any], Any]
"""From a frame to its chosen rows."""

Edge: TypeAlias = tuple[Any, int]
"""Rows of a part outside its complete chunks, and the number of the first row."""

CHANGED = "X must have the same rows whenever it is read."
"""The error message for a table that changed between two passes."""

# Rows that a worker sums at once: 16 MB for twenty columns.
RUN_ROWS = 100_000


class Table(ABC):
    """Named columns, read in frames, any number of times, always in the same order.

    Attributes
    ----------
    where
        The name of the table in error messages.
    names, n_rows
        Its columns, and the public number of its records.
    streamed
        Whether records are read again for each sum; otherwise all are in memory.
    """

    streamed: ClassVar[bool] = True
    where: str = "X"
    names: tuple[str, ...]
    n_rows: int

    @abstractmethod
    def without_rows(self) -> Iterable[Any]:
        """Yield frames without rows: the columns of the table, in each combination of types."""

    @abstractmethod
    def batches(self, names: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Yield all rows of these columns in order, in frames of at most about ``n_rows`` rows."""

    def try_reading(self, names: Sequence[str], n_rows: int) -> Iterable[Any]:
        """Refuse a table that cannot be read to its end; return more frames without rows.

        A user's query may fail because of a cell. So tables that run queries read these columns
        once before any budget is spent, and return empty frames with the types that occur.
        """
        return []

    def worker_sum(self, names: Sequence[str], work: Work, chunk_rows: int) -> IntArray | None:
        """Return the sum of ``work`` as computed by workers; None if the table has no workers.

        Each run begins at a multiple of ``chunk_rows``.
        """
        return None

    def worker_rows(self, names: Sequence[str], choose: Choose) -> Iterator[Any] | None:
        """Yield frames of the rows that workers chose; None if the table has no workers."""
        return None

    def check_types(self, numeric: Sequence[str]) -> None:
        """Refuse a table if one of these columns has no numeric type."""
        for empty in self.without_rows():
            for name in numeric:
                numbers_of(frame_column(empty, name), f"Column {name!r} of {self.where}")

    def check_shape(self) -> None:
        """Refuse a table without rows or columns."""
        if self.n_rows < 1 or not self.names:
            raise InputError(
                f"X must have rows and columns; got {self.n_rows} and {len(self.names)}."
            )


class FrameTable(Table):
    """A pandas, polars or pyarrow table whose column names are text."""

    streamed = False

    def __init__(self, frame: Any) -> None:
        check_in_memory(frame)
        self.frame = frame
        self.names = column_names(frame) or ()
        if not self.names:
            raise InputError(
                "X must be a pandas, polars or pyarrow table whose column names are text, since "
                f"columns are to be read by name; got {type(frame).__name__}."
            )
        self.n_rows = len(frame)

    def without_rows(self) -> Iterable[Any]:
        """Return the one frame without rows."""
        return [rows_of(self.frame, 0, 0)]

    def batches(self, names: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Yield the frame or parts of it, with all columns."""
        for first in range(0, max(1, self.n_rows), n_rows):
            yield rows_of(self.frame, first, min(first + n_rows, self.n_rows))


class Piece(Table):
    """Some rows of a table, in memory as one frame."""

    streamed = False

    def __init__(self, table: Table, names: Sequence[str], frame: Any) -> None:
        self.where, self.names, self.frame = table.where, tuple(names), frame
        self.n_rows = len(next(iter(frame.values()))) if isinstance(frame, dict) else len(frame)

    def without_rows(self) -> Iterable[Any]:
        """Return nothing: types are checked for the whole table."""
        return []

    def batches(self, names: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Yield the one frame."""
        yield self.frame


def checked_names(where: str, names: Sequence[str]) -> tuple[str, ...]:
    """Refuse repeated names and columns without a name, such as an index that pandas wrote."""
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise InputError(
                f"{where} must have a name for every column; "
                f"give column {position} a name or leave it out."
            )
    if len(set(names)) < len(names):
        repeated = next(name for name in names if list(names).count(name) > 1)
        raise InputError(f"{where} must have column names that differ; got {repeated!r} twice.")
    return tuple(names)


def check_count(where: str, n_rows: int, fewest: int) -> None:
    """Refuse a table with fewer than ``fewest`` records."""
    if n_rows < fewest:
        records = "record" if fewest == 1 else "records"
        raise InputError(f"{where} must have at least {fewest} {records}; got {n_rows}.")


def as_table(X: Any) -> Table:
    """Return a table unchanged; wrap a frame."""
    return X if isinstance(X, Table) else FrameTable(X)


def names_in(X: Any) -> tuple[str, ...]:
    """Return the column names of a table or a frame; none of anything else."""
    return X.names if isinstance(X, Table) else column_names(X) or ()


def runs_of(frames: Iterable[Any], n_rows: int) -> Iterator[Run]:
    """Cut frames into runs of ``n_rows`` records, complete chunks; the last run may be shorter."""
    run: list[Any] = []
    first = run_length = 0
    for frame in frames:
        start, stop = 0, len(frame)
        while start < stop:
            length = min(stop - start, n_rows - run_length)
            run.append(rows_of(frame, start, start + length))
            start, run_length = start + length, run_length + length
            if run_length == n_rows:
                yield run, first
                first, run, run_length = first + n_rows, [], 0
    if run:
        yield run, first


def summed_part(
    frames: Iterable[Any], length: int, first: int, work: Work, chunk_rows: int
) -> tuple[IntArray | int, list[Edge]]:
    """Return the sum over the complete chunks of a part, and its rows before and after them.

    ``frames`` are consecutive, begin at row ``first`` of the whole table, and have ``length`` rows
    in total.
    """
    start, stop = whole_chunks_of(length, first, chunk_rows)
    edges: list[Edge] = []
    place = 0

    def complete_chunks() -> Iterator[Any]:
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
    for run, offset in runs_of(complete_chunks(), max(RUN_ROWS // chunk_rows, 1) * chunk_rows):
        total = total + work((run, first + start + offset))
    check_same(place, length)
    return total, edges


def whole_chunks_of(length: int, first: int, chunk_rows: int) -> tuple[int, int]:
    """Return the bounds, within a part, of its complete chunks."""
    start = min(-first % chunk_rows, length)
    return start, max(start, length - (first + length) % chunk_rows)


def check_same(now: object, before: object) -> None:
    """Refuse a table whose facts changed between two passes; no number is shown."""
    if now != before:
        raise InputError(CHANGED)


def summed_edges(edges: Iterable[Edge], work: Work, chunk_rows: int) -> IntArray | int:
    """Return the sum over the edges of all parts, in the order of the parts."""
    total: IntArray | int = 0
    run: list[Any] = []
    run_first = 0
    for frame, first in edges:
        if run and first % chunk_rows == 0:
            total, run = total + work((run, run_first)), []
        run_first = run_first if run else first
        run.append(frame)
    return total + work((run, run_first)) if run else total
