"""A scored strip holds finite rows, whatever the records hold and however many there are."""

import numpy as np
import pytest
from numba import njit

from support.adversary import records
from tailguard.data.rows.base import CHUNK_ROWS, TILE_ROWS
from tailguard.queries.kernels.tile import MOST_TILES, SCORES, SQUARES, make_space, score_strip
from tailguard.queries.kernels.vectors import LARGEST_FEATURE


@njit
def score(features, start, count, center, inverse_scale, weights):
    space = make_space(features, CHUNK_ROWS, center, inverse_scale, weights)
    space.tiles[:] = np.nan
    score_strip(features, start, count, space)
    return space


def scored(features, count, *, intercept=True, start=0):
    n_features = features.shape[1]
    weights = np.ones(n_features + intercept)
    space = score(features, start, count, np.zeros(n_features), np.ones(n_features), weights)
    n_rows = len(space.tiles) * TILE_ROWS
    return space.work, space.tiles.transpose(0, 2, 1, 3).reshape(n_rows, -1)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n_features", [1, 7, 8, 9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hostile_records_leave_finite_rows_and_a_mark_where_void(n_features, intercept, dtype):
    rng = np.random.default_rng(n_features)
    with np.errstate(over="ignore"):
        features = records(rng, 400, n_features).astype(dtype)
    finite = np.isfinite(features).all(axis=1)
    assert 0 < finite.sum() < 400
    n_rows = MOST_TILES * TILE_ROWS
    for start in range(0, 400, 3):
        count = min(n_rows, 400 - start)
        work, rows = scored(features, count, intercept=intercept, start=start)
        assert (np.abs(rows) <= LARGEST_FEATURE).all()
        usable = np.isfinite(work[SQUARES])
        np.testing.assert_array_equal(usable[:count], finite[start : start + count])
        assert not usable[count:].any()
        squares = (rows[usable] ** 2).sum(axis=1)
        np.testing.assert_allclose(squares, work[SQUARES, usable], rtol=1e-13)
        np.testing.assert_allclose(
            rows[usable].sum(axis=1),
            work[SCORES, usable],
            rtol=1e-12,
            atol=1e-13 * LARGEST_FEATURE,
        )


def test_no_record_changes_a_bit_of_another():
    rng = np.random.default_rng(3)
    n_rows, n_hostile = MOST_TILES * TILE_ROWS, 200
    usual, hostile = rng.standard_normal((n_rows, 9)), records(rng, n_hostile, 9)
    plain_work, plain_rows = scored(usual, n_rows)
    for k, record in enumerate(hostile):
        features, others = usual.copy(), np.arange(n_rows) != k % n_rows
        features[k % n_rows] = record
        for count in range(k % n_rows + 1, n_rows + 1, 7):
            work, rows = scored(features, count)
            here = others & (np.arange(n_rows) < count)
            np.testing.assert_array_equal(rows[here], plain_rows[here])
            for row in (SCORES, SQUARES):
                np.testing.assert_array_equal(work[row, here], plain_work[row, here])


@pytest.mark.parametrize(
    ("n_features", "dtype", "n_tiles"),
    [
        *((1, np.float64, 8), (10, np.float64, 8), (20, np.float64, 5), (50, np.float64, 2)),
        *((100, np.float64, 1), (100, np.float32, 2), (999, np.float64, 1)),
    ],
)
def test_a_strip_is_of_several_tiles_where_they_are_narrow(n_features, dtype, n_tiles):
    work, rows = scored(np.ones((3, n_features), dtype), 3)
    assert len(rows) == work.shape[1] == n_tiles * TILE_ROWS
    assert np.isfinite(work[SQUARES]).sum() == 3


@pytest.mark.parametrize(("most_rows", "n_tiles"), [(1, 1), (8, 1), (9, 2), (1024, 8)])
def test_a_strip_is_no_longer_than_the_longest_run(most_rows, n_tiles):
    vectors = np.zeros(3), np.ones(3), np.ones(3)
    assert len(make_space(np.ones((5, 3)), most_rows, *vectors).tiles) == n_tiles


@pytest.mark.parametrize("n_features", [1, 8, 13, 100])
def test_scratch_space_starts_where_lines_of_memory_do(n_features):
    vectors = np.zeros(n_features), np.ones(n_features), np.ones(n_features)
    for _ in range(20):  # memory is given where there is some
        space = make_space(np.ones((5, n_features)), 1024, *vectors)
        assert {part.ctypes.data % 64 for part in space} == {0}
        assert not any(part.any() for part in (space.tiles, space.work, space.sums))
