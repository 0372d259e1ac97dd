"""What a loss is: the protocols that every loss of this room follows.

A loss of a score knows nothing of the records: a linear model computes ``score = <x, w>`` and the
loss says how bad that score is for the record's target. Its slope times ``x`` is the gradient of
one record, so bounding a gradient needs the slope only.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

from numpy.typing import ArrayLike

from tailguard.array_types import BoolArray, FloatArray

from .link import Link

SlopeScalar: TypeAlias = Callable[[float, float, FloatArray], float]
"""``(score, target, shape) -> slope``, of which a loop is compiled for the fused kernels."""

SlopeLoop: TypeAlias = Callable[[FloatArray, FloatArray], None]
"""``(table, shape)``: writes into the third row of ``table`` the slopes at the scores and targets
in its first two rows."""

Gradient: TypeAlias = Callable[[FloatArray, FloatArray, float], Any]
"""``(weights, features, target) -> gradient`` of one record."""


@runtime_checkable
class Loss(Protocol):
    """A convex loss of one score.

    Slopes are total: they never raise or warn, a NaN gives a NaN, and no finite score and valid
    target give a NaN. The slope of an invalid target means nothing. Nor may the time of a slope
    tell of a record: one with an exponential bounds its exponent as ``canonical`` does.

    A link does not tell the slope. A loss is ``canonical`` where its slope is the expected target
    less the target, so that its curvature depends on the score alone; a method that relies on that
    asks for it, where the link is none of a residual.

    Reference
    ---------
    McCullagh and Nelder 1989, Section 2.2.4 (canonical links).

    Examples
    --------
    >>> from tailguard.losses import Squared
    >>> isinstance(Squared(), Loss)
    True
    """

    name: ClassVar[str]
    link: ClassVar[Link]
    canonical: ClassVar[bool]
    needs_target: ClassVar[bool]

    @property
    def n_classes(self) -> int | None:
        """How many labels a target is one of: 0, 1 and so on; None for targets of another kind."""
        ...

    @property
    def shape(self) -> FloatArray:
        """The loss's parameters, as ``slope_loop`` expects them; never empty."""
        ...

    @property
    def slope_loop(self) -> SlopeLoop | None:
        """The slopes of several scores, compiled by Numba; None for a loss known in NumPy only."""
        ...

    def value(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Loss of each score."""
        ...

    def slope(self, score: ArrayLike, target: ArrayLike) -> FloatArray:
        """Differentiate the loss with respect to each score."""
        ...

    def narrowed(self, part: float) -> "Loss":
        """Return the loss averaged over that part of its window of scores; itself without one."""
        ...

    def slope_bound(self) -> float:
        """Supremum of the absolute slope; infinity where there is none."""
        ...

    def curvature_bound(self) -> float:
        """Supremum of the second derivative; infinity where there is none."""
        ...

    def clipped_curvature_bound(self, clip_norm: float, row_bound: float) -> float:
        """Largest curvature, in the weights, of one record's clipped loss.

        That is the supremum of ``second derivative * |x|**2`` over rows with ``|x| <= row_bound``
        and scores with ``|slope| * |x| <= clip_norm``. Infinity means that output perturbation,
        which needs a bound, refuses the loss.
        """
        ...

    def valid_target(self, target: ArrayLike) -> BoolArray:
        """Which targets the loss understands; a record with any other target is void."""
        ...

    def mean(self, score: ArrayLike) -> FloatArray:
        """Return what each score predicts, in the units of the target."""
        ...


@runtime_checkable
class RecordLoss(Protocol):
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
    needs_target: ClassVar[bool]

    @property
    def n_classes(self) -> int | None:
        """How many labels a target is one of: 0, 1 and so on; None for targets of another kind."""
        ...

    @property
    def record_gradient(self) -> Gradient:
        """Gradient of one record; an array with a NaN makes the record void."""
        ...

    def size(self, n_features: int) -> int:
        """Count the weights of a model with ``n_features`` features."""
        ...

    def clipped_curvature_bound(self, clip_norm: float, row_bound: float) -> float:
        """Infinite: the clipped gradient of a record need not be monotone."""
        ...

    def valid_target(self, target: ArrayLike) -> BoolArray:
        """Which targets the loss understands; a record with any other target is void."""
        ...
