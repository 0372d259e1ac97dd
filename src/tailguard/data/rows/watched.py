"""Rows that remember whether anybody has begun to read them.

An error from before then speaks of public and released numbers only. One from after it may speak of
a record, and nobody may hear of it.
"""

from tailguard.array_types import IntArray
from tailguard.data.rows.base import Rows
from tailguard.data.rows.kernel import Kernel
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

    @property
    def n_rows(self) -> int:
        """The public number of records."""
        return self._rows.n_rows

    @property
    def n_features(self) -> int:
        """The public number of feature columns."""
        return self._rows.n_features

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the feature columns, where they have names."""
        return self._rows.feature_names

    @property
    def has_target(self) -> bool:
        """Whether there is a target column."""
        return self._rows.has_target

    @property
    def has_offset(self) -> bool:
        """Whether there is an offset column."""
        return self._rows.has_offset

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
