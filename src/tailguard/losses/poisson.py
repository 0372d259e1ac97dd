"""Poisson loss."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import FloatArray

from .base import LARGEST_EXPONENT, Loss, PowerVariance


@dataclass(frozen=True)
class Poisson(PowerVariance):
    """Negative Poisson log-likelihood of a count, ``exp(score) - target * score``.

    A score is the logarithm of the expected target. Targets are non-negative numbers, not only
    integers.

    Edge cases
    ----------
    Targets are unbounded, so the curvature of the clipped loss has no bound, and output
    perturbation refuses this loss.

    Examples
    --------
    >>> Poisson().slope([0.0, 0.0], [1.0, 3.0])
    array([ 0., -2.])
    """

    name: ClassVar[str] = "poisson"
    canonical: ClassVar[bool] = True

    @property
    def variance_power(self) -> float:
        """One: the variance equals the mean."""
        return 1.0

    def slope(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Return the expected target minus the target."""
        return Loss.slope(self, score, target)

    @np.errstate(all="ignore")
    def value(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Negative log-likelihood, up to a term of the target alone."""
        scores = np.asarray(score, dtype=np.float64)
        beyond: FloatArray = np.maximum(scores - LARGEST_EXPONENT, 0.0)
        return self.mean(scores) * (1 + beyond) - np.multiply(target, scores)
