import numpy as np
import pytest
from numba import njit

import tailguard as tg
from tailguard.checks import InputError
from tailguard.losses import RecordGradient
from tailguard.privacy.events import Composed


def gradient(weights, features, target):
    return (features @ weights - target) * features


def test_size_is_one_weight_a_feature_unless_stated():
    assert RecordGradient(gradient).size(n_features=5) == 5
    assert RecordGradient(gradient, size=7).size(n_features=5) == 7
    assert RecordGradient(gradient, size=7) != RecordGradient(gradient)


def test_size_is_checked():
    with pytest.raises(InputError, match="size must be a whole number of at least 1"):
        RecordGradient(gradient, size=0)


@pytest.mark.parametrize("result", [1.0, "text"])
def test_a_function_without_machine_code_is_refused_before_anything_is_spent(result):
    ledger = tg.privacy.MemoryBooks()
    gradient = njit(lambda weights, features, target: result)
    known = {"epsilon": 1.0, "delta": 1e-6, "constraint": tg.sets.L2Ball(1.0), "ledger": ledger}
    with pytest.raises(InputError, match=r"gradient must compile with Numba .*; it does not"):
        tg.minimize(gradient, np.zeros((50, 2)), np.zeros(50), **known)
    assert ledger.reserved == Composed(())
