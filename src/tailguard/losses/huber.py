"""Huber's loss."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray

from .base import Loss, check_width


@dataclass(frozen=True)
class Huber(Loss):
    """Squared loss near zero, absolute loss beyond ``threshold``: robust to outliers.

    With the residual ``r``, the loss is ``r**2 / 2`` if ``|r| <= threshold``, else
    ``threshold * (|r| - threshold / 2)``.

    Parameters
    ----------
    threshold
        The residual at which the slope stops growing, in units of the target that the loss is
        given. At 1.345 standard deviations the estimate keeps 95 % of the efficiency of least
        squares under Gaussian noise. From 1e-100 to 1e100.

    Reference
    ---------
    Huber (1964), "Robust estimation of a location parameter"; the constant 1.345 is in Holland and
    Welsch (1977), Table 1.

    Examples
    --------
    >>> Huber(threshold=1.0).slope([0.5, 7.0, -7.0], 0.0)
    array([ 0.5,  1. , -1. ])
    """

    name: ClassVar[str] = "huber"
    contract_examples = ((), (0.3,), (4.0,))  # arguments that the contract tests try
    threshold: float = 1.345

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", check_width("threshold", self.threshold))

    @np.errstate(all="ignore")
    def value(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Quadratic up to the threshold, linear beyond."""
        absolute_residual = np.abs(np.subtract(score, target))
        clipped: FloatArray = np.minimum(absolute_residual, self.threshold)
        return clipped * (absolute_residual - clipped / 2)

    @np.errstate(all="ignore")
    def slope(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Residual, clipped at the threshold."""
        return np.clip(np.subtract(score, target), -self.threshold, self.threshold)

    def slope_bound(self) -> float:
        """Return the threshold."""
        return self.threshold

    def curvature_bound(self) -> float:
        """One, at residual zero."""
        return 1.0
