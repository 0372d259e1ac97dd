import numpy as np
from numpy.testing import assert_array_equal

from tailguard.sets import BoundedSet, WholeSpace


def test_every_finite_point_stays():
    assert_array_equal(WholeSpace().project([1e308, -5e-324]), [1e308, -5e-324])


def test_a_point_that_is_not_finite_goes_to_the_origin():
    assert_array_equal(WholeSpace().project([1.0, np.inf]), [0.0, 0.0])


def test_is_not_bounded():
    assert WholeSpace().diameter() == np.inf
    assert not isinstance(WholeSpace(), BoundedSet)
