"""Rows are mapped as by a product, each by itself; answers through a rotation are the same."""

from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from support.loops import loop
from tailguard.data.rows.base import RecordBlock
from tailguard.queries.clip_levels import ContributionLevels, LevelGradients
from tailguard.queries.histograms import Bins, WhitenedHistogram
from tailguard.queries.maps import Tiles, triangular
from tailguard.queries.reading_loops import add_squares
from tailguard.queries.second_moments import SecondMoments, Weighting
from tailguard.queries.softmax_gradients import SoftmaxGradients
from tailguard.queries.units import Units
from tailguard.queries.view import View

RNG = np.random.default_rng(0)
N_ROWS, GRID = 2_100, 2.0**-40
X, Y = RNG.standard_normal((N_ROWS, 9)), RNG.integers(0, 3, N_ROWS).astype(float)
MAP, WEIGHTS = RNG.standard_normal((10, 7)), RNG.standard_normal((3, 10))
STRAIGHT = View(tg.losses.Squared(), Units.raw(9, intercept=True), MAP)
ROTATED = STRAIGHT.through(MAP)


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (10, 7), (4, 6)])
def test_a_map_is_a_triangle_and_a_rotation(shape):
    matrix = np.random.default_rng(1).standard_normal(shape)
    triangle, rotation = triangular(matrix)
    np.testing.assert_allclose(triangle @ rotation, matrix, atol=1e-12)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(shape[1]), atol=1e-12)
    beyond = np.arange(shape[0])[:, None] > np.arange(shape[1]) + shape[0] - shape[1]
    assert not triangle[beyond].any()


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (4, 4), (9, 6), (13, 21)])
@pytest.mark.parametrize("kept", [0.0, 0.2, 1.0])
def test_the_loop_multiplies_rows_with_any_zeros_in_the_map_and_each_by_itself(shape, kept):
    rng = np.random.default_rng(2)
    matrix = rng.standard_normal(shape) * (rng.random(shape) < kept)
    rows, tiles = rng.standard_normal((300, shape[1])), Tiles(matrix)
    mapped, alone = np.full((shape[0], 300), np.nan), np.empty((shape[0], 1))
    tiles.map(rows, mapped)
    np.testing.assert_allclose(mapped, matrix @ rows.T, atol=1e-12)
    for place in (0, 127, 128, 299):
        tiles.map(rows[place : place + 1].copy(), alone)
        np.testing.assert_array_equal(alone[:, 0], mapped[:, place])


def test_zeros_of_a_triangle_are_left_out():
    tiles = Tiles(np.triu(np.ones((9, 9))))
    assert tiles.begins.tolist() == [0, 4, 8]
    assert tiles.ends.tolist() == [12, 12, 12]
    assert Tiles(np.tril(np.ones((9, 9)))).ends.tolist() == [4, 8, 12]


@pytest.mark.parametrize(("width", "n_rows"), [(1, 1), (3, 256), (4, 300), (8, 1024)])
def test_squares_add_up_to_outer_products(width, n_rows):
    rng = np.random.default_rng(3)
    mapped, roots = rng.standard_normal((width, n_rows)), rng.random(n_rows)
    sums = np.ones((width + 2, width + 2))
    add_squares()(mapped, roots, sums)
    outer = (mapped * roots**2) @ mapped.T
    found = np.triu(sums[:width, :width] - 1.0)
    np.testing.assert_allclose(found, np.triu(outer), atol=1e-10)


QUERIES = {
    "gradients": (LevelGradients(ROTATED, 2.0, (0.5, 1.5), (1.0, 0.4)), WEIGHTS[0]),
    "contributions": (ContributionLevels(ROTATED, (0.5, 1.5)), WEIGHTS[0]),
    "moments": (SecondMoments(ROTATED, 2.0, 3.0), WEIGHTS[0]),
    "curvatures": (
        SecondMoments(ROTATED, 2.0, 3.0, Weighting(kind="curvature", slope_limit=2.0)),
        WEIGHTS[0],
    ),
    "classes": (SoftmaxGradients(ROTATED, 3, 2.0), WEIGHTS),
}


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("first", [0, None])
def test_a_rotation_changes_no_answer(name, first):
    query, state = QUERIES[name]
    block = RecordBlock(X, Y, first=first)
    rotated, straight = (
        each.finish(loop(each, state, GRID).sum_block(block) * GRID, N_ROWS)
        for each in (query, replace(query, view=STRAIGHT))
    )
    np.testing.assert_allclose(rotated, straight, atol=1e-8)
    assert np.abs(straight).max() > 1e-3


def test_a_rotation_keeps_the_map_of_answers_and_the_lengths_of_rows():
    np.testing.assert_allclose(ROTATED.matrix, MAP, atol=1e-12)
    assert STRAIGHT.matrix is MAP
    bins = Bins("octaves", -10.0, 4.0, 80)
    counts = [
        loop(WhitenedHistogram(view, "length", bins), None, 1.0).sum_block(RecordBlock(X, Y))
        for view in (ROTATED, STRAIGHT)
    ]
    np.testing.assert_array_equal(*counts)
