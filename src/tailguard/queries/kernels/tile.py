"""Score some tiles of records, whatever they hold, and leave their rows in them as finite numbers.

A tile is eight records; ``vectors.py`` draws it. A strip is a few tiles, if they are narrow: a
processor then has other records to work on while one waits for its root or quotient, and no bit
depends on it. Each record takes the same steps whatever it holds: a feature beyond the largest one
allowed counts as that, and what marks a void record is the NaN that its squared norm becomes. No
step looks at another record.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types

from tailguard.array_types import Features, FloatArray
from tailguard.data.rows.base import CHUNK_ROWS, TILE_ROWS
from tailguard.queries.kernels import vectors
from tailguard.queries.kernels.lanes import LANES

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
# Merged before compilation: calls that pass arrays would cost more than what they do for a tile.
MERGED: dict[str, Any] = {**OPTIONS, "inline": "always"}
# Numba itself passes the first argument of an intrinsic, which its type does not say.
score_rows: Any = vectors.score_rows
add_rows: Any = vectors.add_rows
add_rounded_rows: Any = vectors.add_rounded_rows
FLOAT_BYTES = 8

# A smaller square loses digits: a row this short, 1e-145, has no direction, and counts as zero.
LEAST_SQUARE = 1e-290
# What void records are given in the place of a score and a target, so that slopes take the same
# time: numbers that are neither odd nor extreme for any loss.
VOID_SCORE, VOID_TARGET = 0.5, 0.0
# A strip has at most so many tiles, and as many as hold so many bytes of stored records, or one. A
# record of 10 float64 columns takes 7.8 ns by single tiles, 5.1 by four and 4.8 by eight, with a
# logistic slope 10.4, 5.7 and 5.2; one of 100 takes 25 by single tiles and by two; one of 100
# float32 columns takes 21 by single tiles and 17 by two or four.
MOST_TILES, STRIP_BYTES = 8, 8192
# Rows of ``Space.work``, one number for each record of the strip; the loop of a loss reads the
# first two and writes the third. ``KNOWN`` is 1, or 0 where void.
SCORES, TARGETS, SIZES, SQUARES, KNOWN, INVERSES, RADII, FACTORS = range(8)


class Space(NamedTuple):
    """What a pass writes to, and public vectors that it reads, as wide as the tile."""

    center: FloatArray
    inverse_scale: FloatArray
    weights: FloatArray
    sums: FloatArray
    targets: FloatArray
    offsets: FloatArray
    tiles: FloatArray
    work: FloatArray


def stored_types(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return the types of features stored as ``dtype``, and of a vector that goes with them."""
    stored = types.float32 if dtype == np.float32 else types.float64
    # Arrays declared as read-only may be either.
    matrix = types.Array(stored, 2, "C", readonly=True)
    return matrix, types.Array(types.float64, 1, "C", readonly=True)


@njit(**OPTIONS)
def aligned(size: int) -> FloatArray:
    """Return zeros whose address is a multiple of 64, so that no vector lies across two lines."""
    numbers = np.zeros(size + LANES)
    first = -(numbers.ctypes.data // FLOAT_BYTES) % LANES
    return numbers[first : first + size]


@njit(**OPTIONS)
def make_space(
    features: Features,
    most_rows: int,
    center: FloatArray,
    inverse_scale: FloatArray,
    weights: FloatArray,
) -> Space:
    """Make room for a pass over runs of at most ``most_rows`` records.

    One weight more than features is that of an intercept.
    """
    width = (weights.size + LANES - 1) // LANES * LANES
    columns = aligned(4 * width).reshape(4, width)
    columns[0, : center.size] = center
    columns[1, : center.size] = inverse_scale
    columns[1, center.size : weights.size] = 1.0
    columns[2, : weights.size] = weights
    fit = STRIP_BYTES // (width * TILE_ROWS * features.itemsize)
    n_tiles = max(1, min(MOST_TILES, fit, (most_rows + TILE_ROWS - 1) // TILE_ROWS))
    # The last strip of a chunk may reach past its end.
    n_places = n_tiles * TILE_ROWS
    known = aligned(2 * (CHUNK_ROWS + n_places)).reshape(2, CHUNK_ROWS + n_places)
    tiles = aligned(n_places * width).reshape(n_tiles, width // LANES, TILE_ROWS, LANES)
    work = aligned(8 * n_places).reshape(8, n_places)
    return Space(columns[0], columns[1], columns[2], columns[3], known[0], known[1], tiles, work)


@njit(**OPTIONS)
def clip(value: float, limit: float) -> float:
    """Bound ``value`` by ``limit``; NaN becomes zero."""
    if math.isnan(value):
        return 0.0
    return -limit if value < -limit else (limit if value > limit else value)


@njit(**OPTIONS)
def load(
    values: FloatArray, start: int, stop: int, center: float, scale: float, out: FloatArray
) -> None:
    """Standardise ``values``, NaN for what is not finite; no values stand for zeros."""
    values = values[start:stop]
    for i in range(values.size):
        value = values[i]
        # Adding zero times the value makes a NaN of an infinite one, and nothing else.
        out[i] = (value - center) / scale + 0.0 * value


@njit(**MERGED)
def score_strip(features: Features, start: int, count: int, space: Space) -> None:
    """Fill the tiles, scores and squared norms with ``count`` records, then void ones."""
    squares = space.work[SQUARES]
    for t in range(len(space.tiles)):
        first = t * TILE_ROWS
        tile, scores, found = space.tiles[t], space.work[SCORES, first:], squares[first:]
        score_rows(
            features, start + first, space.center, space.inverse_scale, space.weights,
            tile, scores, found,
        )  # fmt: skip
    for b in range(count, squares.size):
        squares[b] = math.nan


@njit(**MERGED)
def add_strip(alone: bool, space: Space) -> None:
    """Add the rows of the tiles, times their factors, to the sums: products rounded if alone."""
    for t in range(len(space.tiles)):
        tile, factors = space.tiles[t], space.work[FACTORS, t * TILE_ROWS :]
        if alone:
            add_rounded_rows(tile, factors, space.sums)
        else:
            add_rows(tile, factors, space.sums)
