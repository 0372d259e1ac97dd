"""What an attacker can learn: never below what a real attack does, and attained by some."""

import math

import numpy as np
import pytest
from scipy.stats import laplace, norm

import tailguard as tg
from tailguard.report.odds import FALSE_ALARMS, odds_of, odds_of_mu, percent


def test_mu_has_the_odds_of_a_shifted_normal():
    for mu in (0.01, 0.5, 2.0):
        found = odds_of_mu(mu)
        assert found.right_guesses == pytest.approx(1.0 - norm.sf(mu / 2.0))
        assert found.hits == pytest.approx([norm.sf(norm.isf(a) - mu) for a in FALSE_ALARMS])
        assert odds_of(tg.GDP(mu).to_dict()) == found


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_epsilon_is_attained_by_answers_at_random_and_bounds_laplace_noise(epsilon):
    found = odds_of(tg.PureDP(epsilon).to_dict())
    truth = math.exp(epsilon) / (1.0 + math.exp(epsilon))  # of a bit told at random
    assert found.right_guesses == pytest.approx(truth)
    for alarms, hits in zip(FALSE_ALARMS, found.hits, strict=True):
        # Say "one" where the bit is one, so often that the false alarms are as many.
        attained = alarms / (1.0 - truth) * truth
        assert hits == pytest.approx(min(attained, 1.0 - (1.0 - alarms) / math.exp(epsilon)))
        assert laplace.sf(laplace.isf(alarms) - epsilon) <= hits * (1.0 + 1e-12)


def test_delta_is_attained_by_telling_all_with_that_chance():
    epsilon, delta = 1.0, 0.02
    found = odds_of(tg.ApproxDP(epsilon, delta).to_dict())
    told = math.exp(epsilon) / (1.0 + math.exp(epsilon))
    assert found.right_guesses == pytest.approx(delta + (1.0 - delta) * told)
    for alarms, hits in zip(FALSE_ALARMS, found.hits, strict=True):
        assert hits == pytest.approx(math.exp(epsilon) * alarms + delta)


@pytest.mark.parametrize("rho", [1e-4, 0.005, 0.1, 0.5, 2.0, 10.0])
def test_rho_bounds_the_normal_attack_that_it_covers(rho):
    found, attack = odds_of(tg.ZCDP(rho).to_dict()), odds_of_mu(math.sqrt(2.0 * rho))
    assert attack.right_guesses <= found.right_guesses <= 1.0
    assert found.right_guesses <= 0.5 + 1.6 * (attack.right_guesses - 0.5)
    for hits, attained in zip(found.hits, attack.hits, strict=True):
        assert attained <= hits <= min(1.0, 20.0 * attained)


@pytest.mark.parametrize("rho", [0.005, 0.1, 0.5])
def test_rho_bounds_hits_at_every_order(rho):
    """The closed form is the smallest of the bounds of all orders."""
    orders = np.geomspace(1.0001, 1e4, 20_001)
    found = odds_of(tg.ZCDP(rho).to_dict())
    distance = 2.0 * found.right_guesses - 1.0
    for alarms, hits in zip(FALSE_ALARMS, found.hits, strict=True):
        log_hits = (orders - 1.0) / orders * (math.log(alarms) + orders * rho)
        assert hits == pytest.approx(
            min(1.0, alarms + distance, math.exp(log_hits.min())), rel=1e-4
        )


@pytest.mark.parametrize(
    "promise", [tg.ApproxDP(1e4, 1e-6), tg.PureDP(1e15), tg.ZCDP(1e15), tg.GDP(1e15)]
)
def test_a_promise_of_nothing_is_said_to_be_one(promise):
    found = odds_of(promise.to_dict())
    assert found.right_guesses == 1.0
    assert found.hits == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("share", "words"),
    [(1.0, "100 %"), (0.731058, "73.2 %"), (0.0271838, "2.72 %"), (1e-3, "0.1 %"), (0.5, "50 %")],
)
def test_shares_are_rounded_up(share, words):
    assert percent(share) == words
