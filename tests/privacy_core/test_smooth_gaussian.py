"""Gaussian noise on a smooth scale: the bound on delta, against the exact one."""

import math

import numpy as np
import pytest
from scipy.stats import ncx2

from tailguard.checks import InputError
from tailguard.privacy.events import Approximate
from tailguard.privacy.smooth_gaussian import (
    delta_of_smooth_gaussian,
    smooth_gaussian_constants,
    smooth_gaussian_event,
)


def exact_delta(log_scale, shift, size, epsilon):
    """Delta of N(0, I) from N(a, exp(log_scale)^2 I): the loss is a quadratic in the noise.

    The centre a is ``shift`` smaller scales away.
    """
    shift *= min(1.0, math.exp(log_scale))
    variance = math.exp(2.0 * log_scale)
    curvature = 1.0 / variance - 1.0
    # loss = size * log_scale + (|z - a|^2 / variance - |z|^2) / 2, completed to a square.
    center = shift / variance / curvature
    constant = size * log_scale + shift**2 / (2.0 * variance) - curvature * center**2 / 2.0
    radius = 2.0 * (epsilon - constant) / curvature
    law = (ncx2.sf, ncx2.cdf)[int(curvature < 0)]
    if radius <= 0:
        inside = float(curvature > 0)
        return max(0.0, inside - math.exp(epsilon) * inside)
    first = law(radius, size, center**2)
    second = law(radius / variance, size, (center - shift) ** 2 / variance)
    return first - math.exp(epsilon) * second


@pytest.mark.parametrize("size", [1, 2, 5, 10, 50])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (5.0, 1e-6)])
def test_the_calibrated_constants_keep_the_exact_delta(size, epsilon, delta):
    smoothness, shift = smooth_gaussian_constants(epsilon, delta, size)
    rng = np.random.default_rng(1)
    corners = [(sign * smoothness, shift) for sign in (1, -1)]
    inside = [
        (sign * u * smoothness, v * shift)
        for u, v in rng.uniform(0.05, 1.0, size=(20, 2))
        for sign in (1, -1)
    ]
    exact = [exact_delta(b, g, size, epsilon) for b, g in corners + inside]
    assert max(exact) <= delta
    assert max(exact) >= 0.001 * delta  # the bound gives some of it away, and not all


def test_the_bound_is_never_below_the_exact_delta():
    rng = np.random.default_rng(2)
    for _ in range(200):
        size, epsilon = int(rng.integers(1, 20)), rng.uniform(0.0, 5.0)
        smoothness, shift = rng.uniform(0.01, 0.5), rng.uniform(0.02, 2.0)
        bound = delta_of_smooth_gaussian(smoothness, shift, size, epsilon)
        for sign in (1, -1):
            assert exact_delta(sign * smoothness, shift, size, epsilon) <= bound


def test_the_factor_over_the_printed_constants():
    # The exact delta of the worst pair would allow 2.403, 2.421, 2.513, 2.705 and 3.854.
    factors = [
        smooth_gaussian_constants(1.0, 1e-5, d)[1]
        / smooth_gaussian_constants(1.0, 1e-5, d, "published")[1]
        for d in (1, 2, 5, 10, 50)
    ]
    assert np.round(factors, 2).tolist() == [2.28, 2.18, 2.15, 2.23, 2.95]


def test_the_printed_constants():
    assert smooth_gaussian_constants(1.0, 1e-5, 2, "published") == pytest.approx(
        (0.0175981079527, 0.0404787434565), rel=1e-11
    )
    assert smooth_gaussian_constants(1.0, 1e-5, 10, "published")[0] == pytest.approx(
        0.0112581816691, rel=1e-11
    )


@pytest.mark.parametrize("calibration", ["tight", "published"])
@pytest.mark.parametrize(
    ("epsilon", "delta", "size"), [(0.01, 1e-9, 3), (1.0, 1e-5, 1), (30.0, 1e-6, 40)]
)
def test_the_recomputed_event_costs_no_more_than_was_asked(epsilon, delta, size, calibration):
    smoothness, shift = smooth_gaussian_constants(epsilon, delta, size, calibration)
    public = {"smoothness": smoothness, "shift": shift, "coordinates": size, "delta": delta}
    event = smooth_gaussian_event(public)
    assert isinstance(event, Approximate)
    assert event.delta == delta
    assert event.epsilon <= epsilon
    assert event.epsilon >= (0.99999 if calibration == "tight" else 0.2) * epsilon
    assert delta_of_smooth_gaussian(smoothness, shift, size, event.epsilon) <= delta


def test_nothing_is_proved_where_nothing_is():
    assert delta_of_smooth_gaussian(0.5, 50.0, 3, 1.0) == 1.0
    assert 0.0 < delta_of_smooth_gaussian(0.5, 1.0, 3, 1e4) <= 1.0
    for wrong in ({"shift": -1.0}, {"delta": 0.0}, {"coordinates": None}):
        public = {"smoothness": 0.1, "shift": 0.1, "coordinates": 2, "delta": 1e-6, **wrong}
        with pytest.raises(InputError):
            smooth_gaussian_event(public)
