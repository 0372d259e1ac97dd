"""Arithmetic that takes as long for one number as for another, and says nothing of any.

Many processors leave subnormal numbers, those below 2.2e-308, to microcode: one product takes up to
150 cycles instead of a fraction of one, so that running time would tell of records that hold them.
While records are summed such numbers count as zero, as do those below 1.2e-38 that are stored in
single precision. Processors do that at no cost once they are told to (``subnormals.py``). The
setting belongs to the thread, and is taken back.

Reference
---------
Andrysco, Kohlbrenner, Mowery, Jhala, Lerner and Shacham 2015, "On subnormal floating point and
abnormal timing".
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from tailguard.array_types import IntArray
from tailguard.data.rows.base import RecordBlock

SumBlock = TypeVar("SumBlock", bound=Callable[[Any, RecordBlock], IntArray])


def steady(sum_block: SumBlock) -> SumBlock:
    """Let a kernel's ``sum_block`` count subnormal numbers as zero and warn of nothing."""

    @wraps(sum_block)
    def run(kernel: Any, block: RecordBlock) -> IntArray:
        with np.errstate(all="ignore"), subnormals_as_zero():
            return sum_block(kernel, block)

    return run  # type: ignore[return-value]


@contextmanager
def subnormals_as_zero() -> Iterator[None]:
    """Count subnormal numbers as zero, those of float32 that become float64 too."""
    from tailguard.queries.kernels.subnormals import ZERO_BITS, exchange  # noqa: PLC0415 (Numba takes a while to load)

    before = exchange()(0, ZERO_BITS)
    try:
        yield
    finally:
        exchange()(ZERO_BITS, before & ZERO_BITS)
