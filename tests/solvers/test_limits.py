"""Public numbers: curvatures and centres of losses, and the limits of hard thresholding."""

import pytest

import tailguard as tg
from tailguard.gate.plan import Problem
from tailguard.solvers.limits import (
    centre_fraction,
    choose_sparse_limits,
    typical_curvature,
    typical_slope,
)

RATIO = 1.0 / 14.0


@pytest.mark.parametrize(
    ("loss", "curvature"),
    [
        (tg.losses.Squared(), 1.0),
        (tg.losses.LpLoss(4), 12.0),  # E 12 r^2
        (tg.losses.Logistic(), 0.2066),  # E p (1 - p) at a standard normal score
        (tg.losses.Poisson(), 1.0),
        (tg.losses.Quantile(0.9, width=1e-3), 0.1755),  # normal density at its 0.9-quantile
    ],
)
def test_typical_curvature_is_the_mean_second_derivative(loss, curvature):
    assert typical_curvature(loss) == pytest.approx(curvature, rel=5e-3)


@pytest.mark.parametrize("level", [0.05, 0.5, 0.9])
def test_quantile_losses_are_centred_at_their_quantile(level):
    assert centre_fraction(tg.losses.Quantile(level)) == pytest.approx(level)


def problem(n_rows=20_000, n_features=1000, loss=None):
    return Problem(loss or tg.losses.Squared(), n_rows, n_features)


def test_more_records_allow_more_steps_and_a_higher_threshold():
    found = [
        choose_sparse_limits(problem(n), RATIO, 5) for n in (2_000, 20_000, 200_000, 2 * 10**6)
    ]
    steps, thresholds = [f.n_steps for f in found], [f.threshold for f in found]
    assert steps == sorted(steps)
    assert thresholds == sorted(thresholds)
    assert steps[0] < steps[-1]
    noises = [f.largest_noise for f in found]
    assert noises == sorted(noises, reverse=True)


def test_a_scale_of_the_loss_scales_the_threshold_and_not_the_steps():
    wide, narrow = (
        choose_sparse_limits(problem(loss=tg.losses.Huber(width)), RATIO, 5) for width in (9.0, 0.1)
    )
    assert narrow.threshold < wide.threshold
    assert narrow.n_steps == wide.n_steps
    squared = choose_sparse_limits(problem(), RATIO, 5)
    assert wide.threshold == pytest.approx(squared.threshold, rel=1e-6)
    assert typical_slope(tg.losses.Huber(9.0)) == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("n_rows", [1, 3, 60])
def test_few_records_are_one_block(n_rows):
    assert choose_sparse_limits(problem(n_rows), RATIO, 5).n_steps == 1


def test_what_is_stated_is_taken():
    found = choose_sparse_limits(problem(), RATIO, 5, n_steps=7, threshold=2.5, step_size=0.125)
    assert (found.n_steps, found.threshold, found.step_size) == (7, 2.5, 0.125)
