"""The sum of clipped gradients of a loss of a linear score, in one pass over the records."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError, check_finite, check_positive
from tailguard.data.rows.base import Kernel, RecordBlock, Together, own_vectors
from tailguard.losses.base import Loss
from tailguard.queries.kernels import numpy_twin
from tailguard.queries.kernels.steady import steady


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreModel:
    """A linear score at fixed weights, in standardised units, and the bounds on its gradients.

    One record with features ``x``, target ``y`` and offset ``o`` has the standardised row
    ``u = (x - center) * inverse_scale``, with a constant 1 appended if ``intercept``, the target
    ``(y - target_center) / target_scale``, zero where there is no such column, and the offset
    ``o - offset_center``, where no such column is one of zeros. Its row is cut to norm
    ``row_limit``, the slope of the loss at its score to ``slope_limit``.

    Attributes
    ----------
    loss
        A loss of a score, or None for slope 1, the plain row.
    weights
        As many as features, plus one if ``intercept``.
    """

    weights: FloatArray
    center: FloatArray
    inverse_scale: FloatArray
    intercept: bool
    loss: Loss | None
    target_center: float = 0.0
    target_scale: float = 1.0
    offset_center: float = 0.0
    row_limit: float = math.inf
    slope_limit: float = math.inf

    def __post_init__(self) -> None:
        own_vectors(self, "weights", "center", "inverse_scale")
        n_features = self.center.size
        if (
            self.inverse_scale.size != n_features
            or self.weights.size != n_features + self.intercept
        ):
            raise InputError(
                f"weights, center and inverse_scale must fit together; got {self.weights.size}, "
                f"{n_features} and {self.inverse_scale.size} with intercept={self.intercept}."
            )
        if not (self.inverse_scale > 0).all():
            raise InputError("inverse_scale must be a vector of numbers above 0.")
        check_finite("target_center", self.target_center)
        check_finite("offset_center", self.offset_center)
        check_positive("target_scale", self.target_scale)
        check_positive("row_limit", self.row_limit, infinite=True)
        check_positive("slope_limit", self.slope_limit, infinite=True)

    def arguments(self, block: RecordBlock, clip_norm: float) -> tuple[Any, ...] | None:
        """Return the arguments of a compiled pass; None if the loss is not compiled."""
        from tailguard.queries.kernels.fused import ClipLimits, unit_slopes  # noqa: PLC0415 (Numba takes a while to load)

        slopes = unit_slopes() if self.loss is None else self.loss.slope_loop
        if slopes is None:
            return None
        # A fresh array: the compiled pass takes its shape as writable.
        shape = np.ones(1) if self.loss is None else np.array(self.loss.shape, dtype=np.float64)
        limits = (
            *(self.target_center, self.target_scale, self.offset_center),
            *(self.row_limit, self.slope_limit, clip_norm),
        )
        return (
            block.features,
            *(np.zeros(0) if v is None else v for v in (block.target, block.offset)),
            *(self.center, self.inverse_scale, self.weights, slopes, shape),
            ClipLimits(*map(float, limits)),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class ClippedGradientSum(ScoreModel, Kernel):
    """Lattice sum over records of ``slope * row``, each within ``clip_norm`` in l2 norm.

    ``by_chunk`` says that each chunk must be rounded, and never each record by itself.

    Guarantee
    ---------
    One record contributes a vector of norm at most ``norm_limit``, the least of ``clip_norm`` and
    ``slope_limit * row_limit``, in floats and for every input. Replacing it moves one chunk's sum
    by at most ``2 * norm_limit + summation_slack(norm_limit)`` before rounding to ``grid``.

    Edge cases
    ----------
    A void record contributes zero; a finite one whose row overflows is bounded in its direction;
    a slope that is not a number counts as zero, an infinite one as the limit.

    Reference
    ---------
    Abadi et al. 2016, Algorithm 1 (clipping per record). The product of the slope and the row's
    norm is clipped, then spread along the row's direction: dividing the limit by the norm of a
    tiny row would overflow.
    """

    clip_norm: float
    grid: float
    by_chunk: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("clip_norm", self.clip_norm, infinite=True)
        check_positive("grid", self.grid)
        check_positive("min(clip_norm, slope_limit * row_limit)", self.norm_limit)

    @property
    def norm_limit(self) -> float:
        """The largest norm of one record's contribution."""
        return min(self.clip_norm, self.slope_limit * self.row_limit)

    @property
    def size(self) -> int:
        """Number of coordinates: one per weight."""
        return self.weights.size

    @property
    def together(self) -> Together:
        """Records of a chunk where each chunk must be rounded, else none."""
        return "some" if self.by_chunk else "none"

    @steady
    def sum_block(self, block: RecordBlock) -> IntArray:
        """Add up the clipped gradients of one block."""
        block.check_features(self.center.size)
        if self.by_chunk and block.alone:
            raise InputError("records without an order have no chunks.")
        arguments = self.arguments(block, self.norm_limit)
        if arguments is None:
            return numpy_twin.clipped_gradient_sum(self, self.norm_limit, self.grid, block)
        from tailguard.queries.kernels.fused import sum_chunks  # noqa: PLC0415 (Numba takes a while to load)

        totals = np.zeros(self.size, dtype=np.int64)
        sum_chunks(block.features.dtype)(*arguments, self.grid, block.alone, totals)
        return totals
