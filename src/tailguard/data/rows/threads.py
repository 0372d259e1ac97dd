"""Threads that process pieces of records, with few pieces in memory at a time.

Each matrix product runs on one thread, so its bits depend on the chunk only.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import RLock
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from tailguard.array_types import IntArray
from tailguard.checks import InputError, check_integer
from tailguard.quiet import SharedSetting

Job = TypeVar("Job")
Result = TypeVar("Result")


def resolve_threads(n_threads: int | None = None) -> int:
    """Return the number of threads: as given, by ``TAILGUARD_NUM_THREADS``, or all CPUs."""
    if n_threads is not None:
        return check_integer("n_threads", n_threads, minimum=1)
    setting = os.environ.get("TAILGUARD_NUM_THREADS")
    if setting is None:
        # CPUs that this process may use, if the platform lists them.
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else os.cpu_count() or 1
    if not setting.isdecimal() or int(setting) == 0:
        raise InputError(
            f"TAILGUARD_NUM_THREADS must be a whole number of at least 1; got {setting!r}."
        )
    return int(setting)


def in_turn(work: Callable[[Job], Result], jobs: Iterable[Job], n_threads: int) -> Iterator[Result]:
    """Yield the results of all jobs in order; a job starts when a thread is free.

    With one thread, all jobs run in the caller's thread.
    """
    if n_threads == 1:
        yield from map(work, jobs)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        futures: deque[Future[Result]] = deque()
        for job in jobs:
            futures.append(pool.submit(work, job))
            if len(futures) > n_threads:
                yield futures.popleft().result()
        while futures:
            yield futures.popleft().result()


def added(
    size: int, work: Callable[[Job], IntArray], jobs: Iterable[Job], n_threads: int
) -> IntArray:
    """Add the integer results of all jobs; the sum is exact, so the order does not matter."""
    total = np.zeros(size, dtype=np.int64)
    for part in in_turn(work, jobs, n_threads):
        total += part
    return total


@cache
def _libraries() -> list[Any]:
    """Find the loaded BLAS libraries, once; NumPy has loaded its own by now.

    ``ThreadpoolController.limit`` would also read their versions and names at each call.
    """
    return ThreadpoolController().select(user_api="blas").lib_controllers


def _limit_blas() -> None:
    for library in _libraries():
        library.set_num_threads(1)


@contextmanager
def _blas_limit() -> Iterator[None]:
    before = [library.num_threads for library in _libraries()]
    _limit_blas()
    yield
    for library, count in zip(_libraries(), before, strict=True):
        library.set_num_threads(count)


limited_blas = SharedSetting(_blas_limit, _limit_blas)
"""Limits BLAS to one thread, in a thread of a fit or of a worker."""
_turn = RLock()  # a fit holds it while it uses the limit


def _begin_anew() -> None:
    """Give a forked process, which lacks the other threads, its own turn and no limit."""
    global _turn  # noqa: PLW0603
    _turn = RLock()
    limited_blas.begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside the block, and allow one fit at a time in the process.

    The chunks of a fit still run on several threads. Chunks of simultaneous fits would mostly wait
    for one another.
    """
    with _turn, limited_blas:
        yield
