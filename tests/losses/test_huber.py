import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tailguard.checks import InputError
from tailguard.losses import Huber, Squared


def test_exact_values():
    loss = Huber(threshold=2.0)
    residual = np.array([-5.0, -2.0, 1.0, 2.0, 5.0])
    assert_array_equal(loss.value(residual, 0.0), [8.0, 2.0, 0.5, 2.0, 8.0])
    assert_array_equal(loss.slope(residual, 0.0), [-2.0, -2.0, 1.0, 2.0, 2.0])


def test_a_large_threshold_gives_the_squared_loss():
    residual = np.linspace(-9, 9, 19)
    loss = Huber(threshold=10.0)
    assert_allclose(loss.value(residual, 0.0), Squared().value(residual, 0.0))
    assert_array_equal(loss.slope(residual, 0.0), Squared().slope(residual, 0.0))


def test_default_keeps_most_of_the_efficiency_under_gaussian_noise():
    """Efficiency E[slope']**2 / E[slope**2] is 0.95 at threshold 1.345 (Huber 1964)."""
    residual = np.linspace(-9, 9, 20001)
    density = np.exp(-(residual**2) / 2)
    density /= density.sum()
    curvature = density[np.abs(residual) <= 1.345].sum()
    variance = (Huber().slope(residual, 0.0) ** 2 * density).sum()
    assert_allclose(curvature**2 / variance, 0.95, atol=2e-4)


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1e-300, 1e308, np.inf, np.nan, "2"])
def test_threshold_is_checked(threshold):
    with pytest.raises(InputError, match=r"threshold must be a number from 1e-100 to 1e\+100; got"):
        Huber(threshold=threshold)
