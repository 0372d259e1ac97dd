"""Weighted logistic slopes of at most one half: half the noise, nearly the same information.

A logistic slope ``p - y`` may be as large as one, although it is near one half for uncertain
outcomes. The factor ``0.5 / max(p, 1 - p)`` bounds slopes by one half. Both outcomes have the same
weight, so slopes still average zero if ``p`` is the probability of a one. No other weight that
depends on the score has more curvature at this bound. Two properties are lost: equal weights of
certain and uncertain records, which are best if noise is small, and the optimum of log-loss if no
linear score is the true log-odds.

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

# The largest slope under the weight 0.5 / max(p, 1 - p).
BOUND = 0.5


@dataclass(frozen=True)
class BalancedLogistic(Logistic):
    """The loss with these slopes: linear for unexpected outcomes, exponential for expected ones.

    The loss is not canonical, so the default method refuses it. For ``Logistic``, the default
    method uses these slopes itself if noise is large.

    Examples
    --------
    >>> BalancedLogistic().slope([0.0, 1000.0, -1.0], [1.0, 0.0, 0.0]).round(3)
    array([-0.5  ,  0.5  ,  0.184])
    """

    name: ClassVar[str] = "balanced_logistic"
    canonical: ClassVar[bool] = False

    @np.errstate(all="ignore")
    def value(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Half of ``exp(-margin)``, continued as a straight line below zero."""
        margin = np.multiply(2.0 * np.asarray(target, dtype=np.float64) - 1.0, score)
        return BOUND * np.where(margin > 0.0, np.exp(-np.maximum(margin, 0.0)), 1.0 - margin)

    @np.errstate(all="ignore")
    def slope(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """``0.5 * (p - target) / max(p, 1 - p)``, where ``p`` is the predicted probability."""
        likelier = self.mean(np.abs(score))
        slope: FloatArray = BOUND * np.subtract(self.mean(score), target) / likelier
        return np.clip(slope, -BOUND, BOUND)  # rounding may give a quotient above one

    def slope_bound(self) -> float:
        """One half, for every score."""
        return BOUND

    def curvature_bound(self) -> float:
        """One half, just above a score of zero."""
        return BOUND

    def clipped_curvature_bound(self, clip_norm: float, row_bound: float) -> float:
        """Largest curvature of gradients that are not clipped.

        For expected outcomes the slope and the curvature of a score have equal size. So a gradient
        of length at most ``clip_norm`` has a curvature of at most ``clip_norm * row_bound``.
        """
        return min(BOUND * row_bound, clip_norm) * row_bound

    @np.errstate(all="ignore")
    def expected_curvature(self, score: ArrayLike) -> FloatArray:
        """Half of the probability of the less likely outcome."""
        return BOUND * self.mean(-np.abs(np.asarray(score, dtype=np.float64)))
