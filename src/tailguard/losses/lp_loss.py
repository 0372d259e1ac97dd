"""Lp loss: a power of the residual."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray
from tailguard.checks import check_between

from .base import Loss

# Higher powers would overflow slopes at residuals of 2**30 private scales.
SMALLEST_POWER, LARGEST_POWER = 2.0, 16.0
# Larger slopes count as infinite: powers above 1e222 take longer to compute, and that time would
# reveal something about a record.
LARGEST_SLOPE = 1e220


@dataclass(frozen=True)
class LpLoss(Loss):
    """Power of the residual, ``|score - target|**p``.

    Parameters
    ----------
    p
        The power, from 2 to 16. At 2 the loss is twice ``Squared``.

    Edge cases
    ----------
    A value beyond the largest float is infinite. A slope beyond ``p * 1e220`` is plus or minus
    infinity.

    Reference
    ---------
    Xu et al., "Beyond ordinary Lipschitz constraints: differentially private stochastic
    optimization with Tsybakov noise condition", section 7, uses ``p = 4``.

    Examples
    --------
    >>> loss = LpLoss(p=4)
    >>> loss.value([3.0], [1.0]), loss.slope([3.0], [1.0])
    (array([16.]), array([32.]))
    """

    name: ClassVar[str] = "lp"
    contract_examples = ((), (2,), (2.5,))  # arguments that the contract tests try
    p: float = 4.0

    def __post_init__(self) -> None:
        power = check_between("p", self.p, SMALLEST_POWER, LARGEST_POWER)
        object.__setattr__(self, "p", power)

    @np.errstate(all="ignore")
    def value(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Power of the absolute residual."""
        absolute_residual: FloatArray = np.abs(np.subtract(score, target))
        return absolute_residual**self.p

    @np.errstate(all="ignore")
    def slope(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Return ``p * |residual|**(p - 1)`` with the sign of the residual."""
        residual: FloatArray = np.subtract(score, target)
        absolute_residual, largest = np.abs(residual), LARGEST_SLOPE ** (1.0 / (self.p - 1.0))
        slope = self.p * np.minimum(absolute_residual, largest) ** (self.p - 1)
        return np.copysign(np.where(absolute_residual > largest, np.inf, slope), residual)

    def residual(self, slope: float) -> float:
        """Return the root of the slope over ``p``."""
        return float((slope / self.p) ** (1.0 / (self.p - 1.0)))

    def curvature_bound(self) -> float:
        """Two for the squared residual, infinite for higher powers."""
        return 2.0 if self.p == 2 else math.inf

    def clipped_curvature_bound(self, clip_norm: float, row_bound: float) -> float:
        """Return the largest curvature of gradients that are not clipped, which is finite.

        With residual ``r`` and row length ``b``, the gradient is not clipped while
        ``p * |r|**(p - 1) * b <= clip_norm``. There the curvature ``p * (p - 1) * |r|**(p - 2)``,
        times ``b**2``, is at most
        ``p * (p - 1) * (clip_norm / p)**((p - 2) / (p - 1)) * b**(p / (p - 1))``,
        which grows with ``b``. For ``p = 4`` and the longest row this is
        ``12 * (clip_norm / 4)**(2/3) * row_bound**(4/3)``; no bound on targets is needed.
        """
        curvature = self.p * (self.p - 1)
        clip_factor: float = (clip_norm / self.p) ** ((self.p - 2) / (self.p - 1))
        row_factor: float = row_bound ** (self.p / (self.p - 1))
        return curvature * clip_factor * row_factor
