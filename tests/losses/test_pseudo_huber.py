import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tailguard.checks import InputError
from tailguard.losses import PseudoHuber


def test_exact_values():
    loss = PseudoHuber(threshold=3.0)
    assert_allclose(loss.value([4.0, -4.0, 0.0], 0.0), [6.0, 6.0, 0.0])
    assert_allclose(loss.slope([4.0, -4.0, 0.0], 0.0), [2.4, -2.4, 0.0])


def test_tiny_residuals_lose_no_digits():
    assert_allclose(PseudoHuber(1.0).value(1e-9, 0.0), 0.5e-18, rtol=1e-15)


def test_huge_residuals_reach_the_threshold():
    score, target = np.array([1e308, 1e200, -1e308]), np.array([-1e308, 0.0, 1e308])
    assert_array_equal(PseudoHuber(threshold=0.5).slope(score, target), [0.5, 0.5, -0.5])


@pytest.mark.parametrize("threshold", [0, 1e-300, 1e308, np.inf, np.nan])
def test_threshold_is_checked(threshold):
    with pytest.raises(InputError, match=r"threshold must be a number from 1e-100 to 1e\+100; got"):
        PseudoHuber(threshold=threshold)
