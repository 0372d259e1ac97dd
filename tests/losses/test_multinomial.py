import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tailguard.checks import InputError
from tailguard.losses import Logistic, Multinomial

N_CLASSES, N_FEATURES = 4, 3
WEIGHTS = np.random.default_rng(1).standard_normal(N_CLASSES * N_FEATURES)
FEATURES = np.array([0.5, -2.0, 1.0])


def value(weights, features, target):
    return Multinomial(N_CLASSES).value(weights.reshape(N_CLASSES, -1) @ features, target)


@pytest.mark.parametrize("target", range(N_CLASSES))
def test_gradient_is_the_derivative_of_the_value(target):
    gradient = Multinomial(N_CLASSES).record_gradient(WEIGHTS, FEATURES, float(target))
    step = 1e-6
    for index, unit in enumerate(np.eye(WEIGHTS.size)):
        above = value(WEIGHTS + step * unit, FEATURES, target)
        below = value(WEIGHTS - step * unit, FEATURES, target)
        assert_allclose(gradient[index], (above - below) / (2 * step), atol=1e-8)


def test_compiled_gradient_is_softmax_less_one_hot_times_features():
    loss = Multinomial(N_CLASSES)
    errors = loss.mean(WEIGHTS.reshape(N_CLASSES, -1) @ FEATURES) - np.eye(N_CLASSES)[2]
    gradient = loss.record_gradient(WEIGHTS, FEATURES, 2.0)
    assert_allclose(gradient, np.outer(errors, FEATURES).ravel(), rtol=1e-13)


def test_one_compiled_gradient_serves_any_number_of_classes_and_is_kept_on_disk():
    assert Multinomial(2).record_gradient is Multinomial(3).record_gradient
    assert Multinomial(2).record_gradient.stats.cache_path


def test_two_classes_agree_with_the_logistic_loss():
    slope = Logistic().slope(1.5, [0.0, 1.0])
    for target in (0, 1):
        gradient = Multinomial(2).record_gradient(np.array([0.0, 1.5]), np.ones(1), float(target))
        assert_allclose(gradient, [-slope[target], slope[target]])
        assert_allclose(Multinomial(2).value([0.0, 1.5], target), Logistic().value(1.5, target))


@pytest.mark.parametrize("target", [-1.0, 4.0, 1.5, math.nan, math.inf, -math.inf, 1e300])
def test_a_target_that_is_no_class_voids_the_record(target):
    loss = Multinomial(N_CLASSES)
    assert np.isnan(loss.record_gradient(WEIGHTS, FEATURES, target)).all()
    assert np.isnan(loss.value(np.zeros(N_CLASSES), target))
    assert not loss.valid_target(target)


def test_large_scores_do_not_overflow():
    loss = Multinomial(2)
    gradient = loss.record_gradient(np.array([1e300, -1e300]), np.ones(1), 1.0)
    assert_array_equal(gradient, [1.0, -1.0])
    assert_allclose(loss.value([[1000.0, 0.0], [1000.0, 0.0]], [0.0, 1.0]), [0.0, 1000.0])


def test_scores_beyond_the_largest_float_void_the_record():
    gradient = Multinomial(2).record_gradient(np.array([1e300, 0.0]), np.array([1e300]), 1.0)
    assert np.isnan(gradient).all()


def test_there_are_at_least_two_classes():
    with pytest.raises(InputError, match="n_classes must be a whole number of at least 2"):
        Multinomial(1)


def test_bounds_hold_each_probability_before_they_are_normalised():
    loss = Multinomial(3)
    scores = np.array([[0.0, 20.0, -20.0], [1.0, 0.0, -1.0]])
    low = np.log([0.1, 0.2, 0.05])
    held = loss.bounded(scores, low, np.zeros(3))
    assert_allclose(held.sum(axis=1), 0.0, atol=1e-12)
    assert_allclose(loss.mean(held)[0], np.array([0.1, 1.0, 0.05]) / 1.15)
    assert_allclose(loss.mean(held)[1], loss.mean(scores)[1])
    free = loss.bounded(scores, -np.inf, np.inf)
    assert_allclose(free, scores, atol=1e-12)


def test_a_record_of_many_classes_has_the_same_bits_alone():
    loss, n_rows = Multinomial(30), 200
    scores = np.random.default_rng(2).standard_normal((30, n_rows)).T
    targets = np.arange(n_rows) % 30
    for found in (
        lambda rows: loss.value(scores[rows], targets[rows]),
        lambda rows: loss.bounded(scores[rows], -4.0, -1.0),
        lambda rows: loss.mean(scores[rows]),
    ):
        alone = [found(slice(row, row + 1)) for row in range(n_rows)]
        assert_array_equal(np.concatenate(alone), found(slice(None)))
