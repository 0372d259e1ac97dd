"""Matrix products on one thread, so that their bits depend on the chunk and on nothing else."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread inside the block; chunks still run on as many threads as asked.

    The limit is the process's: whoever comes first sets it, and whoever leaves last takes it back.

    Examples
    --------
    >>> with one_blas_thread():
    ...     pass
    """
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()


class _Limit:
    """The limit of this process, and how many need it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_inside = 0
        self._set: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._set = _libraries().limit(limits=1, user_api="blas")
            self._n_inside += 1

    def leave(self) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._set.restore_original_limits()


_LIMIT = _Limit()


@cache
def _libraries() -> ThreadpoolController:
    """Find the loaded BLAS libraries, once: NumPy's is loaded by now."""
    return ThreadpoolController()
