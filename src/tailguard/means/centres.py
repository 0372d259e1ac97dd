"""The centre of noised group means: by updates that walk into their bulk, or one of two medians.

For points ``q_1 .. q_k`` and a centre ``c``, the *reach* in a unit direction ``u`` is the ``m``-th
largest of the projections ``<q_j - c, u>``: at least ``m`` points lie that far. The direction of
largest reach points from the centre to the bulk.

Each update moves the centre by a quarter of the reach, in the direction of largest reach. Updates
end when no direction has nine in ten points ahead. The points are already noised, so the search
needs no privacy: a bad direction costs only accuracy.

In one dimension there are two directions. In two dimensions, the reach is part of a sine curve
between ties, so its maximum is at a tie of two points or in the direction of one point. For few
points the search tries all of these directions.

Otherwise the search combines two kinds of moves. *Alternation* takes the ``m`` points that lie
furthest, and turns to the direction whose least projection on them is largest. This direction leads
to the nearest point of their convex hull, which non-negative least squares computes. The turn never
lowers the reach. *Ascent* steps towards the mean of the points whose projections are closest to the
reach.

Reference
---------
Zhao et al. 2024, Algorithm 3 and program (27); Lawson and Hanson 1974, Chapter 23 (least distance
programming). Deviations: the direction points from the centre to the mean, which the text of the
paper reverses; the last centre is examined as well, as its Lemma 8 needs; updates start at the
coordinate-wise median.
"""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import nnls

from tailguard.array_types import FloatArray
from tailguard.checks import InputError

Estimate: TypeAlias = Callable[[FloatArray], Any]
"""A user's own function: it maps released group means, one per row, to their centre."""

CENTRES = ("updates", "median", "geometric-median")
STARTS = ("median", "origin")
LEVEL = 0.9  # the fraction of the points that must lie ahead


def centre_of(
    points: FloatArray, centre: str, level: float = LEVEL, start: str = "median"
) -> FloatArray:
    """Return a centre of noised group means, one per row, by one of ``CENTRES``.

    Updates start at ``start``, one of ``STARTS``.
    """
    median: FloatArray = np.median(points, axis=0)
    if centre == "median":
        return median
    if centre == "geometric-median":
        return _geometric_median(points, median)
    return updated_centre(points, median if start == "median" else 0.0 * median, level=level)


def own_centre(points: FloatArray, estimate: Estimate) -> FloatArray:
    """Return the centre that a user's function computes; its non-finite values count as zero."""
    value = np.asarray(estimate(points), dtype=float)
    if value.shape != points.shape[1:]:
        raise InputError(
            f"centre must return a vector of {points.shape[1]} entries; got shape {value.shape}."
        )
    return np.nan_to_num(value)


def _geometric_median(points: FloatArray, start: FloatArray) -> FloatArray:
    """Make 100 steps of Weiszfeld; distances have a lower limit, a small part of the spread."""
    spread = float(np.abs(points - start).max())
    centre = start
    for _ in range(100 if spread > 0.0 else 0):
        distances = np.linalg.norm((points - centre) / spread, axis=1)
        weights = 1.0 / np.maximum(distances, 1e-9)
        centre = weights @ points / weights.sum()
    return centre


def updated_centre(
    points: FloatArray, start: FloatArray, *, level: float = LEVEL, n_steps: int = 40
) -> FloatArray:
    """Walk from ``start`` to the bulk of the points; return the centre of least reach on the way.

    *Edge cases.* The updates end as soon as no direction has a fraction ``level`` of the points
    ahead. So from a start outside of the points they end at the edge of the bulk.

    *Reference.* Zhao et al. 2024, Algorithm 3.
    """
    count = max(1, math.ceil(level * len(points) - 1e-9))
    best, least, centre = start, math.inf, start
    for _ in range(n_steps + 1):
        distance, direction = furthest_direction(points - centre, count)
        if distance < least:
            best, least = centre, distance
        if distance <= 0.0:
            break
        centre = centre + 0.25 * distance * direction
    return best


def reach(offsets: FloatArray, directions: FloatArray, count: int) -> FloatArray:
    """Return the reach of ``count`` points in each direction, one direction per row."""
    projections = offsets @ directions.T
    place = len(offsets) - count
    return np.partition(projections, place, axis=0)[place]


def furthest_direction(offsets: FloatArray, count: int) -> tuple[float, FloatArray]:
    """Search for the largest reach; return it and its unit direction.

    *Edge cases.* The reach is negative if no direction has enough points ahead, and 0 if all points
    are zero.
    """
    n_points, n_dimensions = offsets.shape
    scale = float(np.abs(offsets).max())
    if n_dimensions == 1:
        return _best_direction(offsets, np.array([[1.0], [-1.0]]), count)
    if scale == 0.0:
        return 0.0, np.eye(1, n_dimensions)[0]
    scaled = offsets / scale
    if n_dimensions == 2 and n_points <= 50:  # some 2500 directions
        tried = _ties(scaled)
    else:
        tried = np.array([_search_direction(scaled, start, count) for start in _starts(scaled)])
    distance, direction = _best_direction(scaled, tried, count)
    return distance * scale, direction


def _best_direction(
    offsets: FloatArray, directions: FloatArray, count: int
) -> tuple[float, FloatArray]:
    reached = reach(offsets, directions, count)
    best = int(np.argmax(reached))
    return float(reached[best]), directions[best]


def _ties(offsets: FloatArray) -> FloatArray:
    """Return the directions in which two points tie, and those to and away from each point."""
    first, second = np.triu_indices(len(offsets), 1)
    gaps = offsets[first] - offsets[second]
    across = np.stack([-gaps[:, 1], gaps[:, 0]], axis=1)
    return _unit_vectors(np.concatenate([across, -across, offsets, -offsets]))


def _starts(offsets: FloatArray) -> FloatArray:
    """Return the directions of the mean, the median, the mean direction and the widest axis."""
    sizes = np.linalg.norm(offsets, axis=1, keepdims=True)
    widest = np.linalg.svd(offsets, full_matrices=False)[2][0]
    mean, median = offsets.mean(axis=0), np.median(offsets, axis=0)
    mean_direction = (offsets / np.maximum(sizes, np.finfo(float).tiny)).mean(axis=0)
    return _unit_vectors(np.array([mean, median, mean_direction, widest, -widest]))


def _unit_vectors(vectors: FloatArray) -> FloatArray:
    """Scale vectors to length 1; drop zero vectors."""
    sizes = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(sizes > 0.0, sizes, 1.0))[sizes[:, 0] > 0.0]


def _search_direction(offsets: FloatArray, start: FloatArray, count: int) -> FloatArray:
    """Improve a direction by alternation, ascent, and alternation again."""
    alternated = _alternate(offsets, start, count)
    return _alternate(offsets, _ascend(offsets, alternated, count), count)


def _alternate(
    offsets: FloatArray, direction: FloatArray, count: int, turns: int = 10
) -> FloatArray:
    """Turn to the direction of widest margin of the furthest points, as long as reach grows."""
    reached = reach(offsets, direction[None], count)[0]
    for _ in range(turns):  # three or four usually suffice
        furthest = np.argpartition(offsets @ direction, -count)[-count:]
        turned = _widest_margin(offsets[furthest])
        gained = -np.inf if turned is None else reach(offsets, turned[None], count)[0]
        if turned is None or gained <= reached:
            break
        direction, reached = turned, gained
    return direction


def _widest_margin(points: FloatArray) -> FloatArray | None:
    """Return the direction whose least projection is largest; None if the centre is in the hull."""
    n_points, n_dimensions = points.shape
    system = np.vstack([points.T, np.ones(n_points)])
    right_side = np.append(np.zeros(n_dimensions), 1.0)
    try:
        weights, residual = nnls(system, right_side)
    except RuntimeError:  # no convergence: the current direction is kept
        return None
    if residual < 1e-9:  # the centre lies in the hull
        return None
    direction = points.T @ weights  # the nearest point of the hull, up to its length
    size = float(np.linalg.norm(direction))
    return direction / size if size > 0.0 else None


def _ascend(offsets: FloatArray, direction: FloatArray, count: int) -> FloatArray:
    """Increase the reach by 60 steps; return the best direction on the way.

    Step t has length ``0.5 / sqrt(t)`` and goes towards the tenth of the points closest to the
    reach.
    """
    n_nearest = max(1, round(0.1 * len(offsets)))
    directions = [direction]
    for step in range(1, 61):
        projections = offsets @ direction
        level = np.partition(projections, -count)[-count]
        nearest = np.argpartition(np.abs(projections - level), n_nearest - 1)[:n_nearest]
        uphill = offsets[nearest].mean(axis=0)
        uphill = uphill - (uphill @ direction) * direction
        size = float(np.linalg.norm(uphill))
        if size == 0.0:
            break
        direction = direction + 0.5 / np.sqrt(step) * uphill / size
        direction = direction / np.linalg.norm(direction)
        directions.append(direction)
    return _best_direction(offsets, np.array(directions), count)[1]
