"""Logistic slopes that neither outcome makes large: half the noise, nearly the same information.

The slope ``p - y`` may be one, though it is near one half where outcomes are open. Times
``0.5 / max(p, 1 - p)`` no slope exceeds one half, and slopes still average zero where ``p`` is the
probability of a one, since both outcomes are weighted alike. Among all weights of the score none
keeps more of the curvature for that bound. Lost is the equal weight of sure and unsure records,
which is the best one where noise is small, and the optimum of log-loss where no score is true.

Reference
---------
Kuensch, Stefanski and Carroll 1989 (conditionally unbiased bounded-influence estimators of
generalised linear models; these weights are a simple case).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray

from .logistic import Logistic

# The largest slope that the weight 0.5 / max(p, 1 - p) leaves.
BOUND = 0.5


@dataclass(frozen=True)
class BalancedLogistic(Logistic):
    """The loss with these slopes: linear where the outcome was unexpected, exponential elsewhere.

    It is not canonical, so that the default method refuses it. That method takes these slopes for
    ``Logistic`` itself, where noise is large.

    Examples
    --------
    >>> BalancedLogistic().slope([0.0, 1000.0, -1.0], [1.0, 0.0, 0.0]).round(3)
    array([-0.5  ,  0.5  ,  0.184])
    """

    name: ClassVar[str] = "balanced_logistic"
    canonical: ClassVar[bool] = False

    @np.errstate(all="ignore")
    def value(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Half of ``exp(-margin)``, continued in a line below zero."""
        margin = np.multiply(2.0 * np.asarray(target, dtype=np.float64) - 1.0, score)
        return BOUND * np.where(margin > 0.0, np.exp(-np.maximum(margin, 0.0)), 1.0 - margin)

    @np.errstate(all="ignore")
    def slope(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Predicted probability less the target, by the larger of both outcomes' slopes."""
        likely = self.mean(np.abs(score))
        slope: FloatArray = BOUND * np.subtract(self.mean(score), target) / likely
        return np.clip(slope, -BOUND, BOUND)  # a quotient may be rounded beyond one

    def slope_bound(self) -> float:
        """One half, whatever the score."""
        return BOUND

    def curvature_bound(self) -> float:
        """One half, just above a score of zero."""
        return BOUND

    def clipped_curvature_bound(self, clip_norm: float, row_bound: float) -> float:
        """Curvature that remains where the gradient is not clipped.

        Where the outcome is expected, slope and curvature of a score are equal, so that a gradient
        of length ``clip_norm`` bends by ``clip_norm * row_bound`` at most.
        """
        return min(BOUND * row_bound, clip_norm) * row_bound

    @np.errstate(all="ignore")
    def expected_curvature(self, score: ArrayLike) -> FloatArray:
        """Half of the probability of the less likely outcome."""
        curvature: FloatArray = BOUND * self.mean(-np.abs(np.asarray(score, dtype=np.float64)))
        return curvature
