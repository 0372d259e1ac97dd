"""Sparse matrices of SciPy: records are made dense, a few at a time, when they are read.

A record's cells depend only on its own stored entries. SciPy would break this in three ways. It
sorts the entries of all records or of none, depending on any of them, which changes the order of
additions in a cell. It adds in the type of the matrix, which one record may have decided. And an
invalid column number makes it write into another record. So each entry is converted to float64
here, and entries of one cell are added in stored order.
"""

from collections.abc import Iterator
from os import PathLike
from typing import Any

import numpy as np

from tailguard.array_types import Features, IntArray
from tailguard.checks import InputError, require
from tailguard.data.columns import numbers_of, numpy_kind, refused
from tailguard.data.frames import is_a
from tailguard.data.matrices import check_shape, to_matrix

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


def dense_pieces(features: Features | SparseFeatures) -> Iterator[Features]:
    """Yield all records in order, a few at a time; sparse ones become dense."""
    length = max(1, NUMBERS_AT_ONCE // features.shape[1])
    for start in range(0, len(features), length):
        yield features[start : start + length]


def check_no_path(X: Any) -> None:
    """Refuse the path of a file: predictions need a table or an array."""
    require(
        not isinstance(X, str | PathLike),
        "X must be a table or an array to predict from; got the path of a file: read it first, for "
        "example by pd.read_csv(path), or run 'tailguard predict'.",
    )
