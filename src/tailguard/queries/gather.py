"""All records, or their gradients, as one matrix, for queries that sort or solve.

Reference
---------
Nissim, Raskhodnikova and Smith 2007: smooth sensitivity needs the records themselves, not a sum.
"""

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError
from tailguard.data.rows.base import Rows
from tailguard.queries.kernels.gather import GatheredGradients, GatheredRecords

MOST_NUMBERS = 2**30  # eight gibibytes of floats, of which sorting takes a few copies


def check_gathered(n_rows: int, n_columns: int) -> None:
    """Refuse, from public sizes alone, more numbers than are held in memory at once."""
    if n_rows * n_columns > MOST_NUMBERS:
        raise InputError(
            f"n_rows must be at most {MOST_NUMBERS // n_columns} with {n_columns} columns here, as "
            f"all records are held in memory at once; got {n_rows}."
        )


def gather(rows: Rows, kernel: GatheredGradients | GatheredRecords) -> FloatArray:
    """Return the matrix that a kernel gathers, one row for each record."""
    # One thread: rows in memory then come as one block, and nothing is added at all.
    return rows.reduce(kernel, n_threads=1).view(np.float64).reshape(rows.n_rows, -1)
