"""Vector instructions that bound entries: equal to plain NumPy, lane by lane."""

import numpy as np
import pytest
from numba import njit

from tailguard.kernels.bounded_rows import (
    N_NUMBERS,
    add_clamped_rows,
    add_cubic_rows,
    add_soft_rows,
    add_truncated_rows,
)
from tailguard.kernels.coordinates import CoordinateBound
from tailguard.kernels.soft_truncation import cubic_reach, fast_soft_truncation


@njit
def clamped(X, center, scale, factors, numbers, sums):
    add_clamped_rows(X, 0, center, scale, factors, 1, numbers, sums)


@njit
def truncated(X, center, scale, factors, numbers, sums):
    add_truncated_rows(X, 0, center, scale, factors, 1, numbers, sums)


@njit
def soft(X, center, scale, factors, numbers, sums):
    add_soft_rows(X, 0, center, scale, factors, 1, numbers, sums)


@njit
def cubic(X, center, scale, factors, numbers, sums):
    add_cubic_rows(X, 0, center, scale, factors, 1, numbers, sums)


BOUNDS = {
    "clamped": (clamped, CoordinateBound("clamped", 0.75)),
    "truncated": (truncated, CoordinateBound("truncated", 0.75)),
    "soft": (soft, CoordinateBound("soft", 0.75, smoothing=3.0)),
    "cubic": (cubic, CoordinateBound("soft", 1e3, smoothing=3.0)),
}


def bounded(bound, values):
    if bound.kind == "clamped":
        return np.clip(values, -bound.scale, bound.scale)
    if bound.kind == "truncated":
        return np.where(np.abs(values) <= bound.scale, values, 0.0)
    return bound.scale * fast_soft_truncation(values / bound.scale, bound.smoothing)


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [1, 7, 8, 19])
def test_every_entry_is_bounded_and_added(name, dtype, n_features):
    rng = np.random.default_rng(n_features)
    add, bound = BOUNDS[name]
    X = rng.standard_normal((4, n_features)).astype(dtype)
    X[2] = np.nan  # its factor is zero
    center, scale = rng.standard_normal(n_features), rng.uniform(0.5, 2.0, n_features)
    factors, sums = np.array([9.0, 1.0, -2.0, 0.0, 0.5]), np.full(n_features, 10.0)
    values = (X[[0, 1, 3]] - center) * scale * np.array([[1.0], [-2.0], [0.5]])
    add(X, center, scale, factors, bound.numbers(), sums)
    np.testing.assert_allclose(sums, 10.0 + bounded(bound, values).sum(axis=0), rtol=1e-14)


@pytest.mark.parametrize("value", [1e-310, 1.0, 1e30, 1e300])
@pytest.mark.parametrize("name", BOUNDS)
def test_one_entry_never_exceeds_the_limit(name, value):
    add, bound = BOUNDS[name]
    for sign in (-1.0, 1.0):
        sums = np.zeros(9)
        X = np.full((4, 9), sign * value)
        add(X, np.zeros(9), np.ones(9), np.array([0, 1.0, 0, 0, 0]), bound.numbers(), sums)
        assert np.abs(sums).max() <= bound.limit
        assert sums[0] == sums[8]


def test_numbers_are_as_many_as_the_loops_read():
    assert all(bound.numbers().size == N_NUMBERS for _, bound in BOUNDS.values())
    reach = BOUNDS["cubic"][1].numbers()[3]
    assert reach == cubic_reach(3.0)
