"""Clipped gradients that a function gives one record at a time, and counts of gradient norms."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError, check_integer, check_positive
from tailguard.data.rows.base import (
    Kernel,
    RecordBlock,
    Together,
    chunks_of,
    own_vectors,
    round_to_lattice,
    rounded_alone,
)
from tailguard.losses.base import Loss, RecordLoss
from tailguard.queries.kernels import numpy_twin
from tailguard.queries.kernels.clipped_gradient import ScoreModel
from tailguard.queries.kernels.record_loops import gradients
from tailguard.queries.kernels.safe_clip import clip_rows
from tailguard.queries.kernels.steady import steady


@dataclass(frozen=True, eq=False, kw_only=True)
class RecordGradientSum(Kernel):
    """Lattice sum over records of ``gradient(weights, features, target)``, each clipped.

    Guarantee
    ---------
    One record contributes a vector of l2 norm at most ``clip_norm`` whatever ``gradient`` returns,
    provided that it keeps nothing between calls.

    Edge cases
    ----------
    The function gets copies, in float64, and target 0 where there is none. An exception, a result
    that is not a real vector of ``n_coordinates``, or one with an entry that is not finite makes
    that record contribute zero; warnings are silenced.

    Reference
    ---------
    Abadi et al. 2016, Algorithm 1 (clipping per record).
    """

    gradient: Callable[[FloatArray, FloatArray, float], Any]
    weights: FloatArray
    n_coordinates: int
    clip_norm: float
    grid: float

    def __post_init__(self) -> None:
        own_vectors(self, "weights")
        check_integer("n_coordinates", self.n_coordinates, minimum=1)
        check_positive("clip_norm", self.clip_norm)
        check_positive("grid", self.grid)

    @property
    def size(self) -> int:
        """Number of released coordinates."""
        return self.n_coordinates

    @property
    def together(self) -> Together:
        """Each record adds to the sum by itself."""
        return "none"

    @steady
    def sum_block(self, block: RecordBlock) -> IntArray:
        """Add up the clipped gradients of one block."""
        total = np.zeros(self.size, dtype=np.int64)
        for chunk in chunks_of(block):
            found, _ = gradients(self.gradient, self.weights, self.size, chunk)
            clip_rows(found, self.clip_norm)
            if chunk.alone:
                total += rounded_alone(found, self.grid)
            else:
                total += round_to_lattice(found.sum(axis=0), self.grid)
        return total


@dataclass(frozen=True, eq=False, kw_only=True)
class GradientNormCount(Kernel):
    """Number of records with gradient norm at most ``threshold``, times ``multiplier``.

    For a loss of a score, in the units of the given columns unless ``center`` and the like say
    otherwise, and for a record loss. Norms are those that a clip of the gradient would see.

    Edge cases
    ----------
    A void record is counted nowhere. A gradient that would contribute zero has norm zero.

    Reference
    ---------
    Andrew, Thakkar, McMahan and Ramaswamy 2021, Section 2.
    """

    loss: Loss | RecordLoss | None
    weights: FloatArray
    threshold: float
    multiplier: int
    intercept: bool = False
    center: FloatArray | None = None
    inverse_scale: FloatArray | None = None
    target_center: float = 0.0
    target_scale: float = 1.0
    offset_center: float = 0.0
    row_limit: float = math.inf
    slope_limit: float = math.inf

    def __post_init__(self) -> None:
        own_vectors(self, "weights")
        if math.isnan(self.threshold):
            raise InputError("threshold must be a number; got nan.")
        check_integer("multiplier", self.multiplier, minimum=1)

    @property
    def size(self) -> int:
        """One count."""
        return 1

    @property
    def together(self) -> Together:
        """Each record adds to the sum by itself."""
        return "none"

    @steady
    def sum_block(self, block: RecordBlock) -> IntArray:
        """Count the records of one block."""
        if isinstance(self.loss, RecordLoss):
            count = self._count_record_gradients(self.loss, block)
        else:
            count = self._count_score_gradients(self.loss, block)
        return np.array([count * self.multiplier], dtype=np.int64)

    def _count_record_gradients(self, loss: RecordLoss, block: RecordBlock) -> int:
        count = 0
        size = loss.size(block.features.shape[1])
        for chunk in chunks_of(block):
            found, used = gradients(loss.record_gradient, self.weights, size, chunk)
            norms = clip_rows(found, math.inf)
            count += int(np.count_nonzero((norms <= self.threshold) & used))
        return count

    def _count_score_gradients(self, loss: Loss | None, block: RecordBlock) -> int:
        n_features = block.features.shape[1]
        model = ScoreModel(
            weights=self.weights,
            center=np.zeros(n_features) if self.center is None else self.center,
            inverse_scale=np.ones(n_features) if self.inverse_scale is None else self.inverse_scale,
            intercept=self.intercept,
            loss=loss,
            target_center=self.target_center,
            target_scale=self.target_scale,
            offset_center=self.offset_center,
            row_limit=self.row_limit,
            slope_limit=self.slope_limit,
        )
        block.check_features(model.center.size)
        arguments = model.arguments(block, math.inf)
        if arguments is None:
            return numpy_twin.gradient_norm_count(model, self.threshold, block)
        from tailguard.queries.kernels.fused import count_norms  # noqa: PLC0415 (Numba takes a while to load)

        total = np.zeros(1, dtype=np.int64)
        count_norms(block.features.dtype)(*arguments, self.threshold, total)
        return int(total[0])
