import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tailguard.checks import InputError
from tailguard.sets import Box, Intersection, L2Ball, Simplex, SparseBall, WholeSpace


def test_a_capped_simplex():
    capped = Intersection(Simplex(), Box(0.0, 0.5))
    assert_allclose(capped.project([2.0, 0.3, 0.1]), [0.5, 0.35, 0.15])


def test_the_order_of_the_sets_does_not_matter():
    point = np.array([1.5, -0.5, 0.75])
    one = Intersection(Simplex(), L2Ball(0.7)).project(point)
    other = Intersection(L2Ball(0.7), Simplex()).project(point)
    assert_allclose(one, other, atol=1e-8)


def test_points_of_both_sets_stay():
    both = Intersection(Simplex(), Box(0.0, 0.5), n_sweeps=1)
    assert_allclose(both.project([0.5, 0.25, 0.25]), [0.5, 0.25, 0.25])


def test_corrections_are_waited_for():
    """The point rests at the corner (1, 0) for many sweeps before the corrections move it."""
    both = Intersection(Simplex(), Box(0.0, 0.5))
    assert_allclose(both.project([0.0, -92.0, -92.0]), [0.5, 0.25, 0.25])


def test_the_number_of_sweeps_is_kept():
    few = Intersection(Simplex(), Box(0.0, 0.5), n_sweeps=3)
    assert few.second.contains(few.project([0.0, -92.0, -92.0]))
    assert not few.contains(few.project([0.0, -92.0, -92.0]))


def test_the_diameter_is_the_smaller_one():
    assert Intersection(WholeSpace(), L2Ball(3.0)).diameter() == 6.0
    assert_array_equal(Intersection(WholeSpace(), L2Ball(5.0)).project([6.0, 8.0]), [3.0, 4.0])


def test_parts_are_checked():
    with pytest.raises(InputError, match="second must be a convex set"):
        Intersection(Simplex(), SparseBall(1))
    with pytest.raises(InputError, match="n_sweeps must be a whole number of at least 1"):
        Intersection(Simplex(), Box(0.0, 0.5), n_sweeps=0)


@pytest.mark.parametrize("part", [2.5, None, "box", np.zeros((2, 2)), Simplex])
def test_what_is_no_set_is_refused(part):
    with pytest.raises(InputError, match=r"first must be a set of tg\.sets, .*; got"):
        Intersection(part, Simplex())
    with pytest.raises(InputError, match=r"second must be a set of tg\.sets, .*; got"):
        Intersection(Simplex(), part)
