"""Records read through a released linear map: rows, lengths, scores, bounded slopes.

One record with features ``x``, target ``y`` and offset ``o`` has the standardised row
``s = (clip((x - center) * inverse_scale, -bound, bound), 1?, y?)`` and the whitened row
``u = s @ whitening``. Its score is ``s @ weights + offset`` from the row as it is: only the row's
length in the sum is bounded, so that a loss whose slopes average zero at the truth keeps doing so
(Mallows weights).

A chunk goes through a compiled loop, one matrix product, which depends on that chunk alone, and
another loop; what one value per record is made of stays in NumPy.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_finite, check_positive
from tailguard.data.rows.base import RecordBlock, chunks_of
from tailguard.losses.base import Loss
from tailguard.queries.kernels.numpy_twin import LARGEST_FEATURE

__all__ = ["LARGEST_FEATURE", "WhitenedChunk", "WhitenedRows"]

# A product of three such numbers is still within the floats, which end at 1.8e308.
LARGEST_ENTRY = 1e100


@dataclass(frozen=True, eq=False)
class WhitenedChunk:
    """One chunk of records, read; the next one is read into the same arrays.

    Attributes
    ----------
    mapped
        Whitened rows, one in each column, scaled so that no square overflows.
    length, inverse
        Lengths of the whitened rows, and the shrunk inverse lengths of the scaled ones: zero where
        a row has no direction.
    score, target
        Scores and standardised targets; of void records they mean nothing.
    void
        Which records count as zero.
    """

    mapped: FloatArray
    length: FloatArray
    inverse: FloatArray
    score: FloatArray
    target: FloatArray
    void: NDArray[np.bool_]


class _Buffers:
    """Room for one chunk, overwritten by the next; what nobody asks for stays zero.

    It is for as many records and coordinates as are read together, of which those past the last
    are void and mean nothing.
    """

    def __init__(self, n_rows: int, n_mapped: int, height: int) -> None:
        self.rows = np.zeros((n_rows, height))
        self.mapped = np.empty((n_mapped, n_rows))
        self.known = np.zeros((2, n_rows))  # targets and offsets
        self.units, self.lengths, self.inverses, self.scores = np.zeros((4, n_rows))


@dataclass(frozen=True, eq=False, kw_only=True)
class WhitenedRows:
    """The released numbers through which records are read.

    Attributes
    ----------
    whitening
        A matrix with one row per standardised coordinate and any number of columns.
    weights
        One per standardised coordinate, for the score.
    bound
        Standardised features count as within this of zero, in rows and in scores.
    target_in_row
        Whether the standardised target is a coordinate of the row.
    times_slope
        Whether a record's row is multiplied by its slope: its gradient takes the place of its row.

    Guarantee
    ---------
    A column of ``mapped`` times its entry of ``inverse`` has norm at most 1 for every input, less
    what ``shrunk`` takes off. Void records have length zero. What is read of a record depends on
    that record and on public numbers only, up to the rounding of its chunk's matrix product; with
    none of records that are rounded alone.
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
    bound: float = LARGEST_FEATURE
    target_in_row: bool = False
    times_slope: bool = False

    def __post_init__(self) -> None:
        for name in ("center", "inverse_scale", "whitening", "weights"):
            # The compiled loops take no other type.
            numbers = np.ascontiguousarray(getattr(self, name), dtype=np.float64)
            object.__setattr__(self, name, numbers)
        n_coordinates = self.center.size + int(self.intercept) + int(self.target_in_row)
        if self.whitening.shape[0] != n_coordinates or self.weights.shape != (n_coordinates,):
            raise InputError(
                f"whitening and weights must have {n_coordinates} rows; got "
                f"{self.whitening.shape} and {self.weights.shape}."
            )
        if self.inverse_scale.shape != self.center.shape:
            raise InputError(
                f"inverse_scale must have one entry per centre; got {self.inverse_scale.size} for "
                f"{self.center.size}."
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
        check_positive("bound", self.bound)

    @property
    def width(self) -> int:
        """Number of whitened coordinates."""
        return int(self.whitening.shape[1])

    def read(
        self, block: RecordBlock, *, shrunk: float = 1.0, lengths: bool = True, scores: bool = True
    ) -> Iterator[WhitenedChunk]:
        """Read a block chunk by chunk; without lengths, or scores, there are zeros for them."""
        block.check_features(self.center.size)
        scores = scores or self.times_slope
        # Products with the transposed map leave one number of every record side by side.
        parts = [self.whitening.T] * lengths + [self.weights[None, :]] * scores
        released, width = np.concatenate(parts), self.width * lengths
        n_rows, room = -1, _Buffers(0, *released.shape)
        for chunk in chunks_of(block):
            if n_rows != chunk.n_rows:
                n_rows = chunk.n_rows
                room = (
                    _room_alone(n_rows, released)
                    if block.alone
                    else _Buffers(n_rows, *released.shape)
                )
            self._standardise(chunk, room)
            _map(room, released, alone=block.alone)
            yield self._measured(room, width, shrunk, scores=scores)

    def _measured(
        self, room: _Buffers, width: int, shrunk: float, *, scores: bool
    ) -> WhitenedChunk:
        """Measure mapped rows of ``width`` coordinates, and score them."""
        from tailguard.queries.kernels.whitened_loops import measure, multiply, score  # noqa: PLC0415 (Numba is slow to load)

        if width:
            measure()(room.mapped[:width], room.units, shrunk, room.lengths, room.inverses)
        if scores:
            score()(room.mapped[width], room.units, room.known[1], room.scores)
        void = room.units == 0.0
        found = WhitenedChunk(
            room.mapped[:width], room.lengths, room.inverses, room.scores, room.known[0], void
        )
        if self.times_slope and width:
            multiply()(self.slope(found, math.inf), room.lengths, room.inverses)
        return found

    def _standardise(self, chunk: RecordBlock, room: _Buffers) -> None:
        from tailguard.queries.kernels.standardised_rows import standardise  # noqa: PLC0415 (see above)

        columns = (
            np.zeros(0) if values is None else np.ascontiguousarray(values)
            for values in (chunk.target, chunk.offset)
        )
        shifts = (float(self.target_center), float(self.target_scale), float(self.offset_center))
        standardise(chunk.features.dtype)(
            chunk.features, *columns, self.center, self.inverse_scale, shifts,
            min(float(self.bound), LARGEST_FEATURE), self.target_in_row, room.known, room.units,
            room.rows,
        )  # fmt: skip

    def slope(self, chunk: WhitenedChunk, limit: float) -> FloatArray:
        """Return slopes within ``limit``; zero where void or not a number."""
        return self._bounded_slope(chunk.score, chunk, limit)

    def curvature(
        self, chunk: WhitenedChunk, limit: float, half_step: float, bound: float
    ) -> FloatArray:
        """Return the clipped slope's rise over ``2 * half_step``, per unit, within 0 and bound."""
        above = self._bounded_slope(chunk.score + half_step, chunk, limit)
        below = self._bounded_slope(chunk.score - half_step, chunk, limit)
        return np.clip((above - below) / (2.0 * half_step), 0.0, bound)

    def _bounded_slope(self, score: FloatArray, chunk: WhitenedChunk, limit: float) -> FloatArray:
        from tailguard.queries.kernels.whitened_loops import bound_slopes  # noqa: PLC0415 (see above)

        found = np.ones(score.size) if self.loss is None else self.loss.slope(score, chunk.target)
        slopes, bounded = np.ascontiguousarray(found, dtype=np.float64), np.empty(score.size)
        bound_slopes()(slopes, chunk.void, float(limit), bounded)
        return bounded


def _room_alone(n_rows: int, released: FloatArray) -> _Buffers:
    """Make room for whole groups of records and coordinates."""
    from tailguard.queries.kernels.whitened_loops import GROUP_COORDINATES, GROUP_ROWS  # noqa: PLC0415 (see above)

    n_mapped, height = released.shape
    n_groups, n_lines = -(-n_rows // GROUP_ROWS), -(-n_mapped // GROUP_COORDINATES)
    return _Buffers(n_groups * GROUP_ROWS, n_lines * GROUP_COORDINATES, height)


def _map(room: _Buffers, released: FloatArray, *, alone: bool) -> None:
    """Map the standardised rows of a chunk, each by itself if ``alone``."""
    if not alone:
        np.matmul(released, room.rows.T, out=room.mapped)
        return
    from tailguard.queries.kernels.whitened_loops import map_rows  # noqa: PLC0415 (see above)

    columns = np.zeros((released.shape[1], len(room.mapped)))
    columns[:, : len(released)] = released.T
    map_rows()(columns, room.rows, room.mapped)
