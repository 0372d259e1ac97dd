"""Columns of pandas: series, indices and bare arrays. It is loaded by the user already."""

from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.data.tables import of_arrow, of_numpy
from tailguard.data.tables.kinds import Kind, is_a, other_cells


def kind(column: Any) -> Kind | None:
    """Say how a column is read by its type; None where it is refused.

    Examples
    --------
    >>> import pandas as pd
    >>> kind(pd.Series([1.5])), kind(pd.Series(["a"])), kind(pd.to_datetime(["2020-01-01"]))
    ('numbers', 'cells', 'others')
    """
    dtype = column.dtype
    if is_a(column, "pandas", "MultiIndex") or is_a(dtype, "pandas", "SparseDtype"):
        return None
    if is_a(dtype, "pandas", "CategoricalDtype"):
        return "levels"
    if is_a(dtype, "pandas", "StringDtype"):
        return "cells"
    if is_a(dtype, "pandas", "ArrowDtype"):
        return of_arrow.kind_of_type(dtype.pyarrow_dtype)
    found = of_numpy.kind_of_dtype(dtype)
    plain = isinstance(dtype, np.dtype) or _wraps_numpy(column)
    return found if found == "numbers" or (plain and found is not None) else "others"


def numbers(column: Any) -> FloatArray:
    """Return a column of numbers as floats.

    Examples
    --------
    >>> import pandas as pd
    >>> numbers(pd.Series([1, None], dtype="Int64"))
    array([ 1., nan])
    """
    dtype = column.dtype
    if isinstance(dtype, np.dtype) or _wraps_numpy(column):
        return of_numpy.numbers(np.asarray(column))
    if _holds_arrow(dtype):
        return of_arrow.numbers(_arrow(column))
    floats: FloatArray = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return floats


def matrix(table: Any) -> FloatArray | None:
    """Return a table of one type of NumPy's floats as a matrix of float64; None for any other.

    Examples
    --------
    >>> import pandas as pd
    >>> matrix(pd.DataFrame({"age": [41.0, 50.0], "cost": [7.5, 3.0]}))
    array([[41. ,  7.5],
           [50. ,  3. ]])
    >>> matrix(pd.DataFrame({"age": [41, 50], "cost": [7.5, 3.0]})) is None
    True
    """
    # Types of pandas are not hashed: the hash of a category is one of its levels, which are cells.
    kinds = {kind if isinstance(kind, np.dtype) else None for kind in table.dtypes}
    one = kinds in ({np.dtype(np.float32)}, {np.dtype(np.float64)})
    return np.ascontiguousarray(table.to_numpy(), np.float64) if one else None


def cells(column: Any) -> list[Any]:
    """Return the cells as Python objects, Arrow's text as bytes; of categories, each cell's level.

    Examples
    --------
    >>> import pandas as pd
    >>> cells(pd.Series(["a", 2, None], dtype="category"))
    ['a', 2, None]
    """
    dtype = column.dtype
    if is_a(dtype, "pandas", "CategoricalDtype"):
        levels = cells(dtype.categories)
        codes = getattr(column, "array", column).codes
        return [None if code < 0 else levels[code] for code in codes]
    if _holds_arrow(dtype):
        return of_arrow.cells(_arrow(column))
    if kind(column) == "others":
        return other_cells(column.isna())
    # Not by to_numpy, which may look for missing cells by comparing them.
    return list(np.asarray(column, dtype=object).tolist())


def _wraps_numpy(column: Any) -> bool:
    return is_a(column, "pandas.arrays", "NumpyExtensionArray")


def _holds_arrow(dtype: Any) -> bool:
    text = is_a(dtype, "pandas", "StringDtype") and dtype.storage == "pyarrow"
    return text or is_a(dtype, "pandas", "ArrowDtype")


def _arrow(column: Any) -> Any:
    return getattr(column, "array", column).__arrow_array__()
