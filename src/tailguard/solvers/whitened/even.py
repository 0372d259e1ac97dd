"""Logistic slopes that neither outcome makes large: half the noise, nearly the same information.

The slope ``p - y`` may be one, though it is near one half where outcomes are open. Times
``0.5 / max(p, 1 - p)`` no slope exceeds one half, and slopes still average zero where ``p`` is the
probability of a one, since both outcomes are weighted alike. Among all weights of the score none
keeps more of the curvature for that bound. Lost is the equal weight of sure and unsure records,
which is the best one where noise is small, and the optimum of log-loss where no score is true.

Reference
---------
Kuensch, Stefanski and Carroll 1989 (conditionally unbiased bounded-influence estimators of
generalised linear models, of which these weights are a simple case).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailguard.losses.logistic import Logistic

__all__ = ["EvenLogistic", "ExpectedSlope"]

FloatArray = NDArray[np.float64]

BOUND = 0.5


@dataclass(frozen=True)
class EvenLogistic(Logistic):
    """The loss with these slopes: linear where the outcome was unexpected, exponential elsewhere.

    Examples
    --------
    >>> EvenLogistic().slope([0.0, 1000.0, -1.0], [1.0, 0.0, 0.0]).round(3)
    array([-0.5  ,  0.5  ,  0.184])
    """

    @property
    def slope_scalar(self) -> None:
        """None: the loss is known in NumPy only."""

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
        return slope

    def slope_bound(self) -> float:
        """One half, whatever the score."""
        return BOUND


@dataclass(frozen=True)
class ExpectedSlope(EvenLogistic):
    """What the slope of ``EvenLogistic`` is expected to rise by, from score to score.

    Its rise is ``0.5 * min(p, 1 - p)``, whatever the outcome; curvatures read this.

    Examples
    --------
    >>> slopes = ExpectedSlope().slope([-0.01, 0.01], [0.0, 0.0])
    >>> round(float(slopes[1] - slopes[0]) / 0.02, 3)
    0.249
    """

    @np.errstate(all="ignore")
    def slope(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Half of the integral of the less likely outcome's probability."""
        scores = np.asarray(score, dtype=np.float64)
        integral: FloatArray = np.log1p(np.expm1(-np.abs(scores)) / 2.0)
        return -np.copysign(BOUND, scores) * integral
