"""Frames: tables in memory of pandas, polars and pyarrow, and dicts of columns of text.

This module loads no library that the user has not loaded. CSV files give dicts from names to lists
of cells. narwhals cannot replace this module: it infers the type of a pandas column of objects from
its first hundred cells, while here no cell decides how another is read (``columns.py``). Also, it
supports neither indices, nor bare and masked arrays, nor Arrow text that is not UTF-8.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError

COLUMN_KINDS = (
    ("pandas", "Series"),
    ("pandas", "Index"),
    ("pandas.api.extensions", "ExtensionArray"),
    ("polars", "Series"),
    ("pyarrow", "ChunkedArray"),
    ("pyarrow", "Array"),
)


IN_MEMORY = {
    ("dask.dataframe", "DataFrame"): "X.compute()",
    ("duckdb", "DuckDBPyRelation"): "X.df()",
    ("polars", "LazyFrame"): "X.collect()",
    ("pyarrow.dataset", "Dataset"): "X.to_table()",
    ("pyspark.sql", "DataFrame"): "X.toPandas()",
}
"""Classes of tables that are not in memory -> what brings them there."""


def is_a(value: Any, library: str, kind: str) -> bool:
    """Whether ``value`` is of a class of a library that the user has loaded."""
    module = sys.modules.get(library)
    return module is not None and isinstance(value, getattr(module, kind, ()))


def check_in_memory(X: Any) -> None:
    """Refuse a table that its library has not computed yet, and say how to compute it."""
    for (library, kind), call in IN_MEMORY.items():
        if is_a(X, library, kind):
            raise InputError(
                f"X must be in memory here; got a {kind} of {library}: compute it first, or a part "
                f"of it at a time, by {call}."
            )


def is_column(values: Any) -> bool:
    """Whether something is one column of pandas, polars or pyarrow."""
    if isinstance(values, np.ndarray | list):
        return False
    return any(is_a(values, library, kind) for library, kind in COLUMN_KINDS)


def plain_list(given: Any) -> list[Any] | None:
    """Return a declared list, array or column as a list of Python objects; None for anything else.

    Sets have no order, and iterators would be empty for the next reader.
    """
    for method in ("to_pylist", "to_list"):
        if hasattr(given, method):
            return list(getattr(given, method)())
    if hasattr(given, "__array__"):
        given = np.asarray(given).tolist()
    if not isinstance(given, Iterable):
        return None
    if isinstance(given, str | bytes | Mapping | Set | Iterator):
        return None
    return [each.item() if isinstance(each, np.generic) else each for each in given]


def is_arrow(X: Any) -> bool:
    """Whether something is a table of pyarrow."""
    return is_a(X, "pyarrow", "Table") or is_a(X, "pyarrow", "RecordBatch")


def column_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of a table's columns if all are strings, else None."""
    if isinstance(X, np.ndarray):
        return None
    if is_arrow(X):
        names = tuple(X.schema.names)
    elif is_a(X, "pandas", "DataFrame") or is_a(X, "polars", "DataFrame"):
        names = tuple(X.columns)
    else:
        return None
    if len(set(names)) < len(names):
        raise InputError(f"X must have column names that differ; got {list(names)}.")
    others = [name for name in names if not isinstance(name, str)]
    if others and len(others) < len(names):
        raise InputError(
            "X must have column names that are all text, or none of them; got text and "
            f"{type(others[0]).__name__}: pass X.rename(columns=str)."
        )
    return None if others else names


def series_name(X: Any) -> str | None:
    """Return the name of a column of pandas or polars if it is text, else None."""
    name = getattr(X, "name", None) if is_column(X) else None
    return name if isinstance(name, str) and name.strip() else None


def frame_columns(X: Any) -> list[tuple[Any, Any]] | None:
    """List names and columns of a table; None for anything else."""
    if isinstance(X, np.ndarray):
        return None
    if is_a(X, "pandas", "DataFrame"):
        return list(X.items())
    if is_a(X, "polars", "DataFrame"):
        return [(column.name, column) for column in X.get_columns()]
    if is_arrow(X):
        return list(zip(X.schema.names, X.columns, strict=True))
    return None


def frame_column(frame: Any, name: str) -> Any:
    """Return one column of a frame with distinct column names."""
    return frame.column(name) if is_arrow(frame) else frame[name]


def chosen_columns(frame: Any, names: Sequence[str]) -> Any:
    """Return some columns as a frame; in pandas a view if they are adjacent, else a copy."""
    if not is_a(frame, "pandas", "DataFrame"):
        return frame.select(list(names))
    columns = list(frame.columns)
    first = columns.index(names[0]) if names else 0
    stop = first + len(names)
    are_adjacent = columns[first:stop] == list(names)
    return frame.iloc[:, first:stop] if are_adjacent else frame[list(names)]


def rows_of(frame: Any, start: int, stop: int) -> Any:
    """Return rows of a table of any library, without copying."""
    if start == 0 and stop == len(frame):
        return frame
    # Check the class: columns of a data frame are attributes, and one may be called 'slice'.
    is_pandas = is_a(frame, "pandas", "DataFrame")
    return frame.iloc[start:stop] if is_pandas else frame.slice(start, stop - start)


def rows_at(frame: Any, places: IntArray) -> Any:
    """Return a copy of some rows of a table of any library."""
    if is_a(frame, "pandas", "DataFrame"):
        return frame.iloc[places]
    return frame[places] if is_a(frame, "polars", "DataFrame") else frame.take(places)
