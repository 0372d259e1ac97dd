"""Tables of other libraries that are worked out or opened anew for every pass.

Whatever a library says of a failure may quote a cell, so it is never passed on.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tailguard.checks import InputError
from tailguard.design.columns import BatchedTable
from tailguard.quiet import quietly

# How polars, DuckDB, Spark, Dask and Arrow say that they read text.
TEXT_READ = re.compile(
    r"(csv|json) scan|scan (csv|json|xml)|read[-_ ](csv|json|table|fwf)", re.IGNORECASE
)

Read = Callable[[Sequence[str], int], Iterable[Any]]
"""From names and a number of rows to batches."""


@dataclass(frozen=True, eq=False)
class LazyTable(BatchedTable):
    """A table that a function reads, always alike.

    Parameters
    ----------
    names, n_rows
        Its columns, and the public number of its records.
    nothing
        The same columns without rows.
    read
        Reads it from the start.
    where
        What to call it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [41, 50, 30]})
    >>> lazy = LazyTable(("age",), 3, table[:0], lambda names, n: table.select(names).to_batches(n))
    >>> [len(batch) for batch in lazy.batches(["age"], 2)]
    [2, 1]
    """

    names: tuple[str, ...]
    n_rows: int
    nothing: Any
    read: Read
    where: str = "X"

    def __post_init__(self) -> None:
        self.check_shape()

    def empties(self) -> Iterable[Any]:
        """Return the one table without rows."""
        return [self.nothing]

    def batches(self, names: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Yield all rows in the order in which the library has them."""
        yield from self.read(names, n_rows)


def of_arrow_readers(open_reader: Callable[[], Any]) -> LazyTable:
    """Return what a function opens that returns a fresh ``RecordBatchReader`` at each call.

    It is read once to count its rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [41, 50, 30]})
    >>> of_arrow_readers(table.to_reader).n_rows
    3
    """
    import pyarrow as pa  # noqa: PLC0415 (an extra)

    def opened() -> Any:
        return pa.RecordBatchReader.from_stream(open_reader())

    def count() -> tuple[Any, int]:
        return opened().schema, sum(len(batch) for batch in opened())

    schema, n_rows = silenced("the reader that X returns", count)
    return LazyTable(
        tuple(schema.names),
        n_rows,
        schema.empty_table(),
        lambda names, _: (batch.select(list(names)) for batch in opened()),
    )


def of_arrow_dataset(dataset: Any) -> LazyTable:
    """Return a ``pyarrow.dataset`` as it is scanned, a few batches ahead.

    It must have no file whose types differ from its own: to turn one into the other may fail
    because of a cell.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.dataset as ds
    >>> of_arrow_dataset(ds.dataset(pa.table({"age": [41, 50, 30]}))).n_rows
    3
    """
    from pyarrow import types  # noqa: PLC0415 (the user has it)

    own = {field.name: field.type for field in dataset.schema}
    for fragment in dataset.get_fragments():
        check_typed(f"read_{getattr(fragment, 'format', None) and fragment.format.default_extname}")
        for field in fragment.physical_schema:
            # A column of nulls becomes one of any type.
            if own.get(field.name, field.type) != field.type and not types.is_null(field.type):
                raise InputError(
                    f"X must be a dataset whose files have its types; column {field.name!r} has "
                    "another in one of them: pass the folder's path, whose files are each read by "
                    "their own types."
                )
    return LazyTable(
        tuple(dataset.schema.names),
        silenced("X", dataset.count_rows),
        dataset.schema.empty_table(),
        lambda names, n_rows: dataset.to_batches(
            columns=list(names), batch_size=n_rows, batch_readahead=2, fragment_readahead=1
        ),
    )


def of_polars(frame: Any) -> LazyTable:
    """Return a polars ``LazyFrame``, collected in batches.

    Examples
    --------
    >>> import polars as pl
    >>> lazy = of_polars(pl.LazyFrame({"age": [41, 50, 30]}).with_columns(old=pl.col("age") > 40))
    >>> lazy.names, lazy.n_rows
    (('age', 'old'), 3)
    """
    import polars as pl  # noqa: PLC0415 (the user has it)

    if not hasattr(frame, "collect_batches"):
        raise InputError("X must be a LazyFrame of polars 1.34 or later; call .collect() first.")
    check_typed(silenced("X", lambda: frame.explain(optimized=False)))
    schema = silenced("X", frame.collect_schema)
    return LazyTable(
        tuple(schema.names()),
        silenced("X", lambda: int(frame.select(pl.len()).collect().item())),
        pl.DataFrame(schema=schema),
        lambda names, n_rows: frame.select(names).collect_batches(
            chunk_size=n_rows, maintain_order=True
        ),
    )


def of_duckdb(relation: Any) -> LazyTable:
    """Return a DuckDB relation, queried anew for each pass through Arrow.

    Its rows must come in one order: in that of a file, or by an identifier without ties.

    Examples
    --------
    >>> of_duckdb("select age from claims")
    Traceback (most recent call last):
    tailguard.checks.InputError: X must be a relation of a DuckDB that has to_arrow_reader; \
update it.
    """
    if not hasattr(relation, "to_arrow_reader"):
        raise InputError("X must be a relation of a DuckDB that has to_arrow_reader; update it.")

    check_typed(silenced("X", relation.explain))

    def chosen(names: Sequence[str]) -> Any:
        quoted = ('"' + name.replace('"', '""') + '"' for name in names)
        return relation.project(", ".join(quoted))

    return LazyTable(
        tuple(relation.columns),
        silenced("X", lambda: int(relation.aggregate("count(*)").fetchall()[0][0])),
        silenced("X", lambda: relation.limit(0).to_arrow_table()),
        lambda names, n_rows: chosen(names).to_arrow_reader(n_rows),
    )


def check_typed(plan: str) -> None:
    """Refuse what a library reads from text, guessing types: one cell decides how all are read.

    ``plan`` is what the library says that it will do.

    Examples
    --------
    >>> check_typed("Parquet SCAN [claims.parquet]")
    >>> check_typed("Csv SCAN [claims.csv]")
    Traceback (most recent call last):
    tailguard.checks.InputError: X must come from files that carry types, such as Parquet; a \
library that reads text guesses them from cells: pass the path of the CSV file itself.
    """
    if TEXT_READ.search(plan):
        raise InputError(
            "X must come from files that carry types, such as Parquet; a library that reads text "
            "guesses them from cells: pass the path of the CSV file itself."
        )


def silenced(name: str, ask: Callable[[], Any]) -> Any:
    """Return what a library answers; what it says of a failure is not passed on.

    Examples
    --------
    >>> silenced("X", lambda: int("forty-one"))
    Traceback (most recent call last):
    tailguard.checks.InputError: X must be readable to its end; reading it failed.
    """
    try:
        with quietly():
            return ask()
    except Exception:
        pass
    raise InputError(f"{name} must be readable to its end; reading it failed.")
