"""Numbers out of arrays and tables, judged by their schema and never by their values.

Missing values become NaN. What is not a number by its type is refused by one sentence that names
the column and its type. Lists and tuples have no type, so each of their cells is converted on its
own and NaN if it is no number; they are refused by their structure only. Libraries that the user
did not load are not loaded here.
"""

import re
import sys
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tailguard.checks import InputError
from tailguard.quiet import quietly

__all__ = [
    "column_names",
    "is_a",
    "is_column",
    "table_columns",
    "to_matrix",
    "to_matrix_or_vector",
    "to_vector",
    "type_word",
]

FloatArray: TypeAlias = NDArray[np.float64]
Features: TypeAlias = NDArray[np.float64] | NDArray[np.float32]

COLUMN_KINDS = (
    ("pandas", "Series"),
    ("pandas", "Index"),
    ("pandas.api.extensions", "ExtensionArray"),
    ("polars", "Series"),
    ("pyarrow", "ChunkedArray"),
    ("pyarrow", "Array"),
)
TEXT_KINDS = {"U": "text", "S": "bytes", "V": "structures"}
ALLOWED = "real numbers, integers or booleans"
# These have a length but are one cell, which is no row of numbers.
NO_SEQUENCES = (str, bytes, bytearray, dict, set, frozenset)


def to_matrix(X: Any, name: str = "X") -> Features:
    """Return a C-contiguous matrix: float32 if everything is float32, float64 otherwise.

    Examples
    --------
    >>> to_matrix([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """
    columns = table_columns(X)
    if is_column(X):
        matrix = _column(None, X, name)
    elif columns is None:
        matrix = _numeric_array(X, name)
    elif columns:
        vectors = [_column(label, values, name) for label, values in columns]
        single = all(vector.dtype == np.float32 for vector in vectors)
        matrix = np.empty((len(vectors[0]), len(vectors)), np.float32 if single else np.float64)
        for j, vector in enumerate(vectors):
            matrix[:, j] = vector
    else:
        matrix = np.empty((len(X), 0))
    _check_shape(matrix, name)
    return matrix


def to_vector(y: Any, name: str = "y") -> FloatArray:
    """Return a float64 vector; a table or matrix with one column counts as one.

    Examples
    --------
    >>> to_vector([True, False])
    array([1., 0.])
    """
    columns = table_columns(y)
    if columns is not None:
        if len(columns) != 1:
            raise InputError(f"{name} must be one column; got {len(columns)}.")
        vector = _column(*columns[0], name)
    elif is_column(y):
        vector = _column(None, y, name)
    else:
        vector = _numeric_array(y, name)
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector[:, 0]
    if vector.ndim != 1:
        raise InputError(f"{name} must be a vector; got shape {vector.shape}.")
    return np.ascontiguousarray(vector, dtype=np.float64)


def to_matrix_or_vector(X: Any, name: str = "X") -> tuple[Features, bool]:
    """Return a matrix, and whether it was a single vector that is now its one column.

    Examples
    --------
    >>> to_matrix_or_vector([1, 2])
    (array([[1.],
           [2.]]), True)
    """
    if is_column(X):
        return to_vector(X, name)[:, None], True
    if table_columns(X) is not None:
        return to_matrix(X, name), False
    array = _numeric_array(X, name)
    if array.ndim == 1:
        return np.asarray(array, np.float64)[:, None], True
    return to_matrix(array, name), False


def column_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of a table's columns if all of them are strings.

    Examples
    --------
    >>> column_names(np.zeros((2, 3))) is None
    True
    """
    if is_a(X, "pyarrow", "Table") or is_a(X, "pyarrow", "RecordBatch"):
        names = tuple(X.schema.names)
    elif is_a(X, "pandas", "DataFrame") or is_a(X, "polars", "DataFrame"):
        names = tuple(X.columns)
    else:
        return None
    if len(set(names)) < len(names):
        raise InputError(f"X must have column names that differ; got {list(names)}.")
    return names if all(isinstance(name, str) for name in names) else None


def is_a(value: Any, library: str, kind: str) -> bool:
    """Whether ``value`` is of a class of a library that the user has loaded.

    Examples
    --------
    >>> is_a(np.zeros(2), "numpy", "ndarray")
    True
    """
    module = sys.modules.get(library)
    return module is not None and isinstance(value, getattr(module, kind, ()))


def table_columns(X: Any) -> list[tuple[Any, Any]] | None:
    """List names and columns of a table; None for anything else.

    Examples
    --------
    >>> table_columns([[1.0]]) is None
    True
    """
    if is_a(X, "pandas", "DataFrame"):
        return [(label, X.iloc[:, j]) for j, label in enumerate(X.columns)]
    if is_a(X, "polars", "DataFrame"):
        return [(column.name, column) for column in X.get_columns()]
    if is_a(X, "pyarrow", "Table") or is_a(X, "pyarrow", "RecordBatch"):
        return list(zip(X.schema.names, X.columns, strict=True))
    return None


def is_column(values: Any) -> bool:
    """Whether something is one column of pandas, polars or pyarrow.

    Examples
    --------
    >>> is_column([1.0, 2.0])
    False
    """
    return any(is_a(values, library, kind) for library, kind in COLUMN_KINDS)


def type_word(dtype: Any) -> str:
    """Name a type without widths, units and fields: these may have come from values.

    Examples
    --------
    >>> type_word(np.dtype("<U32")), type_word(np.dtype("M8[ns]"))
    ('text', 'datetime64')
    """
    text = TEXT_KINDS.get(getattr(dtype, "kind", "")) if isinstance(dtype, np.dtype) else None
    found = re.match(r"\w+", str(dtype))
    return text or (found.group() if found else type(dtype).__name__)


def _column(label: Any, values: Any, name: str) -> FloatArray:
    """Turn one column of a table into floats."""
    where = name if label is None else f"Column {label!r} of {name}"
    if is_a(values, "polars", "Series"):
        return _polars_column(values, where)
    if is_a(values, "pyarrow", "Array") or is_a(values, "pyarrow", "ChunkedArray"):
        return _arrow_column(values, where)
    return _pandas_column(values, where)


def _pandas_column(values: Any, where: str) -> FloatArray:
    dtype = values.dtype
    sparse = is_a(dtype, "pandas", "SparseDtype")
    if sparse or getattr(dtype, "kind", "O") not in "biuf":
        raise _wrong_type(where, dtype)
    if isinstance(dtype, np.dtype):
        return _floats(values.to_numpy())
    float32 = str(dtype) in {"Float32", "float[pyarrow]"}
    floats: FloatArray = values.to_numpy(
        dtype=np.float32 if float32 else np.float64, na_value=np.nan
    )
    return floats


def _polars_column(values: Any, where: str) -> FloatArray:
    polars = sys.modules["polars"]
    dtype = values.dtype
    if not (dtype.is_numeric() or dtype == polars.Boolean):
        raise _wrong_type(where, dtype)
    if dtype != polars.Float32:
        values = values.cast(polars.Float64)
    floats: FloatArray = values.to_numpy()  # a null becomes NaN
    return floats


def _arrow_column(values: Any, where: str) -> FloatArray:
    import pyarrow as pa  # noqa: PLC0415 (loaded by the user already)

    kind = values.type
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise _wrong_type(where, kind)
    if not pa.types.is_float32(kind):
        values = values.cast(pa.float64(), safe=False)  # a safe cast may refuse large integers
    floats: FloatArray = values.to_numpy(zero_copy_only=False)  # a null becomes NaN
    return floats


def _numeric_array(X: Any, name: str) -> FloatArray:
    """Turn anything but tables and their columns into an array of floats."""
    if hasattr(X, "tocsr"):
        raise InputError(
            f"{name} must be dense, sparse input is not supported; got {type(X).__name__}."
        )
    if hasattr(X, "collect"):
        raise InputError(
            f"{name} must be in memory, call .collect() on it first; got {type(X).__name__}."
        )
    if not hasattr(X, "dtype") and not hasattr(X, "__array__"):
        return _from_cells(X, name)
    array = np.asarray(_unmasked(X, name) if isinstance(X, np.ma.MaskedArray) else X)
    if array.dtype.kind == "c":
        raise InputError(f"Complex data not supported: {name} must hold {ALLOWED}.")
    if array.dtype.kind not in "biuf":
        raise _wrong_type(name, array.dtype)
    return _floats(array)


def _from_cells(values: Any, name: str) -> FloatArray:
    """Turn a sequence, of rows if each of its entries is one, into floats cell by cell."""
    if not _is_sequence(values):
        raise InputError(
            f"{name} must be an array, a table or a sequence; got {type(values).__name__}."
        )
    cells = _entries(values, name)
    shape: tuple[int, ...] = (len(cells),)
    if cells and all(map(_is_sequence, cells)):
        rows = [_entries(row, name) for row in cells]
        if len({len(row) for row in rows}) > 1:
            raise InputError(f"{name} must have rows of one length; got a ragged sequence.")
        shape, cells = (len(rows), len(rows[0])), list(chain.from_iterable(rows))
        if cells and all(map(_is_sequence, cells)):
            raise InputError(f"{name} must have rows of numbers; got rows of sequences.")
    with quietly():
        return np.fromiter(map(_number, cells), np.float64, len(cells)).reshape(shape)


def _entries(values: Any, name: str) -> list[Any]:
    """List the entries of a sequence; a ``memoryview`` of a matrix cannot."""
    try:
        return list(values)
    except (NotImplementedError, TypeError, ValueError):
        raise InputError(
            f"{name} must be a sequence that lists its entries; got {type(values).__name__}."
        ) from None


def _is_sequence(value: Any) -> bool:
    """Whether something is a sequence of entries, rather than one cell."""
    if isinstance(value, NO_SEQUENCES) or not hasattr(type(value), "__len__"):
        return False
    return isinstance(value, list | tuple) or getattr(value, "shape", None) != ()


def _number(cell: Any) -> float:
    """Return one cell as a number, NaN if it is none: whatever is wrong concerns this cell only."""
    if type(cell) is float:
        return cell
    try:
        if isinstance(cell, complex | np.complexfloating) or cell is np.ma.masked:
            return np.nan
        return np.nan if _is_sequence(cell) else float(cell)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return np.nan


def _unmasked(X: Any, name: str) -> Any:
    """Return a masked array with NaN where it is masked."""
    if X.dtype.kind != "f":
        raise InputError(f"{name}, a masked array, must hold floats; got {type_word(X.dtype)}.")
    return X.filled(np.nan)


def _floats(array: Any) -> FloatArray:
    """Return float32 as it is and all else as float64, contiguous and in the machine's order."""
    single = array.dtype.kind == "f" and array.dtype.itemsize == np.float32().itemsize
    with np.errstate(all="ignore"):
        return np.require(array, np.float32 if single else np.float64, ["C", "A"]).view(np.ndarray)


def _wrong_type(where: str, dtype: Any) -> InputError:
    return InputError(f"{where} must hold {ALLOWED}; got {type_word(dtype)}.")


def _check_shape(matrix: FloatArray, name: str) -> None:
    if matrix.ndim != 2:
        raise InputError(
            f"{name} must be a matrix of records by features; got shape {matrix.shape}. Reshape "
            "your data: a single feature is a matrix of one column."
        )
    for size, thing in zip(matrix.shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise InputError(
                f"{name} must have rows and columns; found 0 {thing}(s) "
                f"(shape={matrix.shape}) while a minimum of 1 is required."
            )
