"""What every home of records offers, and the threads that work through it."""

import os
from typing import Protocol

from tailguard.array_types import IntArray
from tailguard.checks import InputError, check_integer
from tailguard.data.rows.kernel import Kernel
from tailguard.noise.orders import Order


class Rows(Protocol):
    """Records, of which only sums by a kernel can be asked.

    Examples
    --------
    >>> import numpy as np
    >>> from tailguard.data.rows.arrays import ArrayRows
    >>> rows: Rows = ArrayRows(np.zeros((5, 2)))
    >>> rows.n_rows, rows.n_features
    (5, 2)
    """

    @property
    def n_rows(self) -> int:
        """The public number of records."""
        ...

    @property
    def n_features(self) -> int:
        """The public number of feature columns."""
        ...

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the feature columns, where they have names."""
        ...

    @property
    def has_target(self) -> bool:
        """Whether there is a target column."""
        ...

    @property
    def has_offset(self) -> bool:
        """Whether there is an offset column."""
        ...

    def reduce(self, kernel: Kernel, n_threads: int | None = None) -> IntArray:
        """Return the kernel's lattice sum over all records: the same bits for any ``n_threads``."""
        ...

    def restricted(self, places: Order) -> "Rows":
        """Return the records at these places alone, in this order, as rows of their own."""
        ...

    def in_order(self, order: Order) -> "Rows":
        """Return all records in this order, gathered as they are read and not copied before."""
        ...


def resolve_threads(n_threads: int | None = None) -> int:
    """Return how many threads to use: as told, or by ``TAILGUARD_NUM_THREADS``, or all CPUs.

    Examples
    --------
    >>> resolve_threads(2)
    2
    """
    if n_threads is not None:
        return check_integer("n_threads", n_threads, minimum=1)
    told = os.environ.get("TAILGUARD_NUM_THREADS")
    if told is None:
        # CPUs that this process may use, where the platform says so.
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else os.cpu_count() or 1
    if not told.isdecimal() or int(told) == 0:
        raise InputError(
            f"TAILGUARD_NUM_THREADS must be a whole number of at least 1; got {told!r}."
        )
    return int(told)
