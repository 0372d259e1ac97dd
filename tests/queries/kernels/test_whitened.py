"""Whitened rows and their sums against plain NumPy on ordinary records, and bounds on odd ones."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.checks import InputError
from tailguard.data.rows.base import RecordBlock
from tailguard.queries.kernels.bins import Bins
from tailguard.queries.kernels.column_histograms import ColumnHistogramCount
from tailguard.queries.kernels.whitened import WhitenedRows
from tailguard.queries.kernels.whitened_sums import (
    LevelGradientSum,
    SecondMomentSum,
    Weighting,
    WhitenedHistogramCount,
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


def rows(loss=None, **options):
    return WhitenedRows(
        loss=loss or tg.losses.Squared(), center=CENTER, inverse_scale=1.0 / SCALE, intercept=True,
        whitening=MAP, weights=WEIGHTS, **options,
    )  # fmt: skip


def together(chunks, name):
    """One array of all chunks, each copied before the next is read."""
    return np.concatenate([getattr(chunk, name).T.copy() for chunk in chunks])


def test_rows_lengths_and_scores_are_those_of_the_matrix_product():
    model = rows()
    np.testing.assert_allclose(together(model.read(BLOCK), "length"), LENGTH, rtol=1e-12)
    np.testing.assert_allclose(together(model.read(BLOCK), "score"), SCORE, atol=1e-12)
    directions = [(c.mapped * c.inverse).T.copy() for c in model.read(BLOCK, shrunk=0.5)]
    np.testing.assert_allclose(
        np.concatenate(directions), 0.5 * U / LENGTH[:, None], rtol=1e-9, atol=1e-12
    )


def test_features_count_as_within_the_bound_in_rows_and_scores():
    held = np.column_stack([np.clip((X - CENTER) / SCALE, -0.7, 0.7), np.ones(len(X))])
    model = rows(bound=0.7)
    np.testing.assert_allclose(together(model.read(BLOCK), "score"), held @ WEIGHTS, atol=1e-12)
    lengths = np.linalg.norm(held @ MAP, axis=1)
    np.testing.assert_allclose(together(model.read(BLOCK), "length"), lengths, rtol=1e-12)
    with pytest.raises(InputError, match="bound must be"):
        rows(bound=0.0)


def test_a_bound_holds_for_every_number_but_leaves_void_records_void():
    X = np.array([[1e308] * 4, [-1e308] * 4, [5e-324] * 4, [np.inf] * 4, [np.nan] * 4])
    (chunk,) = rows(bound=2.0).read(RecordBlock(X, np.zeros(5)))
    assert chunk.void.tolist() == [False, False, False, True, True]
    extremes = [np.append(sign * 2.0 * np.ones(4), 1.0) @ WEIGHTS for sign in (1.0, -1.0)]
    np.testing.assert_allclose(chunk.score[:2], extremes, rtol=1e-12)


def test_what_is_not_asked_for_is_zero_and_changes_nothing_else():
    (scores,) = rows().read(BLOCK.rows(0, 9), lengths=False)
    (lengths,) = rows().read(BLOCK.rows(0, 9), scores=False)
    np.testing.assert_allclose(scores.score, SCORE[:9], atol=1e-12)
    np.testing.assert_allclose(lengths.length, LENGTH[:9], rtol=1e-12)
    assert scores.mapped.size == 0
    assert not scores.length.any()
    assert not lengths.score.any()


def test_the_score_comes_from_the_whole_row_and_only_the_summed_row_is_cut():
    kernel = LevelGradientSum(rows=rows(), row_limit=1.5, levels=(0.8,), shares=(1.0,), grid=GRID)
    cut = U * np.minimum(1.0, 1.5 / LENGTH)[:, None]
    expected = np.clip(SCORE - Y, -0.8, 0.8) @ cut / 0.8
    np.testing.assert_allclose(kernel.sum_block(BLOCK) * GRID, expected, rtol=1e-6, atol=1e-5)


def test_increments_add_up_to_the_score_at_the_top_level():
    levels, shares = (1, 2, 6), (1.0, 0.5, 0.25)
    kernel = LevelGradientSum(rows=rows(), row_limit=9.0, levels=levels, shares=shares, grid=GRID)
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
    weighting = Weighting(kind="curvature", slope_limit=1.0, half_step=reach, bound=0.25)
    model, block = rows(tg.losses.Logistic()), RecordBlock(X, np.ones(len(X)))
    p = 1.0 / (1.0 + np.exp(-SCORE))
    found = np.concatenate([weighting.of(model, chunk) for chunk in model.read(block)]) * 0.25
    np.testing.assert_allclose(found, p * (1.0 - p), atol=0.02)


def test_histograms_count_every_record_once():
    bins = Bins("octaves", -10.0, 2.0, 40)
    for what in ("length", "residual", "slope"):
        kernel = WhitenedHistogramCount(
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
    (chunk,) = rows().read(RecordBlock(odd, np.zeros(3)))
    norms = np.linalg.norm(chunk.mapped * chunk.inverse, axis=0)
    np.testing.assert_allclose(norms, [1.0, 1.0, 0.0], atol=1e-15)
    assert np.isfinite(chunk.length).all()
    assert chunk.length[2] == 0.0
    assert chunk.void.tolist() == [False, False, True]


def test_columns_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="one entry per feature"):
        next(rows().read(RecordBlock(X[:, :3].copy())))
    with pytest.raises(InputError, match="inverse_scale must have one entry"):
        WhitenedRows(
            loss=None, center=CENTER, inverse_scale=np.ones(3), intercept=True, whitening=MAP,
            weights=WEIGHTS,
        )  # fmt: skip


@pytest.mark.parametrize("center", [0.0, 0.7, -3.0])
def test_absent_offsets_are_zeros(center):
    exposed = RecordBlock(X, Y, np.zeros(len(X)))
    model = rows(offset_center=center)
    scores = [together(model.read(block), "score") for block in (BLOCK, exposed)]
    np.testing.assert_array_equal(*scores)
    np.testing.assert_allclose(scores[0], SCORE - center, atol=1e-12)
