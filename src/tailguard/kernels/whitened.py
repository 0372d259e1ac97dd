"""Records read through a released linear map: directions, lengths, scores, bounded slopes.

One record with features ``x``, target ``y`` and offset ``o`` has the standardised row
``s = ((x - center) * inverse_scale, 1?, y?)`` and the whitened row ``u = s @ whitening``. Its score
is ``s @ weights + offset`` from the row as it is: only the row's length in the sum is bounded, so
that a loss whose slopes average zero at the truth keeps doing so (Mallows weights).

Everything runs chunk by chunk in NumPy; a chunk's matrix product depends on that chunk alone.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tailguard.checks import InputError, check_finite, check_positive
from tailguard.losses.base import Loss

from .block import FloatArray, RecordBlock
from .chunks import shrink

__all__ = ["PolarRows", "WhitenedRows"]

# Larger standardised features count as this; then no product below overflows.
LARGEST_FEATURE = 1e150
LARGEST_ENTRY = 1e100
# A shorter scaled row has no direction in floats: its square is not a normal number.
SMALLEST_LENGTH = 1e-140


@dataclass(frozen=True, eq=False)
class PolarRows:
    """Whitened rows of one chunk as unit directions and lengths, with their scores.

    Examples
    --------
    >>> PolarRows(np.ones((1, 1)), np.array([2.0]), np.array([0.5]), np.array([False])).length
    array([2.])
    """

    direction: FloatArray
    length: FloatArray
    score: FloatArray
    void: NDArray[np.bool_]


@dataclass(frozen=True, eq=False, kw_only=True)
class WhitenedRows:
    """The released numbers through which records are read.

    Attributes
    ----------
    whitening
        A matrix with one row per standardised coordinate and any number of columns.
    weights
        One per standardised coordinate, for the score.
    target_in_row
        Whether the standardised target is a coordinate of the row.

    Guarantee
    ---------
    Directions have norm at most 1 after the shrink, and void records have length zero, for every
    input. Each record's row depends on that record and on public numbers only.

    Examples
    --------
    >>> rows = WhitenedRows(
    ...     loss=None, center=np.zeros(1), inverse_scale=np.ones(1), intercept=True,
    ...     whitening=np.eye(2), weights=np.zeros(2),
    ... )
    >>> rows.polar(RecordBlock(np.array([[0.0], [np.inf]]))).length
    array([1., 0.])
    """

    loss: Loss | None
    center: FloatArray
    inverse_scale: FloatArray
    intercept: bool
    whitening: FloatArray
    weights: FloatArray
    target_center: float = 0.0
    target_scale: float = 1.0
    offset_center: float = 0.0
    target_in_row: bool = False

    def __post_init__(self) -> None:
        n_coordinates = self.center.size + int(self.intercept) + int(self.target_in_row)
        if self.whitening.shape[0] != n_coordinates or self.weights.shape != (n_coordinates,):
            raise InputError(
                f"whitening and weights must have {n_coordinates} rows; got "
                f"{self.whitening.shape} and {self.weights.shape}."
            )
        numbers = np.concatenate([self.whitening.ravel(), self.weights])
        if not (np.abs(numbers) <= LARGEST_ENTRY).all():
            raise InputError("whitening and weights must be numbers of at most 1e100.")
        scales = np.concatenate([self.center, self.inverse_scale])
        if not np.isfinite(scales).all() or not (self.inverse_scale > 0).all():
            raise InputError("center must be finite and inverse_scale above 0.")
        check_finite("target_center", self.target_center)
        check_finite("offset_center", self.offset_center)
        check_positive("target_scale", self.target_scale)

    @property
    def width(self) -> int:
        """Number of whitened coordinates."""
        return int(self.whitening.shape[1])

    @cached_property
    def _map(self) -> FloatArray:
        return np.ascontiguousarray(np.column_stack([self.whitening, self.weights]))

    def target(self, chunk: RecordBlock) -> FloatArray:
        """Return the standardised targets of one chunk."""
        return (chunk.vector("target") - self.target_center) / self.target_scale

    def standardised(self, chunk: RecordBlock, void: NDArray[np.bool_]) -> FloatArray:
        """Return the standardised rows of one chunk: finite for every input, zero where void."""
        n_features = self.center.size
        rows = np.ones((chunk.n_rows, self.whitening.shape[0]))
        features = rows[:, :n_features]
        np.subtract(chunk.features, self.center, out=features)
        features *= self.inverse_scale
        if self.target_in_row:
            rows[:, -1] = self.target(chunk)
        if not np.abs(rows).max(initial=0.0) <= LARGEST_FEATURE:
            rows = np.clip(np.nan_to_num(rows, nan=0.0), -LARGEST_FEATURE, LARGEST_FEATURE)
        if void.any():
            rows[void] = 0.0
        return rows

    @np.errstate(all="ignore")
    def polar(self, chunk: RecordBlock) -> PolarRows:
        """Return directions, lengths and scores of one chunk."""
        void = chunk.void()
        rows = self.standardised(chunk, void)
        # Scaling by the largest entry first keeps products and squares within range.
        largest = np.abs(rows).max(axis=1, initial=0.0)
        rows /= np.where(largest == 0.0, 1.0, largest)[:, None]
        mapped = rows @ self._map
        direction = mapped[:, :-1]
        length = np.sqrt(np.einsum("ij,ij->i", direction, direction))
        seen = length > SMALLEST_LENGTH
        direction = (
            direction
            * (np.where(seen, shrink(self.width), 0.0) / np.where(seen, length, 1.0))[:, None]
        )
        score = largest * mapped[:, -1] + (
            chunk.vector("offset") - self.offset_center if chunk.offset is not None else 0.0
        )
        return PolarRows(direction, np.where(seen, largest * length, 0.0), score, void)

    def slope(self, polar: PolarRows, chunk: RecordBlock, limit: float) -> FloatArray:
        """Return slopes within ``limit``; zero where void or not a number."""
        return self._bounded_slope(polar.score, self.target(chunk), limit, polar.void)

    def curvature(
        self, polar: PolarRows, chunk: RecordBlock, limit: float, reach: float, bound: float
    ) -> FloatArray:
        """Return the rise of the clipped slope over ``2 * reach``, per unit, within 0 and bound."""
        target = self.target(chunk)
        above = self._bounded_slope(polar.score + reach, target, limit, polar.void)
        below = self._bounded_slope(polar.score - reach, target, limit, polar.void)
        return np.clip((above - below) / (2.0 * reach), 0.0, bound)

    def _bounded_slope(
        self, score: FloatArray, target: FloatArray, limit: float, void: NDArray[np.bool_]
    ) -> FloatArray:
        slope = np.ones(score.size) if self.loss is None else self.loss.slope(score, target)
        return np.clip(np.where(np.isnan(slope) | void, 0.0, slope), -limit, limit)
