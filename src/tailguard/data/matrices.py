"""Matrices and vectors from arrays, tables and sparse matrices; the layout follows from types only.

Arrays and tables declare their width. A list or another untyped sequence does not, and if the width
were inferred, one entry would decide how all others are read. So a matrix cannot be a list; a
vector may be one, with one cell per entry.

Records of a sparse matrix of SciPy are made dense, a few at a time, when they are read. A record's
cells depend only on its own stored entries. SciPy would break this in three ways. It sorts the
entries of all records or of none, depending on any of them, which changes the order of additions in
a cell. It adds in the type of the matrix, which one record may have decided. And an invalid column
number makes it write into another record. So each entry is converted to float64 here, and entries
of one cell are added in stored order.
"""

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any

import numpy as np

from tailguard.array_types import Features, FloatArray, IntArray
from tailguard.checks import InputError, require
from tailguard.data.columns import (
    arrow_floats,
    doubled,
    numbers_of,
    numpy_kind,
    pandas_floats,
    refused,
)
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


NUMBERS_AT_ONCE = 1_000_000
"""Numbers in one copied piece: 8 MB of floats."""
# In other formats the entries of one record can make SciPy misread other records.
FORMATS = ("csr", "csc", "coo")


class SparseFeatures:
    """A matrix of records that keeps only the stored entries in memory.

    An entry that is not stored is zero, and stored entries of the same cell are added as float64,
    whatever the type of the matrix is. A CSR matrix is neither copied nor changed; CSC and COO
    matrices are copied.

    Parameters
    ----------
    matrix
        A sparse matrix or array of SciPy of two dimensions: CSR, CSC or COO.

    Edge cases
    ----------
    If a record has an entry in a nonexistent column, all its cells are missing. An entry in a
    nonexistent row is ignored.
    """

    def __init__(self, matrix: Any) -> None:
        check_shape(matrix.shape, "X")
        if numpy_kind(matrix.dtype) != "numbers":
            raise refused("X", matrix.dtype)
        self.shape: tuple[int, int] = matrix.shape
        if matrix.format not in FORMATS:
            raise InputError(
                f"X must be a sparse matrix of the format {', '.join(FORMATS[:-1])} or "
                f"{FORMATS[-1]}; got {matrix.format!r}: pass X.tocsr()."
            )
        if matrix.format == "coo":
            rows, columns, entries = _cut_to_shortest(matrix.row, matrix.col, matrix.data)
        else:
            indices, entries = _cut_to_shortest(matrix.indices, matrix.data)
            n_lines = self.shape[0 if matrix.format == "csr" else 1]
            if len(matrix.indptr) != n_lines + 1:
                raise InputError(  # the number of rows may be secret
                    "X.indptr must have one number more than there are rows, or columns for csc; "
                    "it has more or fewer."
                )
            if matrix.format == "csr":
                self._entries, self._columns, self._ends = entries, indices, matrix.indptr
                return
            columns, stored = _stored(matrix.indptr, np.arange(n_lines), len(entries))
            rows, entries = indices[stored], entries[stored]
        valid = np.flatnonzero((rows >= 0) & (rows < self.shape[0]))
        order = valid[np.argsort(rows[valid], kind="stable")]
        self._entries, self._columns = entries[order], columns[order]
        counts = np.bincount(rows[order], minlength=self.shape[0])
        self._ends = np.concatenate([[0], np.cumsum(counts)])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> Features:
        """Return consecutive records as a dense matrix."""
        return self.take(np.arange(*rows.indices(len(self))))

    def take(self, places: IntArray, axis: int = 0) -> Features:
        """Return the records at these places, in this order, as a dense matrix.

        ``axis`` is 0; NumPy's ``take`` has it too.
        """
        n_rows, n_columns = len(places), self.shape[1]
        rows, stored = _stored(self._ends, places, len(self._entries))
        columns = self._columns[stored].astype(np.int64)
        inside = (columns >= 0) & (columns < n_columns)
        dense = np.zeros(n_rows * n_columns)
        cells = rows[inside] * n_columns + columns[inside]
        entries = numbers_of(self._entries[stored][inside], "X")
        with np.errstate(all="ignore"):
            np.add.at(dense, cells, entries.astype(np.float64, copy=False))
        features = dense.reshape(n_rows, n_columns)
        features[rows[~inside]] = np.nan
        return features


def _cut_to_shortest(*arrays: Any) -> list[Any]:
    """Cut arrays to the shortest, in case the owner of the matrix replaced one."""
    length = min(map(len, arrays))
    return [array[:length] for array in arrays]


def _stored(ends: IntArray, lines: IntArray, n_entries: int) -> tuple[IntArray, IntArray]:
    """Return two numbers for each entry of some rows (of a CSC matrix: columns), the ``lines``.

    They are the place of the entry's line in ``lines``, and the place of the entry among all stored
    ones. ``ends`` are SciPy's ``indptr``. Places stay within the stored entries, whatever ``ends``
    holds.
    """
    first = np.clip(ends[lines].astype(np.int64), 0, n_entries)
    counts = np.clip(ends[lines + 1], first, n_entries) - first
    line = np.repeat(np.arange(len(lines)), counts)
    return line, np.arange(len(line)) + np.repeat(first - np.cumsum(counts) + counts, counts)


def to_features(X: Any) -> Features | SparseFeatures:
    """Return features for reading: sparse ones stay sparse, others become a dense matrix."""
    if isinstance(X, SparseFeatures):
        return X
    if type(X) is np.ndarray:
        return to_matrix(X)
    is_sparse = is_a(X, "scipy.sparse", "sparray") or is_a(X, "scipy.sparse", "spmatrix")
    return SparseFeatures(X) if is_sparse else to_matrix(X)


def features_of(X: Any, *, may_be_vector: bool) -> tuple[Features | SparseFeatures, bool]:
    """Return features for reading, and whether X was a vector, which becomes the only column."""
    if may_be_vector and not hasattr(X, "tocsr"):
        return to_matrix_or_vector(X)
    return to_features(X), False


def dense_pieces(features: Features | SparseFeatures) -> Iterator[Features]:
    """Yield all records in order, a few at a time; sparse ones become dense."""
    length = max(1, NUMBERS_AT_ONCE // features.shape[1])
    for start in range(0, len(features), length):
        yield features[start : start + length]


def check_no_path(X: Any) -> None:
    """Refuse the path of a file: predictions and scores need a table or an array."""
    require(
        not isinstance(X, str | PathLike),
        "X must be a table or an array to predict from; got the path of a file: read it first, for "
        "example by pd.read_csv(path), or run 'tailguard predict' or 'tailguard score'.",
    )
