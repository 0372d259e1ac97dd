"""Logistic loss for several classes."""

import math
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import BoolArray, FloatArray
from tailguard.checks import check_integer
from tailguard.machine_code import builds_loop, compiled

from .base import LARGEST_EXPONENT, Link, RecordLoss
from .compiled import Gradient


@dataclass(frozen=True)
class Multinomial(RecordLoss):
    """Log-loss of a target with several classes, with one score per class.

    The weights are a matrix of shape ``(n_classes, n_features)``, flattened row by row. The
    gradient of one record is ``outer(softmax(scores) - one_hot(target), features)``.

    Parameters
    ----------
    n_classes
        The number of classes; a target is one of 0, 1, ..., ``n_classes - 1``.

    Edge cases
    ----------
    A target outside the classes, or a score beyond the largest float, gives a gradient of NaNs,
    which makes the record void. Output perturbation refuses this loss: with one score, clipping
    the slope leaves the gradient of a convex loss; with several, a clipped gradient need not be
    the gradient of a convex function.

    Examples
    --------
    >>> loss = Multinomial(n_classes=2)
    >>> loss.record_gradient(np.zeros(4), np.array([1.0, 6.0]), 0.0)
    array([-0.5, -3. ,  0.5,  3. ])
    """

    name: ClassVar[str] = "multinomial"
    link: ClassVar[Link] = Link.LOGIT  # of each class against the others
    contract_examples = ((3,),)  # arguments that the contract tests try
    n_classes: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_classes", check_integer("n_classes", self.n_classes, minimum=2))

    @property
    def record_gradient(self) -> Gradient:
        """Compiled gradient of one record."""
        return _compiled_gradient()

    def size(self, n_features: int) -> int:
        """Count the weights: one per class and feature."""
        return self.n_classes * n_features

    @np.errstate(all="ignore")
    def value(self, scores: ArrayLike, target: ArrayLike) -> FloatArray:
        """Log-loss of scores of shape ``(..., n_classes)``; NaN for an invalid target."""
        scores = np.asarray(scores, dtype=np.float64)
        valid = self.valid_target(target)
        labels = np.where(valid, target, 0).astype(np.intp)
        own_score = np.take_along_axis(scores, labels[..., np.newaxis], axis=-1)[..., 0]
        # Subtracting the largest score keeps the exponentials within (0, 1].
        largest = scores.max(axis=-1)
        exponents = np.maximum(scores - largest[..., np.newaxis], -LARGEST_EXPONENT)
        log_total = np.log(total_of(np.exp(exponents)))
        return np.where(valid, (largest - own_score) + log_total, np.nan)

    def deviance(self, scores: ArrayLike, target: ArrayLike) -> FloatArray:
        """Log-loss: the least loss of a class is zero."""
        return self.value(scores, target)

    def valid_target(self, target: ArrayLike) -> BoolArray:
        """Whether each target is a class."""
        targets = np.asarray(target, dtype=np.float64)
        is_integer: BoolArray = targets == np.floor(targets)
        return is_integer & (targets >= 0) & (targets < self.n_classes)

    @np.errstate(all="ignore")
    def bounded(self, scores: ArrayLike, low: ArrayLike, high: ArrayLike) -> FloatArray:
        """Clip logarithms of probabilities to bounds; return scores that add up to zero.

        Without clipping, the result is the scores minus their mean.
        """
        logs = np.asarray(scores, dtype=np.float64)
        logs = logs - logs.max(axis=-1, keepdims=True)
        logs = np.clip(logs - np.log(total_of(np.exp(logs)))[..., np.newaxis], low, high)
        return logs - total_of(logs)[..., np.newaxis] / self.n_classes

    @np.errstate(all="ignore")
    def mean(self, scores: ArrayLike) -> FloatArray:
        """Probability of each class, from scores of shape ``(..., n_classes)``."""
        scores = np.asarray(scores, dtype=np.float64)
        odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return odds / total_of(odds)[..., np.newaxis]


def total_of(classes: FloatArray) -> FloatArray:
    """Add up the last axis in order; for a single record NumPy would use another order."""
    return np.asarray(reduce(np.add, np.moveaxis(classes, -1, 0)))


@builds_loop
def _compiled_gradient() -> Gradient:
    # The "numpy" error model gives infinities where Python raises: a gradient never raises.
    signature = "float64[::1](float64[::1], float64[::1], float64)"
    return compiled(_gradient, signature, error_model="numpy", nogil=True)


def _gradient(weights: FloatArray, features: FloatArray, target: float) -> FloatArray:
    """Return the gradient of one record; NaNs for a target that is no class."""
    n_features = features.size
    n_classes = weights.size // n_features
    gradient = np.full(weights.size, np.nan)
    if not 0 <= target < n_classes or target != math.floor(target):
        return gradient
    # Plain loops round the same on every machine; a matrix product may not.
    scores = np.zeros(n_classes)
    for label in range(n_classes):
        for column in range(n_features):
            scores[label] += weights[label * n_features + column] * features[column]
    errors = np.exp(scores - scores.max())
    errors /= errors.sum()
    errors[int(target)] -= 1.0
    for label in range(n_classes):
        for column in range(n_features):
            gradient[label * n_features + column] = errors[label] * features[column]
    return gradient
