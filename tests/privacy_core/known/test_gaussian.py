"""The closed forms on a grid, with what they refuse."""

import math

import pytest

from support.known import outcome
from tailguard.privacy.accounting import gaussian

MUS = (0.0, 1e-200, 1e-9, 0.003, 0.00999, 0.01, 0.0101, 0.3, 1.0, 4.0, 60.0, math.inf)
EPSILONS = (0.0, 1e-12, 0.004, 0.045, 0.5, 1.0, 8.0, 90.0, math.inf)
DELTAS = (0.999, 0.3, 1e-3, 1e-6, 1e-12, 1e-40)
BAD = (-1e-9, math.nan, "1", None, True, 1.0, 0.0)


@pytest.mark.parametrize("mu", MUS)
def test_delta(known, mu):
    known([[gaussian.log_delta(mu, e), gaussian.delta_of(mu, e)] for e in EPSILONS])


@pytest.mark.parametrize("mu", MUS)
def test_epsilon(known, mu):
    known([gaussian.epsilon_of(mu, delta) for delta in DELTAS])


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_mu(known, epsilon):
    known([gaussian.mu_of(epsilon, delta) for delta in DELTAS])


@pytest.mark.parametrize("x", [0.0, 1.0, 9e3, 1e4, 1.0001e4, 1e6])
def test_slope_of_mills_ratio(known, x):
    known(gaussian._mills_drop(x), rel=1e-9)


@pytest.mark.parametrize("x", [math.nextafter(1e4, 2e4), 1.5e4, 3e4, 1e9])
def test_the_slope_of_mills_ratio_is_its_bound_far_out(x):
    """Where the other formula has lost half of its digits."""
    assert gaussian._mills_drop(x) == pytest.approx(1.0 / (1.0 + x * x), rel=1e-15, abs=0.0)


def test_refusals(known):
    calls = (gaussian.log_delta, gaussian.delta_of, gaussian.epsilon_of, gaussian.mu_of)
    known([[outcome(call, bad, 0.5), outcome(call, 0.5, bad)] for call in calls for bad in BAD])
