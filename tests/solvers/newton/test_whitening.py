"""Whitening: exact without noise, bounded with it."""

import numpy as np
import pytest

from tailguard.solvers.newton import whitening
from tailguard.solvers.newton.whitening import (
    FLATTEST,
    LEAST,
    RESOLVED,
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
    assert np.abs(whiten(moments, 0.5).matrix).max() <= 1.0 / np.sqrt(LEAST * 0.5)


def test_the_noise_level_bounds_the_eigenvalues_of_symmetric_noise():
    rng = np.random.default_rng(1)
    upper = np.triu(rng.standard_normal((200, 200)), 1) / np.sqrt(2.0)
    noise = upper + upper.T + np.diag(rng.standard_normal(200))
    assert np.abs(np.linalg.eigvalsh(noise)).max() == pytest.approx(noise_level(1.0, 200), rel=0.1)


def floor_of(whitening):
    """What the smallest second moments were raised to: directions are stretched by its root."""
    return 1.0 / (whitening.matrix**2).sum(axis=0).max()


def symmetric_noise(size, seed):
    upper = np.triu(np.random.default_rng(seed).standard_normal((size, size)), 1) / np.sqrt(2.0)
    return upper + upper.T + np.diag(np.random.default_rng(seed + 1).standard_normal(size))


def test_cleaned_eigenvalues_are_what_the_truth_has_in_the_released_directions():
    truth = np.diag([60.0, 30.0, *np.ones(98)])
    released = truth + symmetric_noise(100, 3)
    values, vectors = np.linalg.eigh(released)
    honest = np.einsum("ij,ik,kj->j", vectors, truth, vectors)
    found, _ = cleaned(values, noise_level(1.0, 100))
    assert np.abs(values - honest).mean() > 5.0
    assert np.abs(found - honest).mean() < 1.5


@pytest.mark.parametrize(("rest", "alone", "most"), [(0.0, 2.0, 25.0), (1.0, 100.0, 60.0)])
def test_effective_width_counts_only_what_stands_out_of_noise(rest, alone, most):
    truth = np.diag([90.0, 60.0, *np.full(98, rest)])
    assert whiten(truth, 0.0).effective_dim == pytest.approx(alone)
    for seed in range(3):
        noisy = truth + symmetric_noise(100, seed)
        assert 2.0 < whiten(noisy, noise_level(1.0, 100)).effective_dim < most


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
    level = noise_level(1.0, 100)
    assert LEAST * level < 3.0 < RESOLVED * level
    for seed in range(3):
        noisy = np.diag([90.0, *np.full(99, 3.0)]) + symmetric_noise(100, seed)
        assert floor_of(whiten(noisy, level)) == pytest.approx(3.0, rel=0.15)


@pytest.mark.parametrize("hidden", [-3.0, 0.0, 1.0, 6.9, 9.0])
def test_the_floor_stays_within_its_limits_whatever_the_mean(hidden):
    level = noise_level(1.0, 100)
    noisy = np.diag([90.0, *np.full(99, hidden)]) + symmetric_noise(100, 3)
    floor = floor_of(whiten(noisy, level))
    highest = max(RESOLVED * level, cleaned(np.linalg.eigvalsh(noisy), level)[0].min())
    assert LEAST * level * (1.0 - 1e-9) <= floor <= highest * (1.0 + 1e-9)
    if hidden < LEAST * level - 0.5:
        assert floor == pytest.approx(LEAST * level)


SPREAD, ALIKE = 2.0 ** np.linspace(-2.0, 2.0, 100), np.ones(100)


@pytest.mark.parametrize(
    ("truth", "level", "more", "off"),
    [(SPREAD, 0.1, 1.004, 0.02), (SPREAD, 0.2, 1.02, 0.02), (ALIKE, 0.9, 0.99, 0.1)],
)
def test_the_stretch_is_what_a_whitening_of_noise_does_to_variances(truth, level, more, off):
    """The mean squared inverse of whitened second moments; none where these are all alike.

    Of noise that is as large as these, 3.1 would be told if it did not count that they are alike.
    """
    truth, done = np.diag(truth), []
    for seed in range(4):
        noisy = truth + level / noise_level(1.0, 100) * symmetric_noise(100, seed)
        whitened = whiten(noisy, level)
        inverse = np.linalg.inv(whitened.matrix.T @ truth @ whitened.matrix)
        done.append([np.trace(inverse @ inverse) / 100, whitened.variance_inflation.mean()])
    found, told = np.mean(done, axis=0)
    assert found > more
    assert told == pytest.approx(found, abs=off)


def test_without_noise_nothing_is_stretched_and_with_much_no_more_than_a_limit():
    moments = np.diag([9.0, 1.0, 0.1])
    np.testing.assert_array_equal(whiten(moments, 0.0).variance_inflation, 1.0)
    much = whiten(moments, 50.0).variance_inflation
    assert np.isfinite(much).all()
    assert 1.0 <= much.min() <= much.max() < 2.0


@pytest.mark.parametrize("hidden", [1, 4])
def test_the_floor_of_a_curved_loss_allows_for_the_noise_of_the_mean(hidden, monkeypatch):
    """Of one direction it is that of a diagonal number, of several that of their mean."""
    monkeypatch.setattr(whitening, "FLATTEST", 0.0)
    size, level = 8, 1.0
    values = np.full(size, 9e3)  # whose noise is none beside them
    values[:hidden] = 0.1
    plain, careful = (floor_of(whiten(np.diag(values), level, curved=c)) for c in (False, True))
    noise_std = level / noise_level(1.0, size)
    assert plain == pytest.approx(0.15)
    assert careful == pytest.approx(0.1 + noise_std / np.sqrt(hidden), rel=0.1)


def test_where_the_loss_is_curved_no_direction_is_stretched_far_beyond_the_others():
    """A rare indicator has a small second moment, which without noise would be whitened to one."""
    values = np.array([1.0, 1.0, 1.0, 1e-3])
    plain, curved = (whiten(np.diag(values), 1e-6, curved=c) for c in (False, True))
    assert np.abs(plain.matrix).max() == pytest.approx(1e-3**-0.5, rel=1e-3)
    mean = values.mean()
    assert np.abs(curved.matrix).max() == pytest.approx((FLATTEST * mean) ** -0.5, rel=1e-3)
