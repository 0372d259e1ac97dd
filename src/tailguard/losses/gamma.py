"""Gamma loss."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import BoolArray, FloatArray

from .base import PowerVariance, bounded_exponent


@dataclass(frozen=True)
class Gamma(PowerVariance):
    """Negative Gamma log-likelihood of a positive target, ``score + target * exp(-score)``.

    A score is the logarithm of the expected target. The slope ``1 - target * exp(-score)`` depends
    on the ratio of a target to its expectation. So records have equal weights if the standard
    deviation is proportional to the mean, as for severities, durations and costs. The derivative of
    the slope, ``target * exp(-score)``, is above zero: the loss is strictly convex.

    Examples
    --------
    >>> Gamma().slope([0.0, 0.0], [1.0, 3.0])
    array([ 0., -2.])
    """

    name: ClassVar[str] = "gamma"

    @property
    def variance_power(self) -> float:
        """Two: the standard deviation is proportional to the mean."""
        return 2.0

    @np.errstate(all="ignore")
    def value(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Negative log-likelihood for a shape of one, up to a term of the target alone."""
        scores, capped_scores = np.asarray(score, dtype=np.float64), bounded_exponent(score)
        # Beyond the largest exponent the loss continues along its tangent.
        return scores + np.multiply(target, np.exp(-capped_scores)) * (1.0 + capped_scores - scores)

    def clipped_curvature_bound(self, clip_norm: float, row_bound: float) -> float:
        """Largest curvature, in the weights, of one record's clipped loss.

        The curvature in the score is ``1 - slope``. If the gradient of a row of length ``b`` is not
        clipped, the slope is at least ``-clip_norm / b``. So the curvature in the weights is at
        most ``(1 + clip_norm / b) * b**2``, which grows with ``b``.
        """
        return row_bound * (row_bound + clip_norm)

    def valid_target(self, target: ArrayLike) -> BoolArray:
        """Whether each target is finite and above zero."""
        targets = np.asarray(target, dtype=np.float64)
        return np.isfinite(targets) & (targets > 0)
