"""Excess risk on a large sample of columns that no fit sees, targets replaced by their means.

With the targets' noise gone, the sample's only error is that of its columns, and it is shared by
everything that is compared.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from accuracy.risks import best_constant, excess_values


@dataclass(frozen=True, eq=False)
class Judge:
    """Excess of raw coefficients over ``optimum``.

    ``columns`` are before units and offsets, raw ones being ``units * (offsets + columns)``, so
    that nothing cancels 50 standard deviations from zero. ``optimum`` is a pair of slopes of
    ``columns`` and a constant. ``mean_target`` is not read for squared loss, where the optimum is
    the mean.
    """

    loss: str
    columns: np.ndarray
    mean_target: np.ndarray
    optimum: tuple[np.ndarray, float]
    intercept: bool
    units: np.ndarray | float = 1.0
    offsets: np.ndarray | float = 0.0

    def excess(self, coef, intercept):
        """Mean excess risk; squared error is not halved."""
        slopes = coef * self.units
        return self._excess(slopes, intercept + np.sum(slopes * self.offsets))

    def constant_gap(self):
        """Excess of the best constant, or of zero where no intercept is fitted."""
        mean = np.mean(self.mean_target)
        constant = best_constant(self.loss, mean) if self.intercept else 0.0
        return float(self._excess(np.zeros(self.columns.shape[1]), constant))

    def raw_optimum(self):
        """The optimum as coefficients and intercept in raw units."""
        coef = self.optimum[0] / self.units
        return coef, float(self.optimum[1] - np.sum(self.optimum[0] * self.offsets))

    def _excess(self, slopes, constant):
        best_slopes, best_constant = self.optimum
        if self.loss == "squared":
            gap = np.append(slopes - best_slopes, constant - best_constant)
            return gap @ self._moments @ gap
        score = self.columns @ slopes + constant
        return np.mean(excess_values(self.loss, score, self._best, self.mean_target))

    @cached_property
    def _best(self):
        return self.columns @ self.optimum[0] + self.optimum[1]

    @cached_property
    def _moments(self):
        """Mean of ``(x, 1) (x, 1)'``: squared excess is a quadratic form in it."""
        n_rows, mean = len(self.columns), self.columns.mean(axis=0)
        second = self.columns.T @ self.columns / n_rows
        return np.block([[second, mean[:, None]], [mean[None, :], np.ones((1, 1))]])
