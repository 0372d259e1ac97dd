"""Linear maps of standardised rows, by a compiled loop that leaves out zeros of the map.

A triangular map has half as many numbers as any other, and every map is a triangular one followed
by a rotation. A rotation changes neither lengths nor the distribution of equal Gaussian noise in
all coordinates. So records are read through the triangular map, and answers are rotated afterwards.

Reference
---------
Golub and Van Loan 2013, Section 5.2 (the QR factorisation).
"""

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.queries.loop import compiled_loop

# So few rows that the caches near the processor hold all their coordinates while they are mapped.
STRIP_ROWS = 128
# More numbers than needed between columns of a strip: with a power of two all would compete for the
# same lines of the cache.
GAP = 8
# The loop reads four lines times four coordinates of a map at a time, so that their numbers and the
# sums fit the 32 registers of a processor.
TILE = 4


def triangular(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return an upper triangular map and a rotation, whose product is ``matrix``.

    Examples
    --------
    >>> triangle, rotation = triangular(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> np.round(triangle @ rotation, 9).tolist(), bool(abs(triangle[1, 0]) < 1e-15)
    ([[1.0, 2.0], [3.0, 4.0]], True)
    """
    rotation, upper = np.linalg.qr(matrix[::-1].T, mode="complete")
    return upper[::-1, ::-1].T, rotation[:, ::-1].T


class Tiles:
    """A map in tiles for ``map_rows``, filled up with zeros.

    Attributes
    ----------
    matrix
        The map; each row gives one line.
    begins, ends
        Of each four lines: the first coordinate, a multiple of four, and the end of those that they
        use.
    """

    def __init__(self, matrix: FloatArray) -> None:
        lines, height = (-(-size // TILE) * TILE for size in matrix.shape)
        self.matrix = np.zeros((lines, height))
        self.matrix[: matrix.shape[0], : matrix.shape[1]] = matrix
        tiles = self.matrix.reshape(-1, TILE, height // TILE, TILE)
        used = np.asarray(tiles.any(axis=(1, 3)))
        self.begins = TILE * np.argmax(used, axis=1)
        self.ends = TILE * (used.shape[1] - np.argmax(used[:, ::-1], axis=1))

    def map(self, rows: FloatArray, mapped: FloatArray) -> None:
        """Write the products of records' rows with each row of the map to a line of ``mapped``."""
        map_rows()(self.matrix, self.begins, self.ends, rows, mapped)


@compiled_loop("in matrix", "in places", "in places", "in matrix", "matrix", reorders=True)
def map_rows(
    released: FloatArray, begins: IntArray, ends: IntArray, rows: FloatArray, mapped: FloatArray
) -> None:
    """Write the products of records' rows with each row of ``released`` to a line of ``mapped``.

    Each record is computed by itself: with BLAS the bits of its products would depend on its place
    in the chunk. To save memory traffic, each pass adds four products to each of four lines. Passes
    over zeros of the map are left out; they would add zeros, since rows are finite.
    """
    columns = np.zeros((released.shape[1], STRIP_ROWS + GAP))
    sums = np.empty((TILE, STRIP_ROWS))
    first, second, third, fourth = sums[0], sums[1], sums[2], sums[3]
    for start in range(0, len(rows), STRIP_ROWS):
        count = min(STRIP_ROWS, len(rows) - start)
        for i in range(count):
            row = rows[start + i]
            for j in range(row.size):
                columns[j, i] = row[j]
        for line in range(0, len(mapped), TILE):
            sums[:] = 0.0
            for j in range(begins[line // TILE], ends[line // TILE], TILE):
                # The coefficients of this pass: four for each of four lines.
                a0, a1, a2, a3 = released[line, j : j + TILE]
                b0, b1, b2, b3 = released[line + 1, j : j + TILE]
                c0, c1, c2, c3 = released[line + 2, j : j + TILE]
                d0, d1, d2, d3 = released[line + 3, j : j + TILE]
                for i in range(STRIP_ROWS):
                    x0, x1 = columns[j, i], columns[j + 1, i]
                    x2, x3 = columns[j + 2, i], columns[j + 3, i]
                    first[i] = first[i] + a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
                    second[i] = second[i] + b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
                    third[i] = third[i] + c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3
                    fourth[i] = fourth[i] + d0 * x0 + d1 * x1 + d2 * x2 + d3 * x3
            for k in range(min(TILE, len(mapped) - line)):
                into = mapped[line + k, start : start + count]
                for i in range(into.size):
                    into[i] = sums[k, i]
