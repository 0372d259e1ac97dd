"""Gaussian noise on a smooth scale: the bound on delta, against the exact one."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2, ncx2, norm

from tailguard.checks import InputError
from tailguard.privacy.events import Approximate, Unbounded
from tailguard.privacy.smooth_gaussian import (
    delta_of_smooth_gaussian,
    exact_delta_of_smooth_gaussian,
    smooth_gaussian_constants,
    smooth_gaussian_event,
)

# What the card of exact pairs allows over the printed constants, rounded down.
FACTORS = {1: 2.403, 2: 2.421, 5: 2.513, 10: 2.705, 50: 3.854}


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


def integrated_delta(log_scale, shift, size, epsilon):
    """The same by quadrature along the shift; the other coordinates have a chi-square length."""
    shift *= min(1.0, math.exp(log_scale))
    variance, std = math.exp(2.0 * log_scale), math.exp(log_scale)
    curvature = 1.0 / variance - 1.0
    law = (chi2.sf, chi2.cdf)[int(curvature < 0)]

    def missing(z):
        along = size * log_scale + ((z - shift) ** 2 / variance - z**2) / 2.0
        return 2.0 * (epsilon - along) / curvature

    def density(z):
        if size == 1:
            return (curvature * missing(z) < 0.0) * (
                norm.pdf(z) - math.exp(epsilon) * norm.pdf(z, shift, std)
            )
        first, second = law(missing(z), size - 1), law(missing(z) / variance, size - 1)
        return norm.pdf(z) * first - math.exp(epsilon) * norm.pdf(z, shift, std) * second

    ends = np.roots(
        [curvature, -2 * shift / variance, shift**2 / variance - 2 * (epsilon - size * log_scale)]
    )
    real = ends[np.isreal(ends)].real
    cuts = np.unique([*np.linspace(-30.0, 30.0, 61), *real[abs(real) < 30.0]])
    return sum(
        quad(density, *part, epsabs=0.0, epsrel=1e-10, limit=200)[0] for part in pairwise(cuts)
    )


SMALL, MIDDLE, LARGE = (0.1, 1e-6), (1.0, 1e-5), (12.0, 0.1)
OFTEN = [(1, *SMALL), (1, *LARGE), (2, *MIDDLE), (50, *LARGE)]
SELDOM = [
    *((1, *MIDDLE), (2, *SMALL), (2, *LARGE), (50, *SMALL), (50, *MIDDLE)),
    *((1000, *SMALL), (1000, *MIDDLE), (1000, *LARGE)),
]


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@pytest.mark.parametrize(
    ("size", "epsilon", "delta"),
    [*OFTEN, *(pytest.param(*case, marks=pytest.mark.audit) for case in SELDOM)],
)
def test_the_exact_delta_is_what_quadrature_finds(size, epsilon, delta):
    smoothness, shift = smooth_gaussian_constants(epsilon, delta, size, "numerical")
    corners = [integrated_delta(sign * smoothness, shift, size, epsilon) for sign in (1.0, -1.0)]
    found = exact_delta_of_smooth_gaussian(smoothness, shift, size, epsilon)
    # The granted error is one of chances, of which little may be left.
    assert max(corners) <= found <= max(corners) * (1.0 + 1e-5)


@pytest.mark.parametrize("size", FACTORS)
def test_the_numerical_factor_is_that_of_the_worst_corner_rounded_down(size):
    _, printed = smooth_gaussian_constants(1.0, 1e-5, size, "published")
    smoothness, shift = smooth_gaussian_constants(1.0, 1e-5, size, "numerical")
    factor = shift / printed
    assert math.floor(1e3 * factor) / 1e3 == FACTORS[size]
    for c, holds in ((factor, True), (FACTORS[size] + 0.001, False)):
        larger = c / factor
        pairs = [
            exact_delta(sign * larger * smoothness, larger * shift, size, 1.0) for sign in (1, -1)
        ]
        assert bool(max(pairs) <= 1e-5) is holds


@pytest.mark.parametrize("size", [1, 5, 50])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (5.0, 1e-6), (0.2, 0.6), (20.0, 0.1)]
)
def test_no_pair_within_the_box_exceeds_the_numerical_delta(size, epsilon, delta):
    smoothness, shift = smooth_gaussian_constants(epsilon, delta, size, "numerical")
    fine = np.linspace(0.02, 1.0, 50)
    for part in (1.0, 0.9, 0.5, 0.1):
        pairs = [
            exact_delta(sign * u * smoothness, part * shift, size, epsilon)
            for u in fine
            for sign in (1, -1)
        ]
        assert max(pairs) <= delta
        if part == 1.0:
            assert max(pairs) >= 0.9999 * delta


def test_the_numerical_calibration_ends_where_it_is_certified():
    for wrong in ((20.1, 1e-5, 2), (1.0, 1e-5, 1001)):
        with pytest.raises(InputError, match="where it is certified"):
            smooth_gaussian_constants(*wrong, "numerical")
    assert exact_delta_of_smooth_gaussian(2.1, 0.1, 2, 1.0) == 1.0
    assert exact_delta_of_smooth_gaussian(0.1, 0.1, 1001, 1.0) == 1.0
    public = {"smoothness": 0.1, "shift": 0.1, "delta": 1e-6, "calibration": "numerical"}
    for far in ({"coordinates": 1001}, {"coordinates": 2, "shift": 19.0}):
        with pytest.raises(InputError, match="in the range"):
            smooth_gaussian_event({**public, **far})


def test_noise_on_a_scale_that_is_not_smooth_has_no_finite_cost():
    smoothness, shift = smooth_gaussian_constants(1.0, 1e-5, 2, "published")
    assert (smoothness, shift) == smooth_gaussian_constants(1.0, 1e-5, 2, "published")
    public = {"smoothness": smoothness, "shift": shift, "coordinates": 2, "delta": 1e-5}
    assert smooth_gaussian_event({**public, "calibration": "printed"}) == Unbounded()
    with pytest.raises(InputError, match="calibration"):
        smooth_gaussian_event(public)


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


def test_the_printed_constants():
    assert smooth_gaussian_constants(1.0, 1e-5, 2, "published") == pytest.approx(
        (0.0175981079527, 0.0404787434565), rel=1e-11
    )
    assert smooth_gaussian_constants(1.0, 1e-5, 10, "published")[0] == pytest.approx(
        0.0112581816691, rel=1e-11
    )


@pytest.mark.parametrize("calibration", ["tight", "numerical", "published"])
@pytest.mark.parametrize(
    ("epsilon", "delta", "size"), [(0.01, 1e-9, 3), (1.0, 1e-5, 1), (19.0, 1e-6, 40)]
)
def test_the_recomputed_event_costs_no_more_than_was_asked(epsilon, delta, size, calibration):
    smoothness, shift = smooth_gaussian_constants(epsilon, delta, size, calibration)
    public = {"smoothness": smoothness, "shift": shift, "coordinates": size, "delta": delta}
    public["calibration"] = calibration
    event = smooth_gaussian_event(public)
    assert isinstance(event, Approximate)
    assert event.delta == delta
    assert event.epsilon <= epsilon
    assert event.epsilon >= (0.2 if calibration == "published" else 0.99999) * epsilon
    exact = calibration == "numerical"
    bound = exact_delta_of_smooth_gaussian if exact else delta_of_smooth_gaussian
    assert bound(smoothness, shift, size, event.epsilon) <= delta


def test_nothing_is_proved_where_nothing_is():
    assert delta_of_smooth_gaussian(0.5, 50.0, 3, 1.0) == 1.0
    assert 0.0 < delta_of_smooth_gaussian(0.5, 1.0, 3, 1e4) <= 1.0
    for wrong in ({"shift": -1.0}, {"delta": 0.0}, {"coordinates": None}):
        public = {"smoothness": 0.1, "shift": 0.1, "coordinates": 2, "delta": 1e-6}
        public = {**public, "calibration": "tight", **wrong}
        with pytest.raises(InputError):
            smooth_gaussian_event(public)


@pytest.mark.parametrize(
    ("smoothness", "shift", "size", "epsilon"), [(3e-5, 1.0, 1000, 1.0), (1e-4, 0.3, 100, 0.5)]
)
def test_nothing_is_certified_where_the_chi_square_laws_lose_digits(
    smoothness, shift, size, epsilon
):
    assert exact_delta_of_smooth_gaussian(smoothness, shift, size, epsilon) == 1.0
    # No constants that are calibrated come near: their shift is at most some 700 smoothnesses.
    assert exact_delta_of_smooth_gaussian(shift / 700.0, shift, size, epsilon) < 1.0
