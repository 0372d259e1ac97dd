"""What a loss is: how scores tell expected targets, and what every loss of this room offers.

A loss of a score knows nothing of the records: a linear model computes ``score = <x, w>`` and the
loss says how bad that score is for the record's target. Its slope times ``x`` is the gradient of
one record, so bounding a gradient needs the slope only.

Reference
---------
McCullagh and Nelder 1989, Section 2.2 (links; canonical ones in 2.2.4), Section 6.2 (a log link
turns a scale of the target into a shift of the score).
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
    less the target, so that its curvature depends on the score alone; a method that relies on that
    asks for it, where the link is none of a residual.

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

    @np.errstate(all="ignore")
    def slope(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Differentiate by each score; of a canonical loss, the expected target less the target."""
        slope: FloatArray = np.subtract(self.mean(score), target)
        return slope

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
        """Which targets the loss understands; a record with any other target is void."""
        return np.isfinite(np.asarray(target, dtype=np.float64))

    def mean(self, score: ArrayLike) -> FloatArray:
        """Return what each score predicts, in the units of the target."""
        return np.asarray(score, dtype=np.float64)


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
        """Which targets the loss understands; a record with any other target is void."""
        return np.isfinite(np.asarray(target, dtype=np.float64))

    def mean(self, score: ArrayLike) -> FloatArray:
        """Return the score itself, where it is not known what it predicts."""
        return np.asarray(score, dtype=np.float64)


def check_width(name: str, value: object) -> float:
    """Return a loss's parameter with the target's units as a float, within a range for squares."""
    return check_between(name, value, SMALLEST_WIDTH, LARGEST_WIDTH)
