"""How much the usable records weigh together: what weighted means are divided by.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (sums of bounded terms); Kish 1965, Section 8.2
(the effective number of records: the squared sum of weights over the sum of their squares).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.data.rows.base import RecordBlock, chunks_of
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import GaussianQuery, count_sensitivity


@dataclass(frozen=True)
class WeightTotals(GaussianQuery):
    """The sums of the weights of usable records and of their squares, in parts of the bound.

    Guarantee
    ---------
    A record adds ``(w, w**2)`` with ``w`` in [0, 1], each rounded down to whole steps, or nothing
    if it is void. Any two of these differ by at most 1 in either sum: replacing a record moves them
    by at most ``sqrt(2)``, attained by weights 0 and 1. Nothing is charged for rounding.

    Edge cases
    ----------
    Where records have no weights each counts as one. A person weighs what her usable rows do
    together, and no more than one.

    Examples
    --------
    >>> round(WeightTotals().sensitivity(n_rows=100, n_features=4).ideal, 6)
    1.414214
    """

    name = "total weight of usable records"
    places = "none"
    takes_weights = True
    takes_persons = True

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of both sums together."""
        return count_sensitivity(math.sqrt(2.0), 2, n_rows)

    def sum_block(self, block: RecordBlock, state: Any, grid: float) -> IntArray:
        """Add up whole steps, which is exact."""
        steps, total = round(1.0 / grid), np.zeros(2, dtype=np.int64)
        if block.person is not None and block.n_rows:
            assert block.weight is not None
            weight = np.bincount(block.person, np.where(block.void(), 0.0, block.weight))
            return total + _in_steps(np.minimum(weight, 1.0), steps)
        for chunk in chunks_of(block):
            own = np.ones(chunk.n_rows) if chunk.weight is None else chunk.weight
            total += _in_steps(np.where(chunk.void(), 0.0, own), steps)
        return total

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"sums": 2}


def _in_steps(weight: FloatArray, steps: int) -> IntArray:
    """Return the sums of weights and of their squares, each rounded down to whole steps."""
    down = np.floor(np.array([weight, weight * weight]) * steps)
    return np.asarray(down.astype(np.int64).sum(axis=1))
