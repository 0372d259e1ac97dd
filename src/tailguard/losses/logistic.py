"""Logistic loss."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import BoolArray, FloatArray

from .base import LARGEST_EXPONENT, Link, Loss


@dataclass(frozen=True)
class Logistic(Loss):
    """Log-loss of a binary target: ``log(1 + exp(score)) - target * score``.

    Targets are 0 and 1 only. A score is the log-odds of 1.

    Examples
    --------
    >>> loss = Logistic()
    >>> loss.slope([0.0, 1000.0], [1.0, 0.0])
    array([-0.5,  1. ])
    >>> loss.valid_target([0.0, 1.0, -1.0])
    array([ True,  True, False])
    """

    name: ClassVar[str] = "logistic"
    link: ClassVar[Link] = Link.LOGIT
    canonical: ClassVar[bool] = True
    n_classes: ClassVar[int] = 2

    @np.errstate(all="ignore")
    def value(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Log-loss, accurate for scores of any size."""
        scores = np.asarray(score, dtype=np.float64)
        linear: FloatArray = np.maximum(scores, 0.0) - np.multiply(target, scores)
        return linear + np.log1p(np.exp(-np.abs(scores)))

    def slope_bound(self) -> float:
        """One: the slope of a confident wrong score."""
        return 1.0

    def curvature_bound(self) -> float:
        """One quarter, at even odds."""
        return 0.25

    def expected_curvature(self, score: ArrayLike) -> FloatArray:
        """Product of the probabilities of 0 and 1, whatever the target."""
        probability = self.mean(score)
        return probability * (1.0 - probability)

    def clipped_curvature_bound(self, clip_norm: float, row_bound: float) -> float:
        """Largest curvature of gradients that are not clipped.

        With error ``a = |slope|`` and row length ``b``, the curvature is ``a * (1 - a)``, and the
        gradient is not clipped if ``a * b <= clip_norm``. If ``b <= 2 * clip_norm``, this includes
        even odds and the supremum is ``b**2 / 4``. For longer rows it is attained at
        ``a = clip_norm / b`` and equals ``clip_norm * (b - clip_norm)``. Both grow with ``b``.
        """
        if row_bound <= 2 * clip_norm:
            return row_bound**2 / 4
        return clip_norm * (row_bound - clip_norm)

    def valid_target(self, target: ArrayLike) -> BoolArray:
        """Whether each target is 0 or 1."""
        targets = np.asarray(target, dtype=np.float64)
        return (targets == 0) | (targets == 1)

    @np.errstate(all="ignore")
    def mean(self, score: ArrayLike) -> FloatArray:
        """Probability of 1."""
        exponent = np.clip(np.negative(score), -LARGEST_EXPONENT, LARGEST_EXPONENT)
        return 1.0 / (1.0 + np.exp(exponent))
