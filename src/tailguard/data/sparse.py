"""Sparse matrices of SciPy: records are made dense, a few at a time, when they are read.

A record's cells are made of its own stored entries alone. SciPy itself sorts the entries of all
records, or of none, by what it finds in any of them, and so changes in which order those of one
cell are added; it adds them in the type of the matrix, which any one record may have decided; and a
number of a column that is not there makes it write into another record. So none of it is left to
SciPy: an entry becomes a float64 by itself, and floats are added in the order they are stored in.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tailguard.array_types import Features, IntArray
from tailguard.checks import InputError
from tailguard.data.columns import numbers_of, numpy_kind, refused
from tailguard.data.frames import is_a
from tailguard.data.matrices import check_shape, to_matrix

NUMBERS_AT_ONCE = 1_000_000
"""Numbers of one piece of what is copied to be read: 8 MB of floats."""
# In other formats one record's part can be such that SciPy reads those of others from elsewhere.
FORMATS = ("csr", "csc", "coo")


class SparseFeatures:
    """A matrix of records that keeps the stored entries alone in memory.

    An entry that is not stored is zero, and stored ones of the same place are added as float64,
    whatever the type of the matrix is. What was given is neither copied nor changed if it is in the
    CSR format; of CSC and COO a copy is made, of stored entries as well.

    Parameters
    ----------
    matrix
        A sparse matrix or array of SciPy of two dimensions: CSR, CSC or COO.
    name
        What it is called in errors.

    Edge cases
    ----------
    A record with an entry in a column that is not there is missing throughout. An entry in a row
    that is not there is no record's, and left out.
    """

    def __init__(self, matrix: Any, name: str = "X") -> None:
        check_shape(matrix.shape, name)
        if numpy_kind(matrix.dtype) != "numbers":
            raise refused(name, matrix.dtype)
        self.shape: tuple[int, int] = matrix.shape
        self._where = name
        if matrix.format not in FORMATS:
            raise InputError(
                f"{name} must be a sparse matrix of the format {', '.join(FORMATS[:-1])} or "
                f"{FORMATS[-1]}; got {matrix.format!r}: pass {name}.tocsr()."
            )
        if matrix.format == "coo":
            rows, columns, entries = _of_one_length(matrix.row, matrix.col, matrix.data)
        else:
            inner, entries = _of_one_length(matrix.indices, matrix.data)
            n_lines = self.shape[0 if matrix.format == "csr" else 1]
            if len(matrix.indptr) != n_lines + 1:
                raise InputError(
                    f"{name}.indptr must have {n_lines + 1} numbers, one more than there are "
                    f"rows or columns; got {len(matrix.indptr)}."
                )
            if matrix.format == "csr":
                self._entries, self._columns, self._ends = entries, inner, matrix.indptr
                return
            columns, stored = _stored(matrix.indptr, np.arange(n_lines), len(entries))
            rows, entries = inner[stored], entries[stored]
        there = np.flatnonzero((rows >= 0) & (rows < self.shape[0]))
        order = there[np.argsort(rows[there], kind="stable")]
        self._entries, self._columns = entries[order], columns[order]
        counts = np.bincount(rows[order], minlength=self.shape[0])
        self._ends = np.concatenate([[0], np.cumsum(counts)])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> Features:
        """Return records that follow one another as a dense matrix."""
        return self.take(np.arange(*rows.indices(len(self))))

    def take(self, places: IntArray, axis: int = 0) -> Features:
        """Return the records at these places, in this order, as a dense matrix."""
        n_rows, n_columns = len(places), self.shape[1]
        rows, stored = _stored(self._ends, places, len(self._entries))
        columns = self._columns[stored].astype(np.int64)
        inside = (columns >= 0) & (columns < n_columns)
        dense = np.zeros(n_rows * n_columns)
        cells = rows[inside] * n_columns + columns[inside]
        entries = numbers_of(self._entries[stored][inside], self._where)
        with np.errstate(all="ignore"):
            np.add.at(dense, cells, entries.astype(np.float64, copy=False))
        features = dense.reshape(n_rows, n_columns)
        features[rows[~inside]] = np.nan
        return features


def _of_one_length(*arrays: Any) -> list[Any]:
    """Cut arrays to the shortest, whatever was written over one of them."""
    length = min(map(len, arrays))
    return [array[:length] for array in arrays]


def _stored(ends: IntArray, lines: IntArray, n_entries: int) -> tuple[IntArray, IntArray]:
    """Return of all entries of these lines the place of the line among them, and where they are.

    Within what is stored, whatever was written over the ends since the matrix was made.
    """
    first = np.clip(ends[lines].astype(np.int64), 0, n_entries)
    counts = np.clip(ends[lines + 1], first, n_entries) - first
    line = np.repeat(np.arange(len(lines)), counts)
    return line, np.arange(len(line)) + np.repeat(first - np.cumsum(counts) + counts, counts)


def is_sparse(X: Any) -> bool:
    """Whether something is a sparse matrix or array of SciPy."""
    return is_a(X, "scipy.sparse", "sparray") or is_a(X, "scipy.sparse", "spmatrix")


def to_features(X: Any, name: str = "X") -> Features | SparseFeatures:
    """Return features as they are read: sparse ones stay so, and all others are a dense matrix."""
    if isinstance(X, SparseFeatures):
        return X
    dense = isinstance(X, np.ndarray) or not is_sparse(X)
    return to_matrix(X, name) if dense else SparseFeatures(X, name)


def dense_pieces(features: Features | SparseFeatures) -> Iterator[Features]:
    """Yield all records in order, a few at a time: as many of sparse features as of dense ones."""
    length = max(1, NUMBERS_AT_ONCE // features.shape[1])
    for start in range(0, len(features), length):
        yield features[start : start + length]
