"""All records, or their gradients, as one matrix, for queries that sort or solve.

``Rows`` returns only sums of integers. So each block writes the bits of its floats to the places of
its records, and zeros elsewhere. The sum over all blocks is the whole matrix, bit by bit, for any
division of the records into blocks.

Reference
---------
Nissim, Raskhodnikova and Smith 2007: smooth sensitivity needs the records themselves, not a sum.
"""

from typing import Any

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError
from tailguard.data.rows.base import RecordBlock, Rows
from tailguard.queries.loop import LatticeSum

MOST_NUMBERS = 2**30  # eight gibibytes of floats; sorting takes a few copies


def check_gathered(n_rows: int, n_columns: int) -> None:
    """Refuse more numbers than memory may hold at once; reads only public sizes."""
    if n_rows * n_columns > MOST_NUMBERS:
        raise InputError(
            f"n_rows must be at most {MOST_NUMBERS // n_columns} with {n_columns} columns here, as "
            f"all records are held in memory at once; got {n_rows}."
        )


def placed(values: FloatArray, block: RecordBlock, n_rows: int) -> IntArray:
    """Return the bits of the whole matrix, with the block's rows in their places, else zeros."""
    matrix = np.zeros((n_rows, values.shape[1]), dtype=np.float64)
    matrix[block.place : block.place + block.n_rows] = values
    return matrix.view(np.int64).ravel()


def gather(query: Any, rows: Rows, n_columns: int, state: Any = None) -> FloatArray:
    """Return the matrix that a query gathers, with one row for each record.

    The loop gets the pair of ``state`` and the number of records as its state.
    """
    loop = LatticeSum(query, (state, rows.n_rows), 1.0, rows.n_rows * n_columns)
    # With one thread, rows in memory are one block, so there is no second matrix to add.
    return rows.reduce(loop, n_threads=1).view(np.float64).reshape(rows.n_rows, -1)
