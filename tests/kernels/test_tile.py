"""A scored tile holds finite rows, whatever the records hold and however many there are."""

import numpy as np
import pytest
from numba import njit

from support.adversary import records
from tailguard.kernels.chunks import TILE_ROWS
from tailguard.kernels.tile import (
    LARGEST_SQUARE,
    LEAST_SQUARE,
    SCORES,
    SQUARES,
    UNITS,
    make_space,
    score_tile,
)


@njit
def score(features, start, count, rescaling, center, inverse_scale, weights):
    space = make_space(center, inverse_scale, weights)
    space.tile[:] = np.nan
    score_tile(features, start, count, rescaling, space)
    return space


def scored(features, count, *, intercept=True, rescaling=True, start=0):
    n_features = features.shape[1]
    weights = np.ones(n_features + intercept)
    space = score(
        features, start, count, rescaling, np.zeros(n_features), np.ones(n_features), weights
    )
    return space.work, space.tile.transpose(1, 0, 2).reshape(TILE_ROWS, -1)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n_features", [1, 7, 8, 9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hostile_records_leave_finite_rows_of_usual_norm_or_zeros(n_features, intercept, dtype):
    rng = np.random.default_rng(n_features)
    with np.errstate(over="ignore"):
        features = records(rng, 400, n_features).astype(dtype)
    finite = np.isfinite(features).all(axis=1)
    assert 0 < finite.sum() < 400
    for start in range(0, 400, 3):
        count = min(TILE_ROWS, 400 - start)
        work, rows = scored(features, count, intercept=intercept, start=start)
        assert np.isfinite(rows).all()
        squares = work[SQUARES]
        np.testing.assert_allclose((rows**2).sum(axis=1), squares, rtol=1e-13)
        in_range = (squares > LEAST_SQUARE) & (squares < LARGEST_SQUARE)
        assert (in_range | (rows == 0.0).all(axis=1)).all()
        np.testing.assert_array_equal(work[UNITS, :count] > 0.0, finite[start : start + count])
        assert (work[UNITS, count:] == 0.0).all()
        assert (rows[work[UNITS] == 0.0] == 0.0).all()


@pytest.mark.parametrize("rescaling", [False, True])
def test_no_record_changes_a_bit_of_another(rescaling):
    rng = np.random.default_rng(3)
    usual, hostile = rng.standard_normal((8, 9)), records(rng, 200, 9)
    plain_work, plain_rows = scored(usual, 8, rescaling=rescaling)
    for k, record in enumerate(hostile):
        features, others = usual.copy(), np.arange(8) != k % 8
        features[k % 8] = record
        for count in range(k % 8 + 1, 9):
            work, rows = scored(features, count, rescaling=rescaling)
            here = others & (np.arange(8) < count)
            np.testing.assert_array_equal(rows[here], plain_rows[here])
            for row in (SCORES, SQUARES, UNITS):
                np.testing.assert_array_equal(work[row, here], plain_work[row, here])


def test_rows_keep_their_unit_where_entries_are_bounded_one_by_one():
    features = np.array([[1e-300, 0.0], [1e300, 2.0], [np.inf, 0.0], [1.0, 1.0]])
    work, rows = scored(features, 4, intercept=False, rescaling=False)
    np.testing.assert_array_equal(work[UNITS, :4], [1.0, 1.0, 0.0, 1.0])
    expected = [[1e-300, 0.0], [1e150, 2.0], [0.0, 0.0], [1.0, 1.0]]
    np.testing.assert_array_equal(rows[:4, :2], expected)
