"""Numbers out of arrays and tables, judged by their schema and never by their values.

Missing values become NaN. What is not a number by its type is refused by one sentence that names
the column and its type. Libraries that the user did not load are not loaded here.
"""

import sys
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tailguard.checks import InputError

__all__ = ["column_names", "to_matrix", "to_vector"]

FloatArray: TypeAlias = NDArray[np.float64]
Features: TypeAlias = NDArray[np.float64] | NDArray[np.float32]

COLUMN_KINDS = (
    ("pandas", "Series"),
    ("polars", "Series"),
    ("pyarrow", "ChunkedArray"),
    ("pyarrow", "Array"),
)
ALLOWED = "real numbers, integers or booleans"


def to_matrix(X: Any, name: str = "X") -> Features:
    """Return a C-contiguous matrix: float32 if everything is float32, float64 otherwise.

    Examples
    --------
    >>> to_matrix([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """
    columns = _table_columns(X)
    if columns is None:
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
    columns = _table_columns(y)
    if columns is not None:
        if len(columns) != 1:
            raise InputError(f"{name} must be one column; got {len(columns)}.")
        vector = _column(*columns[0], name)
    elif any(_is_a(y, library, kind) for library, kind in COLUMN_KINDS):
        vector = _column(None, y, name)
    else:
        vector = _numeric_array(y, name)
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector[:, 0]
    if vector.ndim != 1:
        raise InputError(f"{name} must be a vector; got shape {vector.shape}.")
    return np.ascontiguousarray(vector, dtype=np.float64)


def column_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of a table's columns if all of them are strings.

    Examples
    --------
    >>> column_names(np.zeros((2, 3))) is None
    True
    """
    if _is_a(X, "pyarrow", "Table"):
        return tuple(X.column_names)
    if not (_is_a(X, "pandas", "DataFrame") or _is_a(X, "polars", "DataFrame")):
        return None
    names = tuple(X.columns)
    return names if all(isinstance(name, str) for name in names) else None


def _is_a(value: Any, library: str, kind: str) -> bool:
    """Whether ``value`` is of a class of a library that the user has loaded."""
    module = sys.modules.get(library)
    return module is not None and isinstance(value, getattr(module, kind, ()))


def _table_columns(X: Any) -> list[tuple[Any, Any]] | None:
    """List names and columns of a table; None for anything else."""
    if _is_a(X, "pandas", "DataFrame"):
        return [(label, X.iloc[:, j]) for j, label in enumerate(X.columns)]
    if _is_a(X, "polars", "DataFrame"):
        return [(column.name, column) for column in X.get_columns()]
    if _is_a(X, "pyarrow", "Table"):
        return list(zip(X.column_names, X.columns, strict=True))
    return None


def _column(label: Any, values: Any, name: str) -> FloatArray:
    """Turn one column of a table into floats."""
    where = name if label is None else f"Column {label!r} of {name}"
    if _is_a(values, "pandas", "Series"):
        return _pandas_column(values, where)
    if _is_a(values, "polars", "Series"):
        return _polars_column(values, where)
    return _arrow_column(values, where)


def _pandas_column(values: Any, where: str) -> FloatArray:
    dtype = values.dtype
    sparse = _is_a(dtype, "pandas", "SparseDtype")
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
    """Turn anything but a table into an array of floats."""
    if hasattr(X, "tocsr") or hasattr(X, "collect"):
        raise InputError(
            f"{name} must be dense and in memory, sparse input is not supported; "
            f"got {type(X).__name__}."
        )
    if isinstance(X, np.ma.MaskedArray):
        X = _unmasked(X)
    try:
        array = np.asarray(X)
    except ValueError:
        raise InputError(f"{name} must have rows of one length; got a ragged sequence.") from None
    if array.dtype.kind == "c":
        raise InputError(f"Complex data not supported: {name} must hold {ALLOWED}.")
    if array.dtype.kind not in "biuf":
        raise _wrong_type(name, array.dtype)
    return _floats(array)


def _unmasked(X: Any) -> Any:
    """Return a masked array with NaN where it is masked."""
    if X.dtype.kind != "f":
        raise InputError(f"A masked array must hold floats; got {X.dtype}.")
    return X.filled(np.nan)


def _floats(array: Any) -> FloatArray:
    """Return float32 as it is and all else as float64, contiguous and in the machine's order."""
    single = array.dtype.kind == "f" and array.dtype.itemsize == np.float32().itemsize
    with np.errstate(all="ignore"):
        return np.require(array, np.float32 if single else np.float64, ["C", "A"]).view(np.ndarray)


def _wrong_type(where: str, dtype: Any) -> InputError:
    return InputError(f"{where} must hold {ALLOWED}; got {dtype}.")


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
