"""One column of any library: of which kind its type is, and its cells as numbers.

A library may have chosen a type for the sake of one cell: text or objects where a cell fits no
other, dates or structures where the only cell that is not empty is one. To refuse such a type would
tell what a record holds, so it is read cell by cell, and what is no number is missing. Refused are
types that no cell makes: categories where numbers are asked for, sparse columns, structured arrays.
"""

from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.data.tables import of_arrow, of_numpy, of_pandas, of_polars
from tailguard.data.tables.cells import cell_marks, cell_numbers
from tailguard.data.tables.kinds import LABELS, NUMBERS, Kind, is_a, is_column, refused


def kind_of(column: Any, where: str, allowed: str = NUMBERS) -> Kind:
    """Say by its type how a column is read: as numbers, by its cells or levels, or as neither.

    Examples
    --------
    >>> kind_of(np.zeros(2), "y"), kind_of(np.array(["no", "yes"]), "y"), kind_of([0, 1], "y")
    ('numbers', 'cells', 'cells')
    """
    kind = kind_if_read(column)
    if kind is None:
        raise refused(where, type_of(column), allowed)
    return kind


def kind_if_read(column: Any) -> Kind | None:
    """Say by its type how a column is read; None where it is refused, such as lengths of time.

    Examples
    --------
    >>> kind_if_read(np.array(["2020-01-01"], "M8[D]")), kind_if_read(np.array([1], "m8[D]"))
    ('others', None)
    """
    if isinstance(column, list):
        return "cells"
    kind: Kind | None = _library(column).kind(column)
    return kind


def numbers_of(column: Any, where: str) -> FloatArray:
    """Return a column as floats, NaN where a cell is missing or no number.

    Examples
    --------
    >>> numbers_of(np.array(["1", "2.5", "?"]), "y")
    array([1. , 2.5, nan])
    """
    kind = kind_of(column, where)
    if kind == "levels":
        raise refused(where, type_of(column))
    if kind == "others":
        return np.full(column.shape if isinstance(column, np.ndarray) else len(column), np.nan)
    if kind == "cells":
        floats = cell_numbers(cells_of(column))
        return floats.reshape(column.shape) if isinstance(column, np.ndarray) else floats
    read: FloatArray = _library(column).numbers(column)
    return read


def marks_of(column: Any, where: str) -> FloatArray:
    """Return what each cell of a column is: finite for a number, NaN if it is empty, else infinite.

    Examples
    --------
    >>> marks_of(np.array(["1", "", "?"]), "y"), marks_of(np.array([1.0, np.nan]), "y")
    (array([ 1., nan, inf]), array([ 1., nan]))
    """
    if kind_of(column, where, LABELS) == "numbers":
        return numbers_of(column, where)
    marks = cell_marks(cells_of(column))
    return marks.reshape(column.shape) if isinstance(column, np.ndarray) else marks


def cells_of(column: Any) -> list[Any]:
    """Return a column's cells as Python objects, Arrow's text as bytes; of levels, each cell's.

    A cell of a type that is neither a number nor a text is ``OTHER_CELL``, or None where it is
    missing: to convert it could fail because of its value.

    Examples
    --------
    >>> cells_of(np.array(["no", "yes"]))
    ['no', 'yes']
    """
    return column if isinstance(column, list) else list(_library(column).cells(column))


def type_of(column: Any) -> Any:
    """Return a column's type: its class where that says more than the type of its cells.

    Examples
    --------
    >>> type_of(np.zeros(2)), type_of([0, 1])
    (dtype('float64'), 'list')
    """
    if isinstance(column, list) or is_a(column, "pandas", "MultiIndex"):
        return type(column).__name__
    return column.type if _library(column) is of_arrow else column.dtype


def _library(column: Any) -> Any:
    """Return the module that reads such columns."""
    if is_a(column, "polars", "Series"):
        return of_polars
    if is_a(column, "pyarrow", "Array") or is_a(column, "pyarrow", "ChunkedArray"):
        return of_arrow
    return of_pandas if is_column(column) else of_numpy
