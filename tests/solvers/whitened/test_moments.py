"""Whitening: exact without noise, bounded with it."""

import numpy as np
import pytest

from tailguard.solvers.whitened.moments import (
    LEAST,
    cleaned,
    first_fit,
    noise_level,
    shrunk,
    whiten,
)


def test_without_noise_whitened_second_moments_are_the_identity():
    factor = np.random.default_rng(0).standard_normal((4, 4))
    moments = factor @ factor.T
    matrix = whiten(moments, 0.0).matrix
    np.testing.assert_allclose(matrix.T @ moments @ matrix, np.eye(4), atol=1e-9)


@pytest.mark.parametrize("moments", [-np.eye(3), np.zeros((3, 3)), np.ones((3, 3))])
def test_negative_zero_and_collinear_moments_give_bounded_maps(moments):
    assert np.abs(whiten(moments, 0.5).matrix).max() <= 2.0


def test_the_noise_level_bounds_the_eigenvalues_of_symmetric_noise():
    rng = np.random.default_rng(1)
    upper = np.triu(rng.standard_normal((200, 200)), 1) / np.sqrt(2.0)
    noise = upper + upper.T + np.diag(rng.standard_normal(200))
    assert np.abs(np.linalg.eigvalsh(noise)).max() == pytest.approx(noise_level(1.0, 200), rel=0.1)


def symmetric_noise(size, seed):
    upper = np.triu(np.random.default_rng(seed).standard_normal((size, size)), 1) / np.sqrt(2.0)
    return upper + upper.T + np.diag(np.random.default_rng(seed + 1).standard_normal(size))


def test_cleaned_eigenvalues_are_what_the_truth_has_in_the_released_directions():
    truth = np.diag([60.0, 30.0, *np.ones(98)])
    released = truth + symmetric_noise(100, 3)
    values, vectors = np.linalg.eigh(released)
    honest = np.einsum("ij,ik,kj->j", vectors, truth, vectors)
    found = cleaned(values, noise_level(1.0, 100))
    assert np.abs(values - honest).mean() > 5.0
    assert np.abs(found - honest).mean() < 1.5


def test_effective_width_counts_only_directions_that_stand_out_of_noise():
    truth = np.diag([90.0, 60.0, *np.ones(98)])
    level = noise_level(1.0, 100)
    assert whiten(truth, 0.0).effective == pytest.approx(100.0)
    assert 2.0 < whiten(truth + symmetric_noise(100, 5), level).effective < 25.0


def test_a_direction_that_noise_hides_is_never_stepped_too_far():
    truth = np.diag([6.0, *np.ones(99)])
    for seed in range(3):
        matrix = whiten(truth + symmetric_noise(100, seed), noise_level(1.0, 100)).matrix
        assert np.linalg.eigvalsh(matrix.T @ truth @ matrix).max() < 1.5


def test_the_first_fit_is_least_squares_without_noise_and_zero_under_much():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((500, 3))
    y = X @ [1.0, -2.0, 0.5]
    matrix = whiten(X.T @ X / 500, 0.0).matrix
    np.testing.assert_allclose(first_fit(matrix, X.T @ y / 500, 0.0), [1.0, -2.0, 0.5], atol=1e-9)
    assert (first_fit(matrix, X.T @ y / 500, 1e3) == 0.0).all()


def test_nothing_is_shrunk_to_nothing():
    assert shrunk(np.zeros(3), 1.0) == 0.0


def test_directions_that_noise_hides_are_raised_to_their_mean_where_that_is_allowed():
    truth = np.diag([90.0, *np.full(99, 3.0)])
    noisy, level = truth + symmetric_noise(100, 3), noise_level(1.0, 100)
    matrix, careful = whiten(noisy, level, LEAST).matrix, whiten(noisy, level).matrix
    typical, short = (np.trace(m.T @ truth @ m) / 100 for m in (matrix, careful))
    assert 0.7 < typical < 1.2
    assert short < 0.6
