"""Columns of polars. It is loaded by the user already, and never by us."""

import sys
from typing import Any

from tailguard.array_types import FloatArray
from tailguard.data.tables.cells import cell_numbers
from tailguard.data.tables.kinds import Kind, other_cells


def kind(column: Any) -> Kind:
    """Say how a column is read by its type.

    Examples
    --------
    >>> import polars as pl
    >>> kind(pl.Series([1.5])), kind(pl.Series(["a"])), kind(pl.Series([[1]]))
    ('numbers', 'cells', 'others')
    """
    polars, dtype = sys.modules["polars"], column.dtype
    if dtype in (polars.Categorical, polars.Enum):
        return "levels"
    if dtype in (polars.String, polars.Binary, polars.Object, polars.Null):
        return "cells"
    return "numbers" if dtype.is_numeric() or dtype == polars.Boolean else "others"


def numbers(column: Any) -> FloatArray:
    """Return a column of numbers as floats.

    Examples
    --------
    >>> import polars as pl
    >>> numbers(pl.Series([1, None]))
    array([ 1., nan])
    """
    polars = sys.modules["polars"]
    if column.dtype.is_decimal():
        return cell_numbers(column.to_list())  # a cast rounds by the scale of the widest cell
    floats: FloatArray = column.cast(polars.Float64).to_numpy()  # a null becomes NaN
    return floats


def cells(column: Any) -> list[Any]:
    """Return the cells as Python objects; of categories, each cell's level.

    Examples
    --------
    >>> import polars as pl
    >>> cells(pl.Series(["a", None]))
    ['a', None]
    """
    if kind(column) == "others":
        return other_cells(column.is_null().to_list())
    return list(column.to_list())
