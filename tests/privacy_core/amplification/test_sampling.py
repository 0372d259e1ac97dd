"""Secret samples: published tables, exact pairs, and the formula that must not be used."""

import math

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import (
    PrivacyLossDistribution,
    from_gaussian_mechanism,
)
from scipy.special import ndtr

from tailguard.privacy.accounting.gaussian import epsilon_of
from tailguard.privacy.accounting.pld import PldAccountant, profile_of
from tailguard.privacy.accounting.profiles import Profile, loss_distribution
from tailguard.privacy.accounting.total_cost import (
    smallest_epsilon,
)
from tailguard.privacy.amplification.sampling import fixed_size_profile, poisson_profile
from tailguard.privacy.events import Composed, Gaussian, Repeated, Sampled

# Rate, clip norm over noise, steps; then published epsilons at 1e-6 for each way of sampling.
TABLE = [
    (0.01, 1, 1, 4.28542314, 1.73330869),
    (0.01, 1, 100, 8.08079968, 4.40311633),
    (0.01, 1, 1000, 16.96210661, 6.60680081),
    (0.01, 0.25, 100, 0.24837619, 0.21045002),
    (0.01, 0.25, 1000, 0.82715794, 0.70747599),
    (0.1, 0.25, 100, 2.88384424, 2.49350598),
]


def poisson_pair_profile(mu, rate):
    """The pair that is believed to be the worst (Lebeda, Regehr, Kamath and Steinke 2024).

    It is (1 - rate) N(0, 1) + rate N(-mu/2, 1) against (1 - rate) N(0, 1) + rate N(mu/2, 1): no
    proved bound lies below it.
    """
    shift, scale = mu / 2, rate * math.exp(-mu * mu / 8)

    def delta(e):
        gamma = np.exp(e)
        linear = (gamma - 1) * (1 - rate)
        root = (linear + np.sqrt(linear * linear + 4 * gamma * scale * scale)) / (2 * scale)
        place = np.log(root) / shift
        moved = ndtr(shift - place) - gamma * ndtr(-shift - place)
        return np.maximum(rate * moved - linear * ndtr(-place), 0)

    return Profile(delta, fixed_size_profile(mu, rate).end)


PROFILES = [fixed_size_profile, poisson_profile, poisson_pair_profile]


def composed(profile, times, step=1e-4):
    losses = loss_distribution(profile, step)
    return (losses if times == 1 else losses.self_compose(times)).get_epsilon_for_delta(1e-6)


def accounted(event, delta=1e-6):
    return PldAccountant().compose(event).epsilon(delta)


@pytest.mark.long
@pytest.mark.parametrize(("rate", "ratio", "times", "fixed_size", "poisson"), TABLE)
def test_the_accountant_agrees(rate, ratio, times, fixed_size, poisson):
    for scheme, published in (("fixed-size", fixed_size), ("poisson", poisson)):
        event = Repeated(Sampled(2 * ratio, rate, scheme), times)
        # Published with cells of 1e-4; ours are finer here and coarser there.
        assert accounted(event) == pytest.approx(published, rel=6e-5)
        assert smallest_epsilon(event, 1e-6).accountant == "pld"


def test_a_batch_of_fixed_size_is_not_a_poisson_sample():
    """The mutant: fixed-size batches with a Poisson formula. A concrete pair refutes it.

    All other records pull one way; the record pulls back, or goes along. So one output is
    N(0, 1), the other a mixture with N(-mu, 1), and delta follows in closed form.
    """
    mu, rate, e = 2.0, 0.01, 1.5
    place = (-mu * mu / 2 - math.log1p(math.expm1(e) / rate)) / mu
    truth = (1 - rate) * ndtr(place) + rate * ndtr(place + mu) - math.exp(e) * ndtr(place)
    claims = [float(profile(mu, rate).delta(np.array([e]))[0]) for profile in PROFILES]
    assert claims[0] == pytest.approx(truth, rel=1e-9)
    assert claims[1] < truth / 50
    assert claims[2] < truth / 1e6
    hundred = accounted(Repeated(Sampled(2.0, 0.01), 100))
    assert hundred == pytest.approx(8.08, abs=0.005)
    assert composed(poisson_pair_profile(2.0, 0.01), 100) == pytest.approx(1.11, abs=0.005)


@pytest.mark.parametrize(("mu", "rate"), [(0.5, 0.1), (2.0, 0.01), (1.0, 0.5)])
@pytest.mark.parametrize("others", [0.0, 0.5, -1.0, 1.0])
def test_the_proved_poisson_bound_holds_on_exact_pairs(mu, rate, others):
    """Two records, each drawn by a coin; one is replaced, the other pulls by ``others``."""
    half = mu / 2
    x = np.linspace(-12, 12, 40_001)

    def density(pull):
        centres = {0.0: 1 - rate, pull * half: rate}
        centres = centres if pull else {0.0: 1.0}
        normal = sum(w * np.exp(-((x - c) ** 2) / 2) for c, w in centres.items())
        if others:
            shifted = sum(
                w * np.exp(-((x - c - others * half) ** 2) / 2) for c, w in centres.items()
            )
            normal = (1 - rate) * normal + rate * shifted
        return normal / math.sqrt(2 * math.pi)

    for e in (0.0, 0.01, 0.1, 0.5, 1.0):
        bound = float(poisson_profile(mu, rate).delta(np.array([e]))[0])
        for here, there in ((1, -1), (-1, 1), (1, 0), (0, 1), (0.5, -1)):
            excess = np.maximum(density(here) - math.exp(e) * density(there), 0)
            truth = np.trapezoid(excess, x)
            assert truth <= bound * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize("scheme", ["fixed-size", "poisson"])
def test_cost_grows_with_the_rate(scheme):
    rates = (0.001, 0.01, 0.1, 0.9, 1.0)
    costs = [accounted(Repeated(Sampled(0.5, rate, scheme), 20)) for rate in rates]
    assert costs == sorted(set(costs))


@pytest.mark.parametrize("profile", PROFILES)
def test_profiles_are_convex_in_exp_e(profile):
    for mu, rate in ((0.1, 0.01), (1.0, 0.3), (3.0, 0.9)):
        e = np.linspace(0, profile(mu, rate).end, 3000)
        values = profile(mu, rate).delta(e)
        slopes = np.diff(values) / np.diff(np.exp(e))
        assert np.all(np.diff(slopes) >= -1e-11)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_sample_of_everyone_is_no_sample(profile):
    e = np.linspace(0, 4, 50)
    whole = profile_of(Gaussian(0.7)).delta(e)
    assert profile(0.7, 1.0).delta(e) == pytest.approx(whole, rel=1e-9, abs=1e-15)
    assert np.all(profile(0.7, 0.3).delta(e) <= whole * (1 + 1e-12))


def test_loud_samples_are_not_priced_below_the_truth():
    loud = PldAccountant().compose(Sampled(60.0, 0.5))
    assert loud.epsilon(1e-6) == math.inf
    # Half the samples miss the record, and the others tell it for certain.
    assert 0.5 <= loud.delta(1.0) <= 1.0


def test_samples_compose_with_other_releases():
    mixed = Composed((Gaussian(0.5), Repeated(Sampled(0.5, 0.1), 10)))
    alone = accounted(Repeated(Sampled(0.5, 0.1), 10))
    assert epsilon_of(0.5, 1e-6) < accounted(mixed) < epsilon_of(0.5, 1e-6) + alone


@pytest.mark.long
@pytest.mark.parametrize(("mu", "rate", "times"), [(2.0, 0.01, 20), (1.0, 0.1, 8), (0.5, 0.5, 4)])
def test_no_mixture_of_orders_beats_the_price_of_all_steps(mu, rate, times):
    """In some steps the others pull with one neighbour, in some with the other, or not at all.

    The pair that is worst for one step need not be so for many (Lebeda et al. 2024). So each step
    is one of the two orders of the worst pair, as the package has them, or the opposed pair.
    """
    pair = from_gaussian_mechanism(
        1.0, sensitivity=mu, sampling_prob=rate, value_discretization_interval=1e-3
    )
    ahead, back = (PrivacyLossDistribution(each) for each in (pair._pmf_remove, pair._pmf_add))
    opposed = loss_distribution(poisson_pair_profile(mu, rate), 1e-3)
    price = accounted(Repeated(Sampled(mu, rate), times))
    found = []
    for other in (back, opposed):
        for count in range(times + 1):
            parts = [(ahead, count), (other, times - count)]
            first, *rest = [each.self_compose(n) for each, n in parts if n]
            losses = first.compose(rest[0]) if rest else first
            found.append(losses.get_epsilon_for_delta(1e-6))
    assert max(found) <= price * (1.0 + 1e-3)
    assert max(found) >= 0.5 * price
