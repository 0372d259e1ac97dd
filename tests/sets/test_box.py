import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tailguard.checks import InputError
from tailguard.sets import Box


def test_known_projections():
    assert_array_equal(Box([0, -1], [1, 2]).project([5.0, -5.0]), [1.0, -1.0])
    assert_array_equal(Box(0.0, math.inf).project([-1.0, 7.0, 0.5]), [0.0, 7.0, 0.5])
    assert_array_equal(Box([0.0, 1.0], 3.0).project([-9.0, 9.0]), [0.0, 3.0])


def test_diameter():
    assert Box([0.0, 0.0], [3.0, 4.0]).diameter() == 5.0
    assert Box([0.0, 0.0], [3.0, math.inf]).diameter() == math.inf
    assert Box([-1e308], [1e308]).diameter() == math.inf


def test_a_box_of_two_numbers_does_not_know_its_diameter():
    assert Box(0.0, 1.0).diameter() == math.inf


def test_linear_minimiser_takes_the_cheaper_ends():
    assert_array_equal(Box([0, 0], [1, 2]).minimise_linear([1.0, -1.0]), [0.0, 2.0])


def test_an_unbounded_box_has_no_linear_minimiser():
    with pytest.raises(InputError, match="minimise_linear needs a bounded box"):
        Box(0.0, math.inf).minimise_linear([1.0])


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (1.0, 0.0, "low must not be above high"),
        ([0.0, 3.0], [1.0, 2.0], "low must not be above high"),
        (math.inf, math.inf, "low must not be above high"),
        ([0.0], [1.0, 2.0], "one length"),
        (math.nan, 1.0, "low must be a number or a vector"),
        (0.0, [[1.0]], "high must be a number or a vector"),
    ],
)
def test_bounds_are_checked(low, high, message):
    with pytest.raises(InputError, match=message):
        Box(low, high)


def test_shape_of_the_point_is_checked():
    with pytest.raises(InputError, match=r"point must have shape \(2,\)"):
        Box([0, 0], [1, 1]).project(np.zeros(3))
