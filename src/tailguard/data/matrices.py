"""Matrices and vectors from arrays and tables; the layout follows from types only.

Arrays and tables declare their width. A list or another untyped sequence does not, and if the width
were inferred, one entry would decide how all others are read. So a matrix cannot be a list; a
vector may be one, with one cell per entry.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tailguard.array_types import Features, FloatArray
from tailguard.checks import InputError
from tailguard.data.columns import arrow_floats, doubled, numbers_of, pandas_floats
from tailguard.data.frames import frame_columns, is_a, is_arrow, is_column

# With at least this many columns, pieces of about 1 MB are transposed as a whole. For 2e6 numbers
# of float32, 20 columns take 1.9 ms as a whole and 6.3 ms one by one; 2 columns take 4.8 ms as a
# whole and 0.9 ms one by one. Pieces four times as large needed fresh memory each time, and 20
# columns took 8 ms.
COLUMNS_TRANSPOSED = 8
NUMBERS_TRANSPOSED = 2**17
# Types that have a length but are not sequences of cells.
NO_SEQUENCES = (str, bytes, bytearray, dict, set, frozenset)


def to_matrix(X: Any, name: str = "X") -> Features:
    """Return a C-contiguous matrix of float64, or of float32 if ``X`` is an array of that type.

    A table has a type for each column, which one cell may change. So single-precision numbers of a
    table are read in double precision.
    """
    # For an array no library needs to be looked up.
    matrix = numbers_of(X, name) if type(X) is np.ndarray else _matrix_of(X, name)
    check_shape(matrix.shape, name)
    return matrix


def _matrix_of(X: Any, name: str) -> Features:
    if is_a(X, "pandas", "DataFrame") and (matrix := pandas_floats(X)) is not None:
        return matrix
    if is_arrow(X) and (floats := arrow_floats(X)):
        return stacked(floats)
    columns = frame_columns(X)
    if columns is None:
        return numbers_of(_typed(X, name), name)
    if not columns:
        return np.empty((len(X), 0))
    return stacked([numbers_of(values, _column_label(label, name)) for label, values in columns])


def to_vector(y: Any, name: str = "y", *, n_rows: int | None = None) -> FloatArray:
    """Return a float64 vector; a table or matrix with one column is accepted.

    ``n_rows`` is the required number of entries.
    """
    plain = type(y) is np.ndarray and y.ndim == 1
    where, column = (name, y) if plain else one_column(y, name)
    vector = doubled(numbers_of(column, where))
    if n_rows is not None and len(vector) != n_rows:
        raise InputError(
            f"{name} must have one entry per row of X; got {len(vector)} entries for {n_rows} rows."
        )
    return vector


def to_matrix_or_vector(X: Any) -> tuple[Features, bool]:
    """Return a matrix, and whether X was a vector, which becomes the only column."""
    if frame_columns(X) is not None:
        return to_matrix(X), False
    array = numbers_of(_typed(X, "X"), "X")
    if array.ndim == 1:
        return doubled(array)[:, None], True
    return to_matrix(array), False


def one_column(y: Any, name: str) -> tuple[str, Any]:
    """Return the name of a single column for errors, and the column; untyped ones become lists."""
    columns = frame_columns(y)
    if columns is not None:
        if len(columns) != 1:
            raise InputError(f"{name} must be one column; got {len(columns)}.")
        label, column = columns[0]
        return _column_label(label, name), column
    if not _has_type(y, name):
        return name, _entries(y, name)
    column = _typed(y, name)
    if isinstance(column, np.ndarray) and column.shape[1:] == (1,):
        column = column[:, 0]
    if isinstance(column, np.ndarray) and column.ndim != 1:
        raise InputError(f"{name} must be a vector; got shape {column.shape}.")
    return name, column


def _has_type(X: Any, name: str) -> bool:
    """Whether X declares its layout; refuse sparse matrices and tables outside memory."""
    if is_column(X):
        return True
    class_name = type(X).__name__
    if hasattr(X, "tocsr"):
        raise InputError(f"{name} must be dense, sparse input is not supported; got {class_name}.")
    if hasattr(X, "collect"):
        raise InputError(
            f"{name} must be in memory, call .collect() on it first; got {class_name}."
        )
    return hasattr(X, "__array__")


def _typed(X: Any, name: str) -> Any:
    """Return a column or an array; refuse anything without a type. No cell is converted."""
    if is_column(X) or isinstance(X, np.ma.MaskedArray):
        return X
    class_name = type(X).__name__
    if not _has_type(X, name):
        raise InputError(
            f"{name} must be an array or a table: whatever it holds, a {class_name} has no "
            "declared width, so pass a table with named columns or, for numbers only, "
            f"np.asarray({name})."
        )
    try:
        return np.asarray(X)
    except Exception:
        raise InputError(
            f"{name} must be an array; np.asarray fails on this {class_name}."
        ) from None


def _entries(values: Any, name: str) -> list[Any]:
    """List the entries of an untyped sequence; refuse one that cannot be listed."""
    class_name = type(values).__name__
    if isinstance(values, NO_SEQUENCES) or not hasattr(type(values), "__len__"):
        raise InputError(f"{name} must be an array, a table or a sequence; got {class_name}.")
    try:
        return list(values)
    except Exception:
        raise InputError(
            f"{name} must be a sequence that lists its entries; got {class_name}."
        ) from None


def _column_label(label: Any, name: str) -> str:
    return f"Column {label!r} of {name}"


def stacked(vectors: Sequence[FloatArray]) -> Features:
    """Return columns side by side.

    Many columns are stacked and transposed piece by piece, which takes a third of the time of
    writing each column separately; for few columns it takes longer.
    """
    matrix = np.empty((len(vectors[0]), len(vectors)))
    if len(vectors) < COLUMNS_TRANSPOSED:
        for place, vector in enumerate(vectors):
            matrix[:, place] = doubled(vector)
        return matrix
    length = max(1, NUMBERS_TRANSPOSED // len(vectors))
    for first in range(0, len(matrix), length):
        piece = slice(first, first + length)
        matrix[piece] = np.stack([doubled(vector[piece]) for vector in vectors]).T
    return matrix


def check_shape(shape: tuple[int, ...], name: str = "X") -> None:
    """Refuse shapes without two dimensions, or with an empty one."""
    if len(shape) != 2:
        raise InputError(
            f"{name} must be a matrix of records by features; got shape {shape}. Reshape "
            "your data: a single feature is a matrix of one column."
        )
    for size, thing in zip(shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise InputError(
                f"{name} must have rows and columns; found 0 {thing}(s) "
                f"(shape={shape}) while a minimum of 1 is required."
            )
