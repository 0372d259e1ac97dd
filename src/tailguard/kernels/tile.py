"""Score one tile of records, whatever they hold, and leave their rows in it as finite numbers.

A tile is eight records; ``vectors.py`` draws it. Whole groups of four are scored straight from the
features. Records whose norm is outside the range in which squares neither overflow nor lose digits
are then *rescued*, as are void ones and the last one to three of a run: they are scored once more,
with features cut to the largest one allowed, times a power of two that the largest entry of the row
asks for. A void record becomes a row of zeros. No step looks at another record.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from . import vectors
from .block import Features, FloatArray
from .chunks import CHUNK_ROWS, TILE_ROWS
from .lanes import LANES

__all__ = []

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
# Merged before compilation: calls that pass arrays would cost more than what they do for a tile.
MERGED: dict[str, Any] = {**OPTIONS, "inline": "always"}
# Numba itself passes the first argument of an intrinsic, which its type does not say.
score_four_rows: Any = vectors.score_four_rows
rescore_four_rows: Any = vectors.rescore_four_rows
find_peaks: Any = vectors.find_peaks

# Between these, a square is off by rounding only, and its root and inverse are normal numbers.
LEAST_SQUARE, LARGEST_SQUARE = 1e-290, 1e290
# Rows of ``Space.work``, one number for each record of the tile. A row in the tile is the record's
# standardised row times its unit, a power of two; a unit of zero marks void records.
SCORES, SQUARES, UNITS, INVERSES, RADII, SIZES, FACTORS = range(7)


class Space(NamedTuple):
    """What a pass writes to, and public vectors that it reads, as wide as the tile."""

    center: FloatArray
    inverse_scale: FloatArray
    weights: FloatArray
    sums: FloatArray
    targets: FloatArray
    offsets: FloatArray
    tile: FloatArray
    work: FloatArray


@njit(**OPTIONS)
def make_space(center: FloatArray, inverse_scale: FloatArray, weights: FloatArray) -> Space:
    """Make room for one pass; one weight more than features is that of an intercept."""
    width = (weights.size + LANES - 1) // LANES * LANES
    columns = np.zeros((4, width))
    columns[0, : center.size] = center
    columns[1, : center.size] = inverse_scale
    columns[1, center.size : weights.size] = 1.0
    columns[2, : weights.size] = weights
    # The last tile of a chunk may reach past its end.
    known = np.zeros((2, CHUNK_ROWS + TILE_ROWS))
    tile = np.zeros((width // LANES, TILE_ROWS, LANES))
    work = np.zeros((7, TILE_ROWS))
    return Space(columns[0], columns[1], columns[2], columns[3], known[0], known[1], tile, work)


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
def usual(square: float) -> bool:
    """Whether squares of this size neither overflow nor lose digits; false for NaN."""
    return (square > LEAST_SQUARE) & (square < LARGEST_SQUARE)


@njit(**MERGED)
def score_tile(features: Features, start: int, count: int, rescaling: bool, space: Space) -> None:
    """Fill the tile, scores, squared norms and units with ``count`` records, then void ones.

    Without ``rescaling`` every unit is 1, and unusual norms stay as they are.
    """
    work, n_usual = space.work, 0
    scores, squares = work[SCORES], work[SQUARES]
    for b in range(0, TILE_ROWS, 4):
        if b + 4 <= count:
            score_four_rows(
                features, start + b, space.center, space.inverse_scale, space.weights,
                space.tile, b, scores, squares,
            )  # fmt: skip
        else:
            squares[b : b + 4] = math.nan
    for b in range(TILE_ROWS):
        work[UNITS, b] = 1.0
        n_usual += usual(squares[b])
    if n_usual < TILE_ROWS:
        for b in range(0, TILE_ROWS, 4):
            _rescue_four(features, start + b, count - b, rescaling, b, space)


@njit(**OPTIONS)
def _rescue_four(
    features: Features, row: int, count: int, rescaling: bool, place: int, space: Space
) -> None:
    """Score four records once more, of which ``count`` exist, unless all of them are usual."""
    squares, units, peaks = space.work[SQUARES], space.work[UNITS], space.work[FACTORS]
    n_usual = 0
    for k in range(4):
        n_usual += usual(squares[place + k])
    if n_usual == 4:
        return
    find_peaks(features, row, space.center, space.inverse_scale, peaks)
    for k in range(4):
        fit = usual(squares[place + k]) or not rescaling
        units[place + k] = _unit(peaks[k], fit) if k < count else 0.0
    rescore_four_rows(
        features, row, space.center, space.inverse_scale, space.weights,
        space.tile, place, space.work[SCORES], squares, units,
    )  # fmt: skip


@njit(**OPTIONS)
def _unit(peak: float, fit: bool) -> float:
    """Return the power of two for a row: zero if it is void, one if it is ``fit`` as it is."""
    if math.isnan(peak):
        return 0.0
    if peak > 1e140 and not fit:
        return 2.0**-500
    if peak > 1e-140 or fit:
        return 1.0
    return 2.0**500 if peak > 1e-160 else 2.0**1000
