"""The two loops over four records, for every length of the columns left over."""

import numpy as np
import pytest
from numba import njit

from tailguard.kernels.vectors import add_four_rows, four_scores


@njit
def score(features, row, center, inverse_scale, weights):
    return four_scores(features, row, center, inverse_scale, weights)


@njit
def add(features, row, center, inverse_scale, factors, first, sums):
    add_four_rows(features, row, center, inverse_scale, factors, first, sums)


@pytest.mark.parametrize("n_columns", [1, 2, 7, 8, 9, 15, 16, 17, 31])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_loops_compute_what_they_say(n_columns, dtype):
    rng = np.random.default_rng(n_columns)
    features = rng.standard_normal((9, n_columns)).astype(dtype)
    center, weights = rng.standard_normal((2, n_columns))
    inverse_scale = rng.uniform(0.5, 2.0, n_columns)
    rows = (features[3:7] - center) * inverse_scale
    expected = np.concatenate([rows @ weights, (rows**2).sum(axis=1)])
    result = score(features, 3, center, inverse_scale, weights)
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)

    factors, sums = rng.standard_normal(9), rng.standard_normal(n_columns)
    factors[4] = 0.0
    features[5] = np.nan  # row 3 + 2 meets factor 2 + 2, which is zero
    expected = sums + sum(factors[2 + k] * rows[k] for k in (0, 1, 3))
    add(features, 3, center, inverse_scale, factors, 2, sums)
    np.testing.assert_allclose(sums, expected, rtol=1e-12, atol=1e-12)
