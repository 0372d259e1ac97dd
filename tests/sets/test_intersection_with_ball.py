import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tailguard.checks import InputError
from tailguard.sets import (
    Intersection,
    IntersectionWithBall,
    L1Ball,
    L2Ball,
    SparseBall,
    WholeSpace,
)


@pytest.mark.parametrize(
    ("point", "center", "radius", "expected"),
    [
        ([3.0, 1.0], [0.5, 0.0], 0.3, [0.77854301, 0.1114172]),
        ([0.0, 3.0], [0.5, 0.2], 0.4, [0.41020842, 0.58979158]),
    ],
)
def test_known_projections_onto_part_of_the_unit_l1_ball(point, center, radius, expected):
    nearby = IntersectionWithBall(L1Ball(1.0), center, radius)
    assert_allclose(nearby.project(point), expected, atol=5e-9)


def test_agrees_with_alternating_projections():
    rng = np.random.default_rng(11)
    for _ in range(20):
        center = L1Ball(0.9).project(rng.standard_normal(4))
        radius = rng.uniform(0.1, 0.6)
        exact = IntersectionWithBall(L1Ball(1.0), center, radius)
        sweeping = Intersection(L1Ball(1.0), L2Ball(radius, center))
        point = rng.standard_normal(4) * 2
        assert_allclose(exact.project(point), sweeping.project(point), atol=1e-6)


@pytest.mark.parametrize("distance", [1e3, 1e10, 1e100, 1e300])
def test_distant_points_lose_no_digits(distance):
    ball = IntersectionWithBall(WholeSpace(), [1.0, 2.0], radius=5.0)
    assert_allclose(ball.project([3 * distance, 4 * distance]), [4.0, 6.0], atol=3 / distance)
    corner = IntersectionWithBall(L1Ball(1.0), [0.5, 0.2], radius=0.4)
    expected = [0.41020842, 0.58979158]
    assert_allclose(corner.project([0.0, distance]), expected, atol=5e-9)


def test_the_center_moves_to_the_nearest_point_of_the_base():
    nearby = IntersectionWithBall(L1Ball(1.0), [2.0, 0.0], 0.5)
    assert nearby.center == (1.0, 0.0)
    assert nearby == IntersectionWithBall(L1Ball(1.0), [1.0, 0.0], 0.5)


def test_a_point_that_is_not_finite_goes_to_the_center():
    nearby = IntersectionWithBall(L1Ball(1.0), [0.5, 0.25], 0.5)
    assert_array_equal(nearby.project([np.nan, 1.0]), [0.5, 0.25])


def test_a_projection_can_be_changed_without_moving_the_center():
    nearby = IntersectionWithBall(L1Ball(1.0), [0.5, 0.25], 0.5)
    nearby.project([np.nan, 1.0])[:] = 9.0
    assert_array_equal(nearby.project([np.nan, 1.0]), [0.5, 0.25])


def test_a_base_within_the_ball_decides_alone():
    point = np.array([3.0, -2.0])
    nearby = IntersectionWithBall(L1Ball(1.0), [0.0, 0.0], 7.0)
    assert_array_equal(nearby.project(point), L1Ball(1.0).project(point))
    assert nearby.diameter() == 2.0


def test_a_base_that_is_not_convex_is_refused():
    with pytest.raises(InputError, match="base must be a convex set"):
        IntersectionWithBall(SparseBall(1), [1.0, 0.0], 1.0)


def test_what_is_no_set_is_no_base():
    with pytest.raises(InputError, match=r"base must be a set of tg\.sets, .*; got 'ball'"):
        IntersectionWithBall("ball", [1.0, 0.0], 1.0)


def test_points_of_another_size_are_refused():
    nearby = IntersectionWithBall(WholeSpace(), [0.5, 0.25], 0.5)
    with pytest.raises(InputError, match=r"point must have shape \(2,\)"):
        nearby.contains([1.0, 2.0, 3.0])
