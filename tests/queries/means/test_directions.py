"""Largest reach of points: exact in one and two dimensions, near the best beyond, total always."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailguard.queries.means import directions
from tailguard.queries.means.directions import furthest_direction, reach


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


@pytest.mark.parametrize(("n_features", "n_points"), [(5, 20), (10, 50), (20, 200), (50, 20)])
def test_further_dimensions_against_many_random_starts(n_features, n_points):
    rng = np.random.default_rng(n_features)
    points = rng.standard_t(2.5, (n_points, n_features)) + 4.0 / math.sqrt(n_features)
    count = math.ceil(0.9 * n_points)
    starts = directions._unit_vectors(rng.standard_normal((20, n_features)))
    searched = np.array([directions._search_direction(points, start, count) for start in starts])
    assert furthest_direction(points, count)[0] >= 0.9 * reach(points, searched, count).max()


def test_alternation_never_lowers_the_reach():
    rng = np.random.default_rng(3)
    points = rng.standard_t(2.5, (50, 8)) + 0.5
    for start in directions._unit_vectors(rng.standard_normal((20, 8))):
        turned = directions._alternate(points, start, 45)
        before, after = reach(points, np.array([start, turned]), 45)
        assert after >= before


@settings(max_examples=60, deadline=None)
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

    monkeypatch.setattr(directions, "nnls", gives_up)
    points = np.random.default_rng(0).standard_normal((20, 4)) + 3.0
    assert furthest_direction(points, 18)[0] > 0.0


def test_alternation_ends_after_its_turns_with_what_the_last_one_gained(monkeypatch):
    points = np.random.default_rng(3).standard_t(2.5, (50, 8)) + 0.5
    start, reached = np.eye(8)[0], []
    for turns in (0, 1, 2):
        monkeypatch.setattr(directions, "TURNS", turns)
        reached.append(reach(points, directions._alternate(points, start, 45)[None], 45)[0])
    assert reached[0] < reached[1] < reached[2]
