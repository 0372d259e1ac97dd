"""Columns of pandas: series, indices and bare arrays. It is loaded by the user already."""

from typing import Any

import numpy as np

from tailguard.array_types import Features, FloatArray

from . import of_arrow, of_numpy
from .kinds import Kind, Levels, is_a


def kind(column: Any) -> Kind | None:
    """Say how a column is read by its type; None where it is refused.

    Examples
    --------
    >>> import pandas as pd
    >>> kind(pd.Series([1.5])), kind(pd.Series(["a"])), kind(pd.to_datetime(["2020-01-01"]))
    ('numbers', 'cells', None)
    """
    dtype = column.dtype
    if is_a(column, "pandas", "MultiIndex") or is_a(dtype, "pandas", "SparseDtype"):
        return None
    if is_a(dtype, "pandas", "CategoricalDtype"):
        return None if kind(dtype.categories) is None else "levels"
    if is_a(dtype, "pandas", "StringDtype"):
        return "cells"
    if is_a(dtype, "pandas", "ArrowDtype"):
        return of_arrow.kind_of_type(dtype.pyarrow_dtype)
    found = of_numpy.kind_of_dtype(dtype)
    plain = isinstance(dtype, np.dtype) or _wraps_numpy(column)
    return found if plain or found == "numbers" else None


def numbers(column: Any) -> FloatArray:
    """Return a column of numbers as floats: float32 as it is.

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
    single = np.float32 if str(dtype) == "Float32" else np.float64
    floats: FloatArray = column.to_numpy(dtype=single, na_value=np.nan)
    return floats


def matrix(table: Any) -> Features | None:
    """Return a table of one type of NumPy's floats as a C-contiguous matrix; None for any other.

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
    return np.ascontiguousarray(table.to_numpy()) if one else None


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
    # Not by to_numpy, which may look for missing cells by comparing them.
    return list(np.asarray(column, dtype=object).tolist())


def level_kind(column: Any) -> Levels:
    """Say what the levels of a categorical column are.

    Examples
    --------
    >>> import pandas as pd
    >>> numbers, mixed = (pd.Series(x, dtype="category") for x in ([1, 2], [1, "a"]))
    >>> level_kind(numbers), level_kind(mixed)
    ('numbers', 'objects')
    """
    dtype = column.dtype
    if is_a(dtype, "pandas", "ArrowDtype"):
        return of_arrow.levels_of_type(dtype.pyarrow_dtype)
    if kind(dtype.categories) == "numbers":
        return "numbers"
    return "objects" if dtype.categories.dtype == object else "text"


def _wraps_numpy(column: Any) -> bool:
    return is_a(column, "pandas.arrays", "NumpyExtensionArray")


def _holds_arrow(dtype: Any) -> bool:
    text = is_a(dtype, "pandas", "StringDtype") and dtype.storage == "pyarrow"
    return text or is_a(dtype, "pandas", "ArrowDtype")


def _arrow(column: Any) -> Any:
    return getattr(column, "array", column).__arrow_array__()
