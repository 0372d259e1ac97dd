"""Rows that remember whether anybody has begun to read them.

An error from before then speaks of public and released numbers only. One from after it may speak of
a record, and nobody may hear of it.
"""

from tailguard.array_types import IntArray
from tailguard.data.rows.base import Kernel, Rows
from tailguard.noise.orders import Order


class WatchedRows:
    """The same rows, and whether they were read.

    Examples
    --------
    >>> import numpy as np
    >>> from tailguard.data.rows.arrays import ArrayRows
    >>> rows = WatchedRows(ArrayRows(np.array([[1.0], [2.0]])))
    >>> rows.n_rows, rows.read
    (2, False)
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.read = False
        self.n_rows, self.n_features = rows.n_rows, rows.n_features
        self.has_offset = rows.has_offset

    def reduce(self, kernel: Kernel, n_threads: int | None = None) -> IntArray:
        """Read the records."""
        self.read = True
        return self._rows.reduce(kernel, n_threads)

    def restricted(self, places: Order) -> Rows:
        """Return some of the records, as rows of their own."""
        self.read = True
        return self._rows.restricted(places)

    def in_order(self, order: Order) -> Rows:
        """Return all of the records in another order."""
        self.read = True
        return self._rows.in_order(order)
