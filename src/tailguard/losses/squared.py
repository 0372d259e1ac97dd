"""Squared loss."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray

from .base import Loss


@dataclass(frozen=True)
class Squared(Loss):
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

    @np.errstate(all="ignore")
    def value(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Half the squared residual."""
        residual: FloatArray = np.subtract(score, target)
        return residual * residual / 2

    def curvature_bound(self) -> float:
        """One, everywhere."""
        return 1.0
