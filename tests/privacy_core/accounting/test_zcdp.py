"""zCDP conversions against tables, definitions and 50-digit arithmetic."""

import math

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.events import epsilon_of_zcdp_simple
from tailguard.privacy.accounting import gaussian, zcdp
from tailguard.privacy.accounting.gaussian import delta_of, epsilon_of

CONVERSIONS = [  # rho, delta, tight, simple, exact for a Gaussian
    (0.005, 1e-6, 0.429941468837, 0.530652176976, 0.396857377644),
    (0.125, 1e-6, 2.41909317687, 2.75326088488, 2.25408465022),
    (0.5, 1e-6, 5.22153444453, 5.75652176976, 4.88655411746),
    (2, 1e-9, 14.1501475539, 14.8757961577, 13.5347722192),
]
TO_GDP = [  # parameter, mu of pure, mu of bounded range
    (0.01, 0.01253311895965, 0.006266567884878),
    (0.1, 0.12530901221161, 0.062662905541003),
    (1, 1.2320353853449, 0.62389259209851),
    (2, 2.3579614856472, 1.2320353853449),
    (5, 4.9466784455957, 2.8669904674765),
]
ORDERS = [1.0001, 1.5, 2, 5, 30, 1000]
SIZES = st.floats(-4, 2).map(lambda power: 10.0**power)
DELTAS = st.floats(-15, -0.3).map(lambda power: 10.0**power)


@pytest.mark.parametrize(("rho", "delta", "tight", "simple", "gaussian"), CONVERSIONS)
def test_conversion_table(rho, delta, tight, simple, gaussian):
    assert zcdp.epsilon_of_zcdp(rho, delta) == pytest.approx(tight, rel=6e-12)
    assert epsilon_of_zcdp_simple(rho, delta) == pytest.approx(simple, rel=6e-12)
    assert epsilon_of(math.sqrt(2 * rho), delta) == pytest.approx(gaussian, rel=6e-12)


@pytest.mark.parametrize(("size", "pure", "bounded_range"), TO_GDP)
def test_gdp_table(size, pure, bounded_range):
    assert gaussian.mu_of_pure(size) == pytest.approx(pure, rel=5e-12)
    assert gaussian.mu_of_bounded_range(size) == pytest.approx(bounded_range, rel=5e-12)


@given(rho=SIZES, delta=DELTAS)
def test_epsilon_and_delta_invert_each_other(rho, delta):
    epsilon = zcdp.epsilon_of_zcdp(rho, delta)
    assert 0 <= epsilon <= epsilon_of_zcdp_simple(rho, delta)
    # A Gaussian release is rho-zCDP, so no bound may fall below its exact value.
    assert epsilon >= epsilon_of(math.sqrt(2 * rho), delta) * (1 - 1e-11)
    assert zcdp.delta_of_zcdp(rho, epsilon) <= delta * (1 + 1e-9)
    assert zcdp.delta_of_zcdp(rho, epsilon) >= delta_of(math.sqrt(2 * rho), epsilon) * (1 - 1e-9)
    if epsilon > 0.01:
        assert zcdp.delta_of_zcdp(rho, epsilon * 0.99) > delta


@given(epsilon=SIZES, delta=DELTAS)
def test_rho_never_overspends(epsilon, delta):
    rho = zcdp.rho_of(epsilon, delta)
    assert zcdp.epsilon_of_zcdp(rho, delta) <= epsilon
    assert zcdp.epsilon_of_zcdp(rho * (1 + 1e-6), delta) > epsilon
    assert zcdp.rho_of_simple(epsilon, delta) <= rho


@pytest.mark.parametrize(
    ("epsilon", "delta", "rho"), [(0.1, 1e-5, 2.162093e-4), (4, 1e-6, 0.2539356)]
)
def test_the_textbooks_conversion(epsilon, delta, rho):
    assert zcdp.rho_of_simple(epsilon, delta) == pytest.approx(rho, rel=1e-6)


def divergence_of_response(order, epsilon):
    """Renyi divergence of randomised response, the worst pure mechanism."""
    with mpmath.workdps(50):
        a, e = mpmath.mpf(order), mpmath.mpf(epsilon)
        return mpmath.log(
            (mpmath.exp(a * e) + mpmath.exp((1 - a) * e)) / (mpmath.exp(e) + 1)
        ) / (a - 1)  # fmt: skip


def divergence_of_laplace(order, epsilon):
    """Mironov 2017, Proposition 6."""
    with mpmath.workdps(50):
        a, e = mpmath.mpf(order), mpmath.mpf(epsilon)
        first = a / (2 * a - 1) * mpmath.exp((a - 1) * e)
        return mpmath.log(first + (a - 1) / (2 * a - 1) * mpmath.exp(-a * e)) / (a - 1)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.1, 0.999, 1.001, 3.0, 20.0])
@pytest.mark.parametrize(
    ("divergence", "rho_of_event"),
    [
        (divergence_of_response, zcdp.rho_of_pure),
        (divergence_of_laplace, zcdp.rho_of_laplace),
    ],
)
def test_rho_bounds_every_order_and_is_attained_near_one(divergence, rho_of_event, epsilon):
    rho = rho_of_event(epsilon)
    assert all(divergence(order, epsilon) / order <= rho for order in ORDERS)
    assert divergence(1 + 1e-9, epsilon) / (1 + 1e-9) >= rho * (1 - 1e-7)


@given(size=SIZES)
def test_each_refinement_is_one(size):
    assert zcdp.rho_of_laplace(size) <= zcdp.rho_of_pure(size)
    assert zcdp.rho_of_pure(size) <= size**2 / 2.0 * (1 + 1e-11)
    assert zcdp.rho_of_bounded_range(size) == pytest.approx(size**2 / 8, rel=1e-11)


@given(size=st.floats(0.01, 20), place=st.floats(0, 1))
def test_gdp_covers_the_pure_and_the_bounded_range_profile(size, place):
    e = place * size
    pure = -math.expm1(e - size) / (1 + math.exp(-size))
    bounded = math.expm1((e - size) / 2) ** 2 / -math.expm1(-size)
    assert delta_of(gaussian.mu_of_pure(size), e) >= pure * (1 - 1e-12)
    assert delta_of(gaussian.mu_of_bounded_range(size), e) >= bounded * (1 - 1e-12)


def test_limits():
    assert zcdp.epsilon_of_zcdp(0, 1e-6) == 0
    assert zcdp.epsilon_of_zcdp(math.inf, 1e-6) == math.inf
    assert zcdp.delta_of_zcdp(0, 0) == 0
    assert zcdp.delta_of_zcdp(math.inf, 1) == 1
    assert zcdp.delta_of_zcdp(1, math.inf) == 0
    assert zcdp.rho_of(0, 1e-6) == pytest.approx(0, abs=1e-11)
    assert zcdp.rho_of(math.inf, 1e-6) == math.inf
    assert gaussian.mu_of_pure(math.inf) == math.inf
    assert zcdp.rho_of_laplace(math.inf) == math.inf


@pytest.mark.parametrize(("rho", "epsilon"), [(0.005, 0.4), (0.5, 5.0), (2.0, 14.0)])
def test_the_delta_of_the_best_order_is_rounded_up(rho, epsilon):
    with mpmath.workdps(40):
        rho_, epsilon_ = mpmath.mpf(rho), mpmath.mpf(epsilon)
        # The derivative of log delta in the order less one, which is zero at the best order.
        best = mpmath.findroot(
            lambda x: rho_ + 2 * rho_ * x - epsilon_ - mpmath.log1p(1 / x),
            (epsilon_ / (2 * rho_), epsilon_ / rho_),
            solver="anderson",
        )
        exponent = best * (rho_ * (1 + best) - epsilon_)
        log_delta = exponent - (1 + best) * mpmath.log1p(1 / best) - mpmath.log(best)
        ratio = zcdp.delta_of_zcdp(rho, epsilon) / mpmath.exp(log_delta)
        assert 1 < ratio < 1 + mpmath.mpf("1e-9")


@pytest.mark.parametrize("epsilon", [9e-2, 9.9e-4, 5e-4, 1e-5])
def test_small_laplace_noise_is_priced_to_the_last_digits(epsilon):
    """Where digits cancel in ``x - 1 + exp(-x)``, too."""
    with mpmath.workdps(50):
        exact = mpmath.mpf(epsilon) + mpmath.expm1(-mpmath.mpf(epsilon))
        assert 0 < zcdp.rho_of_laplace(epsilon) / exact - 1 < mpmath.mpf("1e-10")


@pytest.mark.parametrize(("divergence", "delta"), [(1e300, 0.0), (math.inf, 1.0)])
def test_an_infinite_epsilon_covers_finite_divergences_alone(divergence, delta):
    assert zcdp.delta_of_renyi(lambda _: divergence, math.inf) == delta
