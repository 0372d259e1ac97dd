"""Squared loss."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray

from .base import SlopeScalar
from .residual import ResidualLoss


def _slope(score: float, target: float, shape: FloatArray) -> float:
    return score - target


@dataclass(frozen=True)
class Squared(ResidualLoss):
    """Half the squared residual, ``(score - target)**2 / 2``: least squares.

    Edge cases
    ----------
    A residual beyond the largest float is infinite, as is its slope.

    Examples
    --------
    >>> loss = Squared()
    >>> loss.value([3.0], [1.0]), loss.slope([3.0], [1.0])
    (array([2.]), array([2.]))
    """

    name: ClassVar[str] = "squared"
    canonical: ClassVar[bool] = True
    one_slope: ClassVar[SlopeScalar] = staticmethod(_slope)

    @property
    def shape(self) -> FloatArray:
        """One unused zero: the loss has no parameter."""
        return np.zeros(1)

    @np.errstate(all="ignore")
    def value(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Half the squared residual."""
        residual: FloatArray = np.subtract(score, target)
        return residual * residual / 2

    @np.errstate(all="ignore")
    def slope(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Return the residual itself."""
        residual: FloatArray = np.subtract(score, target)
        return residual

    def slope_bound(self) -> float:
        """Infinite."""
        return np.inf

    def curvature_bound(self) -> float:
        """One, everywhere."""
        return 1.0

    def clipped_curvature_bound(self, clip_norm: float, row_bound: float) -> float:
        """Return ``row_bound**2``: clipping never reaches the curvature at residual zero."""
        return row_bound**2
