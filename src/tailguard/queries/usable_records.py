"""How many records can be used, and of which kinds the cells of each column are.

Records that cannot be used are void: they add nothing to any other answer, so a fit of a table of
words spends its whole budget on nothing. These two counts tell, for little: the first whether most
records can be used, the second which column is to blame. The second is the only query that reads
cells of void records.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); Dong, Roth and Su 2022, Theorem
2.7 (Gaussian mechanism).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.data.rows.base import CHUNK_ROWS, Rows
from tailguard.privacy.calibration import Calibration, Sensitivity
from tailguard.queries.base import GaussianQuery, Places
from tailguard.queries.kernels.cell_kinds import CellKindCount
from tailguard.queries.kernels.counts import BelowCount

KINDS = 3  # numbers, empty cells, anything else


@dataclass(frozen=True)
class UsableRecords(GaussianQuery):
    """The number of records that can be used: not void, with a valid target.

    Guarantee
    ---------
    A record is counted once or not at all, by what it holds itself, so replacing one moves the
    count by at most 1. The count is an exact integer: nothing is charged for rounding.

    Examples
    --------
    >>> UsableRecords().sensitivity(n_rows=100, n_features=4).ideal
    1.0
    """

    @property
    def name(self) -> str:
        """The release's name in the books."""
        return "number of usable records"

    @property
    def places(self) -> Places:
        """None: each record is counted by itself."""
        return "none"

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of one count."""
        return _of_counts(1.0, 1, n_rows)

    def answer(self, rows: Rows, state: Any, calibration: Calibration) -> IntArray:
        """Count exactly, in lattice steps of ``1 / multiplier``."""
        # Every number is below infinity, and a void record is below nothing.
        kernel = BelowCount(
            thresholds=[np.inf],
            columns=(0,),
            paired=False,
            multiplier=round(1.0 / calibration.grid),
        )
        return rows.reduce(kernel)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"counts": 1}


@dataclass(frozen=True)
class CellKinds(GaussianQuery):
    """Per column, how many cells are numbers, empty, or anything else.

    Columns are those of the table: its features, the target and the exposure, where there are such.
    A number is a cell that can be used: a valid target, a declared label, a positive exposure, a
    level of a column of declared levels. The answer has one row per column.

    Guarantee
    ---------
    Each cell of a record is of one kind, which that cell and public declarations decide. Replacing
    a record takes one from one count of each of the ``k`` columns and adds one to another, which
    moves the vector by at most ``sqrt(2 * k)`` in l2 norm. Counts are exact integers.

    Edge cases
    ----------
    Void records are counted, too: which of their cells makes them void is what is asked.

    Examples
    --------
    >>> CellKinds(n_columns=8).sensitivity(n_rows=100, n_features=7).ideal
    4.0
    """

    n_columns: int

    @property
    def name(self) -> str:
        """The release's name in the books."""
        return "kinds of cells by column"

    @property
    def places(self) -> Places:
        """None: each record is counted by itself."""
        return "none"

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of all counts together."""
        return _of_counts(math.sqrt(2.0 * self.n_columns), KINDS * self.n_columns, n_rows)

    def answer(self, rows: Rows, state: Any, calibration: Calibration) -> IntArray:
        """Count exactly, in lattice steps of ``1 / multiplier``."""
        multiplier = round(1.0 / calibration.grid)
        return rows.reduce(CellKindCount(n_columns=self.n_columns, multiplier=multiplier))

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Return one row of counts per column."""
        return np.reshape(noised, (self.n_columns, KINDS))

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"columns": self.n_columns, "kinds": KINDS}


def _of_counts(move: float, size: int, n_rows: int) -> Sensitivity:
    """Return the sensitivity of exact counts, of which a record moves the vector by ``move``."""
    return Sensitivity(
        norm="l2",
        ideal=move,
        computed=move,
        size=size,
        largest_partial=min(CHUNK_ROWS, n_rows),
        largest_total=n_rows,
        integer=True,
    )
