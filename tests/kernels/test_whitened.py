"""Whitened rows and their sums against plain NumPy on ordinary records, and bounds on odd ones."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.kernels.bins import Bins
from tailguard.kernels.block import RecordBlock
from tailguard.kernels.column_histograms import ColumnHistogramCount
from tailguard.kernels.whitened import WhitenedRows
from tailguard.kernels.whitened_sums import (
    ScoreLadderSum,
    SecondMomentSum,
    Weighting,
    WhitenedHistogram,
)

GRID = 2.0**-30
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((3_000, 4)), RNG.standard_normal(3_000)
CENTER, SCALE = np.array([0.5, 0.0, -1.0, 2.0]), np.array([1.0, 2.0, 0.5, 1.0])
MAP, WEIGHTS = RNG.standard_normal((5, 3)), RNG.standard_normal(5)
BLOCK = RecordBlock(X, Y)
S = np.column_stack([(X - CENTER) / SCALE, np.ones(len(X))])
U, SCORE = S @ MAP, S @ WEIGHTS
LENGTH = np.linalg.norm(U, axis=1)


def rows(loss=None):
    return WhitenedRows(
        loss=loss or tg.losses.Squared(), center=CENTER, inverse_scale=1.0 / SCALE, intercept=True,
        whitening=MAP, weights=WEIGHTS,
    )  # fmt: skip


def test_directions_lengths_and_scores_are_those_of_the_matrix_product():
    polar = rows().polar(BLOCK)
    np.testing.assert_allclose(polar.direction * polar.length[:, None], U, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(polar.score, SCORE, rtol=1e-9, atol=1e-9)


def test_the_score_comes_from_the_whole_row_and_only_the_summed_row_is_cut():
    kernel = ScoreLadderSum(rows=rows(), row_limit=1.5, levels=(0.8,), shares=(1.0,), grid=GRID)
    cut = U * np.minimum(1.0, 1.5 / LENGTH)[:, None]
    expected = np.clip(SCORE - Y, -0.8, 0.8) @ cut / 0.8
    np.testing.assert_allclose(kernel.sum_block(BLOCK) * GRID, expected, rtol=1e-6, atol=1e-5)


def test_increments_add_up_to_the_score_at_the_top_level():
    levels, shares = (0.5, 2.0, 6.0), (1.0, 0.5, 0.25)
    kernel = ScoreLadderSum(rows=rows(), row_limit=9.0, levels=levels, shares=shares, grid=GRID)
    parts = (kernel.sum_block(BLOCK) * GRID).reshape(3, 3)
    widths = np.diff([0.0, *levels])
    whole = ((widths / shares)[:, None] * parts).sum(axis=0)
    cut = U * np.minimum(1.0, 9.0 / LENGTH)[:, None]
    np.testing.assert_allclose(whole, np.clip(SCORE - Y, -6.0, 6.0) @ cut, rtol=1e-6, atol=1e-4)


def test_second_moments_are_packed_with_the_frobenius_norm():
    kernel = SecondMomentSum(
        rows=rows(), weighting=Weighting(), row_limit=2.0, row_cap=2.0, grid=GRID
    )
    cut = U * np.minimum(1.0, 2.0 / LENGTH)[:, None]
    moments = cut.T @ cut
    packed = kernel.sum_block(BLOCK) * GRID
    np.testing.assert_allclose(np.linalg.norm(packed), np.linalg.norm(moments), rtol=1e-9)
    np.testing.assert_allclose(packed[[0, 3, 5]], np.diag(moments), rtol=1e-6)


@pytest.mark.parametrize("reach", [0.01, 0.5])
def test_the_curvature_weight_of_a_logistic_score_is_its_variance(reach):
    weighting = Weighting(kind="curvature", slope_limit=1.0, reach=reach, bound=0.25)
    model, block = rows(tg.losses.Logistic()), RecordBlock(X, np.ones(len(X)))
    p = 1.0 / (1.0 + np.exp(-SCORE))
    found = weighting.of(model, model.polar(block), block) * 0.25
    np.testing.assert_allclose(found, p * (1.0 - p), atol=0.02)


def test_histograms_count_every_record_once():
    bins = Bins("octaves", -10.0, 2.0, 40)
    for what in ("length", "residual", "slope"):
        kernel = WhitenedHistogram(
            rows=rows(), what=what, bins=bins, weighting=Weighting(), grid=1.0
        )
        assert kernel.sum_block(BLOCK).sum() == len(X)
    columns = ColumnHistogramCount(
        bins=bins, columns=(1, 4), center=np.zeros(2), inverse_scale=np.ones(2), paired=True,
        multiplier=1,
    )  # fmt: skip
    assert columns.sum_block(BLOCK).sum() == 2 * (len(X) // 2)


def test_rows_at_the_ends_of_the_floats_keep_a_direction_or_count_as_zero():
    odd = np.array([[1e308, -1e308, 1e308, 1e308], [5e-324, 0.0, 0.0, 0.0], [np.inf, 0, 0, 0]])
    polar = rows().polar(RecordBlock(odd, np.zeros(3)))
    norms = np.linalg.norm(polar.direction, axis=1)
    assert (norms <= 1.0).all()
    assert np.isfinite(polar.length).all()
    assert polar.length[2] == 0.0
    assert polar.void.tolist() == [False, False, True]
