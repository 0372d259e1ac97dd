import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tailguard.checks import InputError
from tailguard.sets import L2Ball


def test_known_projections():
    assert_allclose(L2Ball(5.0).project([6.0, 8.0]), [3.0, 4.0])
    assert_allclose(L2Ball(1.0, center=[1.0, 1.0]).project([1.0, 4.0]), [1.0, 2.0])


def test_points_inside_stay_to_the_last_bit():
    point = np.array([0.1, 1 / 3])
    assert_array_equal(L2Ball(1.0, center=[0.7, 0.3]).project(point), point)


def test_offsets_beyond_the_largest_float():
    ball = L2Ball(2.0, center=[-1e308, 0.0])
    assert_array_equal(ball.project([1e308, 0.0]), [-1e308, 0.0])
    assert_allclose(L2Ball(5.0).project([3e307, 4e307]), [3.0, 4.0])


def test_linear_minimiser():
    assert_allclose(L2Ball(10.0).minimise_linear([3.0, 4.0]), [-6.0, -8.0])
    assert_allclose(L2Ball(1.0, center=[2.0, 0.0]).minimise_linear([1.0, 0.0]), [1.0, 0.0])


def test_parameters_are_checked():
    with pytest.raises(InputError, match="radius must be a finite number above 0"):
        L2Ball(0.0)
    with pytest.raises(InputError, match="center must be a vector of finite numbers"):
        L2Ball(1.0, center=[np.nan])
    with pytest.raises(InputError, match=r"point must have shape \(2,\)"):
        L2Ball(1.0, center=[0.0, 0.0]).project([1.0, 2.0, 3.0])
