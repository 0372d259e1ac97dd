"""The table behind discrete Gaussian noise: cumulative probabilities to 128 binary digits.

The table describes the discrete Gaussian ``P(x) ~ exp(-x**2 / (2 * 64**2))`` on the integers from
-704 to 704 (11 standard deviations). It is built once, lazily, from decimal arithmetic of 70
digits: no float takes part, so every platform holds the same integers.
"""

from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from tailguard.noise.sources import Words

BASE_STD = 64
LARGEST = 704
# 4096 buckets are small enough for the first-level cache and leave about one step per look-up.
BUCKET_BITS = 12
_WORD_MASK = 2**64 - 1


@dataclass(frozen=True, eq=False)
class GaussianTable:
    """Thresholds that turn uniform words into table cells; cell ``c`` stands for ``c - LARGEST``.

    Attributes
    ----------
    upper
        First 64 binary digits of ``P(X <= x)`` for every x but the last, then one word that no
        other can exceed.
    lower
        The next 64 digits, read only when a random word equals one of ``upper``.
    first_cell
        For each value of a word's leading ``BUCKET_BITS`` digits, the lowest cell it can mean.
    """

    upper: Words
    lower: Words
    first_cell: NDArray[np.int64]


@cache
def gaussian_table() -> GaussianTable:
    """Build the table, or return the one built before."""
    thresholds = _cumulative_probabilities()
    upper = np.array([value >> 64 for value in thresholds] + [_WORD_MASK], dtype=np.uint64)
    lower = np.array([value & _WORD_MASK for value in thresholds] + [_WORD_MASK], dtype=np.uint64)
    starts = np.arange(2**BUCKET_BITS, dtype=np.uint64) << np.uint64(64 - BUCKET_BITS)
    first_cell = np.searchsorted(upper, starts, side="left").astype(np.int64)
    for array in (upper, lower, first_cell):
        array.setflags(write=False)
    return GaussianTable(upper, lower, first_cell)


def _cumulative_probabilities() -> list[int]:
    """``floor(2**128 * P(X <= x))`` for x from ``-LARGEST`` to ``LARGEST - 1``."""
    with localcontext() as context:
        context.prec = 70
        ratio = (Decimal(-1) / (2 * BASE_STD**2)).exp()  # weight(1) / weight(0)
        weights = [Decimal(1)]
        for distance in range(LARGEST):
            weights.append(weights[-1] * ratio ** (2 * distance + 1))
        both_sides = weights[:0:-1] + weights
        total = sum(both_sides)
        return [int(below * 2**128 / total) for below in accumulate(both_sides[:-1])]
