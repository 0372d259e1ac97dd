"""Bounds on the eight records of a tile, against NumPy."""

import numpy as np
import pytest
from numba import njit

from tailguard.data.rows.base import TILE_ROWS
from tailguard.queries.kernels.tile import (
    FACTORS,
    INVERSES,
    KNOWN,
    RADII,
    SCORES,
    SIZES,
    SQUARES,
    TARGETS,
    VOID_SCORE,
    VOID_TARGET,
)
from tailguard.queries.kernels.tile_bounds import bound_gradients, bound_rows, offset_scores


@njit
def rows(work, targets, offsets, first, row_limit):
    bound_rows(work, targets, offsets, first, row_limit)


@njit
def gradients(work, slope_limit, clip_norm, shrunk):
    bound_gradients(work, slope_limit, clip_norm, shrunk)


# Of records 3, 4 and 5 the target, the offset and a feature are not finite.
SQUARES_FOUND = [4.0, 1.0, 0.0, 9.0, 1.0, np.nan, 1e-280, 1e-291]
KNOWN_RECORDS, VOID_RECORDS, SHORT_RECORDS = [0, 1, 2, 6, 7], [3, 4, 5], [2, 7]


def scratch():
    work = np.full((8, TILE_ROWS), 7.0)
    work[SCORES], work[SQUARES] = np.arange(8.0) - 3.0, SQUARES_FOUND
    targets, offsets = np.arange(11.0), np.full(11, 0.25)
    targets[3 + 3], offsets[3 + 4] = np.nan, np.nan
    targets[0], offsets[2] = np.nan, np.nan  # not theirs
    return work, targets, offsets


@njit
def offset(work, targets, offsets, first):
    offset_scores(work, targets, offsets, first)


def check_void(work, targets):
    np.testing.assert_array_equal(work[KNOWN], np.isin(np.arange(8), KNOWN_RECORDS))
    np.testing.assert_array_equal(work[TARGETS, KNOWN_RECORDS], targets[np.add(KNOWN_RECORDS, 3)])
    assert (work[SCORES, VOID_RECORDS] == VOID_SCORE).all()
    assert (work[TARGETS, VOID_RECORDS] == VOID_TARGET).all()


@pytest.mark.parametrize("row_limit", [1.5, np.inf])
def test_rows_are_cut_and_void_records_marked(row_limit):
    work, targets, offsets = scratch()
    before = work.copy()
    rows(work, targets, offsets, 3, row_limit)

    check_void(work, targets)
    used = [0, 1, 6]
    norms = np.sqrt(before[SQUARES, used])
    radii = np.minimum(norms, row_limit)
    np.testing.assert_allclose(work[INVERSES, used], 1 / norms, rtol=1e-15)
    np.testing.assert_allclose(work[RADII, used], radii, rtol=1e-15)
    scores = before[SCORES, used] * (radii / norms) + 0.25
    np.testing.assert_allclose(work[SCORES, used], scores, rtol=1e-14)
    short = before[SCORES, SHORT_RECORDS] * min(1.0, row_limit) + 0.25
    np.testing.assert_array_equal(work[SCORES, SHORT_RECORDS], short)
    for row in (INVERSES, RADII):
        assert (work[row, [*SHORT_RECORDS, *VOID_RECORDS]] == 0.0).all()
    np.testing.assert_array_equal(work[[SIZES, FACTORS]], before[[SIZES, FACTORS]])


def test_offsets_are_added_and_void_records_marked():
    work, targets, offsets = scratch()
    before = work.copy()
    offset(work, targets, offsets, 3)
    check_void(work, targets)
    expected = before[SCORES, KNOWN_RECORDS] + 0.25
    np.testing.assert_array_equal(work[SCORES, KNOWN_RECORDS], expected)


@pytest.mark.parametrize("slope_limit", [2.0, np.inf])
@pytest.mark.parametrize("clip_norm", [3.0, np.inf])
def test_gradients_are_cut_and_no_number_is_zero(slope_limit, clip_norm):
    work = np.zeros((8, TILE_ROWS))
    work[SIZES] = [1.0, -9.0, np.nan, np.inf, -np.inf, 0.5, np.inf, 1e308]
    work[RADII] = [1.0, 2.0, 1.0, 4.0, 1.0, 1e3, 0.0, 1e9]
    work[INVERSES] = [1.0, 0.5, 1.0, 0.25, 1.0, 1e-3, 0.0, 1e-9]
    slopes = np.clip(
        np.nan_to_num(work[SIZES], nan=0.0, posinf=np.inf, neginf=-np.inf),
        -slope_limit,
        slope_limit,
    )
    with np.errstate(invalid="ignore", over="ignore"):
        sizes = slopes * work[RADII]
        sizes = np.where(np.isnan(sizes), 0.0, sizes)
        expected = np.clip(sizes, -clip_norm, clip_norm) * work[INVERSES] * 0.875
    gradients(work, slope_limit, clip_norm, 0.875)
    np.testing.assert_array_equal(work[SIZES], sizes)
    np.testing.assert_array_equal(work[FACTORS], expected)
    assert not np.isnan(work[[SIZES, FACTORS]]).any()
