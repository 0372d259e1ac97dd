"""What every loss promises, checked for every line of the registries."""

import math
import pickle
import warnings
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from support.registered import examples_of
from tailguard.losses import Loss, RecordLoss
from tailguard.losses.registry import LOSSES, RECORD_LOSSES

SCORE_EXAMPLES, RECORD_EXAMPLES = examples_of(LOSSES), examples_of(RECORD_LOSSES)
SCORE_LOSSES = [loss for losses in SCORE_EXAMPLES.values() for loss in losses]
RECORD_LOSS_LIST = [loss for losses in RECORD_EXAMPLES.values() for loss in losses]

EXTREMES = [0.0, 5e-324, 1e-300, 1.0, 709.0, 711.0, 1e10, 1e154, 1e200, 1e308, 1.7e308]
GRID = np.linspace(-6, 6, 1201)


def targets_of(loss):
    """Targets of every kind, of which a loss understands some."""
    targets = np.array([-2.0, 0.0, 0.5, 0.7, 1.0, 3.0, 7.0])
    return targets[loss.valid_target(targets)].tolist()


@cache
def perfect_score(loss, target):
    """Where the slope is zero, or as good as zero at the end of a wide line."""
    low, high = -800.0, 800.0
    for _ in range(200):
        middle = (low + high) / 2.0
        low, high = (middle, high) if loss.slope(middle, target) < 0.0 else (low, middle)
    return high


def extreme_cases(loss):
    """Pairs of a huge or tiny score and a valid target, as two arrays."""
    numbers = np.array([sign * size for size in EXTREMES for sign in (-1, 1)])
    score, target = (a.ravel() for a in np.meshgrid(numbers, numbers))
    valid = loss.valid_target(target)
    return score[valid], target[valid]


each_loss = pytest.mark.parametrize(
    "loss", SCORE_LOSSES, ids=lambda loss: repr(loss).split(" at 0x")[0]
)
each_record_loss = pytest.mark.parametrize("loss", RECORD_LOSS_LIST, ids=lambda loss: loss.name)


@pytest.mark.parametrize(
    ("name", "loss"),
    [(name, loss) for name, losses in SCORE_EXAMPLES.items() for loss in losses],
    ids=lambda part: part if isinstance(part, str) else repr(part),
)
def test_registry_name_leads_to_the_class(name, loss):
    assert isinstance(loss, Loss)
    assert loss.name == name
    assert LOSSES[name] == f"{type(loss).__module__}:{type(loss).__name__}"


@each_loss
def test_link_says_what_may_be_done_to_targets(loss):
    """Shifts of both leave a residual alone; a scale of a count is a shift of its logarithm."""
    for target in targets_of(loss):
        slope = loss.slope(GRID, target)
        if loss.link.residual:
            assert_allclose(loss.slope(GRID + 64.0, target + 64.0), slope, rtol=1e-9, atol=1e-9)
            assert_allclose(loss.mean(GRID), GRID)
        if loss.link.log:
            scaled = loss.slope(GRID + math.log(8.0), 8.0 * target)  # of a count 8 times, or alike
            assert_allclose(scaled, scaled[0] / slope[0] * slope, rtol=1e-7, atol=1e-9)
            assert_allclose(loss.mean(GRID), np.exp(GRID))
    if not loss.link.scaled:
        assert loss.n_classes == 2
        assert_array_equal(loss.valid_target(np.arange(-4.0, 9.0) / 2.0).sum(), 2)
        assert_allclose(np.log(loss.mean(GRID) / loss.mean(-GRID)), GRID, atol=1e-9)


@each_loss
def test_a_canonical_slope_is_the_expected_target_less_the_target_and_no_other_is(loss):
    """The default method takes mean targets and curvatures of likelihoods from that."""
    differences = [loss.mean(GRID) - target for target in targets_of(loss)]
    slopes = [loss.slope(GRID, target) for target in targets_of(loss)]
    alike = np.allclose(slopes, differences, rtol=1e-12, atol=1e-12)
    assert alike or not loss.canonical
    if not loss.link.residual:  # of others nobody asks
        assert loss.canonical == alike


@each_loss
def test_slope_and_curvature_follow_the_power_of_the_variance(loss):
    """The default method reads curvatures from expected targets and slopes."""
    if (power := loss.variance_power) is None:
        return
    assert 1.0 <= power <= 2.0
    assert loss.link.log
    assert loss.quasi_likelihood
    mean, step = loss.mean(GRID), 1e-6
    expected = loss.expected_curvature(GRID)
    assert_allclose(expected, mean ** (2.0 - power), rtol=1e-12)
    for target in targets_of(loss):
        slope = loss.slope(GRID, target)
        assert_allclose(slope, (mean - target) * mean ** (1.0 - power), rtol=1e-9, atol=1e-12)
        rise = (loss.slope(GRID + step, target) - loss.slope(GRID - step, target)) / (2.0 * step)
        assert_allclose(rise, expected - (power - 1.0) * slope, rtol=1e-5, atol=1e-6)
        assert (rise >= 0.0).all()


@each_loss
def test_expected_curvature_is_that_of_targets_for_which_the_score_is_right(loss):
    """Slopes of a canonical loss rise alike for all targets; those of others on average."""
    if loss.link.residual:
        return
    step, expected = 1e-6, loss.expected_curvature(GRID)
    targets = np.array(targets_of(loss))[-2:]  # two, of which some mixture has the right mean
    share = (loss.mean(GRID) - targets[0]) / (targets[1] - targets[0])
    apart = np.abs(GRID) > 1e-3  # where a loss of outcomes may have a kink
    rise = sum(
        part * (loss.slope(GRID + step, target) - loss.slope(GRID - step, target)) / (2.0 * step)
        for part, target in zip((1.0 - share, share), targets, strict=True)
    )
    assert_allclose(rise[apart], expected[apart], rtol=1e-4, atol=1e-4 * (1.0 + expected.max()))
    assert (loss.expected_curvature([-800.0, 0.0, 800.0]) >= 0.0).all()
    assert np.isnan(loss.expected_curvature(math.nan))


@each_loss
def test_what_is_narrowed_is_a_loss_of_its_kind(loss):
    assert loss.narrowed(1.0) == loss
    narrowed = loss.narrowed(0.25)
    assert narrowed.link is loss.link
    assert narrowed.slope_bound() == loss.slope_bound()
    assert narrowed.curvature_bound() >= loss.curvature_bound()


@each_loss
def test_slope_is_the_derivative_of_the_value(loss):
    step = 1e-6
    for target in targets_of(loss):
        rise = loss.value(GRID + step, target) - loss.value(GRID - step, target)
        tolerance = 1e-5 * (1 + np.abs(loss.slope(GRID, target)))
        assert (np.abs(rise / (2 * step) - loss.slope(GRID, target)) <= tolerance).all()


@each_loss
def test_value_is_total(loss):
    """A value that overflows, as log(cosh(score)) does from 711 on, is infinite far out.

    Exponentials of a log link are, whatever they are computed by.
    """
    far = np.array([-1e4, -720.0, -50.0, 50.0, 720.0, 1e4])
    step = 1e-4 * np.abs(far)
    for target in [] if loss.link.log else targets_of(loss):
        high, low = loss.value(far + step, target), loss.value(far - step, target)
        overflow = "value overflows at a score for which it is small: rewrite its formula"
        assert np.isfinite([high, low]).all(), overflow
        assert_allclose((high - low) / (2.0 * step), loss.slope(far, target), rtol=1e-4, atol=1e-9)


@each_loss
def test_slope_never_falls(loss):
    grid = np.concatenate([GRID, np.linspace(-800, 800, 1001), [-1e308, 1e308]])
    for target in targets_of(loss):
        slopes = loss.slope(np.sort(grid), target)
        assert (np.diff(slopes) >= -1e-12 * (1 + np.abs(slopes[1:]))).all()


@each_loss
def test_slope_bound_holds_and_is_approached(loss):
    score, target = extreme_cases(loss)
    steepest = np.abs(loss.slope(score, target)).max()
    assert steepest <= loss.slope_bound() * (1 + 1e-15)
    assert steepest >= min(0.999 * loss.slope_bound(), 1e200)


@each_loss
def test_curvature_bound_holds_and_is_approached(loss):
    grid = np.linspace(-40, 40, 80001)
    rates = [np.diff(loss.slope(grid, target)) / np.diff(grid) for target in targets_of(loss)]
    steepest = max(rate.max() for rate in rates)
    assert steepest <= loss.curvature_bound() * (1 + 1e-9)
    assert steepest >= min(0.99 * loss.curvature_bound(), 20.0)


@pytest.mark.parametrize("row_bound", [0.1, 1.0, 12.0, 100.0])
@pytest.mark.parametrize("clip_norm", [0.01, 1.0, 30.0])
@each_loss
def test_clipped_curvature_bound_holds_and_is_attained(loss, clip_norm, row_bound):
    """The gradient of a clipped record, as a function of the weight along its row."""
    bound = loss.clipped_curvature_bound(clip_norm, row_bound)
    if math.isinf(bound):  # refused, which only a loss without any bound on its curvature may be
        assert math.isinf(loss.curvature_bound())
        return
    steepest = max(
        steepest_clipped_gradient(loss, target, clip_norm, row_length)
        for target in targets_of(loss)
        for row_length in row_bound * np.array([0.01, 0.3, 0.7, 0.9, 1.0])
    )
    assert 0.97 * bound <= steepest <= bound * (1 + 1e-6)


def steepest_clipped_gradient(loss, target, clip_norm, row_length):
    # Fine around the best score and around 0 (where the logistic curves most), and further out.
    around = np.sinh(np.linspace(-12, 12, 8001)) * 1e-3
    best = perfect_score(loss, target)
    score = np.unique(np.concatenate([around, around + best, np.linspace(-40, 40, 20001)]))
    gradient = np.clip(row_length * loss.slope(score, target), -clip_norm, clip_norm)
    # Steps that are lost in the rounding of the target say nothing about the curvature.
    apart = np.diff(score) > 1e-6
    return (np.diff(gradient)[apart] / (np.diff(score)[apart] / row_length)).max()


def test_output_perturbation_refuses_a_loss_only_where_clipping_leaves_it_unbounded():
    """Powers curve without bound too, but not where their clipped gradient still moves."""
    for loss in (*SCORE_EXAMPLES["poisson"], *SCORE_EXAMPLES["tweedie"]):
        assert math.isinf(loss.clipped_curvature_bound(1, 1))
    for loss in (*SCORE_EXAMPLES["lp"], *SCORE_EXAMPLES["gamma"]):
        assert math.isfinite(loss.clipped_curvature_bound(1, 1))


def leans(loss):
    """Whether a residual costs more on one side, so that not the mean is predicted."""
    return loss.link.residual and not np.allclose(loss.slope(-GRID, 0.0), -loss.slope(GRID, 0.0))


@each_loss
def test_perfect_prediction_is_the_minimum(loss):
    for target in targets_of(loss):
        score = perfect_score(loss, target)
        assert_allclose(loss.slope(score, target), 0.0, atol=1e-12)
        assert loss.value(score, target) <= loss.value(GRID, target).min() + 1e-12
        if not leans(loss):
            assert_allclose(loss.mean(score), target, atol=1e-12)


@each_loss
def test_perfect_prediction_holds_for_every_pair(loss):
    """A convex function lies above each of its tangents."""

    @settings(deadline=None, derandomize=True, database=None)
    @given(st.floats(-50, 50), st.floats(-50, 50), st.sampled_from(targets_of(loss)))
    def above_tangent(there, here, target):
        tangent = loss.value(here, target) + loss.slope(here, target) * (there - here)
        scale = 1 + abs(loss.value(here, target)) + abs(tangent)
        assert loss.value(there, target) >= tangent - 1e-12 * scale

    above_tangent()


@each_loss
def test_finite_input_gives_a_slope_that_is_not_nan(loss):
    score, target = extreme_cases(loss)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        slopes = loss.slope(score, target)
        loss.value(score, target)
    assert not np.isnan(slopes).any()


@each_loss
def test_nan_in_gives_nan_out_in_silence(loss):
    score, target = np.array([math.nan, 0.0, math.nan]), np.array([1.0, math.nan, math.nan])
    assert np.isnan(loss.slope(score, target)).all()
    assert np.isnan(loss.value(score, target)).all()


@each_loss
def test_valid_targets_are_finite(loss):
    assert loss.valid_target(np.array(targets_of(loss))).all()
    assert not loss.valid_target([math.nan, math.inf, -math.inf]).any()


@pytest.mark.parametrize(
    "loss", SCORE_LOSSES + RECORD_LOSS_LIST, ids=lambda loss: repr(loss).split(" at 0x")[0]
)
def test_loss_survives_pickling_and_compares_by_parameters(loss):
    twin = pickle.loads(pickle.dumps(loss))
    assert twin == loss
    assert hash(twin) == hash(loss)
    others = [other for other in SCORE_LOSSES + RECORD_LOSS_LIST if other is not loss]
    assert loss not in others


@each_record_loss
def test_record_loss_refuses_output_perturbation(loss):
    assert isinstance(loss, RecordLoss)
    assert loss.clipped_curvature_bound(1.0, 1.0) == math.inf


@each_record_loss
def test_record_gradient_has_one_entry_a_weight(loss):
    size = loss.size(n_features=4)
    gradient = loss.record_gradient(np.zeros(size), np.ones(4), 1.0)
    assert gradient.shape == (size,)


@each_record_loss
def test_record_gradient_of_a_nan_is_not_finite(loss):
    weights = np.zeros(loss.size(n_features=2))
    for features, target in [((math.nan, 1.0), 1.0), ((1.0, 1.0), math.nan)]:
        gradient = loss.record_gradient(weights, np.array(features), target)
        assert not np.isfinite(gradient).all()
    assert_array_equal(loss.valid_target([1.0, math.nan, math.inf]), [True, False, False])
