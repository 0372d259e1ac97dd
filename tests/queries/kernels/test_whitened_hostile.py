"""Sums of whitened rows on hostile records: plain NumPy agrees, limits hold, rows keep apart."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from support.adversary import datasets, neighbours, records, replaced
from tailguard.checks import InputError
from tailguard.data.rows.arrays import ArrayRows
from tailguard.data.rows.base import CHUNK_ROWS, RecordBlock, summation_slack
from tailguard.losses import Logistic, Poisson, Squared
from tailguard.queries.kernels.bins import Bins
from tailguard.queries.kernels.whitened import WhitenedRows
from tailguard.queries.kernels.whitened_sums import (
    LevelGradientSum,
    SecondMomentSum,
    Weighting,
    WhitenedHistogramCount,
    WhitenedShellSum,
)

LOSSES = {"squared": Squared(), "logistic": Logistic(), "poisson": Poisson(), "none": None}
WEIGHTINGS = (
    Weighting(),
    Weighting(kind="curvature", slope_limit=2.0, half_step=0.5, bound=1.0),
    Weighting(kind="squared-slope", slope_limit=0.7),
    Weighting(kind="beyond", bound=0.4),
)
GRID = 2.0**-30


def make_rows(rng, loss, n_features=3, *, intercept=True, target_in_row=False, times_slope=False):
    height = n_features + intercept + target_in_row
    return WhitenedRows(
        loss=loss,
        center=rng.standard_normal(n_features),
        inverse_scale=rng.uniform(0.5, 2.0, n_features),
        intercept=intercept,
        whitening=rng.standard_normal((height, max(1, height - 1))),
        weights=rng.standard_normal(height),
        target_center=0.25,
        target_scale=2.0,
        offset_center=-0.5,
        target_in_row=target_in_row,
        times_slope=times_slope,
    )


def make_kernels(model, grid=GRID):
    """One kernel of each kind and weighting, with the limit on what a record adds."""
    shells = WhitenedShellSum(rows=model, radii=(0.5, 1.5), shares=(1.0, 0.4), grid=grid)
    kernels = [(shells, shells.norm_limit)]
    if not model.times_slope:
        ladder = LevelGradientSum(
            rows=model, row_limit=2.0, levels=(0.5, 1.5), shares=(1.0, 0.4), grid=grid
        )
        kernels.append((ladder, ladder.norm_limit))
    for weighting in WEIGHTINGS:
        moments = SecondMomentSum(
            rows=model, weighting=weighting, row_limit=2.0, row_cap=3.0, grid=grid
        )
        kernels.append((moments, moments.norm_limit))
        for what in ("length", "residual", "slope"):
            bins = Bins("signed", -40.25, 0.5, 41)
            histogram = WhitenedHistogramCount(
                rows=model, what=what, bins=bins, weighting=weighting, grid=grid
            )
            kernels.append((histogram, 1.0))
    return kernels


def make_block(data, n_features, dtype=np.float64):
    with np.errstate(over="ignore"):
        features = np.ascontiguousarray(data[:, :n_features]).astype(dtype)
    return RecordBlock(features, data[:, n_features].copy(), data[:, n_features + 1].copy())


@np.errstate(all="ignore")
def plainly_read(model, block):
    """Return directions, lengths, scores and targets by their definition."""
    target = (block.target - model.target_center) / model.target_scale
    offset = block.offset - model.offset_center
    row = (block.features.astype(np.float64) - model.center) * model.inverse_scale
    row = np.column_stack([row] + [np.ones(len(row))] * model.intercept)
    row = np.column_stack([row] + [target] * model.target_in_row)
    row = np.clip(np.nan_to_num(row, nan=0.0), -1e150, 1e150)
    row[block.void()] = 0.0
    largest = np.abs(row).max(axis=1)
    mapped = row / np.where(largest > 0.0, largest, 1.0)[:, None]
    u = mapped @ model.whitening
    norm = np.linalg.norm(u, axis=1)
    direction = u / np.where(norm > 0.0, norm, 1.0)[:, None]
    return direction, largest * norm, largest * (mapped @ model.weights) + offset, target


@np.errstate(all="ignore")
def plainly_summed(kernel, block):
    """Return the kernel's sum, in floats, by its definition."""
    model, void = kernel.rows, block.void()
    direction, length, score, target = plainly_read(model, block)

    def slope(at, limit):
        value = np.ones(at.size) if model.loss is None else model.loss.slope(at, target)
        return np.clip(np.where(np.isnan(value) | void, 0.0, value), -limit, limit)

    if model.times_slope:
        slopes = slope(score, np.inf)
        length = np.nan_to_num(length * np.abs(slopes), nan=0.0, posinf=np.inf)
        direction = direction * np.copysign(1.0, slopes)[:, None]
    if isinstance(kernel, WhitenedShellSum):
        reached = np.stack([np.minimum(length, radius) for radius in (0.0, *kernel.radii)])
        steps = np.diff(reached, axis=0) / np.diff([0.0, *kernel.radii])[:, None]
        return (np.array(kernel.shares)[:, None] * (steps @ direction)).ravel()
    if isinstance(kernel, LevelGradientSum):
        row = direction * np.minimum(length, kernel.row_limit)[:, None]
        cut = np.stack([slope(score, level) for level in (1e-300, *kernel.levels)])
        steps = np.diff(cut, axis=0) / np.diff([0.0, *kernel.levels])[:, None]
        return (np.array(kernel.shares)[:, None] * (steps @ row)).ravel()
    kind, limit = kernel.weighting.kind, kernel.weighting.slope_limit
    weight = 1.0 - void
    if kind == "curvature":
        reach, bound = kernel.weighting.half_step, kernel.weighting.bound
        rise = (slope(score + reach, limit) - slope(score - reach, limit)) / (2.0 * reach)
        weight = np.clip(rise / bound, 0.0, 1.0)
    elif kind == "squared-slope":
        weight = (slope(score, limit) / limit) ** 2
    elif kind == "beyond":
        weight = np.where(length > kernel.weighting.bound, 1.0, 0.0)
    if isinstance(kernel, SecondMomentSum):
        weight *= np.minimum(length, kernel.row_limit) * np.minimum(length, kernel.row_cap)
        moments = np.einsum("i,ij,ik->jk", weight, direction, direction)
        packed = np.where(np.eye(len(moments)) > 0.0, 1.0, np.sqrt(2.0)) * moments
        return packed[np.triu_indices(len(moments))]
    values = {"length": length, "residual": score - target, "slope": slope(score, np.inf)}
    return np.bincount(kernel.bins.index(values[kernel.what]), weight, kernel.size)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("intercept", "target_in_row"), [(True, False), (False, True)])
@pytest.mark.parametrize("times_slope", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_sums_agree_with_plain_numpy(loss, intercept, target_in_row, times_slope, dtype):
    rng = np.random.default_rng(1)
    for n_features in (1, 3, 11):
        model = make_rows(
            rng, LOSSES[loss], n_features, intercept=intercept, target_in_row=target_in_row,
            times_slope=times_slope,
        )  # fmt: skip
        for data in (
            rng.standard_normal((1100, n_features + 2)),
            records(rng, 1100, n_features + 2),
        ):
            block = make_block(data, n_features, dtype)
            for kernel, limit in make_kernels(model):
                found = kernel.sum_block(block) * GRID
                plain = plainly_summed(kernel, block)
                assert np.abs(found - plain).max() <= 1e-7 * limit


@pytest.mark.parametrize("loss", ["squared", "poisson"])
@pytest.mark.parametrize("target_in_row", [False, True])
@pytest.mark.parametrize("times_slope", [False, True])
def test_no_record_contributes_more_than_its_limit(loss, target_in_row, times_slope):
    rng = np.random.default_rng(2)
    model = make_rows(rng, LOSSES[loss], target_in_row=target_in_row, times_slope=times_slope)
    grid = 2.0**-45
    kernels = make_kernels(model, grid)
    largest = dict.fromkeys(range(len(kernels)), 0.0)
    for record in records(rng, 250, 5):
        for dtype in (np.float32, np.float64):
            block = make_block(record[None, :], 3, dtype)
            for place, (kernel, limit) in enumerate(kernels):
                units = [int(unit) for unit in kernel.sum_block(block)]
                # Rounding to the lattice moves each coordinate by half a unit at most.
                allowed = Fraction(limit) / Fraction(grid) + Fraction(kernel.size, 2)
                assert sum(unit**2 for unit in units) <= allowed**2
                assert not block.void()[0] or not any(units)
                norm = np.linalg.norm(np.array(units, dtype=float)) * grid
                largest[place] = max(largest[place], norm / limit)
    assert min(largest.values()) > 0.8


def plain_ladder(model, limit):
    """One level, counted in ``2**40`` steps to the limit."""
    return LevelGradientSum(
        rows=model, row_limit=limit, levels=(1.0,), shares=(1.0,), grid=limit * 2.0**-40
    )


@pytest.mark.parametrize("factor", [1.0, 1e99, 1e-160])
@pytest.mark.parametrize("limit", [1e-205, 1e-150, 1.0, 1e150])
def test_tiny_and_huge_maps_and_limits_hold_as_well(factor, limit):
    rng = np.random.default_rng(3)
    model = make_rows(rng, Squared(), 2, intercept=False)
    ladder = plain_ladder(replace(model, whitening=model.whitening * factor), limit)
    for record in records(rng, 400, 4):
        units = ladder.sum_block(make_block(record[None, :], 2))
        assert np.linalg.norm(units.astype(float)) <= 2.0**40 + ladder.size


@pytest.mark.parametrize("factor", [1.0, 1e99, 1e-80])
@pytest.mark.parametrize("size", [1e-200, 1e-60, 1.0, 1e60, 1e140])
def test_a_row_of_any_size_counts_in_its_direction(size, factor):
    rng = np.random.default_rng(4)
    model = replace(make_rows(rng, None, intercept=False), center=np.zeros(3))
    x = rng.standard_normal((1, 3))
    u = ((x * model.inverse_scale) @ model.whitening)[0]
    model = replace(model, whitening=model.whitening * factor)
    units = plain_ladder(model, 1e-3 * size * factor).sum_block(RecordBlock(size * x))
    np.testing.assert_allclose(units * 2.0**-40, u / np.linalg.norm(u), atol=1e-9)


@pytest.mark.parametrize("times_slope", [False, True])
def test_replacing_a_record_moves_the_sum_by_twice_the_limit_at_most(times_slope):
    rng = np.random.default_rng(4)
    model = make_rows(rng, Squared(), times_slope=times_slope)
    for kernel, limit in make_kernels(model, grid=1e-9):
        allowed = (2 * limit + summation_slack(limit)) / kernel.grid + np.sqrt(kernel.size)
        for data in datasets(rng, 8, 70, 5):
            before = kernel.sum_block(make_block(data, 3))
            for slot, record in neighbours(rng, data, 5):
                after = kernel.sum_block(make_block(replaced(data, slot, record), 3))
                assert np.linalg.norm((after - before).astype(float)) <= allowed


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_record_changes_a_bit_of_what_is_read_of_another(dtype):
    rng = np.random.default_rng(5)
    model = make_rows(rng, Squared(), 9)
    data = records(rng, 300, 11)

    def seen(block):
        (chunk,) = model.read(block)
        return np.vstack([chunk.mapped, chunk.length, chunk.inverse, chunk.score, chunk.void])

    before = seen(make_block(data, 9, dtype))
    for slot, record in neighbours(rng, data, 40):
        after = seen(make_block(replaced(data, slot, record), 9, dtype))
        others = np.arange(300) != slot
        np.testing.assert_array_equal(after[:, others], before[:, others])


def test_a_chunk_leaves_nothing_behind_and_threads_change_no_bit():
    rng = np.random.default_rng(6)
    n_rows, n_features = 20 * CHUNK_ROWS + 77, 60
    data = rng.standard_normal((n_rows, n_features + 2))
    data[: 3 * CHUNK_ROWS] = records(rng, 3 * CHUNK_ROWS, n_features + 2)
    block = make_block(data, n_features)
    for loss in (Squared(), None):
        for kernel, _ in make_kernels(make_rows(rng, loss, n_features)):
            starts = range(0, n_rows, CHUNK_ROWS)
            alone = sum(kernel.sum_block(block.rows(i, i + CHUNK_ROWS)) for i in starts)
            np.testing.assert_array_equal(kernel.sum_block(block), alone)
            rows = ArrayRows(block.features, block.target, block.offset)
            np.testing.assert_array_equal(rows.reduce(kernel, n_threads=2), alone)


def test_a_missing_target_and_offset_count_as_zero():
    rng = np.random.default_rng(7)
    model = replace(make_rows(rng, Squared()), target_center=0.0, offset_center=0.0)
    X = rng.standard_normal((50, 3))
    for kernel, _ in make_kernels(model):
        zeros = kernel.sum_block(RecordBlock(X, np.zeros(50), np.zeros(50)))
        np.testing.assert_array_equal(kernel.sum_block(RecordBlock(X)), zeros)


def test_slopes_are_not_counted_twice():
    model = make_rows(np.random.default_rng(8), Squared(), times_slope=True)
    with pytest.raises(InputError, match="must not be multiplied by their slopes"):
        plain_ladder(model, 1.0)
