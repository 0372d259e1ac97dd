"""What the contract of sets cannot know: known projections, other algorithms, huge points."""

import math
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from support.registered import examples_of
from tailguard.checks import InputError
from tailguard.sets import (
    Box,
    Intersection,
    IntersectionWithBall,
    L1Ball,
    L2Ball,
    Simplex,
    SparseBall,
    WholeSpace,
)
from tailguard.sets.base import as_point, as_vector, length, unit_vector
from tailguard.sets.registry import SETS

CAPPED = Intersection(Simplex(), Box(0.0, 0.5))
NEARBY = IntersectionWithBall(L1Ball(1.0), [0.5, 0.25], 0.5)
every_set = pytest.mark.parametrize(
    "made", [make for each in examples_of(SETS).values() for make in each], ids=repr
)


@pytest.mark.parametrize(
    ("constraint", "point", "expected"),
    [
        (Box([0, -1], [1, 2]), [5.0, -5.0], [1.0, -1.0]),
        (Box(0.0, math.inf), [-1.0, 7.0, 0.5], [0.0, 7.0, 0.5]),
        (Box([0.0, 1.0], 3.0), [-9.0, 9.0], [0.0, 3.0]),
        (L1Ball(1.0), [3.0, 1.0], [1.0, 0.0]),
        (L1Ball(2.0), [2.0, -1.0, 0.5], [1.5, -0.5, 0.0]),
        (L1Ball(1.0), [1e308, -1e308, 1.0], [0.5, -0.5, 0.0]),  # the sum overflows
        (L2Ball(5.0), [6.0, 8.0], [3.0, 4.0]),
        (L2Ball(5.0), [3e307, 4e307], [3.0, 4.0]),
        (L2Ball(1.0, center=[1.0, 1.0]), [1.0, 4.0], [1.0, 2.0]),
        (L2Ball(2.0, center=[-1e308, 0.0]), [1e308, 0.0], [-1e308, 0.0]),
        (L2Ball(1.0, center=[0.7, 0.3]), [0.1, 1 / 3], [0.1, 1 / 3]),  # inside, to the last bit
        (Simplex(), np.full(4, 7.0), np.full(4, 0.25)),
        (Simplex(3.0), [1e16, 1e16, -1e16, 1.0], [1.5, 1.5, 0.0, 0.0]),
        (Simplex(3.0), [1e308, 1e308, -1e308, 1.0], [1.5, 1.5, 0.0, 0.0]),
        (SparseBall(2), [1.0, -1.0, 1.0], [1.0, -1.0, 0.0]),  # of equal entries the earlier ones
        (SparseBall(2, radius=1.0), [3.0, 1.0, -4.0], [0.6, 0.0, -0.8]),
        (SparseBall(9), [1.0, 2.0], [1.0, 2.0]),
        (CAPPED, [2.0, 0.3, 0.1], [0.5, 0.35, 0.15]),
        # The point rests at the corner (1, 0) for many sweeps before corrections move it.
        (CAPPED, [0.0, -92.0, -92.0], [0.5, 0.25, 0.25]),
        (Intersection(Simplex(), Box(0.0, 0.5), n_sweeps=1), [0.5, 0.25, 0.25], [0.5, 0.25, 0.25]),
        (Intersection(WholeSpace(), L2Ball(5.0)), [6.0, 8.0], [3.0, 4.0]),
        (NEARBY, [np.nan, 1.0], [0.5, 0.25]),  # to the center
        (IntersectionWithBall(L1Ball(1.0), [0.0, 0.0], 7.0), [3.0, -2.0], [1.0, 0.0]),
    ],
    ids=repr,
)
def test_known_projections(constraint, point, expected):
    assert_allclose(constraint.project(point), expected, rtol=1e-12, atol=1e-8)
    if not isinstance(constraint, Intersection):
        assert_array_equal(constraint.project(expected), expected)


@pytest.mark.parametrize(
    ("constraint", "diameter"),
    [
        (Box([0.0, 0.0], [3.0, 4.0]), 5.0),
        (Box([0.0, 0.0], [3.0, math.inf]), math.inf),
        (Box([-1e308], [1e308]), math.inf),
        (Box(0.0, 1.0), math.inf),  # of a number of coordinates that it does not know
        (SparseBall(1), math.inf),
        (SparseBall(1, radius=2.0), 4.0),
        (Intersection(WholeSpace(), L2Ball(3.0)), 6.0),
        (IntersectionWithBall(L1Ball(1.0), [0.0, 0.0], 7.0), 2.0),
    ],
    ids=repr,
)
def test_diameters(constraint, diameter):
    assert constraint.diameter() == diameter


@pytest.mark.parametrize(
    ("constraint", "point"),
    [(L1Ball(1.0), [1e308, 1e308]), (Simplex(), [1.5, -0.5]), (Simplex(), [0.5, 0.4])],
    ids=repr,
)
def test_what_is_outside(constraint, point):
    assert not constraint.contains(point)


def test_the_number_of_sweeps_is_kept():
    few = Intersection(Simplex(), Box(0.0, 0.5), n_sweeps=3)
    assert few.second.contains(few.project([0.0, -92.0, -92.0]))
    assert not few.contains(few.project([0.0, -92.0, -92.0]))


@pytest.mark.parametrize(
    ("point", "center", "radius", "expected"),
    [
        ([3.0, 1.0], [0.5, 0.0], 0.3, [0.77854301, 0.1114172]),
        ([0.0, 3.0], [0.5, 0.2], 0.4, [0.41020842, 0.58979158]),
        ([0.0, 1e300], [0.5, 0.2], 0.4, [0.41020842, 0.58979158]),
    ],
)
def test_known_projections_onto_part_of_the_unit_l1_ball(point, center, radius, expected):
    nearby = IntersectionWithBall(L1Ball(1.0), center, radius)
    assert_allclose(nearby.project(point), expected, atol=5e-9)


@pytest.mark.parametrize("distance", [1e3, 1e10, 1e100, 1e300])
def test_distant_points_lose_no_digits(distance):
    ball = IntersectionWithBall(WholeSpace(), [1.0, 2.0], radius=5.0)
    assert_allclose(ball.project([3 * distance, 4 * distance]), [4.0, 6.0], atol=3 / distance)


def test_the_center_moves_to_the_nearest_point_of_the_base_and_stays_there():
    nearby = IntersectionWithBall(L1Ball(1.0), [2.0, 0.0], 0.5)
    assert nearby == IntersectionWithBall(L1Ball(1.0), [1.0, 0.0], 0.5)
    nearby.project([np.nan, 1.0])[:] = 9.0
    assert nearby.center == (1.0, 0.0)
    assert_array_equal(nearby.project([np.nan, 1.0]), [1.0, 0.0])


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Box(1.0, 0.0), "low must not be above high"),
        (lambda: Box([0.0, 3.0], [1.0, 2.0]), "low must not be above high"),
        (lambda: Box(math.inf, math.inf), "low must not be above high"),
        (lambda: Box([0.0], [1.0, 2.0]), "one length"),
        (lambda: Box(math.nan, 1.0), "low must be a number or a vector"),
        (lambda: Box(0.0, [[1.0]]), "high must be a number or a vector"),
        (lambda: L1Ball(np.inf), "radius must be a finite number above 0"),
        (lambda: L2Ball(0.0), "radius must be a finite number above 0"),
        (lambda: L2Ball(1.0, center=[np.nan]), "center must be a vector of finite numbers"),
        (lambda: Simplex(total=-1), "total must be a finite number above 0"),
        (lambda: SparseBall(0), "n_nonzero must be a whole number of at least 1"),
        (lambda: SparseBall(1, radius=0.0), "radius must be a finite number above 0"),
        (lambda: Intersection(Simplex(), SparseBall(1)), "second must be a convex set"),
        (lambda: Intersection(Simplex(), Box(0, 1), n_sweeps=0), "n_sweeps must be a whole"),
        (lambda: IntersectionWithBall(SparseBall(1), [1.0], 1.0), "base must be a convex set"),
        (lambda: IntersectionWithBall("ball", [1.0], 1.0), "base must be a set of .*; got 'ball'"),
        *(
            (lambda part=part: Intersection(part, Simplex()), r"first must be a set of tg\.sets, ")
            for part in (2.5, None, "box", np.zeros((2, 2)), Simplex)
        ),
        *(
            (lambda v=v: as_vector("center", v), "center must be a vector of finite numbers")
            for v in ([[1.0]], 3.0, [np.nan], [np.inf])
        ),
        (lambda: Box([0, 0], [1, 1]).project(np.zeros(3)), r"point must have shape \(2,\)"),
        (lambda: L2Ball(1.0, center=[0.0, 0.0]).project([1.0]), r"point must have shape \(2,\)"),
        (lambda: NEARBY.contains([1.0, 2.0, 3.0]), r"point must have shape \(2,\), .*; got \(3,\)"),
        (lambda: Simplex().project([]), r"^point must have at least one entry; got none\.$"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(build, words):
    with pytest.raises(InputError, match=words):
        build()


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1.0, 1e200, 1e307])
def test_length_and_direction_at_every_scale(scale):
    vector = scale * np.array([3.0, -4.0])
    assert_allclose(length(vector), 5 * scale, rtol=1e-3 if scale < 1e-300 else 1e-15)
    assert_allclose(unit_vector(vector), [0.6, -0.8], rtol=1e-3 if scale < 1e-300 else 1e-15)


def test_lengths_of_nothing_and_beyond_the_floats():
    assert (length(np.zeros(3)), length(np.zeros(0))) == (0.0, 0.0)
    assert length(np.full(4, 1.7e308)) == np.inf
    assert_array_equal(unit_vector(np.zeros(3)), 0.0)
    assert L1Ball(1.0).project([]).size == 0
    assert L1Ball(1.0).contains([])
    assert not Simplex().contains([])


def test_a_point_is_copied():
    point = np.array([1.0, 2.0])
    as_point(point)[0] = 9.0
    assert_array_equal(point, [1.0, 2.0])


@every_set
def test_every_set_refuses_to_move_and_to_judge_what_is_no_vector_of_numbers(made):
    points = 0.5, "ab", None, {}, [[0.5, 0.5]], [[1.0], [2.0, 3.0]], 10**400
    for ask, point in product((made.project, made.contains), points):
        with pytest.raises(InputError, match=r"^point must be a vector of numbers; got .*\.$"):
            ask(point)


@every_set
def test_a_tolerance_that_is_none_is_refused(made):
    inside = made.project(np.zeros(3))
    assert made.contains(inside, 0.001)
    for tolerance in ("x", None, np.nan, -1.0, [1.0, 2.0], 10**400, True):
        with pytest.raises(InputError, match=r"^tolerance must be a number of at least 0; got"):
            made.contains(inside, tolerance)


@every_set
def test_no_entry_is_too_large_to_ask_whether_a_set_contains_it(made):
    for entry in (1e308, -1e308, np.inf, np.nan):
        assert made.diameter() == np.inf or made.contains(np.full(3, entry)) is False, entry
