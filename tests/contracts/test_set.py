"""What every set promises, checked for every line of the registry."""

import math
import pickle
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from support.registered import examples_of
from tailguard.sets import ConstraintSet
from tailguard.sets.registry import SETS

SIZE = 3
EXAMPLES = examples_of(SETS)
ALL = [example for examples in EXAMPLES.values() for example in examples]
CONVEX = [example for example in ALL if example.convex]

each_set = pytest.mark.parametrize("constraint", ALL, ids=repr)
each_convex_set = pytest.mark.parametrize("constraint", CONVEX, ids=repr)

points = arrays(np.float64, SIZE, elements=st.floats(-10, 10, allow_subnormal=False))
any_finite = arrays(np.float64, SIZE, elements=st.floats(allow_nan=False, allow_infinity=False))


@pytest.fixture(params=[25, pytest.param(1_000, marks=pytest.mark.audit)])
def thorough(request):
    """So many examples of Hypothesis."""
    return settings(deadline=None, derandomize=True, database=None, max_examples=request.param)


def approximate(constraint):
    """Whether projections may end outside, by an error that grows with the distance."""
    return getattr(constraint, "approximate", False)


@cache
def members(constraint, n_points=200):
    """Points of the set, many of them on its boundary."""
    draws = np.random.default_rng(7).standard_normal((n_points, SIZE))
    sizes = np.geomspace(1e-3, 30.0 if approximate(constraint) else 1e4, n_points)
    return np.array([constraint.project(z) for z in draws * sizes[:, None]])


def test_registry_name_leads_to_the_class():
    for name, examples in EXAMPLES.items():
        for example in examples:
            assert example.name == name
            assert SETS[name] == f"{type(example).__module__}:{type(example).__name__}"


@each_set
def test_follows_the_protocol(constraint):
    assert isinstance(constraint, ConstraintSet)


@each_set
def test_projection_is_inside_and_idempotent(constraint, thorough):
    @thorough
    @given(points)
    def check(point):
        projected = constraint.project(point)
        assert constraint.contains(projected)
        again = constraint.project(projected)
        assert_allclose(again, projected, rtol=1e-12, atol=1e-12)

    check()


@each_set
def test_points_moved_far_out_are_outside(constraint):
    far = [constraint.contains(sign * np.array([1e9, 2e9, 3e9])) for sign in (-1.0, 1.0)]
    if any(far):
        assert constraint.diameter() == math.inf
    if all(far):  # only if nothing is outside
        assert all(constraint.contains(1e300 * axis) for axis in (*np.eye(SIZE), *-np.eye(SIZE)))


@each_convex_set
def test_projection_never_stretches_a_distance(constraint, thorough):
    @thorough
    @given(points, points)
    def check(one, other):
        moved = np.linalg.norm(constraint.project(one) - constraint.project(other))
        assert moved <= np.linalg.norm(one - other) * (1 + 1e-12) + 1e-9

    check()


@pytest.mark.long
@each_convex_set
def test_projection_is_the_nearest_point(constraint, thorough):
    """Variational inequality: seen from the projection, the set lies away from the point."""
    others = members(constraint)

    @thorough
    @given(points)
    def check(point):
        projected = constraint.project(point)
        offset = point - projected
        scale = (1 + np.linalg.norm(offset)) * (1 + np.abs(others).max())
        assert ((others - projected) @ offset).max() <= 1e-9 * scale

    check()


@each_set
def test_no_member_is_nearer_than_the_projection(constraint):
    others = members(constraint)
    for point in np.random.default_rng(3).standard_normal((50, SIZE)) * 3:
        distance = np.linalg.norm(point - constraint.project(point))
        assert (np.linalg.norm(others - point, axis=1) >= distance - 1e-9).all()


@each_set
def test_every_finite_point_has_a_finite_projection(constraint, thorough):
    @thorough
    @given(any_finite)
    def check(point):
        projected = constraint.project(point)
        assert np.isfinite(projected).all()
        assert approximate(constraint) or constraint.contains(projected), (
            "a projection from far out must be inside by contains(), unless the class says "
            "approximate = True, for a rounding error that grows with the distance"
        )

    check()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@each_set
def test_a_point_that_is_not_finite_gives_a_point_of_the_set(constraint, bad):
    projected = constraint.project([1.0, bad, 0.0])
    assert projected.shape == (SIZE,)
    assert np.isfinite(projected).all()
    assert constraint.contains(projected)
    assert not constraint.contains([1.0, bad, 0.0])


@each_set
def test_projection_leaves_its_argument_alone(constraint):
    point = np.array([3.0, -4.0, 0.1])
    constraint.project(point)[:] = 9.0
    assert_array_equal(point, [3.0, -4.0, 0.1])


@each_set
def test_diameter_holds_and_is_attained(constraint):
    found = members(constraint)
    corners = [constraint.project(1e4 * np.array(c)) for c in np.ndindex(*(3,) * SIZE)]
    centred = [constraint.project(1e4 * (np.array(c) - 1)) for c in np.ndindex(*(3,) * SIZE)]
    everything = np.concatenate([found, corners, centred])
    apart = np.linalg.norm(everything[:, None] - everything[None], axis=2).max()
    diameter = constraint.diameter()
    assert apart <= diameter * (1 + 1e-9)
    of_sets = any(isinstance(part, ConstraintSet) for part in vars(constraint).values())
    if math.isfinite(diameter) and not of_sets:  # whose diameter is a bound
        assert apart >= 0.99 * diameter


@each_set
def test_set_survives_pickling_and_compares_by_parameters(constraint):
    constraint.project(np.ones(SIZE))
    twin = pickle.loads(pickle.dumps(constraint))
    assert twin == constraint
    assert hash(twin) == hash(constraint)
    assert constraint not in [other for other in ALL if other is not constraint]
