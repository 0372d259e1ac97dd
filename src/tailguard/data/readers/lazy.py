"""Tables of other libraries that are computed or opened again for every pass.

A library that reads several files as one table chooses one type for each column. A cell of one file
may decide that type, and the library fails if a cell of another file does not fit. So a query may
read at most one file, and each file of a dataset is read with its own types. The error message of a
library may quote a cell, so this module never passes it on.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tailguard.checks import InputError
from tailguard.data.table import Table, check_same
from tailguard.quiet import quietly

# Words in query plans of polars, DuckDB, Spark, Dask and Arrow: text or untyped cells are read.
TEXT_READ = re.compile(
    r"(csv|json) scan|scan (csv|json|xml)|read[-_ ](csv|json|table|fwf|xlsx)", re.IGNORECASE
)
# The list of files of a scan in a plan of polars; it is empty if a function gives the rows.
FILES_SCANNED = re.compile(r"SCAN \[([^\]]*)\]")
# A step in a plan of polars that fails if a cell does not fit.
STRICT_STEP = re.compile(
    r'(?:col\("([^"]+)"\)[\w.]*)?\.(?:strict_cast\(|replace_strict\(|strptime\(\["raise")'
)
# Parts of a plan of DuckDB: a scan of Parquet files, and the numbers of files read and listed.
PARQUET_READ = re.compile(r"parquet[_ ]scan|read[_ ]parquet", re.IGNORECASE)
FILES_READ = re.compile(r"Total Files Read:\D*(\d+)")
FILES_LISTED = re.compile(r"Scanning Files:\D*\d+/(\d+)")

FAILED = "X must be readable to its end; reading it failed."
"""The error message of any failure."""

# One message for two causes: it must not reveal that a cell made a query fail.
NO_QUERY = (
    "X must be a query of one file at most, and no cell may make a step of it fail; nothing is "
    "spent: pass the path of several files, which are each read by their own types, or load them "
    "into a table whose types you declare; cast with TRY_CAST, or with strict=False."
)

Read = Callable[[Sequence[str], int], Iterable[Any]]
"""From names and the number of rows of a batch to batches."""


@dataclass(frozen=True, eq=False)
class LazyTable(Table):
    """A table that a function reads, with the same result every time.

    Parameters
    ----------
    names, n_rows
        Its columns, and the public number of its records.
    empty_frames
        The same columns without rows, in each combination of types.
    read
        Reads the table from the start.
    check
        Refuses to read columns if the library's plan for them is unsuitable.
    failure
        The error message if reading fails.
    where
        The name of the table in error messages.
    """

    names: tuple[str, ...]
    n_rows: int
    empty_frames: Sequence[Any]
    read: Read
    check: Callable[[Sequence[str]], None] = lambda names: None
    failure: str = FAILED
    where: str = "X"

    def __post_init__(self) -> None:
        self.check_shape()

    def without_rows(self) -> Iterable[Any]:
        """Return tables without rows."""
        return self.empty_frames

    def batches(self, names: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Yield all rows in the order of the library."""
        yield from self.read(names, n_rows)

    def try_reading(self, names: Sequence[str], n_rows: int) -> Iterable[Any]:
        """Read these columns once; refuse a table that fails."""

        def check_and_read() -> None:
            self.check(names)
            check_same(sum(map(len, self.batches(names, n_rows))), self.n_rows)

        silenced(check_and_read, self.failure)
        return []


def of_arrow_readers(open_reader: Callable[[], Any]) -> LazyTable:
    """Return the table of a function that opens a new ``RecordBatchReader`` at each call.

    It reads the table once to count the rows.
    """
    import pyarrow as pa  # noqa: PLC0415 (an extra)

    def opened() -> Any:
        return pa.RecordBatchReader.from_stream(open_reader())

    def count() -> tuple[Any, int]:
        return opened().schema, sum(len(batch) for batch in opened())

    schema, n_rows = silenced(count, FAILED.replace("X", "the reader that X returns"))
    return LazyTable(
        tuple(schema.names),
        n_rows,
        [schema.empty_table()],
        lambda names, _: (batch.select(list(names)) for batch in opened()),
    )


def of_arrow_dataset(dataset: Any) -> LazyTable:
    """Return the table of a ``pyarrow.dataset``; each file is read with its own types.

    Converting files to the types of the dataset could fail because of a cell. A column that a file
    lacks is empty there; a column from a folder's name has the type of the dataset.
    """
    import pyarrow as pa  # noqa: PLC0415 (the user has it)

    try:
        fragments = list(dataset.get_fragments())
    except ValueError:
        raise InputError(
            "X must be a dataset without a filter; pass the whole dataset, or a function that "
            "returns a reader of the filtered rows."
        ) from None
    parts = []
    for fragment in fragments:
        check_typed(f"read_{getattr(fragment, 'format', None) and fragment.format.default_extname}")
        file_fields = {field.name: field for field in fragment.physical_schema}
        fields = [file_fields.get(field.name, field) for field in dataset.schema]
        parts.append((fragment, pa.schema(fields)))

    def read(names: Sequence[str], n_rows: int) -> Iterator[Any]:
        for fragment, schema in parts:
            yield from fragment.to_batches(
                schema=schema, columns=list(names), batch_size=n_rows, batch_readahead=2
            )

    return LazyTable(
        tuple(dataset.schema.names),
        silenced(lambda: sum(fragment.count_rows() for fragment in fragments)),
        [schema.empty_table() for _, schema in parts] or [dataset.schema.empty_table()],
        read,
    )


def of_polars(frame: Any) -> LazyTable:
    """Return the table of a polars ``LazyFrame`` over at most one file, collected in batches."""
    import polars as pl  # noqa: PLC0415 (the user has it)

    if not hasattr(frame, "collect_batches"):
        raise InputError("X must be a LazyFrame of polars 1.34 or later; call .collect() first.")
    plan = silenced(lambda: frame.explain(optimized=False), NO_QUERY)
    check_typed(plan)
    scans = FILES_SCANNED.findall(plan)
    if "" in scans or ", " in ", ".join(scans):
        raise InputError(NO_QUERY)
    if strict := STRICT_STEP.search(plan):
        column = "X" if strict[1] is None else f"Column {strict[1]!r} of X"
        raise InputError(
            f"{column} must be cast with strict=False: a strict step of a lazy frame fails because "
            "of one cell."
        )
    schema = silenced(frame.collect_schema, NO_QUERY)
    return LazyTable(
        tuple(schema.names()),
        silenced(lambda: int(frame.select(pl.len()).collect().item()), NO_QUERY),
        [pl.DataFrame(schema=schema)],
        lambda names, n_rows: frame.select(names).collect_batches(
            chunk_size=n_rows, maintain_order=True
        ),
        failure=NO_QUERY,
    )


def of_duckdb(relation: Any) -> LazyTable:
    """Return the table of a DuckDB relation over at most one file, queried again for each pass.

    Its rows must have a fixed order: that of a file, or of an identifier without ties.
    """
    if not hasattr(relation, "to_arrow_reader"):
        raise InputError("X must be a relation of a DuckDB that has to_arrow_reader; update it.")
    plan = silenced(relation.explain, NO_QUERY)
    check_typed(plan)

    def selected(names: Sequence[str]) -> Any:
        quoted = ('"' + name.replace('"', '""') + '"' for name in names)
        return relation.project(", ".join(quoted))

    def check(names: Sequence[str]) -> None:
        """Refuse several files; DuckDB counts files only when it runs a query."""
        query = selected(names)
        profile = query.explain("analyze")
        n_read, n_listed = (
            list(map(int, pattern.findall(profile))) for pattern in (FILES_READ, FILES_LISTED)
        )
        unknown = PARQUET_READ.search(query.explain()) and not n_read
        if unknown or sum(n_read) > 1 or max(n_listed, default=0) > 1:
            raise InputError(NO_QUERY)

    return LazyTable(
        tuple(relation.columns),
        silenced(lambda: int(relation.aggregate("count(*)").fetchall()[0][0]), NO_QUERY),
        [silenced(lambda: relation.limit(0).to_arrow_table(), NO_QUERY)],
        lambda names, n_rows: selected(names).to_arrow_reader(n_rows),
        check,
        NO_QUERY,
    )


def check_typed(plan: str) -> None:
    """Refuse a plan that reads text: the library guesses types, so a cell affects other cells.

    ``plan`` is the library's description of its plan.
    """
    if TEXT_READ.search(plan):
        raise InputError(
            "X must come from files that carry types, such as Parquet; a library that reads text "
            "guesses them from cells: pass the path of the CSV file itself."
        )


def silenced(call: Callable[[], Any], failure: str = FAILED) -> Any:
    """Call a library and replace its error messages by ``failure``."""
    try:
        with quietly():
            return call()
    except (KeyboardInterrupt, InputError):  # our own errors reveal no cell
        raise
    except BaseException:  # a panic of polars is not an Exception
        pass
    raise InputError(failure)
