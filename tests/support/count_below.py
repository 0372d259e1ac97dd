"""The simplest query, for tests of gates and rows: counts of records below thresholds.

Importing this module registers it, so that gates admit it.
"""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.data.rows.base import chunks_of
from tailguard.queries.admission import ALL_QUERIES
from tailguard.queries.base import GaussianQuery, count_sensitivity
from tailguard.queries.histograms import cells_of, pairs

ALL_QUERIES["count-below"] = f"{__name__}:CountBelow"


@dataclass(frozen=True)
class CountBelow(GaussianQuery):
    """Per column, the number of records (or random pairs) at or below a threshold.

    The state is one threshold per column. Columns ``0 .. d-1`` are the features, ``d`` is the
    target and ``d + 1`` the offset.
    """

    columns: tuple[int, ...]
    paired: bool = False

    @property
    def name(self):
        """The release's name in the books."""
        counted = "pair differences" if self.paired else "values"
        return f"counts of {counted} below thresholds"

    @property
    def places(self):
        """``"random"`` if records are paired, else ``"none"``."""
        return "random" if self.paired else "none"

    def sensitivity(self, n_rows, n_features):
        """State the sensitivity of the vector of counts."""
        return count_sensitivity(math.sqrt(len(self.columns)), len(self.columns), n_rows)

    def pure_sensitivity(self, n_rows, n_features):
        """State how far the counts move in l1 norm."""
        return count_sensitivity(len(self.columns), len(self.columns), n_rows, norm="l1")

    def read_state(self, state):
        """Return the thresholds."""
        return np.array(state, dtype=np.float64)

    def sum_block(self, block, state, grid):
        """Count exactly, in lattice steps; a step is one over a whole number."""
        counts = np.zeros(len(self.columns), dtype=np.int64)
        for chunk in chunks_of(block):
            values, used = cells_of(chunk, self.columns), ~chunk.void()
            if self.paired:
                values = np.abs(np.subtract(*pairs(values)))
                used = np.logical_and(*pairs(used))
            counts += np.count_nonzero((values <= state) & used[:, None], axis=0)
        return counts * round(1.0 / grid)

    def parameters(self):
        """Public numbers behind the stated sensitivity."""
        return {"counts": len(self.columns), "paired": str(self.paired).lower()}
