"""The closed forms against published noise and against 80-digit arithmetic."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailguard.checks import InputError
from tailguard.privacy.accounting import gaussian
from tailguard.privacy.accounting.gaussian import delta_of, epsilon_of, log_delta, mu_of

NOISE_OVER_SENSITIVITY = [  # epsilon, delta, mu, 1 / mu
    (0.1, 1e-5, 0.0325207841, 30.74956613),
    (0.1, 1e-6, 0.0275446502, 36.30469043),
    (0.5, 1e-5, 0.1422105587, 7.03182668),
    (0.5, 1e-6, 0.1241061490, 8.05761848),
    (1, 1e-5, 0.2680511232, 3.73063163),
    (1, 1e-6, 0.2367043807, 4.22467889),
    (2, 1e-5, 0.5015516892, 1.99381245),
    (2, 1e-6, 0.4483347404, 2.23047627),
    (4, 1e-5, 0.9249308977, 1.08116185),
    (4, 1e-6, 0.8378587571, 1.19351859),
]
MUS = st.floats(-6, 2).map(lambda power: 10.0**power)
PLACES = st.floats(-0.4, 25)  # where epsilon lies, in units of the loss's standard deviation


def exact_delta(mu, epsilon):
    """The formula of Balle and Wang 2018, Theorem 8, as printed in the paper."""
    with mpmath.workdps(80):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return _tail(epsilon / mu - mu / 2) - mpmath.exp(epsilon) * _tail(epsilon / mu + mu / 2)


def _tail(x):
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


@pytest.mark.parametrize(("epsilon", "delta", "mu", "noise"), NOISE_OVER_SENSITIVITY)
def test_noise_over_sensitivity_table(epsilon, delta, mu, noise):
    assert mu_of(epsilon, delta) == pytest.approx(mu, abs=6e-11)
    assert 1.0 / mu_of(epsilon, delta) == pytest.approx(noise, abs=6e-9)


@given(mu=MUS, place=PLACES)
def test_delta_is_above_the_truth_and_close(mu, place):
    epsilon = max(0.0, mu * mu / 2 + place * mu)
    excess = log_delta(mu, epsilon) - mpmath.log(exact_delta(mu, epsilon))
    assert 0 < excess < 2.5e-12


@given(mu=MUS, power=st.floats(-300, -0.01))
def test_epsilon_is_above_the_truth_and_close(mu, power):
    delta = 10.0**power
    epsilon = epsilon_of(mu, delta)
    assert exact_delta(mu, epsilon) <= delta
    if epsilon > 1e-9 * mu:
        assert exact_delta(mu, epsilon * (1 - 1e-10) - 1e-11 * mu) > delta


@given(epsilon=st.floats(-6, 2).map(lambda power: 10.0**power), power=st.floats(-300, -0.01))
def test_mu_is_below_the_truth_and_close(epsilon, power):
    delta = 10.0**power
    mu = mu_of(epsilon, delta)
    assert exact_delta(mu, epsilon) <= delta
    assert exact_delta(mu * (1 + 1e-11), epsilon) > delta


@pytest.mark.parametrize("mu", [1e-20, 1e-9, 1e-7, 0.00999, 0.01001, 4.9, 5.1, 30.0, 1e3])
def test_extremes_stay_above_the_truth(mu):
    for epsilon in (0.0, mu / 10, mu, 30 * mu, mu * mu / 2, 1e-3, 1.0):
        truth = exact_delta(mu, epsilon)
        if truth > 0:
            assert log_delta(mu, epsilon) >= mpmath.log(truth)


def test_limits():
    assert delta_of(0, 1) == 0
    assert delta_of(math.inf, 1) == 1
    assert delta_of(1, math.inf) == 0
    assert log_delta(1e-200, 1e200) == -math.inf
    assert epsilon_of(0, 1e-6) == epsilon_of(1e-300, 1e-6) == 0
    assert epsilon_of(math.inf, 1e-6) == math.inf
    assert mu_of(math.inf, 1e-6) == math.inf
    # At epsilon = 0, delta is the total variation distance erf(mu / (2 sqrt 2)).
    assert mu_of(0, math.erf(0.5 / math.sqrt(8))) == pytest.approx(0.5, rel=1e-11)


@pytest.mark.parametrize("bad", [-1, math.nan, "1", None, True])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(InputError, match="mu must be"):
        epsilon_of(bad, 1e-6)
    with pytest.raises(InputError, match="epsilon must be"):
        delta_of(1.0, bad)
    with pytest.raises(InputError, match="delta must be"):
        mu_of(1.0, bad)


def test_numpy_scalars_are_numbers():
    assert epsilon_of(np.float64(1.0), np.float32(1e-6)) == epsilon_of(1.0, float(np.float32(1e-6)))


@pytest.mark.parametrize("x", [9e3, 1.1e4, 1e6])
def test_the_slope_of_mills_ratio_is_bounded_closely_far_out(x):
    with mpmath.workdps(60):
        point = mpmath.mpf(x)
        ratio = mpmath.sqrt(mpmath.pi / 2) * mpmath.exp(point**2 / 2)
        exact = 1 - point * ratio * mpmath.erfc(point / mpmath.sqrt(2))
    assert gaussian._mills_drop(x) == pytest.approx(float(exact), rel=2e-8)


@pytest.mark.parametrize("mu", [0.005, 0.5, 8.0])
@pytest.mark.parametrize("epsilon", [1e17, 1e19, 1e100, 1e300])
def test_an_epsilon_at_which_floats_cannot_tell_both_terms_apart_has_a_bound(mu, epsilon):
    bound, square = log_delta(mu, epsilon), (epsilon / mu) ** 2 / 2.0 if epsilon < 1e150 else np.inf
    assert -square <= bound <= -square * (1.0 - 1e-12) or bound == -square
    assert delta_of(mu, epsilon) == 0.0
