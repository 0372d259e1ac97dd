"""The passes of the fused kernel in plain NumPy, for losses that Numba does not know.

Slower, and the reference that the fused kernel is tested against.
"""

from typing import Any

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.data.rows.base import RecordBlock, chunks_of, round_to_lattice, rounded_alone, shrink

# The same bounds as the fused kernel's: larger standardised features count as this, shorter rows as
# zero.
LARGEST_FEATURE, SMALLEST_NORM = 1e150, 1e-145


@np.errstate(all="ignore")
def clipped_gradient_sum(model: Any, clip_norm: float, grid: float, block: RecordBlock) -> IntArray:
    """Lattice sum of the clipped gradients of a block."""
    total = np.zeros(model.weights.size, dtype=np.int64)
    for chunk in chunks_of(block):
        direction, coefficient = _gradients(model, chunk)
        factor = np.clip(coefficient, -clip_norm, clip_norm) * shrink(total.size)
        if chunk.alone:
            total += rounded_alone(factor[:, None] * direction, grid)
        else:
            total += round_to_lattice(factor @ direction, grid)
    return total


@np.errstate(all="ignore")
def gradient_norm_count(model: Any, threshold: float, block: RecordBlock) -> int:
    """Count the records of a block, void ones aside, with gradient norm at most ``threshold``."""
    count = 0
    for chunk in chunks_of(block):
        _, coefficient = _gradients(model, chunk)
        count += int(np.count_nonzero((np.abs(coefficient) <= threshold) & ~chunk.void()))
    return count


def _gradients(model: Any, chunk: RecordBlock) -> tuple[FloatArray, FloatArray]:
    """Return directions of the records' gradients, and their sizes along them; zeros where void."""
    void = chunk.void()
    direction, norm = directions(model, chunk, void)
    norm = np.where(norm > SMALLEST_NORM, norm, 0.0)
    target, offset = known(model, chunk)
    radius = np.minimum(norm, model.row_limit)
    # Row by row, unlike BLAS, where no bit may depend on where in the chunk a record lies.
    along = (
        np.einsum("ij,j->i", direction, model.weights) if chunk.alone else direction @ model.weights
    )
    slope = bounded_slopes(model, radius * along + offset, target, model.slope_limit)
    coefficient = slope * radius
    return direction, np.where(void | np.isnan(coefficient), 0.0, coefficient)


def directions(model: Any, chunk: RecordBlock, void: Any) -> tuple[FloatArray, FloatArray]:
    """Return unit vectors along the standardised rows, and the norms of the rows."""
    rows = standardised(model, chunk, void)
    # Scaling by the largest entry first keeps the squares within range.
    largest = np.abs(rows).max(axis=1, keepdims=True)
    scaled = rows / np.where(largest == 0, 1.0, largest)
    length = np.sqrt((scaled**2).sum(axis=1, keepdims=True))
    return scaled / np.where(length == 0, 1.0, length), (largest * length)[:, 0]


def standardised(model: Any, chunk: RecordBlock, void: Any) -> FloatArray:
    """Return the standardised rows, finite whatever a record holds; zeros where void."""
    rows = (chunk.features.astype(np.float64) - model.center) * model.inverse_scale
    rows = np.fmin(np.fmax(rows, -LARGEST_FEATURE), LARGEST_FEATURE)  # numbers only
    if model.intercept:
        rows = np.column_stack([rows, np.ones(len(rows))])
    return np.where(np.expand_dims(void, 1), 0.0, rows)


def known(model: Any, chunk: RecordBlock) -> tuple[FloatArray, FloatArray]:
    """Return the standardised targets and offsets."""
    target, offset = chunk.vector("target"), chunk.vector("offset")
    if chunk.target is not None:
        target = (target - model.target_center) / model.target_scale
    return target, offset - model.offset_center


def bounded_slopes(model: Any, score: FloatArray, target: FloatArray, limit: float) -> FloatArray:
    """Return the slopes of the loss within ``limit``; zero for what is not a number."""
    slope = np.ones(score.size) if model.loss is None else model.loss.slope(score, target)
    return np.clip(np.where(np.isnan(slope), 0.0, slope), -limit, limit)
