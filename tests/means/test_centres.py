"""Centres of points: the walk by hand, the reach exact in the plane, near the best beyond."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailguard.means import centres
from tailguard.means.centres import CENTRES, centre_of, furthest_direction, reach, updated_centre


def test_one_dimension_by_hand():
    points = np.arange(10.0)[:, None]
    distance, direction = furthest_direction(points + 5.0, 9)
    assert (distance, direction.tolist()) == (6.0, [1.0])
    assert furthest_direction(points - 4.5, 9)[0] == -3.5


@pytest.mark.parametrize("n_points", [5, 20, 45])
def test_the_plane_against_a_fine_fan(n_points):
    rng = np.random.default_rng(n_points)
    angles = np.linspace(0.0, 2.0 * np.pi, 20_001)
    fan = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for shift in (0.0, 1.0, 4.0):
        points, count = rng.standard_t(2.5, (n_points, 2)) + shift, math.ceil(0.9 * n_points)
        best = reach(points, fan, count).max()
        found, direction = furthest_direction(points, count)
        assert found >= best - 1e-12
        assert found == pytest.approx(best, abs=1e-3 * np.abs(points).max())
        assert reach(points, direction[None], count)[0] == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize(("n_features", "n_points"), [(5, 20), (20, 200), (50, 20)])
def test_further_dimensions_against_many_random_starts(n_features, n_points):
    rng = np.random.default_rng(n_features)
    points = rng.standard_t(2.5, (n_points, n_features)) + 4.0 / math.sqrt(n_features)
    count = math.ceil(0.9 * n_points)
    starts = centres._unit_vectors(rng.standard_normal((20, n_features)))
    searched = np.array([centres._search_direction(points, start, count) for start in starts])
    assert furthest_direction(points, count)[0] >= 0.9 * reach(points, searched, count).max()


def test_alternation_never_lowers_the_reach():
    rng = np.random.default_rng(3)
    points = rng.standard_t(2.5, (50, 8)) + 0.5
    for start in centres._unit_vectors(rng.standard_normal((20, 8))):
        turned = centres._alternate(points, start, 45)
        before, after = reach(points, np.array([start, turned]), 45)
        assert after >= before


@settings(max_examples=30, deadline=None)
@given(
    points=st.lists(
        st.lists(st.floats(-1e200, 1e200), min_size=3, max_size=3), min_size=1, max_size=12
    ),
    level=st.sampled_from([0.1, 0.55, 0.9, 1.0]),
)
def test_any_finite_points_have_a_unit_direction(points, level):
    offsets = np.array(points)
    with np.errstate(all="ignore"):
        distance, direction = furthest_direction(offsets, math.ceil(level * len(offsets)))
    assert math.isfinite(distance)
    assert np.linalg.norm(direction) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("n_features", [1, 2, 3])
def test_points_that_are_all_here(n_features):
    assert furthest_direction(np.zeros((7, n_features)), 6)[0] == 0.0


def test_a_solver_that_gives_up_costs_nothing_but_accuracy(monkeypatch):
    def gives_up(system, goal):
        raise RuntimeError("too many iterations")

    monkeypatch.setattr(centres, "nnls", gives_up)
    points = np.random.default_rng(0).standard_normal((20, 4)) + 3.0
    assert furthest_direction(points, 18)[0] > 0.0


def test_the_walk_of_the_card():
    points = np.arange(10.0)[:, None]
    assert updated_centre(points, np.array([4.5])).tolist() == [4.5]
    ahead = updated_centre(points, np.array([-5.0]), n_steps=1)
    assert ahead.tolist() == [-5.0 + 0.25 * 6.0]


def test_a_step_goes_a_quarter_of_the_way():
    points = np.full((20, 3), 2.0)
    for n_steps in (1, 5, 20):
        found = updated_centre(points, np.zeros(3), n_steps=n_steps)
        assert np.linalg.norm(points[0] - found) == pytest.approx(
            0.75**n_steps * np.linalg.norm(points[0]), rel=1e-9
        )
    assert updated_centre(points, points[0]).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("centre", CENTRES)
def test_another_unit_changes_no_centre(centre):
    """By a power of two, which floats multiply by exactly."""
    points = np.random.default_rng(0).standard_t(2.0, (21, 3))
    for unit in (2.0**-60, 2.0**60):
        found = centre_of(unit * points, centre) / unit
        np.testing.assert_array_equal(found, centre_of(points, centre))


@pytest.mark.parametrize("centre", CENTRES)
def test_a_tenth_of_bad_groups_moves_no_centre_far(centre):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((50, 4))
    points[:4] += 1e6
    assert np.linalg.norm(centre_of(points, centre)) < 1.0
    assert np.linalg.norm(points.mean(axis=0)) > 1e4


def test_a_start_that_no_step_betters_is_kept():
    points = np.full((20, 2), 1.0)
    assert updated_centre(points, np.zeros(2), n_steps=0).tolist() == [0.0, 0.0]
    split = np.array([[0.0], [1.0]] * 10)
    assert updated_centre(split, np.array([0.5]), level=0.3, n_steps=3).tolist() == [0.5]


def test_alternation_ends_after_its_turns_with_what_the_last_one_gained():
    points = np.random.default_rng(3).standard_t(2.5, (50, 8)) + 0.5
    found = [centres._alternate(points, np.eye(8)[0], 45, turns) for turns in (0, 1, 2)]
    assert (np.diff(reach(points, np.array(found), 45)) > 0.0).all()
