"""Matrix products on one thread, so that their bits depend on the chunk and on nothing else."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import RLock

from threadpoolctl import ThreadpoolController

_LOCK = RLock()  # the limit is the process's: it is set and taken back by one fit at a time


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread inside the block; chunks still run on as many threads as asked.

    Examples
    --------
    >>> with one_blas_thread():
    ...     pass
    """
    with _LOCK, _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    """Find the loaded BLAS libraries, once: NumPy's is loaded by now."""
    return ThreadpoolController()
