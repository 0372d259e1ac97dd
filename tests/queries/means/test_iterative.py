"""The iterative mean as a query: its answer by hand, its walk, its use as a gradient oracle."""

from itertools import pairwise

import numpy as np
import pytest

import tailguard as tg
from support.sources import QuietSource
from support.stages import once
from tailguard.checks import InputError
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.privacy.events import Gaussian
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.means.iterative import (
    ALL,
    CENTRES,
    IterativeMean,
    centre_of,
    group_edges,
    updated_centre,
)
from tailguard.queries.units import Units

RAW = Units.raw(3, intercept=False)


def answer(query, X, y=None, state=None, mu=1e3):
    gate = Gate(make_rows(X, y, loss=query.loss), guarantee=tg.GDP(1e6), source=QuietSource())
    gate.reserve(Gaussian(mu), coordinates=10_000)
    return gate.ask(query, np.zeros(3) if state is None else state, once(mu))


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
        np.testing.assert_array_equal(centre_of(unit * points, centre) / unit,
                                      centre_of(points, centre))  # fmt: skip


@pytest.mark.parametrize("centre", CENTRES)
def test_a_tenth_of_bad_groups_moves_no_centre_far(centre):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((50, 4))
    points[:4] += 1e6
    assert np.linalg.norm(centre_of(points, centre)) < 1.0
    assert np.linalg.norm(points.mean(axis=0)) > 1e4


@pytest.mark.parametrize("n_groups", [1, 4, 7])
def test_the_median_of_clipped_group_means_by_hand(n_groups):
    X = np.random.default_rng(n_groups).standard_t(2, (101, 3))
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    clipped = X * np.minimum(1.0, 2.0 / norms)
    edges = group_edges(101, n_groups)
    means = [clipped[a:b].mean(axis=0) for a, b in pairwise(edges)]
    query = IterativeMean(None, RAW, clip_norm=2.0, n_groups=n_groups, centre="median")
    np.testing.assert_allclose(answer(query, X), np.median(means, axis=0), atol=1e-6)


def test_one_group_is_the_clipped_mean():
    rng = np.random.default_rng(1)
    X, y, w = rng.standard_normal((200, 3)), rng.standard_normal(200), np.array([0.1, 0.2, -0.3])
    loss = tg.losses.Squared()
    whole = MeanClippedGradient(loss, RAW, clip_norm=1.5)
    expected = answer(whole, X, y, w)
    for centre in CENTRES:
        query = IterativeMean(loss, RAW, clip_norm=1.5, n_groups=1, centre=centre)
        np.testing.assert_allclose(answer(query, X, y, w), expected, atol=1e-9)


def test_it_serves_as_a_gradient_oracle():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((4_000, 3))
    y = X @ [1.0, -1.0, 0.5] + rng.standard_t(2.5, 4_000)
    query = IterativeMean(tg.losses.Squared(), RAW, clip_norm=8.0, n_groups=10)
    gate = Gate(make_rows(X, y), guarantee=tg.GDP(2.0), source=tg.noise.sources.make_source(0))
    gate.reserve(Gaussian(2.0), coordinates=10_000)
    weights = np.zeros(3)
    for _ in range(20):
        weights = weights - 0.5 * gate.ask(query, weights, once(2.0 / np.sqrt(20.0) * (1 - 1e-9)))
    np.testing.assert_allclose(weights, [1.0, -1.0, 0.5], atol=0.2)


@pytest.mark.parametrize(
    "facts",
    [{"clip_norm": 0.0}, {"n_groups": 0}, {"centre": "mean"}, {"level": 0.0}, {"level": 1.0}],
)
def test_options_that_cannot_be(facts):
    with pytest.raises(InputError):
        IterativeMean(None, RAW, **{"clip_norm": 1.0, **facts})


def test_more_groups_than_records_are_refused_from_public_numbers():
    with pytest.raises(InputError, match="n_groups must be at most n_rows"):
        IterativeMean(None, RAW, clip_norm=1.0, n_groups=20).calibrate(19, 3, 1.0)


def test_the_largest_group_bounds_the_sums():
    by_rows = [IterativeMean(None, RAW, 1.0, n_groups=3).sensitivity(n, 3) for n in (6, 7, 9)]
    assert by_rows[0] != by_rows[1] == by_rows[2]


def test_whatever_the_noise_is_the_answer_is_finite():
    query = IterativeMean(None, RAW, clip_norm=1e-100, n_groups=6)
    for noised in (np.full(18, 1e200), np.zeros(18), np.arange(18.0) * 1e-300):
        with np.errstate(all="ignore"):
            assert np.isfinite(query.finish(noised, 600)).all()


def test_a_walk_from_the_origin_moves_and_one_from_the_median_hardly_does():
    """Of 60 clouds of groups around (3, 3): from the median no step is taken in most."""
    rng = np.random.default_rng(4)
    moved = {"median": 0, "origin": 0}
    for _ in range(60):
        points = 3.0 + rng.normal(size=(40, 2))
        for start in moved:
            begin = np.median(points, axis=0) if start == "median" else np.zeros(2)
            end = centre_of(points, "updates", start=start)
            moved[start] += not np.array_equal(end, begin)
    assert moved["median"] < 12
    assert moved["origin"] == 60
    query = IterativeMean(None, Units.raw(2, intercept=False), clip_norm=9.0, start="origin")
    assert query.start == "origin"
    with pytest.raises(InputError, match="start must be"):
        IterativeMean(None, Units.raw(2, intercept=False), clip_norm=9.0, start="mean")


def test_a_start_that_no_step_betters_is_kept():
    points = np.full((20, 2), 1.0)
    assert updated_centre(points, np.zeros(2), n_steps=0).tolist() == [0.0, 0.0]
    split = np.array([[0.0], [1.0]] * 10)
    assert updated_centre(split, np.array([0.5]), level=0.3, n_steps=3).tolist() == [0.5]


def test_all_group_means_are_told_where_a_mean_of_its_own_follows():
    X = np.arange(36.0).reshape(12, 3) / 100.0
    query = IterativeMean(None, RAW, clip_norm=2.0, n_groups=4, centre=ALL)
    expected = X.reshape(4, 3, 3).mean(axis=1).ravel()
    np.testing.assert_allclose(answer(query, X), expected, atol=1e-6)
