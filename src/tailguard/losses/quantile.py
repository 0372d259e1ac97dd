"""Smoothed pinball loss."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray
from tailguard.checks import check_open_unit

from .base import SMALLEST_WIDTH, Loss, check_width


@dataclass(frozen=True)
class Quantile(Loss):
    """Pinball loss, averaged over a window of half-width ``width``, which gives it a curvature.

    The pinball loss of the residual ``r = score - target`` is ``-level * r`` below zero and
    ``(1 - level) * r`` above. Its average over ``[r - width, r + width]`` has the slope
    ``clip(r / (2 * width) + 1/2, 0, 1) - level``: it is within ``[-level, 1 - level]``, and rises
    at the rate ``1 / (2 * width)`` inside the window. Outside the window the loss is unchanged.

    The minimiser is the exact quantile of the distribution of targets convolved with the uniform
    distribution on ``[-width, width]``, so the smoothing bias is of order ``width**2`` only. For a
    single record the minimiser is ``target + (2 * level - 1) * width``.

    Parameters
    ----------
    level
        The level of the quantile: 0.5 is the median.
    width
        Half the width of the window, in units of the target that the loss is given; from 1e-100 to
        1e100. At 0.2 standard deviations the smoothing moves the 0.9-quantile of a Gaussian by less
        than 0.01. The default method uses half of this width, in the scale of the residuals if it
        is smaller than that of the target.

    Reference
    ---------
    Koenker and Bassett (1978) for the loss; Fernandes, Guerre and Horta (2021), "Smoothing quantile
    regressions", for its average, here with the uniform kernel.

    Examples
    --------
    >>> Quantile(level=0.75, width=0.5).slope([-9.0, 0.0, 0.25, 9.0], 0.0)
    array([-0.75, -0.25,  0.  ,  0.25])
    """

    name: ClassVar[str] = "quantile"
    contract_examples = ((), (0.9, 0.05), (0.2, 2.0))  # arguments that the contract tests try
    level: float = 0.5
    width: float = 0.2

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", check_open_unit("level", self.level))
        object.__setattr__(self, "width", check_width("width", self.width))

    @np.errstate(all="ignore")
    def value(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Average of the pinball loss over the window."""
        residual: FloatArray = np.subtract(score, target)
        # The average of max(r, 0): a parabola inside the window, r itself above it.
        share_above = np.clip(residual / (2 * self.width) + 0.5, 0.0, 1.0)
        positive_part = self.width * share_above**2 + np.maximum(residual - self.width, 0.0)
        return positive_part - self.level * residual

    @np.errstate(all="ignore")
    def slope(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Share of the window above the target, minus the level."""
        residual: FloatArray = np.subtract(score, target)
        return np.clip(residual / (2 * self.width) + 0.5, 0.0, 1.0) - self.level

    def slope_bound(self) -> float:
        """Return the larger of the absolute slopes on the two sides."""
        return max(self.level, 1 - self.level)

    def narrowed(self, part: float) -> Self:
        """Return the loss with ``part`` of the window's width."""
        return replace(self, width=max(SMALLEST_WIDTH, part * self.width))

    def curvature_bound(self) -> float:
        """Return ``1 / (2 * width)``, attained inside the window."""
        return 0.5 / self.width
