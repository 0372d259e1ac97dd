"""Profiles against exact values, and the loss distributions made from them."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailguard.privacy.accounting.gaussian import delta_of, epsilon_of
from tailguard.privacy.accounting.pld import profile_of
from tailguard.privacy.accounting.profiles import (
    convexified,
    loss_distribution,
    mirrored_hull,
)
from tailguard.privacy.accounting.zcdp import delta_of_zcdp, epsilon_of_zcdp
from tailguard.privacy.events import (
    Approximate,
    BoundedRange,
    Gaussian,
    Laplace,
    Pure,
    ZeroConcentrated,
)

LEAVES = [
    Gaussian(1.0),
    Gaussian(0.1),
    Laplace(0.5),
    Pure(0.5),
    BoundedRange(0.5),
    Approximate(0.5, 1e-4),
    ZeroConcentrated(0.125),
]


@pytest.mark.parametrize("leaf", LEAVES)
def test_the_distribution_dominates_its_profile(leaf):
    profile = profile_of(leaf)
    losses = loss_distribution(profile, step=1e-3)
    e = 1e-4 * np.arange(int(1.1 * profile.end / 1e-4))
    assert np.all(losses.get_delta_for_epsilon(e) >= profile.delta(e) - 1e-15)
    e = 1e-3 * np.arange(int(profile.end / 1e-3))
    assert losses.get_delta_for_epsilon(e) == pytest.approx(profile.delta(e), abs=1e-11)


@pytest.mark.parametrize("leaf", LEAVES)
def test_profiles_fall_and_are_convex(leaf):
    profile = profile_of(leaf)
    e = np.linspace(0.0, profile.end, 2000)
    values = profile.delta(e)
    slopes = np.diff(values) / np.diff(np.exp(e))
    assert np.all(np.diff(values) <= 1e-16)
    assert np.all(np.diff(slopes) >= -1e-11)


@given(mu=st.floats(0.01, 20), place=st.floats(-0.5, 8))
def test_the_gaussian_profile_is_the_closed_form(mu, place):
    e = max(0.0, mu * mu / 2 + place * mu)
    got = profile_of(Gaussian(mu)).delta(np.array([e]))[0]
    assert got == pytest.approx(delta_of(mu, e), rel=1e-8, abs=2e-16)


@given(epsilon=st.floats(0.01, 3), place=st.floats(0, 1))
def test_the_laplace_profile_is_the_integral(epsilon, place):
    # Hockey stick of two Laplace distributions at distance epsilon: the loss is epsilon below 0,
    # falls linearly to -epsilon, and exceeds e left of (epsilon - e) / 2.
    e = place * epsilon
    edge = (epsilon - e) / 2
    exact = (1 - math.exp(-edge) / 2) - math.exp(e) * math.exp(edge - epsilon) / 2
    assert profile_of(Laplace(epsilon)).delta(np.array([e]))[0] == pytest.approx(exact, abs=1e-15)


LEFT_OUT = mpmath.mpf(10) ** -20  # beyond the end of a profile, as ``Profile`` says


@pytest.mark.parametrize("mu", [0.01, 1.0, 20.0])
def test_a_gaussian_profile_ends_where_its_exact_delta_is_what_is_left_out(mu):
    with mpmath.workdps(60):
        exact, end = mpmath.mpf(mu), mpmath.mpf(profile_of(Gaussian(mu)).end)
        first, second = (mpmath.ncdf(side * exact / 2 - end / exact) for side in (1, -1))
        left = first - mpmath.exp(end) * second
        assert LEFT_OUT * (1 - mpmath.mpf("1e-6")) < left <= LEFT_OUT


@pytest.mark.parametrize("rho", [1e-4, 0.5, 50.0])
def test_a_concentrated_profile_ends_where_its_simple_bound_is_what_is_left_out(rho):
    with mpmath.workdps(60):
        end = mpmath.mpf(profile_of(ZeroConcentrated(rho)).end)
        bound = mpmath.exp(-((end - rho) ** 2) / (4 * mpmath.mpf(rho)))  # Bun and Steinke 2016
        assert abs(bound / LEFT_OUT - 1) < mpmath.mpf("1e-9")
    assert profile_of(ZeroConcentrated(rho)).delta(np.array([0.0, float(end)]))[1] <= 1e-20


@settings(max_examples=20)
@given(rho=st.floats(0.001, 5), place=st.floats(0, 0.8))
def test_the_zcdp_profile_is_at_most_the_conversion_and_above_a_gaussian(rho, place):
    profile = profile_of(ZeroConcentrated(rho))
    e = np.linspace(0.0, profile.end, 400)
    i = int(place * 400)
    got = profile.delta(e)[i]
    assert got <= delta_of_zcdp(rho, e[i]) * 1.02
    assert got >= delta_of(math.sqrt(2 * rho), e[i]) * (1 - 1e-9)


@pytest.mark.parametrize(("rho", "delta"), [(0.5, 1e-6), (0.005, 1e-3), (2.0, 1e-9)])
def test_the_zcdp_distribution_keeps_the_conversion(rho, delta):
    losses = loss_distribution(profile_of(ZeroConcentrated(rho)), 1e-4)
    got = losses.get_epsilon_for_delta(delta)
    assert got == pytest.approx(epsilon_of_zcdp(rho, delta), rel=1e-4)


@pytest.mark.parametrize(("mu", "step"), [(1.0, 1e-3), (0.01, 1e-5), (8.0, 1e-3)])
def test_gaussian_epsilon_from_above(mu, step):
    losses = loss_distribution(profile_of(Gaussian(mu)), step)
    for delta in (1e-3, 1e-6, 1e-9):
        exact = epsilon_of(mu, delta)
        assert exact * (1 - 1e-9) <= losses.get_epsilon_for_delta(delta) <= exact * (1 + 1e-5)


def test_an_approximate_release_fails_or_is_randomised_response():
    profile, epsilons = profile_of(Approximate(1.0, 0.1)), np.linspace(0.0, 1.0, 9)
    pure = (np.e - np.exp(epsilons)) / (np.e + 1.0)
    assert profile.delta(epsilons) == pytest.approx(0.1 + 0.9 * pure)
    assert profile.end == 1.0


def test_a_bound_that_is_low_at_a_small_loss_is_low_at_smaller_ones():
    # Mirrored, the zero at exp(e) = 2 is one half at exp(e) = 1/2: a line leads from there to it.
    found = mirrored_hull(np.log([1.0, 1.5, 2.0]), np.array([1.0, 1.0, 0.0]))
    assert found == pytest.approx([1 / 3, 1 / 6, 0.0], abs=1e-12)


def test_no_hull_is_worked_out_where_floats_do_not_tell_its_points_apart():
    far = np.array([0.0, 1.0, 2.0, 800.0, 1600.0, 1700.0])
    delta = np.array([0.9, 0.5, 0.45, 0.3, 0.1, 0.0])
    assert convexified(far, delta).tolist() == delta.tolist()
    near = np.array([0.0, 1.0, 2.0])
    assert convexified(near, np.array([0.9, 0.9, 0.0]))[1] < 0.9
