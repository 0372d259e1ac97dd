"""Whitening: exact without noise, bounded with it."""

import numpy as np
import pytest

from tailguard.solvers.whitened.moments import first_fit, noise_level, shrunk, whiten


def test_without_noise_whitened_second_moments_are_the_identity():
    factor = np.random.default_rng(0).standard_normal((4, 4))
    moments = factor @ factor.T
    matrix = whiten(moments, 0.0).matrix
    np.testing.assert_allclose(matrix.T @ moments @ matrix, np.eye(4), atol=1e-9)


@pytest.mark.parametrize("moments", [-np.eye(3), np.zeros((3, 3)), np.ones((3, 3))])
def test_negative_zero_and_collinear_moments_give_bounded_maps(moments):
    assert np.abs(whiten(moments, 0.25).matrix).max() <= 2.0


def test_the_noise_level_bounds_the_eigenvalues_of_symmetric_noise():
    rng = np.random.default_rng(1)
    upper = np.triu(rng.standard_normal((200, 200)), 1) / np.sqrt(2.0)
    noise = upper + upper.T + np.diag(rng.standard_normal(200))
    assert np.abs(np.linalg.eigvalsh(noise)).max() == pytest.approx(noise_level(1.0, 200), rel=0.1)


def test_the_first_fit_is_least_squares_without_noise_and_zero_under_much():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((500, 3))
    y = X @ [1.0, -2.0, 0.5]
    matrix = whiten(X.T @ X / 500, 0.0).matrix
    np.testing.assert_allclose(first_fit(matrix, X.T @ y / 500, 0.0), [1.0, -2.0, 0.5], atol=1e-9)
    assert (first_fit(matrix, X.T @ y / 500, 1e3) == 0.0).all()


def test_nothing_is_shrunk_to_nothing():
    assert shrunk(np.zeros(3), 1.0) == 0.0
