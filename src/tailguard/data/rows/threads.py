"""Threads that work through pieces of records; few pieces are in memory at a time.

Matrix products stay on one thread, so that their bits depend on the chunk only.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock, RLock
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from tailguard.array_types import IntArray
from tailguard.checks import InputError, check_integer

Job = TypeVar("Job")
Result = TypeVar("Result")


def resolve_threads(n_threads: int | None = None) -> int:
    """Return the number of threads: as given, by ``TAILGUARD_NUM_THREADS``, or all CPUs."""
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


def in_turn(work: Callable[[Job], Result], jobs: Iterable[Job], n_threads: int) -> Iterator[Result]:
    """Yield the results of all jobs in order; jobs are taken as threads become free.

    One thread is the caller's own.
    """
    if n_threads == 1:
        yield from map(work, jobs)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        begun: deque[Future[Result]] = deque()
        for job in jobs:
            begun.append(pool.submit(work, job))
            if len(begun) > n_threads:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()


def added(
    size: int, work: Callable[[Job], IntArray], jobs: Iterable[Job], n_threads: int
) -> IntArray:
    """Add up the integer results of all jobs, exactly and so in any order."""
    total = np.zeros(size, dtype=np.int64)
    for part in in_turn(work, jobs, n_threads):
        total += part
    return total


class _BlasLimit:
    """One thread for BLAS inside the block: each entry sets it, and the last exit resets it.

    The limit belongs to the process; the fit that uses it holds ``turn``.
    """

    def __init__(self) -> None:
        self.turn = RLock()
        self._lock = Lock()
        self._n_inside = 0
        self._before: list[int] | None = None

    def __enter__(self) -> None:
        with self._lock:
            before = [library.num_threads for library in _libraries()]
            _set_threads([1] * len(before))  # others may have changed it
            self._before = before if self._before is None else self._before
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside = max(0, self._n_inside - 1)  # a forked process has begun anew
            if self._n_inside == 0 and self._before is not None:
                _set_threads(self._before)
                self._before = None

    def begin_anew(self) -> None:
        """Reset the state in a forked process, which does not have the other threads."""
        before = self._before
        self.__init__()  # type: ignore[misc]
        if before is not None:
            _set_threads(before)


limited_blas = _BlasLimit()
"""Holds BLAS to one thread, for a thread of a fit or of a worker."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=limited_blas.begin_anew)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread inside the block, for one fit of the process at a time.

    Its chunks still run on several threads; the chunks of several fits at once would mostly wait
    for one another.
    """
    with limited_blas.turn, limited_blas:
        yield


@cache
def _libraries() -> list[Any]:
    """Find the loaded BLAS libraries, once: NumPy's is loaded by now.

    ``ThreadpoolController.limit`` reads versions and names as well, at each call.
    """
    libraries: list[Any] = ThreadpoolController().select(user_api="blas").lib_controllers
    return libraries


def _set_threads(counts: list[int]) -> None:
    for library, count in zip(_libraries(), counts, strict=True):
        library.set_num_threads(count)
