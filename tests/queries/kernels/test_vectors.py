"""The loops over a tile, for every length of the columns left over."""

import numpy as np
import pytest
from numba import njit

from tailguard.data.rows.base import TILE_ROWS
from tailguard.queries.kernels.lanes import LANES
from tailguard.queries.kernels.vectors import (
    LARGEST_FEATURE,
    add_rows,
    lent,
    score_rows,
)


@njit
def score(features, row, center, inverse_scale, weights, tile, scores, squares):
    score_rows(features, row, center, inverse_scale, weights, tile, scores, squares)


@njit
def add(tile, factors, sums):
    add_rows(tile, factors, sums)


def padded(values, width):
    return np.concatenate([values, np.zeros(width - values.size)])


def rows_of(tile):
    """Undo the layout: one row per record."""
    return tile.transpose(1, 0, 2).reshape(TILE_ROWS, -1)


@pytest.mark.parametrize("n_columns", [1, 2, 7, 8, 9, 15, 16, 17, 31])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_rows_of_a_tile_are_scored_and_kept(n_columns, intercept, dtype):
    rng = np.random.default_rng(n_columns)
    # The rows end where the memory of the features does, and what lies before them is not theirs.
    features = np.full((3 + TILE_ROWS, n_columns), np.nan, dtype=dtype)
    features[3:] = rng.standard_normal((TILE_ROWS, n_columns))
    size = n_columns + intercept
    width = -(-size // LANES) * LANES
    center, weights = rng.standard_normal((2, size))
    inverse_scale = rng.uniform(0.5, 2.0, size)
    center[n_columns:], inverse_scale[n_columns:] = 0.0, 1.0
    tile = np.full((width // LANES, TILE_ROWS, LANES), 7.0)
    scores, squares = np.full((2, TILE_ROWS + 1), 7.0)
    vectors = [padded(vector, width) for vector in (center, inverse_scale, weights)]
    score(features, 3, *vectors, tile, scores, squares)

    rows = np.ones((TILE_ROWS, size))
    rows[:, :n_columns] = features[3:]
    rows = (rows - center) * inverse_scale
    np.testing.assert_allclose(scores[:-1], rows @ weights, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(squares[:-1], (rows**2).sum(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(rows_of(tile)[:, :size], rows)
    assert (rows_of(tile)[:, size:] == 0.0).all()
    assert scores[-1] == squares[-1] == 7.0


@pytest.mark.parametrize("n_columns", [1, 7, 8, 9, 31])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_kept_is_finite_and_the_square_tells_of_what_is_not(n_columns, intercept, dtype):
    largest = float(np.finfo(dtype).max)
    width = -(-(n_columns + intercept) // LANES) * LANES
    weights = padded(np.ones(n_columns + intercept), width)
    for column in range(n_columns):
        for k, value in enumerate((-3.0, 1e-20, largest, -largest, np.nan, np.inf, -np.inf, 0.0)):
            features = np.full((TILE_ROWS + 1, n_columns), 0.5, dtype=dtype)
            features[0], features[1 + k, column] = np.nan, value
            tile, (scores, squares) = np.zeros((width // LANES, TILE_ROWS, LANES)), np.zeros((2, 8))
            score(features, 1, np.zeros(width), weights, weights, tile, scores, squares)
            rows = np.full((TILE_ROWS, n_columns), 0.5)
            rows[k, column] = LARGEST_FEATURE if np.isnan(value) else float(dtype(value))
            rows = np.clip(rows, -LARGEST_FEATURE, LARGEST_FEATURE)
            np.testing.assert_array_equal(rows_of(tile)[:, :n_columns], rows)
            np.testing.assert_allclose(scores, rows.sum(axis=1) + intercept, rtol=1e-14)
            expected = (rows**2).sum(axis=1) + intercept
            expected[k] = expected[k] if np.isfinite(value) else np.nan
            np.testing.assert_allclose(squares, expected, rtol=1e-14)


def test_the_last_row_stands_for_rows_past_the_end():
    features, scale = np.arange(1.0, 11.0)[:, None], padded(np.ones(1), 8)
    for start, expected in ((5, [6.0, 7.0, 8.0, 9.0, *4 * [10.0]]), (19, TILE_ROWS * [10.0])):
        tile, (scores, squares) = np.zeros((1, TILE_ROWS, LANES)), np.zeros((2, TILE_ROWS))
        score(features, start, np.zeros(8), scale, scale, tile, scores, squares)
        np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("width", [8, 16, 40])
def test_every_record_of_a_tile_is_added(width):
    rng = np.random.default_rng(width)
    tile = rng.standard_normal((width // LANES, TILE_ROWS, LANES))
    factors, sums = rng.standard_normal(TILE_ROWS), rng.standard_normal(width)
    expected = sums + factors @ rows_of(tile)
    add(tile, factors, sums)
    np.testing.assert_allclose(sums, expected, rtol=1e-12, atol=1e-12)


@njit
def fill(numbers, value):
    numbers = lent(numbers)
    for half in (numbers[:2], numbers[2:]):
        half[:] = value


def test_a_lent_array_is_the_same_memory_and_outlives_the_loan():
    numbers = np.zeros(5)
    for value in range(100):
        fill(numbers, float(value))
    np.testing.assert_array_equal(numbers, np.full(5, 99.0))
