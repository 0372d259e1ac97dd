"""What losses of the residual ``score - target`` have in common."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import BoolArray, FloatArray
from tailguard.checks import check_between

from .compiled import CompiledLoss
from .link import Link

# Squares and ratios of numbers in this range stay well within the floats.
SMALLEST_WIDTH, LARGEST_WIDTH = 1e-100, 1e100


def check_width(name: str, value: object) -> float:
    """Return a loss's parameter with the target's units as a float, within a range for squares."""
    return check_between(name, value, SMALLEST_WIDTH, LARGEST_WIDTH)


class ResidualLoss(CompiledLoss):
    """Base of losses of ``score - target``: targets are any finite numbers, scores predict them.

    Such a loss keeps its form when targets are shifted and scaled. A parameter with units
    (a threshold, a width) is then in units of the scaled target.
    """

    link: ClassVar[Link] = Link.IDENTITY

    def valid_target(self, target: ArrayLike) -> BoolArray:
        """Whether each target is finite."""
        return np.isfinite(np.asarray(target, dtype=np.float64))

    def mean(self, score: ArrayLike) -> FloatArray:
        """Return the score itself: it predicts the target."""
        return np.asarray(score, dtype=np.float64)


@dataclass(frozen=True)
class ThresholdLoss(ResidualLoss):
    """Base of losses that are nearly quadratic up to a threshold, and nearly linear beyond."""

    # 95 % of the efficiency of least squares under Gaussian noise: Holland and Welsch (1977).
    threshold: float = 1.345

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", check_width("threshold", self.threshold))

    @property
    def shape(self) -> FloatArray:
        """The threshold."""
        return np.array([self.threshold])

    def slope_bound(self) -> float:
        """Return the threshold."""
        return self.threshold

    def curvature_bound(self) -> float:
        """One, at residual zero."""
        return 1.0

    def clipped_curvature_bound(self, clip_norm: float, row_bound: float) -> float:
        """Return ``row_bound**2``: clipping never reaches the curvature at residual zero."""
        return row_bound**2
