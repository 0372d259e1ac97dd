"""What the contract of losses cannot know: exact values, constants, ranges of parameters."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import norm

import tailguard as tg
from support.registered import examples_of
from tailguard.checks import InputError
from tailguard.losses import (
    Huber,
    Logistic,
    LpLoss,
    Multinomial,
    Poisson,
    PseudoHuber,
    Quantile,
    Squared,
    make_loss,
)
from tailguard.losses.registry import LOSSES, RECORD_LOSSES

LOG_3, LOG_5 = math.log(3), math.log(5)
# Loss, scores, targets, values, slopes; worked out by hand.
EXACT = [
    (Squared(), [3.0, -1.0, 2.0], [1.0, 0.5, 2.0], [2.0, 1.125, 0.0], [2.0, -1.5, 0.0]),
    (Huber(2.0), [-5.0, -2.0, 1.0, 5.0], 0.0, [8.0, 2.0, 0.5, 8.0], [-2.0, -2.0, 1.0, 2.0]),
    (PseudoHuber(3.0), [4.0, -4.0, 0.0], 0.0, [6.0, 6.0, 0.0], [2.4, -2.4, 0.0]),
    (PseudoHuber(1.0), [1e-9], 0.0, [0.5e-18], [1e-9]),  # no digit is lost
    (LpLoss(4), [3.0, -1.0], [1.0, 0.0], [16.0, 1.0], [32.0, -4.0]),
    (LpLoss(3), [-2.0], [0.0], [8.0], [-12.0]),
    (LpLoss(2), [-3.0, 0.5], 0.0, [9.0, 0.25], [-6.0, 1.0]),
    (Quantile(0.3, 0.1), [-4.0, 5.0], 0.0, [1.2, 3.5], [-0.3, 0.7]),
    (Poisson(), [0.0, LOG_5, LOG_5], [2.0, 5.0, 0.0], [1.0, 5 - 5 * LOG_5, 5.0], [-1.0, 0.0, 5.0]),
    (Logistic(), [0.0, LOG_3, LOG_3], [1.0, 1.0, 0.0], np.log([2, 4 / 3, 4]), [-0.5, -0.25, 0.75]),
    (Logistic(), [40.0, -40.0], [1.0, 0.0], [math.exp(-40)] * 2, [-math.exp(-40), math.exp(-40)]),
]


@pytest.mark.parametrize(("loss", "score", "target", "values", "slopes"), EXACT, ids=repr)
def test_exact_values(loss, score, target, values, slopes):
    assert_allclose(loss.value(score, target), values, rtol=1e-12)
    assert_allclose(loss.slope(score, target), slopes, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("loss", "score", "target", "slopes"),
    [
        (Squared(), [1e308, -1e308], [-1e308, 1e308], [np.inf, -np.inf]),
        (PseudoHuber(0.5), [1e308, 1e200, -1e308], [-1e308, 0.0, 1e308], [0.5, 0.5, -0.5]),
        (Logistic(), [1e308, -1e308], [0.0, 1.0], [1.0, -1.0]),
        (Poisson(), [710.0, 1e308], 0.0, [math.exp(500)] * 2),
    ],
    ids=repr,
)
def test_slopes_at_the_ends_of_the_floats(loss, score, target, slopes):
    assert_allclose(loss.slope(score, target), slopes, rtol=1e-15)


@pytest.mark.parametrize(
    ("loss", "clip_norm", "row_bound", "bound"),
    [
        (Squared(), 0.1, 12.0, 144.0),
        (Huber(), 0.1, 12.0, 144.0),
        (Quantile(0.9, 0.25), 1.0, 3.0, 18.0),
        (LpLoss(2), 1.0, 5.0, 50.0),
        (LpLoss(4), 0.5, 8.0, 12 * (0.5 / 4) ** (2 / 3) * 8.0 ** (4 / 3)),
        (Logistic(), 5.0, 2.0, 1.0),
        (Logistic(), 1.0, 2.0, 1.0),
        (Logistic(), 1.0, 10.0, 9.0),
        (Poisson(), 1.0, 1.0, math.inf),
    ],
    ids=repr,
)
def test_curvature_that_clipping_leaves(loss, clip_norm, row_bound, bound):
    assert loss.clipped_curvature_bound(clip_norm, row_bound) == pytest.approx(bound, rel=1e-14)


def test_the_power_decides_whether_curvature_has_a_bound():
    assert [LpLoss(p).curvature_bound() for p in (2, 2.01)] == [2.0, math.inf]
    assert LpLoss(p=4) == LpLoss(p=4.0) == LpLoss()


def test_the_default_threshold_keeps_most_of_the_efficiency_under_gaussian_noise():
    """Efficiency E[slope']**2 / E[slope**2] is 0.95 at threshold 1.345 (Huber 1964)."""
    residual = np.linspace(-9, 9, 20001)
    density = np.exp(-(residual**2) / 2)
    density /= density.sum()
    curvature = density[np.abs(residual) <= 1.345].sum()
    variance = (Huber().slope(residual, 0.0) ** 2 * density).sum()
    assert_allclose(curvature**2 / variance, 0.95, atol=2e-4)


def test_the_quantile_loss_is_the_pinball_loss_averaged_over_the_window():
    level, width = 0.8, 0.5

    def pinball(residual):
        return (1 - level) * residual if residual > 0 else -level * residual

    for residual in (-2.0, -0.5, -0.3, 0.0, 0.2, 0.5, 3.0):
        ends = (residual - width, residual + width)
        total, _ = quad(pinball, *ends, points=[0.0] if min(ends) < 0 else None)
        found = Quantile(level, width).value(residual, 0.0)
        assert_allclose(found, total / (2 * width), atol=1e-9)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_smoothing_moves_a_gaussian_quantile_by_little(level):
    targets = norm.ppf((np.arange(20000) + 0.5) / 20000)
    truth = norm.ppf(level)
    loss = Quantile(level)
    assert loss.slope(truth - 0.01, targets).mean() < 0 < loss.slope(truth + 0.01, targets).mean()


def test_beyond_the_largest_exponent_counts_go_on_along_the_tangent():
    start, rise = Poisson().value([500.0, 502.0], 0.0)
    assert_allclose(rise, 3 * start)


@pytest.mark.parametrize(
    ("loss", "valid"),
    [
        (Squared(), [True, True, True, True, True, True]),
        (Poisson(), [True, True, True, True, False, False]),
        (Logistic(), [True, True, False, False, False, False]),
    ],
    ids=repr,
)
def test_which_targets_are_valid(loss, valid):
    assert_array_equal(loss.valid_target([0.0, 1.0, 0.5, 3.0, -1.0, -1e-9]), valid)


WIDTH = r"must be a number from 1e-100 to 1e\+100; got"
POWERS = (1.9, 16.1, 900, 10**400, -4, np.inf, np.nan, "4", True, None)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        *((lambda p=p: LpLoss(p=p), "p must be a number from 2 to 16; got") for p in POWERS),
        *((lambda t=t: Huber(t), f"threshold {WIDTH}") for t in (0.0, -1.0, 1e308, np.nan, "2")),
        *((lambda t=t: PseudoHuber(t), f"threshold {WIDTH}") for t in (0, 1e-300, np.inf)),
        *((lambda w=w: Quantile(width=w), f"width {WIDTH}") for w in (0.0, 1e-300, 1e300)),
        *((lambda v=v: Quantile(level=v), "level must be a .* between 0 and 1") for v in (0.0, 1)),
        (lambda: make_loss("hinge"), r"name must be one of .*'huber', .*; got 'hinge'"),
    ],
)
def test_parameters_out_of_range_are_refused(build, words):
    with pytest.raises(InputError, match=words):
        build()


def test_losses_are_made_by_name_with_their_parameters():
    assert make_loss("quantile", level=0.9) == Quantile(level=0.9)
    assert make_loss("multinomial", n_classes=3) == Multinomial(3)
    with pytest.raises(TypeError, match="treshold"):
        make_loss("huber", treshold=1.0)


@pytest.mark.parametrize("name", sorted(LOSSES | RECORD_LOSSES))
def test_labels_are_the_first_so_many_whole_numbers(name):
    loss = examples_of({name: (LOSSES | RECORD_LOSSES)[name]})[name][0]
    valid = loss.valid_target(np.array([0.0, 1.0, 2.0, 3.0, 0.5]))
    counted = int(np.argmin(valid)) if not valid[3] else None
    assert loss.n_classes == counted


def test_a_loss_of_somebodys_own_is_refused_before_it_is_asked_for_anything():
    class Own:
        def valid_target(self, target):
            raise AssertionError

    with pytest.raises(InputError, match=r"loss must be one of tg\.losses"):
        tg.minimize(Own(), np.zeros((50, 1)), np.zeros(50), epsilon=1.0, delta=1e-6)
