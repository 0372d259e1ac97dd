"""What a loss is: how scores tell expected targets, and what every loss of this room offers.

A loss of a score knows nothing of the records: a linear model computes ``score = <x, w>`` and the
loss says how bad that score is for the record's target. Its slope times ``x`` is the gradient of
one record, so bounding a gradient needs the slope only.

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

# exp(500) leaves room to multiply by a row. From an exponent of 512 on that of NumPy may take
# another time, which would tell of a record.
LARGEST_EXPONENT = 500.0
# Squares and ratios of numbers in this range stay well within the floats.
SMALLEST_WIDTH, LARGEST_WIDTH = 1e-100, 1e100


class Link(Enum):
    """The function of the expected target that a score is.

    A loss of the residual ``score - target`` (``IDENTITY``) keeps its form when targets are shifted
    and scaled. Where scores are logarithms (``LOG``) a scale of the targets shifts the scores.
    Where they are log-odds (``LOGIT``) targets are outcomes, and left alone.
    """

    IDENTITY = "identity"
    LOG = "log"
    LOGIT = "logit"

    @property
    def residual(self) -> bool:
        """Whether a loss is one of the residual, so that targets may be shifted and scaled."""
        return self is Link.IDENTITY

    @property
    def log(self) -> bool:
        """Whether expected targets are exponentials of scores."""
        return self is Link.LOG

    @property
    def scaled(self) -> bool:
        """Whether targets may be divided by a scale."""
        return self.residual or self.log

    @property
    def curved(self) -> bool:
        """Whether curvature varies with the score, whatever the residual."""
        return self is not Link.IDENTITY


class Loss:
    """A convex loss of one score; what is not said otherwise is that of ``score - target``.

    Slopes are total: they never raise or warn, a NaN gives a NaN, and no finite score and valid
    target give a NaN. The slope of an invalid target means nothing. Nor may the time of a slope
    tell of a record: one with an exponential bounds its exponent by ``LARGEST_EXPONENT``.

    A link does not tell the slope. A loss is ``canonical`` where its slope is the expected target
    less the target, so that its curvature depends on the score alone. Where it has a
    ``variance_power`` the slope is that times a power of the expected target (``PowerVariance``). A
    method that relies on either asks for it, where the link is none of a residual.

    A loss of the residual keeps its form when targets are shifted and scaled. A parameter with
    units (a threshold, a width) is then in units of the scaled target.

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
    """How many labels a target is one of: 0, 1 and so on; None for targets of another kind."""

    def value(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Loss of each score."""
        raise NotImplementedError(f"{type(self).__name__} must say its value.")

    def deviance(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Loss of each score above that of the best one for its target, here taken to be zero."""
        return self.value(score, target)

    @np.errstate(all="ignore")
    def slope(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Differentiate by each score; of a canonical loss, the expected target less the target."""
        slope: FloatArray = np.subtract(self.mean(score), target)
        return slope

    @property
    def variance_power(self) -> float | None:
        """The power of the mean in a ``PowerVariance`` loss; None for any other loss."""
        return None

    @property
    def quasi_likelihood(self) -> bool:
        """Whether the slope is the expected target less the target, times a power of the former."""
        return self.canonical or self.variance_power is not None

    def expected_curvature(self, score: ArrayLike) -> FloatArray:
        """Second derivative at each score, averaged over targets for which the score is right."""
        raise NotImplementedError(f"{type(self).__name__} must say its expected curvature.")

    def narrowed(self, part: float) -> Self:
        """Return the loss averaged over that part of its window of scores; itself without one."""
        return self

    def slope_bound(self) -> float:
        """Supremum of the absolute slope; infinity where there is none."""
        return np.inf

    def curvature_bound(self) -> float:
        """Supremum of the second derivative; infinity where there is none."""
        return np.inf

    def clipped_curvature_bound(self, clip_norm: float, row_bound: float) -> float:
        """Largest curvature, in the weights, of one record's clipped loss.

        That is the supremum of ``second derivative * |x|**2`` over rows with ``|x| <= row_bound``
        and scores with ``|slope| * |x| <= clip_norm``. Infinity means that output perturbation,
        which needs a bound, refuses the loss. Of most losses clipping never reaches the largest
        curvature, where the slope is zero.
        """
        return self.curvature_bound() * row_bound**2

    def valid_target(self, target: ArrayLike) -> BoolArray:
        """Which targets the loss allows; a record with any other target is void."""
        return np.isfinite(np.asarray(target, dtype=np.float64))

    def bounded(self, score: ArrayLike, low: ArrayLike, high: ArrayLike) -> FloatArray:
        """Return each score, held within the bounds of predictions."""
        return np.clip(score, low, high)

    def mean(self, score: ArrayLike) -> FloatArray:
        """Return what each score predicts, in the units of the target."""
        return np.asarray(score, dtype=np.float64)


class PowerVariance(Loss):
    """Quasi-likelihood with a log link, of targets whose variance is a power ``p`` of their mean.

    With ``m = exp(score)`` the slope is ``(m - target) * m**(1 - p)``, so that large targets count
    the less the larger ``p``. Its derivative
    ``(2 - p) * m**(2 - p) + (p - 1) * target * m**(1 - p)`` is not negative for ``1 <= p <= 2`` and
    targets of at least 0, so the loss is convex. It equals ``m**(2 - p) - (p - 1) * slope``: the
    expected curvature, less a multiple of the slope.

    A score is the logarithm of the expected target. An exposure enters as the offset
    ``log(exposure)``, added to the score elsewhere. Dividing all targets by a constant moves the
    intercept by its logarithm and nothing else.

    Edge cases
    ----------
    Beyond scores of -500 and 500 the loss goes on along its tangent, so that no exponential
    overflows; a slope may be infinite, and is then clipped.

    Examples
    --------
    >>> from tailguard.losses import Gamma, Poisson
    >>> Poisson().variance_power, Gamma().variance_power
    (1.0, 2.0)
    """

    link: ClassVar[Link] = Link.LOG

    @property
    def variance_power(self) -> float:
        """The power ``p``, from 1 to 2."""
        raise NotImplementedError(f"{type(self).__name__} must say its power of the variance.")

    @np.errstate(all="ignore")
    def slope(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Return the expected target less the target, times a power of the expected target."""
        power = np.exp((1.0 - self.variance_power) * bounded_exponent(score))
        slope: FloatArray = super().slope(score, target) * power
        return slope

    @np.errstate(all="ignore")
    def deviance(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Loss of each score above that of the logarithm of its target: half the unit deviance."""
        best = bounded_exponent(np.log(np.maximum(target, SMALLEST_WIDTH)))
        deviance: FloatArray = np.maximum(self.value(score, target) - self.value(best, target), 0.0)
        return deviance

    def expected_curvature(self, score: ArrayLike) -> FloatArray:
        """Power of the expected target, which is one for the power 2."""
        curvature: FloatArray = np.exp((2.0 - self.variance_power) * bounded_exponent(score))
        return curvature

    def valid_target(self, target: ArrayLike) -> BoolArray:
        """Whether each target is finite and not negative."""
        targets = np.asarray(target, dtype=np.float64)
        return np.isfinite(targets) & (targets >= 0)

    def mean(self, score: ArrayLike) -> FloatArray:
        """Return the expected target."""
        mean: FloatArray = np.exp(bounded_exponent(score))
        return mean


class RecordLoss:
    """A loss known by the gradient of one record, where no single score tells all.

    The clipped gradients of such a loss need not be monotone, so output perturbation refuses it:
    ``clipped_curvature_bound`` is infinite. Gradient perturbation is open to every such loss.

    Examples
    --------
    >>> from tailguard.losses import Multinomial
    >>> isinstance(Multinomial(3), RecordLoss)
    True
    """

    name: ClassVar[str]
    needs_target: ClassVar[bool] = True
    n_classes: int | None
    """How many labels a target is one of: 0, 1 and so on; None for targets of another kind."""

    @property
    def record_gradient(self) -> Gradient:
        """Gradient of one record; an array with a NaN makes the record void."""
        raise NotImplementedError(f"{type(self).__name__} must say its gradient.")

    def size(self, n_features: int) -> int:
        """Count the weights of a model with ``n_features`` features: one a feature."""
        return n_features

    def clipped_curvature_bound(self, clip_norm: float, row_bound: float) -> float:
        """Infinite: the clipped gradient of a record need not be monotone."""
        return np.inf

    def valid_target(self, target: ArrayLike) -> BoolArray:
        """Which targets the loss allows; a record with any other target is void."""
        return np.isfinite(np.asarray(target, dtype=np.float64))

    def mean(self, score: ArrayLike) -> FloatArray:
        """Return the score itself, where its prediction is not known."""
        return np.asarray(score, dtype=np.float64)


def bounded_exponent(score: ArrayLike) -> FloatArray:
    """Return scores within what an exponential takes."""
    return np.clip(np.asarray(score, dtype=np.float64), -LARGEST_EXPONENT, LARGEST_EXPONENT)


def check_width(name: str, value: object) -> float:
    """Return a loss's parameter with the target's units as a float, within a range for squares."""
    return check_between(name, value, SMALLEST_WIDTH, LARGEST_WIDTH)
