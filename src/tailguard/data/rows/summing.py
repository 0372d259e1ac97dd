"""Work on pieces of records by several threads, of which few are in memory at a time."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from tailguard.array_types import IntArray

Job = TypeVar("Job")
Result = TypeVar("Result")


def in_turn(work: Callable[[Job], Result], jobs: Iterable[Job], n_threads: int) -> Iterator[Result]:
    """Yield the results of all jobs in order; jobs are taken as threads become free.

    One thread is the caller's own.

    Examples
    --------
    >>> list(in_turn(abs, [-1, 2, -3], n_threads=2))
    [1, 2, 3]
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
    """Add up the whole numbers that all jobs come to: exact, so in whatever order.

    Examples
    --------
    >>> added(2, lambda n: np.array([n, 1]), range(4), n_threads=2)
    array([6, 4])
    """
    total = np.zeros(size, dtype=np.int64)
    for part in in_turn(work, jobs, n_threads):
        total += part
    return total
