"""All records, or their gradients, as one matrix, for queries that sort or solve.

Reference
---------
Nissim, Raskhodnikova and Smith 2007: smooth sensitivity needs the records themselves, not a sum.
"""

import numpy as np

from tailguard.kernels.gather import GatheredGradients, GatheredRecords
from tailguard.queries.base import FloatArray
from tailguard.rows.base import Rows

__all__ = ["gather"]


def gather(rows: Rows, kernel: GatheredGradients | GatheredRecords) -> FloatArray:
    """Return the matrix that a kernel gathers, one row for each record.

    Examples
    --------
    >>> from tailguard.rows.arrays import ArrayRows
    >>> rows = ArrayRows(np.array([[0.5], [0.0]]), np.array([1.0, np.inf]))
    >>> gather(rows, GatheredRecords(n_rows=2, n_columns=2))
    array([[0.5, 1. ],
           [nan, nan]])
    """
    # One thread: rows in memory then come as one block, and nothing is added at all.
    return rows.reduce(kernel, n_threads=1).view(np.float64).reshape(rows.n_rows, -1)
