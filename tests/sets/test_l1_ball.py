import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tailguard.checks import InputError
from tailguard.sets import L1Ball


def test_known_projections():
    assert_allclose(L1Ball(1.0).project([3.0, 1.0]), [1.0, 0.0])
    assert_allclose(L1Ball(2.0).project([2.0, -1.0, 0.5]), [1.5, -0.5, 0.0])


def test_a_soft_threshold_makes_the_sum_right():
    point = np.random.default_rng(2).standard_cauchy(500)
    projected = L1Ball(3.0).project(point)
    active = projected != 0
    shrunk = np.abs(point[active]) - np.abs(projected[active])
    assert_allclose(np.abs(projected).sum(), 3.0)
    assert_allclose(shrunk, shrunk[0])
    assert np.abs(point[~active]).max() <= shrunk[0] * (1 + 1e-12)
    assert_array_equal(np.sign(projected[active]), np.sign(point[active]))


def test_sums_beyond_the_largest_float():
    assert_array_equal(L1Ball(1.0).project([1e308, -1e308, 1.0]), [0.5, -0.5, 0.0])
    assert not L1Ball(1.0).contains([1e308, 1e308])


def test_linear_minimiser_is_a_corner():
    assert_array_equal(L1Ball(2.0).minimise_linear([1.0, -3.0]), [0.0, 2.0])
    assert_array_equal(L1Ball(2.0).minimise_linear([1.0, 3.0]), [0.0, -2.0])


def test_radius_is_checked():
    with pytest.raises(InputError, match="radius must be a finite number above 0"):
        L1Ball(np.inf)
