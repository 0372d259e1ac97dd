"""Sums of whitened rows: plain NumPy agrees, limits hold whatever records hold, rows keep apart."""

from dataclasses import replace
from fractions import Fraction
from math import floor

import numpy as np
import pytest

from support.adversary import records
from support.loops import loop
from tailguard.checks import InputError, QueryError
from tailguard.data.rows.base import RecordBlock
from tailguard.losses import Logistic, Poisson, Squared, Tweedie
from tailguard.queries.admission import check_admitted
from tailguard.queries.clip_levels import ContributionLevels, LevelGradients
from tailguard.queries.histograms import Bins, ColumnHistograms, WhitenedHistogram
from tailguard.queries.second_moments import SecondMoments
from tailguard.queries.units import Units
from tailguard.queries.view import View, Weighting

LOSSES = {"squared": Squared(), "logistic": Logistic(), "poisson": Poisson(), "none": None}
WEIGHTINGS = (
    Weighting(),
    Weighting(kind="curvature", slope_limit=2.0, half_step=0.5, bound=1.0),
)
GRID = 2.0**-30
# What rows are multiplied by, with each loss that has it.
READ = [(loss, times) for loss in LOSSES for times in ("one", "slope")]
READ += [(loss, "root curvature") for loss in ("logistic", "poisson")]


def make_view(rng, loss, n_features=3, *, intercept=True, target_in_row=False, times="one"):
    """A view in odd units through a map, and weights."""
    height = n_features + intercept + target_in_row
    units = Units(
        rng.standard_normal(n_features), 1.0 / rng.uniform(0.5, 2.0, n_features), intercept,
        0.25, 2.0, -0.5,
    )  # fmt: skip
    whitening = rng.standard_normal((height, max(1, height - 1)))
    view = View(loss, units, whitening, target_in_row, times=times)
    return view, rng.standard_normal(height)


def make_kernels(view, weights, grid=GRID):
    """One loop of each kind and weighting, with the limit on what a record adds."""
    queries = [ContributionLevels(view, (0.5, 1.5))]
    limits = [1.5**0.5]
    if view.times == "one":
        queries.append(LevelGradients(view, 2.0, (0.5, 1.5), (1.0, 0.4)))
        limits.append(queries[-1].norm_limit)
    for weighting in WEIGHTINGS:
        queries.append(SecondMoments(view, 2.0, 3.0, weighting))
        limits.append(queries[-1].norm_limit)
        for what in ("length", "residual", "slope"):
            bins = Bins("signed", -40.25, 0.5, 41)
            queries.append(WhitenedHistogram(view, what, bins, weighting))
            limits.append(1.0)
    loops = [loop(query, weights, grid) for query in queries]
    return list(zip(loops, limits, strict=True))


RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((3_000, 4)), RNG.standard_normal(3_000)
CENTER, SCALE = np.array([0.5, 0.0, -1.0, 2.0]), np.array([1.0, 2.0, 0.5, 1.0])
MAP, WEIGHTS = RNG.standard_normal((5, 3)), RNG.standard_normal(5)
BLOCK = RecordBlock(X, Y)
S = np.column_stack([(X - CENTER) / SCALE, np.ones(len(X))])
U, SCORE = S @ MAP, S @ WEIGHTS
LENGTH = np.linalg.norm(U, axis=1)


def view_of(loss=None, offset_center=0.0, **options):
    units = Units(CENTER, SCALE, intercept=True, offset_center=offset_center)
    return View(loss or Squared(), units, MAP, **options)


def together(chunks, name):
    """One array of all chunks, each copied before the next is read."""
    return np.concatenate([getattr(chunk, name).T.copy() for chunk in chunks])


def test_features_count_as_within_the_bound_in_rows_and_scores():
    held = np.column_stack([np.clip((X - CENTER) / SCALE, -0.7, 0.7), np.ones(len(X))])
    view = view_of(bound=0.7)
    np.testing.assert_allclose(
        together(view.read(BLOCK, WEIGHTS), "score"), held @ WEIGHTS, atol=1e-12
    )
    lengths = np.linalg.norm(held @ MAP, axis=1)
    np.testing.assert_allclose(together(view.read(BLOCK, WEIGHTS), "length"), lengths, rtol=1e-12)
    with pytest.raises(InputError, match="bound must be"):
        view_of(bound=0.0).weights(WEIGHTS)


def test_a_bound_holds_for_every_number_but_leaves_void_records_void():
    X = np.array([[1e308] * 4, [-1e308] * 4, [5e-324] * 4, [np.inf] * 4, [np.nan] * 4])
    (chunk,) = view_of(bound=2.0).read(RecordBlock(X, np.zeros(5)), WEIGHTS)
    assert chunk.void.tolist() == [False, False, False, True, True]
    extremes = [np.append(sign * 2.0 * np.ones(4), 1.0) @ WEIGHTS for sign in (1.0, -1.0)]
    np.testing.assert_allclose(chunk.score[:2], extremes, rtol=1e-12)


def test_what_is_not_asked_for_is_zero_and_changes_nothing_else():
    (scores,) = view_of().read(BLOCK.rows(0, 9), WEIGHTS, lengths=False)
    (lengths,) = view_of().read(BLOCK.rows(0, 9), WEIGHTS, scores=False)
    np.testing.assert_allclose(scores.score, SCORE[:9], atol=1e-12)
    np.testing.assert_allclose(lengths.length, LENGTH[:9], rtol=1e-12)
    assert scores.mapped.size == 0
    assert not scores.length.any()
    assert not lengths.score.any()


@pytest.mark.parametrize("reach", [0.01, 0.5])
def test_the_curvature_weight_of_a_logistic_score_is_its_variance(reach):
    weighting = Weighting(kind="curvature", slope_limit=1.0, half_step=reach, bound=0.25)
    view, block = view_of(Logistic()), RecordBlock(X, np.ones(len(X)))
    p = 1.0 / (1.0 + np.exp(-SCORE))
    found = (
        np.concatenate([weighting.of(view, chunk) for chunk in view.read(block, WEIGHTS)]) * 0.25
    )
    np.testing.assert_allclose(found, p * (1.0 - p), atol=0.02)


@pytest.mark.parametrize("bound", [0.3, 40.0])
def test_an_expected_curvature_weight_is_that_of_the_loss_within_its_bound(bound):
    loss, weighting = Tweedie(1.5), Weighting(kind="expected-curvature", bound=bound)
    view, block = view_of(loss), RecordBlock(X, np.ones(len(X)))
    found = [weighting.of(view, chunk) for chunk in view.read(block, WEIGHTS)]
    expected = np.minimum(np.exp(0.5 * SCORE) / bound, 1.0)
    np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-9)
    odd = np.array([[1e308, -1e308, 1e308, 1e308], [np.nan, 0.0, 0.0, 0.0], [np.inf, 0, 0, 0]])
    for sign in (1.0, -1.0):
        (chunk,) = view.read(RecordBlock(sign * odd, np.ones(3)), WEIGHTS)
        weight = weighting.of(view, chunk)
        assert (weight[1:] == 0.0).all()
        assert 0.0 <= weight[0] <= 1.0


def test_histograms_count_every_record_once():
    bins = Bins("octaves", -10.0, 2.0, 40)
    for what in ("length", "residual", "slope"):
        kernel = loop(WhitenedHistogram(view_of(), what, bins), WEIGHTS)
        assert kernel.sum_block(BLOCK).sum() == len(X)
    columns = loop(ColumnHistograms((1, 4), bins, paired=True), (np.zeros(2), np.ones(2)))
    assert columns.sum_block(BLOCK).sum() == 2 * (len(X) // 2)


def test_rows_at_the_ends_of_the_floats_keep_a_direction_or_count_as_zero():
    odd = np.array([[1e308, -1e308, 1e308, 1e308], [5e-324, 0.0, 0.0, 0.0], [np.inf, 0, 0, 0]])
    (chunk,) = view_of().read(RecordBlock(odd, np.zeros(3)), WEIGHTS)
    norms = np.linalg.norm(chunk.mapped * chunk.inverse, axis=0)
    np.testing.assert_allclose(norms, [1.0, 1.0, 0.0], atol=1e-15)
    assert np.isfinite(chunk.length).all()
    assert chunk.length[2] == 0.0
    assert chunk.void.tolist() == [False, False, True]


def test_columns_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="one entry per feature"):
        next(view_of().read(RecordBlock(X[:, :3].copy()), WEIGHTS))
    with pytest.raises(InputError, match="whitening and weights must have 5 rows"):
        view_of().weights(WEIGHTS[:4])
    with pytest.raises(InputError, match="whitening and weights must have 5 rows"):
        view_of().through(MAP[:4]).weights(WEIGHTS[:4])
    with pytest.raises(InputError, match="numbers of at most 1e100"):
        view_of().through(MAP * 1e101).weights(None)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 1.01e100, -1.01e100])
@pytest.mark.parametrize("place", ["whitening", "weights"])
def test_what_no_record_is_read_through_is_refused(place, wrong):
    view, weights = make_view(np.random.default_rng(0), LOSSES["squared"])
    (view.whitening if place == "whitening" else weights)[-1] = wrong
    with pytest.raises(InputError, match="numbers of at most 1e100"):
        view.weights(weights)
    assert not view.reads(weights)
    assert view.reads() is (place == "weights")


@pytest.mark.parametrize("center", [0.0, 0.7, -3.0])
def test_absent_offsets_are_zeros(center):
    exposed = RecordBlock(X, Y, np.zeros(len(X)))
    view = view_of(offset_center=center)
    scores = [together(view.read(block, WEIGHTS), "score") for block in (BLOCK, exposed)]
    np.testing.assert_array_equal(*scores)
    np.testing.assert_allclose(scores[0], SCORE - center, atol=1e-12)


@pytest.mark.parametrize(("name", "value"), [("width", 50), ("_map", np.full((1, 1), np.inf))])
def test_what_follows_from_a_view_is_not_taken_from_what_it_was_given(name, value):
    """A stored width would repeat an answer 50 times at the charge of one."""
    view = View.plain(None, Units.raw(1, intercept=False))
    vars(view)[name] = value
    with pytest.raises(QueryError, match="only the fields of View"):
        check_admitted(LevelGradients(view, 1.0, (1.0,)))


def make_block(data, n_features, dtype=np.float64):
    with np.errstate(over="ignore"):
        features = np.ascontiguousarray(data[:, :n_features]).astype(dtype)
    return RecordBlock(features, data[:, n_features].copy(), data[:, n_features + 1].copy())


@np.errstate(all="ignore")
def plainly_read(view, weights, block):
    """Return directions, lengths, scores and targets by their definition."""
    units = view.units
    target = (block.target - units.target_center) / units.target_scale
    offset = block.offset - units.offset_center
    row = (block.features.astype(np.float64) - units.center) * (1.0 / units.scale)
    row = np.column_stack([row] + [np.ones(len(row))] * units.intercept)
    row = np.column_stack([row] + [target] * view.target_in_row)
    row = np.clip(np.nan_to_num(row, nan=0.0), -1e150, 1e150)
    row[block.void()] = 0.0
    largest = np.abs(row).max(axis=1)
    mapped = row / np.where(largest > 0.0, largest, 1.0)[:, None]
    u = mapped @ view.whitening
    norm = np.linalg.norm(u, axis=1)
    direction = u / np.where(norm > 0.0, norm, 1.0)[:, None]
    return direction, largest * norm, largest * (mapped @ weights) + offset, target


@np.errstate(all="ignore")
def plainly_summed(kernel, block):
    """Return the kernel's sum, in floats, by its definition."""
    query, void = kernel.query, block.void()
    view = query.view
    direction, length, score, target = plainly_read(view, kernel.state, block)

    def slope(at, limit):
        value = np.ones(at.size) if view.loss is None else view.loss.slope(at, target)
        return np.clip(np.where(np.isnan(value) | void, 0.0, value), -limit, limit)

    times = "slope" if isinstance(query, ContributionLevels) else view.times
    if times != "one":
        factor = slope(score, np.inf)
        if times == "root curvature":
            factor = np.where(void, 0.0, np.sqrt(view.loss.expected_curvature(score)))
        length = np.nan_to_num(length * np.abs(factor), nan=0.0, posinf=np.inf)
        direction = direction * np.copysign(1.0, factor)[:, None]
    if isinstance(query, ContributionLevels):
        reached = np.stack([np.minimum(length, level) for level in (0.0, *query.levels)])
        steps = np.diff(reached, axis=0) / query.level_units[:, None]
        return (steps @ direction).ravel()
    if isinstance(query, LevelGradients):
        row = direction * np.minimum(length, query.row_limit)[:, None]
        cut = np.stack([slope(score, level) for level in (1e-300, *query.levels)])
        steps = np.diff(cut, axis=0) / np.diff([0.0, *query.levels])[:, None]
        return (np.array(query.shares)[:, None] * (steps @ row)).ravel()
    kind, limit = query.weighting.kind, query.weighting.slope_limit
    weight = 1.0 - void
    if kind == "curvature":
        reach, bound = query.weighting.half_step, query.weighting.bound
        rise = (slope(score + reach, limit) - slope(score - reach, limit)) / (2.0 * reach)
        weight = np.clip(rise / bound, 0.0, 1.0)
    if isinstance(query, SecondMoments):
        weight *= np.minimum(length, query.row_limit) * np.minimum(length, query.row_cap)
        moments = np.einsum("i,ij,ik->jk", weight, direction, direction)
        packed = np.where(np.eye(len(moments)) > 0.0, 1.0, np.sqrt(2.0)) * moments
        return packed[np.triu_indices(len(moments))]
    values = {"length": length, "residual": score - target, "slope": slope(score, np.inf)}
    return np.bincount(query.bins.index(values[query.what]), weight, kernel.size)


@pytest.mark.parametrize(("loss", "times"), READ)
@pytest.mark.parametrize(("intercept", "target_in_row"), [(True, False), (False, True)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_sums_agree_with_plain_numpy(loss, intercept, target_in_row, times, dtype):
    rng = np.random.default_rng(1)
    for n_features in (1, 3, 11):
        view = make_view(
            rng, LOSSES[loss], n_features, intercept=intercept, target_in_row=target_in_row,
            times=times,
        )  # fmt: skip
        for data in (
            rng.standard_normal((1100, n_features + 2)),
            records(rng, 1100, n_features + 2),
        ):
            block = make_block(data, n_features, dtype)
            for kernel, limit in make_kernels(*view):
                found = kernel.sum_block(block) * GRID
                plain = plainly_summed(kernel, block)
                assert np.abs(found - plain).max() <= 1e-7 * limit


@pytest.mark.long
@pytest.mark.parametrize(
    ("loss", "times"), [read for read in READ if read[0] in ("squared", "poisson")]
)
@pytest.mark.parametrize("target_in_row", [False, True])
def test_no_record_contributes_more_than_its_limit(loss, target_in_row, times):
    rng = np.random.default_rng(2)
    view = make_view(rng, LOSSES[loss], target_in_row=target_in_row, times=times)
    grid = 2.0**-45
    kernels = make_kernels(*view, grid)
    largest = dict.fromkeys(range(len(kernels)), 0.0)
    # Rounding to the lattice moves each coordinate by half a unit at most.
    allowed = [Fraction(most) / Fraction(grid) + Fraction(k.size, 2) for k, most in kernels]
    most_squared = [floor(each**2) for each in allowed]
    for record in records(rng, 250, 5):
        for dtype in (np.float32, np.float64):
            block = make_block(record[None, :], 3, dtype)
            for place, (kernel, limit) in enumerate(kernels):
                units = [int(unit) for unit in kernel.sum_block(block)]
                assert sum(unit**2 for unit in units) <= most_squared[place]
                assert not block.void()[0] or not any(units)
                norm = np.linalg.norm(np.array(units, dtype=float)) * grid
                largest[place] = max(largest[place], norm / limit)
    assert min(largest.values()) > 0.8


def plain_ladder(view, weights, limit):
    """One level, counted in ``2**40`` steps to the limit."""
    return loop(LevelGradients(view, limit, (1.0,), (1.0,)), weights, limit * 2.0**-40)


@pytest.mark.parametrize("factor", [1.0, 1e99, 1e-160])
@pytest.mark.parametrize("limit", [1e-205, 1e-150, 1.0, 1e150])
def test_tiny_and_huge_maps_and_limits_hold_as_well(factor, limit):
    rng = np.random.default_rng(3)
    view, weights = make_view(rng, Squared(), 2, intercept=False)
    ladder = plain_ladder(view.through(view.whitening * factor), weights, limit)
    for record in records(rng, 400, 4):
        units = ladder.sum_block(make_block(record[None, :], 2))
        assert np.linalg.norm(units.astype(float)) <= 2.0**40 + ladder.size


@pytest.mark.parametrize("factor", [1.0, 1e99, 1e-80])
@pytest.mark.parametrize("size", [1e-200, 1e-60, 1.0, 1e60, 1e140])
def test_a_row_of_any_size_counts_in_its_direction(size, factor):
    rng = np.random.default_rng(4)
    view, weights = make_view(rng, None, intercept=False)
    view = replace(view, units=replace(view.units, center=np.zeros(3)))
    x = rng.standard_normal((1, 3))
    u = ((x / view.units.scale) @ view.whitening)[0]
    scaled = replace(view, whitening=view.whitening * factor)
    ladder = plain_ladder(scaled, weights, 1e-3 * size * factor)
    units = ladder.sum_block(RecordBlock(size * x))
    np.testing.assert_allclose(units * 2.0**-40, u / np.linalg.norm(u), atol=1e-9)


def test_a_missing_target_and_offset_count_as_zero():
    rng = np.random.default_rng(7)
    view, weights = make_view(rng, Squared())
    units = replace(view.units, target_center=0.0, offset_center=0.0)
    X = rng.standard_normal((50, 3))
    for kernel, _ in make_kernels(replace(view, units=units), weights):
        zeros = kernel.sum_block(RecordBlock(X, np.zeros(50), np.zeros(50)))
        np.testing.assert_array_equal(kernel.sum_block(RecordBlock(X)), zeros)


def test_slopes_are_not_counted_twice():
    view = make_view(np.random.default_rng(8), Squared(), times="slope")
    with pytest.raises(InputError, match="which keeps rows as they are"):
        plain_ladder(*view, 1.0)
