"""Counts of declared levels: of each column, of combinations of columns, and of chosen levels.

A record is in one cell of a table, or in none. So each table is a histogram, and a replaced record
moves at most two of its counts by one. With weights in [0, 1] or shares of a person's rows, a
record adds to counts in whole lattice steps. What it adds then lies in the convex hull of zero and
the contributions of single rows.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); Dong, Roth and Su 2022, Theorem
2.7, for the joint release.
"""

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tailguard.array_types import Features, FloatArray, IntArray
from tailguard.data.rows.base import RecordBlock, chunks_of, counted, whole_steps
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import SumQuery, count_sensitivity
from tailguard.queries.units import Units

Indicators: TypeAlias = tuple[tuple[int, ...], ...]
"""The indicator features of each declared column, for all its levels except the first."""


def first_levels(indicators: Features) -> IntArray:
    """Return the number of each record's level, from 1; 0 for the baseline."""
    count = indicators.shape[1]
    # The first nonzero indicator has the largest rank; the loop never ends early.
    ranks = (np.asarray(indicators) != 0.0) * np.arange(count, 0, -1)
    highest = ranks.max(axis=1)
    return np.where(highest == 0, 0, count + 1 - highest)


def n_codes(by: Indicators) -> int:
    """Return the number of combinations; each column has a baseline, levels and a missing cell."""
    return math.prod(len(columns) + 2 for columns in by)


def codes_of(features: Features, by: Indicators) -> IntArray:
    """Return the number of each record's combination; the last column changes fastest.

    In each column the first level has code 0, other levels follow, and a missing cell comes last.
    """
    codes = np.zeros(len(features), dtype=np.int64)
    for columns in by:
        indicators = features[:, columns]
        missing = ~np.isfinite(indicators).all(axis=1)
        levels = np.where(missing, len(columns) + 1, first_levels(indicators))
        codes = codes * (len(columns) + 2) + levels
    return codes


@dataclass(frozen=True)
class LevelCounts(SumQuery):
    """Counts of baseline and levels, column by column; the state is not used.

    A fit needs only this of an indicator: its size is one, its centre is zero, and the count gives
    its scale.

    Attributes
    ----------
    indicators
        For each categorical column, the features that are indicators of its levels. The baseline
        has no indicator.

    Guarantee
    ---------
    In each of the ``k`` columns a record has the baseline or one level, whatever its indicators
    are, or it is counted nowhere. Replacing it takes one from a count and adds one to another, in
    each column. This moves the vector by at most ``sqrt(2 * k)`` in l2 norm and ``2 * k`` in l1
    norm. Counts are exact.

    Edge cases
    ----------
    A record with a non-finite value is counted nowhere. An indicator other than zero and one counts
    as one. A record with several nonzero indicators has the first of their levels.

    Examples
    --------
    >>> query = LevelCounts(((0, 1), (2,)))
    >>> query.sensitivity(n_rows=10, n_features=3).ideal, query.size
    (2.0, 5)
    """

    indicators: Indicators

    name = "counts of levels"

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
        """Count records exactly, or their weights in lattice steps.

        A lattice step is one over a whole number. A record has the first level whose indicator is
        not zero, or else the baseline.
        """
        counts = np.zeros(self.size, dtype=np.int64)
        for chunk in chunks_of(block):
            void, first = chunk.void(), 0
            for columns in self.indicators:
                # Void records are counted in an extra place, which is dropped.
                places = np.where(void, self.size, first + first_levels(chunk.features[:, columns]))
                counts += counted(places, self.size, grid, chunk.weight)
                first += len(columns) + 1
        return counts

    def by_column(self, counts: FloatArray) -> list[FloatArray]:
        """Return one vector of counts per categorical column, the baseline first."""
        ends = np.cumsum([len(columns) + 1 for columns in self.indicators])
        return np.split(counts, ends[:-1])

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"columns": len(self.indicators), "counts": self.size}


@dataclass(frozen=True)
class LevelTables(SumQuery):
    """Counts of all combinations of levels, table by table; the state is not used.

    Attributes
    ----------
    tables
        For each table, its declared columns, each as the indicators of its levels.

    Guarantee
    ---------
    A record is in one cell of each of the ``k`` tables, whatever it holds. Replacing it takes one
    from a count and adds one to another, in each table. This moves the vector by at most
    ``sqrt(2 * k)`` in l2 norm and ``2 * k`` in l1 norm. Counts are exact.

    Edge cases
    ----------
    A missing cell is a level of its own. Cells of other columns do not matter, and may be missing.

    Examples
    --------
    >>> query = LevelTables((((0, 1),), ((0, 1), (2,))))
    >>> query.sensitivity(n_rows=10, n_features=3).ideal, query.size
    (2.0, 16)
    """

    tables: tuple[Indicators, ...]

    name = "tables of levels"

    @classmethod
    def worst_pair(cls, units: Units) -> dict[str, Any]:
        """Return a table of one column and one of two, and a record that changes all cells."""
        ends = {"old": (1.0, 0.0, np.nan, 0.0), "new": (0.0, 1.0, 0.0, 0.0)}
        return {"label": "two", "query": cls((((0, 1),), ((0, 1), (2,)))), "state": None, **ends}

    @property
    def size(self) -> int:
        """Number of counts."""
        return sum(map(n_codes, self.tables))

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of all counts together."""
        return count_sensitivity(math.sqrt(2 * len(self.tables)), self.size, n_rows)

    def pure_sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far the counts move in l1 norm."""
        return count_sensitivity(2.0 * len(self.tables), self.size, n_rows, norm="l1")

    def sum_block(self, block: RecordBlock, state: Any, grid: float) -> IntArray:
        """Count exactly, in lattice steps; a step is one over a whole number."""
        total = np.zeros(self.size, dtype=np.int64)
        for chunk in chunks_of(block):
            counts = [
                counted(codes_of(chunk.features, table), n_codes(table), grid, chunk.weight)
                for table in self.tables
            ]
            total += np.concatenate(counts)
        return total

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"tables": len(self.tables), "counts": self.size}


@dataclass(frozen=True)
class CountOfLevels(SumQuery):
    """Number of records with an allowed level in each of some columns; the state is not used.

    Attributes
    ----------
    by
        The indicators of each column.
    allowed
        For each column, the codes that count: 0 for its first level, then other levels, then a
        missing cell.

    Guarantee
    ---------
    A record counts once or not at all, by its own cells: replacing it moves the count by at most
    1. The count is exact.

    Examples
    --------
    >>> CountOfLevels(((0, 1),), ((2,),)).sensitivity(n_rows=10, n_features=2).ideal
    1.0
    """

    by: Indicators
    allowed: tuple[tuple[int, ...], ...]

    name = "count of records by levels"

    @classmethod
    def worst_pair(cls, units: Units) -> dict[str, Any]:
        """Return a record that counts, and one that does not."""
        ends = {"old": (0.0, 0.0, 0.0, 0.0), "new": (1.0, 0.0, 0.0, 0.0)}
        return {"label": "one", "query": cls(((0, 1),), ((1,),)), "state": None, **ends}

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of one count."""
        return count_sensitivity(1.0, 1, n_rows)

    def pure_sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far the count moves in l1 norm."""
        return count_sensitivity(1.0, 1, n_rows, norm="l1")

    def sum_block(self, block: RecordBlock, state: Any, grid: float) -> IntArray:
        """Count exactly, in lattice steps; a step is one over a whole number."""
        total = 0
        for chunk in chunks_of(block):
            allowed_rows = np.ones(chunk.n_rows, dtype=np.bool_)
            for columns, codes in zip(self.by, self.allowed, strict=True):
                allowed_rows &= np.isin(codes_of(chunk.features, (columns,)), codes)
            total += int(whole_steps(chunk.weight, chunk.n_rows, grid) @ allowed_rows)
        return np.array([total], dtype=np.int64)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"columns": len(self.by), "counts": 1}
