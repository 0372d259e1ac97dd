import numpy as np
from numba import float64, njit, types

from tailguard.losses import Huber, Multinomial

VECTOR = types.Array(float64, 1, "C")
SLOPE = types.FunctionType(float64(float64, float64, VECTOR))


@njit(float64(SLOPE, VECTOR, VECTOR))
def total_slope(slope, scores, shape):
    total = 0.0
    for score in scores:
        total += slope(score, 0.0, shape)
    return total


def test_a_kernel_takes_a_compiled_slope_as_an_argument():
    scores = np.array([0.5, 7.0, -9.0, 3.0])
    for loss in (Huber(1.0), Huber(2.0)):
        expected = loss.slope(scores, 0.0).sum()
        assert total_slope(loss.slope_scalar, scores, loss.shape) == expected


def test_one_compiled_function_serves_all_losses_of_a_kind():
    assert Huber(1.0).slope_scalar is Huber(2.0).slope_scalar
    assert Multinomial(2).record_gradient is Multinomial(3).record_gradient


def test_compiled_functions_are_kept_on_disk():
    assert Huber().slope_scalar.stats.cache_path
    assert Multinomial(2).record_gradient.stats.cache_path


def test_nothing_is_compiled_for_other_types():
    signatures = list(Huber().slope_scalar.signatures)
    assert signatures == [(float64, float64, VECTOR)]
