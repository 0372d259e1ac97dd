import numpy as np
import pytest

from tailguard.checks import InputError
from tailguard.losses import RecordGradient


def gradient(weights, features, target):
    return (features @ weights - target) * features


def test_hands_out_the_function_itself():
    assert RecordGradient(gradient).record_gradient is gradient


def test_size_is_one_weight_a_feature_unless_stated():
    assert RecordGradient(gradient).size(n_features=5) == 5
    assert RecordGradient(gradient, size=7).size(n_features=5) == 7
    assert RecordGradient(gradient, size=7) != RecordGradient(gradient)


def test_size_is_checked():
    with pytest.raises(InputError, match="size must be a whole number of at least 1"):
        RecordGradient(gradient, size=0)


def test_parameters_cannot_be_changed():
    with pytest.raises(AttributeError):
        RecordGradient(gradient).function = np.sum
