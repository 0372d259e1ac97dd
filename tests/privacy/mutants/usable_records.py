"""Counts of usable records, and totals of their weights, that break their sensitivity."""

from dataclasses import replace

import numpy as np

from tailguard.queries.usable_records import CellKinds, UsableRecords, WeightTotals


class _NeighbourCount:
    size, together, reads_cells = 1, "some", False

    def __init__(self, multiplier):
        self._multiplier = multiplier

    def sum_block(self, block):
        usable = ~block.void()
        return np.array([np.count_nonzero(usable & np.roll(usable, 1))]) * self._multiplier


class NeighbourCount(UsableRecords):
    """Counts a record only where the one beside it can be used, too."""

    def answer(self, rows, state, calibration):
        return rows.reduce(_NeighbourCount(round(1.0 / calibration.grid)))


class HalvedKinds(CellKinds):
    """Charges each column as one count, although a cell moves two of them."""

    def sensitivity(self, n_rows, n_features):
        stated = super().sensitivity(n_rows, n_features)
        move = stated.ideal / 2.0
        return replace(stated, ideal=move, computed=move)


class UncountedSquares(WeightTotals):
    """Charges the total alone, and answers with the sum of squares as well."""

    def sensitivity(self, n_rows, n_features):
        stated = super().sensitivity(n_rows, n_features)
        return replace(stated, ideal=1.0, computed=1.0)
