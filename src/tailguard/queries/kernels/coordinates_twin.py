"""The grouped sum of bounded coordinates in plain NumPy, for losses that Numba does not know.

Slower, and the reference that the compiled pass is tested against. It evaluates the soft truncation
to full precision.
"""

from typing import Any

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.data.rows.base import (
    CHUNK_ROWS,
    RecordBlock,
    chunks_of,
    round_to_lattice,
    rounded_alone,
)
from tailguard.queries.kernels.numpy_twin import (
    LARGEST_FEATURE,
    bounded_slopes,
    known,
    standardised,
)
from tailguard.queries.kernels.soft_truncation import soft_truncation

# The compiled pass has the same bounds: larger features and slopes count as this, so that their
# product is finite.
LARGEST_SLOPE = LARGEST_FEATURE


@np.errstate(all="ignore")
def bounded_coordinate_sum(kernel: Any, block: RecordBlock) -> IntArray:
    """Lattice sums by groups of the bounded gradients of a block."""
    totals = np.zeros((kernel.n_groups, kernel.weights.size), dtype=np.int64)
    if block.alone:
        for chunk in chunks_of(block):
            values = bounded_entries(kernel.bound, score_gradients(kernel, chunk))
            totals[0] += rounded_alone(values, kernel.grid * kernel.n_rows)
        return totals.ravel()
    start = 0
    while start < block.n_rows:
        group = ((block.place + start + 1) * kernel.n_groups - 1) // kernel.n_rows
        opening, closing = (k * kernel.n_rows // kernel.n_groups for k in (group, group + 1))
        chunk_end = (start // CHUNK_ROWS + 1) * CHUNK_ROWS
        end = min(block.n_rows, chunk_end, closing - block.place)
        values = bounded_entries(kernel.bound, score_gradients(kernel, block.rows(start, end)))
        totals[group] += round_to_lattice(values.sum(axis=0), kernel.grid * (closing - opening))
        start = end
    return totals.ravel()


@np.errstate(all="ignore")
def score_gradients(model: Any, records: RecordBlock) -> FloatArray:
    """Return the gradient of every record, finite whatever it holds; zeros where void."""
    void = records.void()
    rows = standardised(model, records, void)
    target, offset = known(model, records)
    # Row by row, unlike BLAS: nothing about one record may change a bit of another's score.
    score = np.einsum("ij,j->i", rows, model.weights) + offset
    slope = bounded_slopes(model, score, target, min(model.slope_limit, LARGEST_SLOPE))
    return np.where(void[:, None], 0.0, slope[:, None] * rows)


def bounded_entries(bound: Any, values: FloatArray) -> FloatArray:
    """Bound every entry."""
    if bound.kind == "clamped":
        return np.clip(values, -bound.scale, bound.scale)
    if bound.kind == "truncated":
        return np.where(np.abs(values) <= bound.scale, values, 0.0)
    softened: FloatArray = bound.scale * soft_truncation(values / bound.scale, bound.smoothing)
    return softened
