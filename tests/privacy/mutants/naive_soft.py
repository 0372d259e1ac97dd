"""A soft mean by the closed form as it is printed, with nothing against its cancellation."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from tailguard.data.rows.base import chunks_of, round_to_lattice
from tailguard.means.soft import SoftMean


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
