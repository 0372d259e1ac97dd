"""How to average several clipped means: weights that minimise an estimated squared error.

The means ``t_1, ..., t_K`` are clipped at increasing radii, all linear in the same noised shells.
The last is nearly unbiased and the noisiest. For weights ``a`` that add up to one,
``|sum_k a_k t_k - t_K|^2`` estimates the squared bias plus the variance of the difference, which is
known; so the squared error is estimated without bias, up to a constant, by

    ``|sum_k a_k (t_k - t_K)|^2 + 2 size * sum_k a_k cov(t_k, t_K)``,

a convex quadratic over the simplex.

Reference
---------
Stein 1981, Theorem 1 (unbiased estimates of risk); James and Stein 1961, for ``columns - 2`` in the
place of the number of coordinates, where there are more than a few.
"""

import math
from itertools import combinations

import numpy as np

from tailguard.array_types import FloatArray


def least_error_weights(means: FloatArray, noise: FloatArray) -> FloatArray:
    """Return the weights of the means, one a row, given how each depends on independent noises.

    ``noise[k, j]`` is the standard deviation that the noise of shell ``j`` gives every coordinate
    of mean ``k``.
    """
    apart = means - means[-1]
    columns = means.shape[1]
    size = max(columns - 2, min(columns, 2))
    return simplex_minimum(apart @ apart.T, 2.0 * size * (noise @ noise[-1]))


def simplex_minimum(gram: FloatArray, linear: FloatArray) -> FloatArray:
    """Minimise ``a' gram a + linear' a`` over weights that sum to one, by trying all supports."""
    count = len(linear)
    best = math.inf
    found: FloatArray = np.eye(count)[-1]
    for size in range(1, count + 1):
        for support in map(list, combinations(range(count), size)):
            system = np.ones((size + 1, size + 1))
            system[:size, :size] = 2.0 * gram[np.ix_(support, support)]
            system[size, size] = 0.0
            wanted = np.append(-linear[support], 1.0)
            weights = np.zeros(count)
            weights[support] = np.linalg.lstsq(system, wanted, rcond=None)[0][:size]
            value = float(weights @ gram @ weights + linear @ weights)
            feasible = (weights >= -1e-12).all() and abs(weights.sum() - 1.0) < 1e-6
            if feasible and value < best:
                best, found = value, weights
    return found
