"""Tables as columns that are asked for by name."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from tailguard.array_types import Features, IntArray
from tailguard.checks import InputError, is_registered
from tailguard.data.design.runs import Choose, Work
from tailguard.data.schema.declared import check_columns
from tailguard.data.tables import cells_of, column_names, to_matrix
from tailguard.data.tables.columns import kind_of
from tailguard.data.tables.kinds import LABELS, is_a, rows_of, table_column

COLUMNS = {
    "file": "tailguard.data.sources.files:FileColumns",
    "table": "tailguard.data.design.columns:TableColumns",
}
"""What offers columns. By class: a table of any package may have columns of whatever names."""


class Columns(Protocol):
    """A table whose columns are asked for by name.

    Examples
    --------
    >>> import pandas as pd
    >>> columns: Columns = TableColumns(pd.DataFrame({"age": [41, 50]}))
    >>> columns.names
    ('age',)
    """

    where: str
    names: tuple[str, ...]

    def numbers(self, names: Sequence[str]) -> Features:
        """Return columns as a matrix of numbers."""
        ...

    def cells(self, names: Sequence[str]) -> list[list[Any]]:
        """Return columns as lists of cells."""
        ...

    def target(self, name: str, classes: Sequence[Any] | None) -> Any:
        """Return the target: numbers, or labels of the kind that is declared."""
        ...

    def pieces(self, names: Sequence[str], n_rows: int) -> Iterator[Mapping[str, Any]]:
        """Yield columns by their names, of so many rows at a time, as they are."""
        ...


class BatchedTable(ABC):
    """A table that is read in batches, as often as it is asked for, in one order.

    What it says beside its batches is public: names, types and the number of records. Batches are
    read where what goes wrong is told to nobody.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from tailguard.data.sources.opening import opened
    >>> pq.write_table(pa.table({"age": [41, 50, 30]}), "ages.parquet")
    >>> table: BatchedTable = opened("ages.parquet")
    >>> [len(batch) for batch in table.batches(["age"], n_rows=2)]
    [2, 1]
    """

    where: str
    names: tuple[str, ...]
    n_rows: int

    def check_shape(self) -> None:
        """Refuse a table without rows or columns."""
        if self.n_rows < 1 or not self.names:
            raise InputError(
                f"X must have rows and columns; got {self.n_rows} and {len(self.names)}."
            )

    def tried_out(self, names: Sequence[str], n_rows: int) -> Iterable[Any]:
        """Refuse a table that cannot be read to its end; return more tables without rows.

        What works out a user's query, which may fail because of a cell, reads these columns once
        before anything is spent. Tables without rows are of types that it finds.
        """
        return []

    @abstractmethod
    def empties(self) -> Iterable[Any]:
        """Yield tables without rows: of the same columns, in all types that these may have."""

    @abstractmethod
    def batches(self, names: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Yield all rows in order, as tables in memory of about ``n_rows`` rows at most."""

    def added(self, names: Sequence[str], work: Work, chunk_rows: int) -> IntArray | None:
        """Return the sum of ``work`` over whole chunks, done where the records are; None if here.

        Each run begins at a multiple of ``chunk_rows``.
        """
        return None

    def chosen(self, names: Sequence[str], choose: Choose) -> Iterator[Any] | None:
        """Yield tables of chosen rows alone, chosen where the records are; None if that is here."""
        return None


class TableColumns:
    """The columns of a pandas, polars or pyarrow table.

    Examples
    --------
    >>> import pandas as pd
    >>> table = TableColumns(pd.DataFrame({"age": [41.5, 50.0], "power": [4, 5]}))
    >>> table.cells(["power"])
    [[4, 5]]
    """

    def __init__(self, table: Any, where: str = "X") -> None:
        self.where = where
        self.names = column_names(table) or ()
        self._table = table
        if not self.names:
            raise InputError(
                "X must be a pandas, polars or pyarrow table whose columns have names of text "
                f"to be read by name; got {type(table).__name__}."
            )

    def numbers(self, names: Sequence[str]) -> Features:
        """Return columns as a matrix of numbers."""
        check_columns(names, self.names, self.where)
        return to_matrix(self._chosen(names), self.where)

    def cells(self, names: Sequence[str]) -> list[list[Any]]:
        """Return columns as lists of cells."""
        columns = [self._column(name) for name in names]
        for name, column in zip(names, columns, strict=True):
            kind_of(column, f"Column {name!r} of {self.where}", LABELS)
        return [cells_of(column) for column in columns]

    def target(self, name: str, classes: Sequence[Any] | None) -> Any:
        """Return the target as the table has it: its type says how it is read."""
        return self._column(name)

    def pieces(self, names: Sequence[str], n_rows: int) -> Iterator[Mapping[str, Any]]:
        """Yield columns by their names, of so many rows at a time, as the table has them."""
        check_columns(names, self.names, self.where)
        for first in range(0, len(self._table), n_rows):
            rows = rows_of(self._table, first, min(first + n_rows, len(self._table)))
            yield {name: table_column(rows, name) for name in names}

    def _chosen(self, names: Sequence[str]) -> Any:
        """Return some columns as a table; neighbours in pandas are a view, picked ones a copy."""
        if not is_a(self._table, "pandas", "DataFrame"):
            return self._table.select(list(names))
        first = self.names.index(names[0]) if names else 0
        stop = first + len(names)
        neighbours = self.names[first:stop] == tuple(names)
        return self._table.iloc[:, first:stop] if neighbours else self._table[list(names)]

    def _column(self, name: str) -> Any:
        check_columns([name], self.names, self.where)
        return table_column(self._table, name)


def columns_of(table: Any) -> Columns:
    """Return the columns of a table in memory, or what offers columns already.

    Examples
    --------
    >>> import pandas as pd
    >>> columns_of(pd.DataFrame({"age": [41, 50]})).names
    ('age',)
    """
    columns: Columns = table if is_registered(table, COLUMNS) else TableColumns(table)
    return columns
