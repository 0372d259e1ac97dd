"""Exact counts of the levels of categorical columns, each given as its indicators."""

from dataclasses import dataclass

import numpy as np

from tailguard.array_types import Features, IntArray
from tailguard.checks import check_integer
from tailguard.data.rows.base import Kernel, RecordBlock, Together, chunks_of
from tailguard.queries.kernels.steady import steady


@dataclass(frozen=True, eq=False, kw_only=True)
class LevelCount(Kernel):
    """Per categorical column, how many records have its baseline and each of its levels.

    ``indicators`` holds the columns of each one's levels. A record has the first level whose
    indicator is not zero, or else the baseline.

    Guarantee
    ---------
    A record adds ``multiplier`` to one count of each categorical column, or nothing at all.

    Edge cases
    ----------
    A void record is counted nowhere. Indicators other than zero and one count as one, and a record
    with several has the first of them.
    """

    indicators: tuple[tuple[int, ...], ...]
    multiplier: int

    together: Together = "none"

    def __post_init__(self) -> None:
        check_integer("multiplier", self.multiplier, minimum=1)

    @property
    def size(self) -> int:
        """Number of counts: baseline and levels, column by column."""
        return sum(len(columns) + 1 for columns in self.indicators)

    @steady
    def sum_block(self, block: RecordBlock) -> IntArray:
        """Count the records of one block."""
        counts = np.zeros(self.size, dtype=np.int64)
        for chunk in chunks_of(block):
            void, first = chunk.void(), 0
            for columns in self.indicators:
                # What is void is counted in a place that is dropped.
                places = np.where(void, self.size, first + _levels(chunk.features[:, columns]))
                counts += np.bincount(places, minlength=self.size + 1)[: self.size]
                first += len(columns) + 1
        return counts * self.multiplier


def _levels(indicators: Features) -> IntArray:
    """Return the number of each record's level, from 1; 0 for the baseline."""
    count = indicators.shape[1]
    # The largest rank among those that are not zero is that of the first; nothing ends early.
    ranks = (np.asarray(indicators) != 0.0) * np.arange(count, 0, -1)
    highest = ranks.max(axis=1)
    return np.asarray(np.where(highest == 0, 0, count + 1 - highest))
