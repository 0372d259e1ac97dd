"""The closed forms against tables in 60 digits and against 80-digit arithmetic."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.exact_gaussian import exact_delta
from tailguard.checks import InputError
from tailguard.privacy.accounting import gaussian
from tailguard.privacy.accounting.gaussian import delta_of, epsilon_of, log_delta, mu_of

EPSILON = {  # epsilon at delta = 1e-3, 1e-6, 1e-9, 1e-15
    0.001: (0, 0.002718219088814, 0.0044253508875375, 0.0067576396351845),
    0.01: (0.0090480725930388, 0.033673780130806, 0.048866393015703, 0.070822021969623),
    0.1: (0.19753397323971, 0.39685737764408, 0.53514823155317, 0.74329839700357),
    0.5: (1.3522762448026, 2.2540846502197, 2.9097323807636, 3.9173690845017),
    1: (3.1386705485829, 4.8865541174622, 6.1739350466709, 8.1655796955043),
    3: (13.088179164628, 18.163445759078, 21.945589990967, 27.83605891331),
    8: (55.878417024676, 69.243963512582, 79.237355637425, 94.836968041438),
}
MU = {  # mu at delta = 1e-3, 1e-6, 1e-9, 1e-12, 1e-15
    0.001: (0.0036214973821142, 0.00041041594735417, 0.00024256362200845, 0.00018476425820004,
            0.00015416656798859),
    0.01: (0.010648785811658, 0.0032642362400688, 0.0021809846610443, 0.0017271220791802,
           0.0014679504932911),
    0.1: (0.057456747613332, 0.027544650243828, 0.019916423412681, 0.016249843047933,
          0.014025128386782),
    0.5: (0.21691371924765, 0.12410614903053, 0.093686496817845, 0.077856307603686,
          0.067874179851521),
    1: (0.38840124830658, 0.23670438066344, 0.18197480729533, 0.15248965124598, 0.13356467682803),
    2: (0.69192700214175, 0.44833474039519, 0.35154981589778, 0.29738251262068, 0.26190379783145),
    5: (1.4496066142365, 1.0203571450861, 0.82527829658305, 0.70930149140775, 0.63069647837839),
    10: (2.4626929233385, 1.8481322057671, 1.5378773368145, 1.342980728651, 1.2063310064741),
    20: (4.0531481636469, 3.2353593068946, 2.7792284836723, 2.4749379575717, 2.2527747627164),
    50: (7.4557700623576, 6.3859867789524, 5.7213597689549, 5.2435513618554, 4.8746552828148),
}  # fmt: skip
DELTA = [  # mu, epsilon, delta; strings where floats underflow
    (0.1, 0.001, "0.039399303571317"),
    (0.1, 0.1, "0.0087517681458096"),
    (0.1, 1, "1.2308359836427e-25"),
    (0.1, 5, "2.6274896995124e-547"),
    (1, 0.001, "0.38261640680979"),
    (1, 0.1, "0.35232517168137"),
    (1, 1, "0.12693673750664"),
    (1, 5, "5.7937216919195e-7"),
    (1, 20, "2.6647067053655e-86"),
    (1, 50, "1.3723528868667e-536"),
    (3, 0.001, "0.86631877844334"),
    (3, 0.1, "0.85958637921502"),
    (3, 1, "0.78760074136038"),
    (3, 5, "0.31939187990589"),
    (3, 20, "4.2247546167694e-8"),
    (3, 50, "4.822245422853e-53"),
    (0.5, 1, "0.00682959"),
]
SMALLER_DELTA = [(1e-12, 7.23849442018), (1e-14, 7.86873646841)]
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


@pytest.mark.parametrize("mu", EPSILON)
def test_epsilon_table(mu):
    got = [epsilon_of(mu, delta) for delta in (1e-3, 1e-6, 1e-9, 1e-15)]
    assert got == pytest.approx(EPSILON[mu], rel=1e-10, abs=0)


@pytest.mark.parametrize(("delta", "epsilon"), SMALLER_DELTA)
def test_epsilon_at_tiny_delta(delta, epsilon):
    assert epsilon_of(1, delta) == pytest.approx(epsilon, rel=1e-11)


@pytest.mark.parametrize("epsilon", MU)
def test_mu_table(epsilon):
    got = [mu_of(epsilon, delta) for delta in (1e-3, 1e-6, 1e-9, 1e-12, 1e-15)]
    assert got == pytest.approx(MU[epsilon], rel=1e-10, abs=0)


@pytest.mark.parametrize(("mu", "epsilon", "delta"), DELTA)
def test_delta_table(mu, epsilon, delta):
    digits = 10.0 ** (-len(delta.split("e")[0].lstrip("0.").replace(".", "")) + 1)
    assert log_delta(mu, epsilon) == pytest.approx(
        float(mpmath.log(mpmath.mpf(delta))), rel=1e-13, abs=2e-12 + 2 * digits
    )
    assert delta_of(mu, epsilon) == pytest.approx(float(delta), rel=1e-10 + 2 * digits, abs=1e-320)


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


@given(epsilon=st.floats(1e-6, 1e3), power=st.floats(-30, -0.01))
def test_what_mu_buys_pays_for_itself(epsilon, power):
    delta = 10.0**power
    assert epsilon_of(mu_of(epsilon, delta), delta) <= epsilon


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


def test_an_epsilon_that_falls_short_is_stepped_up_until_it_does_not(monkeypatch):
    exact, crossing = epsilon_of(1.0, 1e-6), gaussian.crossing
    monkeypatch.setattr(gaussian, "crossing", lambda *given: crossing(*given) * (1.0 - 1e-9))
    found = epsilon_of(1.0, 1e-6)
    assert delta_of(1.0, found) <= 1e-6 * (1.0 + 1e-11)
    assert exact * (1.0 - 1e-10) <= found <= exact * (1.0 + 1e-8)


@pytest.mark.parametrize("mu", [0.005, 0.5, 8.0])
@pytest.mark.parametrize("epsilon", [1e17, 1e19, 1e100, 1e300])
def test_an_epsilon_at_which_floats_cannot_tell_both_terms_apart_has_a_bound(mu, epsilon):
    bound, square = log_delta(mu, epsilon), (epsilon / mu) ** 2 / 2.0 if epsilon < 1e150 else np.inf
    assert -square <= bound <= -square * (1.0 - 1e-12) or bound == -square
    assert delta_of(mu, epsilon) == 0.0
