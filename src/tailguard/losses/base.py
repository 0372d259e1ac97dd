"""The interface of losses, and the links between scores and expected targets.

A loss depends on a score and a target only: a linear model computes ``score = <x, w>``, and the
loss measures how bad that score is for the record's target. The gradient of one record is the slope
of the loss times ``x``, so bounding a gradient needs the slope only.

Reference
---------
McCullagh and Nelder 1989, Section 2.2 (links; canonical ones in 2.2.4), Section 6.2 (a log link
turns a scale of the target into a shift of the score), Chapter 9 (quasi-likelihoods); Jorgensen
1987 (variances that are powers of the mean).
"""

from enum import Enum
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import BoolArray, FloatArray
from tailguard.checks import check_between

from .compiled import Gradient

# exp(500) leaves room for a product with a row. For exponents from 512 on, the running time of
# NumPy's exp may differ, which would reveal something about a record.
LARGEST_EXPONENT = 500.0
# The range of widths: their squares and ratios neither overflow nor underflow.
SMALLEST_WIDTH, LARGEST_WIDTH = 1e-100, 1e100


class Link(Enum):
    """The link: the function of the expected target that equals the score.

    A loss of the residual ``score - target`` (``IDENTITY``) keeps its form if targets are shifted
    and scaled. If scores are logarithms (``LOG``), scaling the targets shifts the scores. If they
    are log-odds (``LOGIT``), targets are outcomes and never scaled.

    Attributes
    ----------
    residual
        Whether the loss depends on the residual, so targets may be shifted and scaled.
    log
        Whether expected targets are exponentials of scores.
    scaled
        Whether targets may be divided by a scale.
    curved
        Whether the curvature varies with the score for a fixed residual.
    """

    IDENTITY = "identity"
    LOG = "log"
    LOGIT = "logit"

    def __init__(self, name: str) -> None:
        self.residual, self.log = name == "identity", name == "log"
        self.scaled, self.curved = name != "logit", name != "identity"


class Loss:
    """A convex loss of one score; by default a loss of the residual, ``score - target``.

    Slopes never raise or warn, a NaN gives a NaN, and a finite score with a valid
    target never gives a NaN. The slope of an invalid target has no meaning. The running time of a
    slope must not depend on a record, so exponents are bounded by ``LARGEST_EXPONENT``.

    The link alone does not determine the slope. A loss is ``canonical`` if its slope is the
    expected target less the target; its curvature then depends on the score only. A loss with a
    ``variance_power`` multiplies this slope by a power of the expected target (``PowerVariance``).
    A method that relies on either property checks for it, except for losses of the residual.

    A loss of the residual keeps its form if targets are shifted and scaled. A parameter with units
    (a threshold, a width) is then in units of the scaled target.

    Examples
    --------
    >>> from tailguard.losses import Squared
    >>> isinstance(Squared(), Loss)
    True
    """

    name: ClassVar[str]
    link: ClassVar[Link] = Link.IDENTITY
    canonical: ClassVar[bool] = False
    needs_target: ClassVar[bool] = True
    n_classes: ClassVar[int | None] = None
    """The number of labels 0, 1 and so on; None if targets are not labels."""

    def value(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Loss of each score."""
        raise NotImplementedError(f"{type(self).__name__} must define value.")

    def deviance(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Loss of each score less the least loss for its target; by default, that least is zero."""
        return self.value(score, target)

    @np.errstate(all="ignore")
    def slope(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Differentiate the loss at each score; by default, the expected target less the target."""
        return np.subtract(self.mean(score), target)

    @property
    def variance_power(self) -> float | None:
        """The power of the mean in a ``PowerVariance`` loss; None for other losses."""
        return None

    @property
    def quasi_likelihood(self) -> bool:
        """Whether the slope is ``mean - target``, times a power of the mean."""
        return self.canonical or self.variance_power is not None

    def expected_curvature(self, score: ArrayLike) -> FloatArray:
        """Return the expected second derivative at each score, if targets follow this score."""
        raise NotImplementedError(f"{type(self).__name__} must define expected_curvature.")

    def narrowed(self, part: float) -> Self:
        """Return the loss with ``part`` times its smoothing window; itself if it has none."""
        return self

    def slope_bound(self) -> float:
        """Supremum of the absolute slope; infinity if it is unbounded."""
        return np.inf

    def curvature_bound(self) -> float:
        """Supremum of the second derivative; infinity if it is unbounded."""
        return np.inf

    @property
    def bounds_slopes(self) -> bool:
        """Whether slopes of residuals are bounded, as of quantiles: their curvature varies."""
        return self.link.residual and bool(np.isfinite(self.slope_bound()))

    def residual(self, slope: float) -> float:
        """Return the residual of a slope that is not negative; most losses have equal ones."""
        return slope

    def clipped_curvature_bound(self, clip_norm: float, row_bound: float) -> float:
        """Largest curvature, in the weights, of one record's clipped loss.

        That is the supremum of ``second derivative * |x|**2`` over rows with ``|x| <= row_bound``
        and scores with ``|slope| * |x| <= clip_norm``. Infinity means that output perturbation,
        which needs a bound, refuses the loss. For most losses the curvature is largest at a slope
        of zero, which is never clipped.
        """
        return self.curvature_bound() * row_bound**2

    def valid_target(self, target: ArrayLike) -> BoolArray:
        """Whether the loss allows each target; a record with any other target is void."""
        return np.isfinite(np.asarray(target, dtype=np.float64))

    def bounded(self, score: ArrayLike, low: ArrayLike, high: ArrayLike) -> FloatArray:
        """Clip each score to the bounds of predictions."""
        return np.clip(score, low, high)

    def mean(self, score: ArrayLike) -> FloatArray:
        """Return the prediction of each score, in the units of the target."""
        return np.asarray(score, dtype=np.float64)


class PowerVariance(Loss):
    """Quasi-likelihood with a log link, of targets whose variance is a power ``p`` of their mean.

    With ``m = exp(score)`` the slope is ``(m - target) * m**(1 - p)``, so a larger ``p`` gives
    large targets less weight. The derivative of the slope,
    ``(2 - p) * m**(2 - p) + (p - 1) * target * m**(1 - p)``, is not negative for ``1 <= p <= 2``
    and targets of at least 0, so the loss is convex. It equals ``m**(2 - p) - (p - 1) * slope``:
    the expected curvature less a multiple of the slope.

    A score is the logarithm of the expected target. An exposure enters as the offset
    ``log(exposure)``, which the caller adds to the score. Dividing all targets by a constant moves
    the intercept by its logarithm and changes nothing else.

    Edge cases
    ----------
    Beyond scores of -500 and 500 the loss continues along its tangent, so no exponential overflows;
    a slope may be infinite, and is then clipped.
    """

    link: ClassVar[Link] = Link.LOG

    @property
    def variance_power(self) -> float:
        """The power ``p``, from 1 to 2."""
        raise NotImplementedError(f"{type(self).__name__} must define variance_power.")

    @np.errstate(all="ignore")
    def slope(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Return the expected target less the target, times a power of the expected target."""
        power = np.exp((1.0 - self.variance_power) * bounded_exponent(score))
        return super().slope(score, target) * power

    @np.errstate(all="ignore")
    def deviance(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Loss of each score less that of the best score, log(target): half the unit deviance."""
        best = bounded_exponent(np.log(np.maximum(target, SMALLEST_WIDTH)))
        return np.maximum(self.value(score, target) - self.value(best, target), 0.0)

    def expected_curvature(self, score: ArrayLike) -> FloatArray:
        """Return the expected target to the power ``2 - p``."""
        return np.exp((2.0 - self.variance_power) * bounded_exponent(score))

    def valid_target(self, target: ArrayLike) -> BoolArray:
        """Whether each target is finite and not negative."""
        targets = np.asarray(target, dtype=np.float64)
        return np.isfinite(targets) & (targets >= 0)

    def mean(self, score: ArrayLike) -> FloatArray:
        """Return the expected target: zero at a score of minus infinity, without exposure."""
        expected: FloatArray = np.exp(bounded_exponent(score)) * np.greater(score, -np.inf)
        return expected


class RecordLoss:
    """A loss defined by the gradient of one record, which may depend on more than one score.

    The clipped gradients of such a loss need not be monotone, so output perturbation refuses it:
    ``clipped_curvature_bound`` is infinite. Gradient perturbation accepts every such loss.

    Examples
    --------
    >>> from tailguard.losses import Multinomial
    >>> isinstance(Multinomial(3), RecordLoss)
    True
    """

    name: ClassVar[str]
    needs_target: ClassVar[bool] = True
    n_classes: int | None
    """The number of labels 0, 1 and so on; None if targets are not labels."""

    @property
    def record_gradient(self) -> Gradient:
        """Gradient of one record; an array with a NaN makes the record void."""
        raise NotImplementedError(f"{type(self).__name__} must define record_gradient.")

    def size(self, n_features: int) -> int:
        """Return the number of weights of a model with ``n_features`` features: one per feature."""
        return n_features

    def clipped_curvature_bound(self, clip_norm: float, row_bound: float) -> float:
        """Infinite: the clipped gradient of a record need not be monotone."""
        return np.inf

    def valid_target(self, target: ArrayLike) -> BoolArray:
        """Whether the loss allows each target; a record with any other target is void."""
        return np.isfinite(np.asarray(target, dtype=np.float64))

    def mean(self, score: ArrayLike) -> FloatArray:
        """Return the score itself: how to predict from it is not known here."""
        return np.asarray(score, dtype=np.float64)


def bounded_exponent(score: ArrayLike) -> FloatArray:
    """Clip scores to the range of exponents."""
    return np.clip(np.asarray(score, dtype=np.float64), -LARGEST_EXPONENT, LARGEST_EXPONENT)


def check_width(name: str, value: object) -> float:
    """Return a width or another scale as a float; refuse one whose square may overflow."""
    return check_between(name, value, SMALLEST_WIDTH, LARGEST_WIDTH)
