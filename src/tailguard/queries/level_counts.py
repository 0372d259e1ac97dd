"""How many records have each level of the categorical columns that a schema declares.

All columns are counted in one release. That is all which must be known of an indicator: its size
is one, its centre zero, and its scale follows from the count.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); Dong, Roth and Su 2022, Theorem
2.7, for the joint release.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailguard.array_types import Features, FloatArray, IntArray
from tailguard.data.rows.base import RecordBlock, chunks_of, counted
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import GaussianQuery, count_sensitivity


@dataclass(frozen=True)
class LevelCounts(GaussianQuery):
    """Counts of baseline and levels, column by column; the state is not used.

    Attributes
    ----------
    indicators
        Of each categorical column the columns of its levels' indicators; the baseline has none.

    Guarantee
    ---------
    A record has one level, or the baseline, of each of the ``k`` columns, whatever numbers stand in
    the indicators, or it is counted nowhere: replacing it takes one from a count and adds one to
    another, in each column, which moves the vector by at most ``sqrt(2 * k)`` in l2 norm and
    ``2 * k`` in l1 norm. Counts are exact.

    Edge cases
    ----------
    A record with a non-finite value is counted nowhere. Indicators other than zero and one count as
    one, and a record with several has the first of them.

    Examples
    --------
    >>> query = LevelCounts(((0, 1), (2,)))
    >>> query.sensitivity(n_rows=10, n_features=3).ideal, query.size
    (2.0, 5)
    """

    indicators: tuple[tuple[int, ...], ...]

    name = "counts of levels"
    places = "none"
    takes_weights = True
    takes_persons = True

    @property
    def size(self) -> int:
        """Number of counts."""
        return sum(len(columns) + 1 for columns in self.indicators)

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of all counts together."""
        return count_sensitivity(math.sqrt(2 * len(self.indicators)), self.size, n_rows)

    def pure_sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far the counts move in l1 norm."""
        return count_sensitivity(2.0 * len(self.indicators), self.size, n_rows, norm="l1")

    def sum_block(self, block: RecordBlock, state: Any, grid: float) -> IntArray:
        """Count in lattice steps of one over a whole number, exactly or by weights.

        A record has the first level whose indicator is not zero, or else the baseline.
        """
        counts = np.zeros(self.size, dtype=np.int64)
        for chunk in chunks_of(block):
            void, first = chunk.void(), 0
            for columns in self.indicators:
                # What is void is counted in a place that is dropped.
                places = np.where(void, self.size, first + first_levels(chunk.features[:, columns]))
                counts += counted(places, self.size, grid, chunk.weight)
                first += len(columns) + 1
        return counts

    def by_column(self, counts: FloatArray) -> list[FloatArray]:
        """Return one vector of counts per categorical column, the baseline first."""
        columns, first = [], 0
        for some in self.indicators:
            columns.append(counts[first : first + len(some) + 1])
            first += len(some) + 1
        return columns

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"columns": len(self.indicators), "counts": self.size}


def first_levels(indicators: Features) -> IntArray:
    """Return the number of each record's level, from 1; 0 for the baseline."""
    count = indicators.shape[1]
    # The largest rank among those that are not zero is that of the first; nothing ends early.
    ranks = (np.asarray(indicators) != 0.0) * np.arange(count, 0, -1)
    highest = ranks.max(axis=1)
    return np.asarray(np.where(highest == 0, 0, count + 1 - highest))
