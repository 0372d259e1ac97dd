"""Cut vectors to an l2 norm, whatever numbers they hold."""

import math
import sys

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.queries.loop import compiled_loop

LARGEST_FLOAT, SMALLEST_FLOAT = sys.float_info.max, sys.float_info.min


def safe_clip(vector: FloatArray, limit: float) -> FloatArray:
    """Return ``vector``, scaled down to l2 norm ``limit`` if its norm is larger.

    Edge cases
    ----------
    A vector with an entry that is not finite becomes zero. Entries near the largest float keep
    their direction: they are scaled before they are squared.
    """
    clipped = np.array(vector, dtype=np.float64)
    clip_rows(clipped[None, :], limit)
    return clipped


def clip_rows(vectors: FloatArray, limit: float) -> FloatArray:
    """Clip every row of a matrix in place; return the norms before the clip."""
    norms = np.empty(len(vectors))
    _clip_rows()(vectors, float(limit), norms)
    return norms


@compiled_loop("matrix", "float64", "vector")
def _clip_rows(vectors: FloatArray, limit: float, norms: FloatArray) -> None:
    """Clip in the same steps for every vector, so that the running time reveals nothing."""
    size = vectors.shape[1]
    allowed = limit * (1 - 4 * (size + 2) * 2.0**-53)  # as ``shrink`` of rows/base.py
    for i in range(len(vectors)):
        largest, odd = 0.0, 0
        for j in range(size):
            entry = vectors[i, j]
            odd |= not abs(entry) <= LARGEST_FLOAT
            # Makes every entry finite; a vector with an odd entry is multiplied by zero below.
            entry = entry if entry < LARGEST_FLOAT else LARGEST_FLOAT
            entry = entry if entry > -LARGEST_FLOAT else -LARGEST_FLOAT
            vectors[i, j] = entry
            largest = max(largest, abs(entry))
        unit = max(largest, SMALLEST_FLOAT)
        square = 0.0
        for j in range(size):
            square += (vectors[i, j] / unit) ** 2
        length = max(math.sqrt(square), 1.0)  # at least one entry is one, or all are zero
        usable = 1.0 if odd == 0 else 0.0
        # A sum of both cases instead of a branch, since a branch would skip the divisions.
        scale, keep = (allowed / length, 0.0) if unit * length > allowed else (0.0, 1.0)
        for j in range(size):
            vectors[i, j] = usable * (vectors[i, j] / unit * scale + vectors[i, j] * keep)
        norms[i] = unit * length if (odd == 0) & (largest > 0.0) else 0.0
