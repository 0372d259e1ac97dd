"""Matrix products on one thread, so that their bits depend on the chunk and on nothing else."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock, RLock
from typing import Any

from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread inside the block, which one fit of the process has at a time.

    Its chunks still run on as many threads as asked: those of several fits would wait for one
    another longer than they work.
    """
    with _LIMIT.turn, limited_blas():
        yield


@contextmanager
def limited_blas() -> Iterator[None]:
    """Hold BLAS to one thread inside the block, for a thread of a fit or of a worker.

    The limit is the process's: whoever comes sets it, and whoever leaves last takes it back.
    """
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()


class _Limit:
    """The limit of this process, and how many need it."""

    def __init__(self) -> None:
        self.turn = RLock()
        self._lock = Lock()
        self._n_inside = 0
        self._before: Any = None

    def enter(self) -> None:
        with self._lock:
            limit = _libraries().limit(limits=1, user_api="blas")  # others may have changed it
            self._before = self._before or limit
            self._n_inside += 1

    def leave(self) -> None:
        with self._lock:
            self._n_inside = max(0, self._n_inside - 1)  # a forked process has begun anew
            if self._n_inside == 0 and self._before is not None:
                self._before.restore_original_limits()
                self._before = None

    def begin_anew(self) -> None:
        """Forget what threads held that a forked process does not have."""
        before = self._before
        self.__init__()  # type: ignore[misc]
        if before is not None:
            before.restore_original_limits()


_LIMIT = _Limit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LIMIT.begin_anew)


@cache
def _libraries() -> ThreadpoolController:
    """Find the loaded BLAS libraries, once: NumPy's is loaded by now."""
    return ThreadpoolController()
