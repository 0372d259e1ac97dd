import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from support.registered import examples_of
from tailguard.checks import InputError
from tailguard.sets import L1Ball, Simplex
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


every_set = pytest.mark.parametrize(
    "made", [make for each in examples_of(SETS).values() for make in each], ids=repr
)


@every_set
@pytest.mark.parametrize(
    "point", [0.5, "ab", {}, [[0.5, 0.5]], [[1.0], [2.0, 3.0]], 10**400], ids=type
)
def test_every_set_refuses_to_move_and_to_judge_what_is_no_vector_of_numbers(made, point):
    for ask in (made.project, made.contains):
        with pytest.raises(InputError, match=r"^point must be a vector of numbers; got .*\.$"):
            ask(point)


@every_set
@pytest.mark.parametrize("tolerance", ["x", None, np.nan, -1.0, [1.0, 2.0], 10**400, True])
def test_a_tolerance_that_is_none_is_refused(made, tolerance):
    inside = made.project(np.zeros(3))
    assert made.contains(inside, 0.001)
    with pytest.raises(InputError, match=r"^tolerance must be a number of at least 0; got"):
        made.contains(inside, tolerance)


@every_set
@pytest.mark.parametrize("entry", [1e308, -1e308, np.inf, np.nan])
def test_no_entry_is_too_large_to_ask_whether_a_set_contains_it(made, entry):
    if made.diameter() < np.inf:
        assert made.contains(np.full(3, entry)) is False


@pytest.mark.parametrize(
    "ask", [Simplex().project, Simplex().minimise_linear, L1Ball(1.0).minimise_linear]
)
def test_a_point_without_entries_is_refused_where_none_would_be_an_answer(ask):
    with pytest.raises(InputError, match=r"^point must have at least one entry; got none\.$"):
        ask([])
    assert L1Ball(1.0).project([]).size == 0
    assert L1Ball(1.0).contains([])
    assert not Simplex().contains([])
