"""TukeyEM: of many least-squares fits on parts of the records, a point that lies deep among them.

A part is one entry of the data of the mechanism, so a replaced record replaces one fit. Depth of a
point is the least number of fits on either side of it, over all coordinates.

*Reference.* Amin, Joseph, Ribero and Vassilvitskii 2022, Algorithm 1; 1,000 fits, as there, or as
many as have one record a column. Depths are weighed by ``exp(epsilon depth)``, as in their code.
"""

import math

import numpy as np

MODELS = 1_000
JITTER = 1e-10  # of coefficients, so that no two are the same
TRIES = 10_000  # points of a box that are drawn at once


def fits_of_parts(X, y, rng, n_models=MODELS):
    """Return least-squares weights of disjoint parts, drawn at random, one row a part."""
    n_models = min(n_models, len(y) // X.shape[1])
    parts = rng.permutation(len(y))[: len(y) // n_models * n_models].reshape(n_models, -1)
    return np.array([np.linalg.lstsq(X[rows], y[rows], rcond=None)[0] for rows in parts])


def tukey(fits, epsilon, delta, rng):
    """Return a deep point of the fits, or None where they lie too far apart to tell one."""
    corners = np.sort(fits + JITTER * rng.random(fits.shape), axis=0)
    n_levels = len(fits) // 2
    low, high = corners[:n_levels], corners[::-1][:n_levels]  # box k: depth of at least k + 1
    log_volumes = np.log(high - low).sum(axis=1)
    half, middle = epsilon / 2.0, n_levels // 2
    distance = distance_to_unsafe(log_volumes, half, delta, middle)
    if distance + rng.laplace(scale=1.0 / half) <= math.log(1.0 / (2.0 * delta)) / half:
        return None
    level = _draw_level(log_volumes[middle - 1 :], half, rng) + middle - 1
    inner = level + 1
    while True:
        points = rng.uniform(low[level], high[level], (TRIES, fits.shape[1]))
        if inner < n_levels:
            deeper = np.all((low[inner] < points) & (points < high[inner]), axis=1)
            points = points[~deeper]
        if len(points):
            return points[0]


def distance_to_unsafe(log_volumes, epsilon, delta, middle):
    """Bound below how many fits must change before depths no longer hide one; -1 where none.

    With ``V(i)`` the volume of depth of at least ``i``: the largest ``k`` with
    ``V(middle - k - 1) / V(middle + k + g + 1) exp(-g epsilon / 2) <= delta / (8 e^epsilon)``
    for some ``g`` of at least 1.
    """
    limit = math.log(delta / 8.0) - epsilon
    for k in range(middle - 1):
        deep = log_volumes[middle + k + 1 : -1]
        outer = log_volumes[middle - k - 2]
        if not len(deep):
            return k - 1
        if np.min(outer - deep - epsilon / 2.0 * np.arange(1, len(deep) + 1)) > limit:
            return k - 1
    return middle - 2


def _draw_level(log_volumes, epsilon, rng):
    """Draw a box by the volume outside the next one, times ``exp(epsilon depth)``."""
    with np.errstate(divide="ignore"):
        inside = np.exp(np.diff(log_volumes))
        shells = log_volumes + np.log1p(-np.append(inside, 0.0))
    race = shells + epsilon * np.arange(len(shells)) + rng.gumbel(size=len(shells))
    return int(np.argmax(race))
