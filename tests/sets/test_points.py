from contextlib import suppress

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from support.registered import examples_of
from tailguard.checks import InputError
from tailguard.sets.points import as_point, as_vector, length, unit_vector
from tailguard.sets.registry import SETS


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1.0, 1e200, 1e307])
def test_length_and_direction_at_every_scale(scale):
    vector = scale * np.array([3.0, -4.0])
    assert_allclose(length(vector), 5 * scale, rtol=1e-3 if scale < 1e-300 else 1e-15)
    assert_allclose(unit_vector(vector), [0.6, -0.8], rtol=1e-3 if scale < 1e-300 else 1e-15)


def test_zero_and_empty_vectors():
    assert length(np.zeros(3)) == 0.0
    assert length(np.zeros(0)) == 0.0
    assert_array_equal(unit_vector(np.zeros(3)), 0.0)


def test_a_length_beyond_the_largest_float_is_infinite():
    assert length(np.full(4, 1.7e308)) == np.inf


def test_as_point_copies():
    point = np.array([1.0, 2.0])
    as_point(point)[0] = 9.0
    assert_array_equal(point, [1.0, 2.0])


def test_as_point_refuses_the_wrong_shape():
    with pytest.raises(InputError, match=r"point must have shape \(3,\), .*; got \(2,\)"):
        as_point([1.0, 2.0], size=3)


@pytest.mark.parametrize("numbers", [[[1.0]], 3.0, [np.nan], [np.inf]])
def test_as_vector_refuses_all_but_finite_vectors(numbers):
    with pytest.raises(InputError, match="center must be a vector of finite numbers"):
        as_vector("center", numbers)


@pytest.mark.parametrize("point", [1.0, None, "ab", {}, [[1.0, 2.0]], [[1.0], [2.0, 3.0]], 10**400])
def test_what_is_no_vector_is_no_point(point):
    with pytest.raises(InputError, match="point must be a vector of numbers; got"):
        as_point(point)


@pytest.mark.parametrize("made", [make for each in examples_of(SETS).values() for make in each])
def test_no_set_contains_what_is_no_vector_of_numbers(made):
    for point in ("ab", {}, [[1.0], [2.0, 3.0]], 10**400):
        with suppress(InputError):  # of sets that know their size
            assert not made.contains(point)
