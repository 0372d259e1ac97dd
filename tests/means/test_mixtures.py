"""Weights over clip levels: never outside the simplex, and the data decide."""

import numpy as np
import pytest

from tailguard.means.mixtures import least_error_weights, simplex_minimum


@pytest.mark.parametrize("seed", range(20))
def test_the_minimum_is_on_the_simplex_and_nothing_beats_it(seed):
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((4, 3))
    gram, linear = factor @ factor.T, rng.standard_normal(4)
    found = simplex_minimum(gram, linear)
    assert found.min() >= -1e-12
    assert found.sum() == pytest.approx(1.0)
    others = rng.dirichlet(np.ones(4), 2_000)
    values = np.einsum("ni,ij,nj->n", others, gram, others) + others @ linear
    assert found @ gram @ found + linear @ found <= values.min() + 1e-9


def test_without_bias_the_quietest_level_is_believed_and_with_bias_the_widest():
    rng = np.random.default_rng(0)
    noise = np.array([[0.1, 0.0], [0.1, 1.0]])
    drawn = rng.standard_normal((2, 50))
    quiet = least_error_weights(noise @ drawn, noise)
    biased = least_error_weights(noise @ drawn + np.array([[0.0], [9.0]]), noise)
    assert quiet[0] > 0.7
    assert biased[1] > 0.95


def test_the_choice_costs_little_beside_the_best_level():
    """The mean squared error is near the better of the two levels, whichever that is."""
    rng = np.random.default_rng(1)
    noise = np.array([[0.1, 0.0], [0.1, 1.0]])
    for bias in (0.0, 0.3, 3.0):
        errors = []
        for _ in range(300):
            means = noise @ rng.standard_normal((2, 20)) - bias * np.array([[1.0], [0.0]])
            errors.append(((least_error_weights(means, noise) @ means) ** 2).sum())
        best = 20 * min(0.01 + bias**2, 1.01)
        assert np.mean(errors) < 1.3 * best + 3.0


def test_one_level_needs_no_choice():
    np.testing.assert_array_equal(least_error_weights(np.ones((1, 3)), np.ones((1, 1))), [1.0])


def test_levels_that_agree_in_everything_are_no_trouble():
    weights = least_error_weights(np.zeros((3, 4)), np.zeros((3, 3)))
    assert weights.sum() == pytest.approx(1.0)
