"""Poisson loss."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import BoolArray, FloatArray

from .base import LARGEST_EXPONENT, Link, Loss


@dataclass(frozen=True)
class Poisson(Loss):
    """Negative Poisson log-likelihood of a count, ``exp(score) - target * score``.

    A score is the logarithm of the expected target. Targets are any non-negative numbers, not only
    whole ones. An exposure enters as the offset ``log(exposure)``, added to the score elsewhere.
    Dividing all targets by a constant moves the intercept by its logarithm and nothing else.

    Edge cases
    ----------
    Above score 500 the loss goes on along its tangent, so that nothing overflows in the slope.
    Targets are unbounded, hence so is the curvature of the clipped loss: output perturbation
    refuses this loss.

    Examples
    --------
    >>> Poisson().slope([0.0, 0.0], [1.0, 3.0])
    array([ 0., -2.])
    """

    name: ClassVar[str] = "poisson"
    link: ClassVar[Link] = Link.LOG
    canonical: ClassVar[bool] = True

    @np.errstate(all="ignore")
    def value(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Negative log-likelihood, up to a term of the target alone."""
        scores = np.asarray(score, dtype=np.float64)
        beyond: FloatArray = np.maximum(scores - LARGEST_EXPONENT, 0.0)
        return self.mean(scores) * (1 + beyond) - np.multiply(target, scores)

    def valid_target(self, target: ArrayLike) -> BoolArray:
        """Whether each target is finite and not negative."""
        targets = np.asarray(target, dtype=np.float64)
        return np.isfinite(targets) & (targets >= 0)

    def mean(self, score: ArrayLike) -> FloatArray:
        """Return the expected target."""
        mean: FloatArray = np.exp(np.clip(score, -LARGEST_EXPONENT, LARGEST_EXPONENT))
        return mean
