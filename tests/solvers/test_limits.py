"""Public limits: right orders of magnitude for every loss, and growing with the budget."""

import math

import pytest

import tailguard as tg
from tailguard.losses.registry import LOSSES, make_loss
from tailguard.plans.problem import Problem
from tailguard.solvers.limits import centre_fraction, choose_limits, typical_curvature

OPEN = {"iterate": "tail", "n_steps": None, "row_limit": None, "slope_limit": None}


def limits(loss, n_rows=100_000, n_features=10, mu=0.2, **options):
    problem = Problem(loss, n_rows, n_features, intercept=True)
    return choose_limits(problem, mu, **(OPEN | options))


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


@pytest.mark.parametrize("name", LOSSES)
def test_limits_are_finite_and_positive_for_every_loss(name):
    chosen = limits(make_loss(name))
    numbers = (chosen.n_steps, chosen.step_size, chosen.row_limit, chosen.slope_limit)
    assert all(math.isfinite(number) and number > 0 for number in numbers)
    assert chosen.slope_limit <= make_loss(name).slope_bound()


@pytest.mark.parametrize("level", [0.05, 0.5, 0.9])
def test_quantile_losses_are_centred_at_their_quantile(level):
    assert centre_fraction(tg.losses.Quantile(level)) == pytest.approx(level)


def test_more_rows_allow_more_steps():
    squared = tg.losses.Squared()
    counts = [limits(squared, n_rows=10**power).n_steps for power in (2, 3, 5, 9)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_more_rows_clip_less_until_the_largest_limit():
    squared = tg.losses.Squared()
    slopes = [limits(squared, n_rows=10**power).slope_limit for power in (2, 4, 5, 9)]
    assert slopes == sorted(slopes)
    assert slopes[0] == 2.0
    assert slopes[-1] == 20.0


def test_a_stated_number_is_kept():
    chosen = limits(tg.losses.Squared(), n_steps=7, row_limit=1.5, slope_limit=2.5)
    assert (chosen.n_steps, chosen.row_limit, chosen.slope_limit) == (7, 1.5, 2.5)
    assert chosen.step_size == pytest.approx(1 / 1.5**2)


def test_the_quartic_slope_stops_where_its_curvature_runs_away():
    assert limits(tg.losses.LpLoss(4)).slope_limit == pytest.approx(32.0, rel=0.05)
