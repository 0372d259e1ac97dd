"""Queries that state less than one record can move, or sum more than they state."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from tailguard.data.rows.base import chunks_of, round_to_lattice
from tailguard.means.soft import SoftMean
from tailguard.queries.clip_levels import LevelGradients
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.target_totals import TargetTotals
from tailguard.queries.usable_records import CellKinds, UsableRecords, WeightTotals


def halved(stated):
    """The sensitivity of adding or removing a record, not of replacing it."""
    return replace(stated, ideal=stated.ideal / 2, computed=stated.computed / 2)


class AddRemoveSensitivity(MeanClippedGradient):
    """States ``clip_norm`` where replacing a record moves the sum by twice that."""

    def sensitivity(self, n_rows, n_features):
        return halved(super().sensitivity(n_rows, n_features))


class ForgottenClip(MeanClippedGradient):
    """Sums gradients as they come, up to a limit that no honest record reaches."""

    def answer(self, rows, state, calibration):
        unclipped = MeanClippedGradient(self.loss, self.units, clip_norm=1e6)
        return unclipped.answer(rows, state, calibration)


class OneSidedLadder(LevelGradients):
    """Takes sums for one-sided: but slopes have two signs."""

    def sensitivity(self, n_rows, n_features):
        return halved(super().sensitivity(n_rows, n_features))


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
        return halved(super().sensitivity(n_rows, n_features))


class HeavyCount(TargetTotals):
    """Counts a usable record by more than sqrt(3), which is too far from a void one."""

    _counted = 2.5


class UncountedSquares(WeightTotals):
    """Charges the total alone, and answers with the sum of squares as well."""

    def sensitivity(self, n_rows, n_features):
        stated = super().sensitivity(n_rows, n_features)
        return replace(stated, ideal=1.0, computed=1.0)


def printed_closed_form(a, smoothing):
    """Wang, Xiao, Devadas and Xu 2020, Appendix B, term by term: 15.4 at 1e6, where 0.91 is true.

    Entries that make it something that is no number count as zero.
    """
    b = np.abs(a) / smoothing**0.5
    low, high = (2**0.5 - a) / b, (2**0.5 + a) / b
    f_low, f_high = ndtr(-low), ndtr(-high)
    e_low, e_high = np.exp(-(low**2) / 2), np.exp(-(high**2) / 2)
    root = (2 * np.pi) ** 0.5
    t1 = 2 * 2**0.5 / 3 * (f_low - f_high)
    t2 = -(a - a**3 / 6) * (f_low + f_high)
    t3 = b / root * (1 - a**2 / 2) * (e_high - e_low)
    t4 = a * b**2 / 2 * (f_high + f_low + (high * e_high + low * e_low) / root)
    t5 = b**3 / (6 * root) * ((2 + low**2) * e_low - (2 + high**2) * e_high)
    return np.nan_to_num(a * (1 - b**2 / 2) - a**3 / 6 + t1 + t2 + t3 + t4 + t5, nan=0.0)


@dataclass
class NaiveSum:
    """The lattice sum of a plain mean in raw units."""

    scale: float
    smoothing: float
    size: int
    grid: float

    together = "none"
    reads_cells = False

    def sum_block(self, block):
        total = np.zeros(self.size, dtype=np.int64)
        for chunk in chunks_of(block):
            entries = np.where(chunk.void()[:, None], 0.0, chunk.features)
            values = self.scale * printed_closed_form(entries / self.scale, self.smoothing)
            total += round_to_lattice(values.sum(axis=0), self.grid)
        return total


class NaiveClosedForm(SoftMean):
    """States the sensitivity of the exact form and evaluates the naive one."""

    def answer(self, rows, state, calibration):
        grid = calibration.grid * rows.n_rows
        return rows.reduce(NaiveSum(self.scale, self.smoothing, self.units.size, grid))
