"""What a table, a column and a type are; what cannot be read is refused by its type.

Libraries that the user did not load are not loaded here.
"""

import re
import sys
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError

Kind: TypeAlias = Literal["numbers", "cells", "levels", "others"]
"""How a column is read: at once, cell by cell, by declared levels, or as no number and no text."""

OTHER_CELL = Ellipsis
"""Stands for a cell that is there and is neither a number nor a text, such as a date."""

COLUMN_KINDS = (
    ("pandas", "Series"),
    ("pandas", "Index"),
    ("pandas.api.extensions", "ExtensionArray"),
    ("polars", "Series"),
    ("pyarrow", "ChunkedArray"),
    ("pyarrow", "Array"),
)
TEXT_KINDS = {"U": "text", "S": "bytes", "V": "structures"}
NUMBERS = "real numbers, integers or booleans"
LABELS = "text, integers, real numbers or booleans"  # and levels
# A type that is refused -> what to do instead; the first that fits.
REMEDIES = (
    ("categor|dictionary|enum", "declare its levels in a schema, or drop it"),
    ("date|time|duration|period|interval", "give it as a number, such as days since a public date"),
    ("sparse", "make it dense first"),
    ("list|array|struct|map|multi", "give each of its entries a column"),
    ("", "convert it to one of these first"),
)


def column_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of a table's columns if all of them are strings.

    Examples
    --------
    >>> column_names(np.zeros((2, 3))) is None
    True
    """
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


def is_a(value: Any, library: str, kind: str) -> bool:
    """Whether ``value`` is of a class of a library that the user has loaded.

    Examples
    --------
    >>> is_a(np.zeros(2), "numpy", "ndarray")
    True
    """
    module = sys.modules.get(library)
    return module is not None and isinstance(value, getattr(module, kind, ()))


def is_arrow(X: Any) -> bool:
    """Whether something is a table of pyarrow.

    Examples
    --------
    >>> is_arrow(np.zeros((2, 3)))
    False
    """
    return is_a(X, "pyarrow", "Table") or is_a(X, "pyarrow", "RecordBatch")


def table_columns(X: Any) -> list[tuple[Any, Any]] | None:
    """List names and columns of a table; None for anything else.

    Examples
    --------
    >>> table_columns(np.zeros((2, 3))) is None
    True
    """
    if is_a(X, "pandas", "DataFrame"):
        return list(X.items())
    if is_a(X, "polars", "DataFrame"):
        return [(column.name, column) for column in X.get_columns()]
    if is_arrow(X):
        return list(zip(X.schema.names, X.columns, strict=True))
    return None


def table_column(X: Any, name: str) -> Any:
    """Return one column of a table whose columns have names that differ.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table_column(pa.table({"age": [41, 50]}), "age").to_pylist()
    [41, 50]
    """
    return X.column(name) if is_arrow(X) else X[name]


def other_cells(missing: Iterable[bool]) -> list[Any]:
    """Return the cells of a column whose type is neither numbers nor text, by which are missing.

    Examples
    --------
    >>> other_cells([False, True])
    [Ellipsis, None]
    """
    return [None if gone else OTHER_CELL for gone in missing]


def is_column(values: Any) -> bool:
    """Whether something is one column of pandas, polars or pyarrow.

    Examples
    --------
    >>> is_column(np.zeros(2))
    False
    """
    if isinstance(values, np.ndarray):
        return False
    return any(is_a(values, library, kind) for library, kind in COLUMN_KINDS)


def type_word(dtype: Any) -> str:
    """Name a type without widths, units and fields: these may have come from values.

    Examples
    --------
    >>> type_word(np.dtype("<U32")), type_word(np.dtype("M8[ns]")), type_word("list")
    ('text', 'datetime64', 'list')
    """
    text = TEXT_KINDS.get(getattr(dtype, "kind", "")) if isinstance(dtype, np.dtype) else None
    found = re.match(r"\w+", str(dtype))
    return text or (found.group() if found else type(dtype).__name__)


def refused(where: str, dtype: Any, allowed: str = NUMBERS) -> InputError:
    """Return the sentence that refuses a type and says what to do instead.

    Examples
    --------
    >>> print(refused("y", np.dtype("M8[D]"), allowed="numbers"))
    y must hold numbers; got datetime64: give it as a number, such as days since a public date.
    """
    word = type_word(dtype)
    remedy = next(remedy for pattern, remedy in REMEDIES if re.search(pattern, word.lower()))
    return InputError(f"{where} must hold {allowed}; got {word}: {remedy}.")


def rows_of(table: Any, start: int, stop: int) -> Any:
    """Return rows of a table of any library, without copying.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows_of(pa.table({"age": [41, 50, 30]}), 1, 3)["age"].to_pylist()
    [50, 30]
    """
    if start == 0 and stop == len(table):
        return table
    # By class: a data frame has its columns as attributes, and one may be called 'slice'.
    pandas = is_a(table, "pandas", "DataFrame")
    return table.iloc[start:stop] if pandas else table.slice(start, stop - start)


def rows_at(table: Any, places: IntArray) -> Any:
    """Return a copy of some rows of a table of any library.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows_at(pa.table({"age": [41, 50, 30]}), np.array([2, 0]))["age"].to_pylist()
    [30, 41]
    """
    if is_a(table, "pandas", "DataFrame"):
        return table.iloc[places]
    return table[places] if is_a(table, "polars", "DataFrame") else table.take(places)
