"""CoinPress: its radii, its budget, its rounds, and what one record can do."""

import math

import numpy as np
import pytest

import tailguard as tg
from support.means import without_noise
from tailguard.gate.plan import Problem
from tailguard.papers.biswas2020 import CoinPress, mean

N, D, RHO = 10_000, 3, 0.5
PROMISE = tg.ZCDP(RHO)
TOLD = {"radius": 500.0, "scale": 2.0, "n_rounds": 3}
PROBLEM = Problem(None, N, D)


def tail(d, chance):
    """Laurent and Massart 2000, Lemma 1."""
    nats = math.log(1 / chance)
    return math.sqrt(d + 2 * math.sqrt(d * nats) + 2 * nats)


def test_radii_and_noise_are_those_of_the_paper():
    """Three rounds: a quarter of rho for the first two, three quarters for the last."""
    plan = CoinPress(**TOLD).plan(PROBLEM, PROMISE)
    rhos = [RHO / 8, RHO / 8, 3 * RHO / 4]
    first, last = plan.stages
    mus = [math.sqrt(2 * rho) for rho in rhos]
    assert [first.mu, last.mu] == pytest.approx(mus[1:], rel=2e-9)
    assert first.times == 2
    assert plan.total_mu**2 / 2 == pytest.approx(RHO, rel=3e-9)
    chance, reach, clips = 0.01 / 6, 250.0, []
    for rho in rhos:
        clips.append(reach + tail(D, chance / N))
        variance = (2 * clips[-1] / N) ** 2 / (2 * rho)
        reach = tail(D, chance) * math.sqrt(1 / N + variance)
    found = CoinPress(**TOLD).radii(N, D, *mus)
    np.testing.assert_allclose(found, [2.0 * clip for clip in clips], rtol=1e-9)
    assert plan.settings["clip norm"] == pytest.approx(2.0 * clips[-1], rel=1e-8)
    noise = 2 * 2.0 * clips[-1] / N / math.sqrt(2 * rhos[-1])
    assert plan.expected.noise == pytest.approx(math.sqrt(D) * noise, rel=1e-8)


def test_without_a_number_the_rounds_are_those_of_least_noise():
    told = {"radius": 500.0, "scale": 2.0}
    errors = {
        count: CoinPress(**told, n_rounds=count).plan(PROBLEM, PROMISE).expected.noise
        for count in range(1, 11)
    }
    plan = CoinPress(**told).plan(PROBLEM, PROMISE)
    assert plan.settings["rounds"] == min(errors, key=errors.get)
    near = CoinPress(radius=2.0, scale=2.0).plan(PROBLEM, PROMISE)
    assert near.settings["rounds"] == 1  # nothing to find


def test_it_is_the_clipped_mean_round_by_round():
    rng = np.random.default_rng(0)
    X = 3.0 + rng.standard_t(2, (2_000, D)) * 5.0
    method = CoinPress(radius=20.0, scale=2.0, n_rounds=2)
    mus = [math.sqrt(RHO / 2), math.sqrt(1.5 * RHO)]
    center = np.zeros(D)
    for radius in method.radii(2_000, D, *mus):
        moved = X - center
        lengths = np.linalg.norm(moved, axis=1, keepdims=True)
        center = center + (moved * np.minimum(1.0, radius / lengths)).mean(axis=0)
    np.testing.assert_allclose(without_noise(X, method, PROMISE), center, atol=1e-4)


def test_one_record_moves_a_round_by_its_sensitivity_and_no_more():
    X = np.zeros((1_000, 1))
    method = CoinPress(radius=5.0, scale=1.0, n_rounds=1)
    (radius,) = method.radii(1_000, 1, math.sqrt(2 * RHO))
    found = []
    for far in (-1e300, 1e300, np.nan):
        X[7] = far
        found.append(float(without_noise(X, method, PROMISE)[0]))
    assert found[1] - found[0] == pytest.approx(2 * radius / 1_000, rel=1e-5)
    assert found[2] == pytest.approx(0.0, abs=1e-6)  # void: as if at the centre


def test_a_later_round_is_centred_on_what_was_released_and_attains_its_own_sensitivity():
    X = np.full((1_000, 1), 40.0)
    method = CoinPress(radius=50.0, scale=1.0, n_rounds=2)
    mus = [math.sqrt(RHO / 2), math.sqrt(1.5 * RHO)]
    first, last = method.radii(1_000, 1, *mus)
    assert last < first / 5
    found = []
    for far in (-1e300, 1e300):
        X[7] = far
        found.append(float(without_noise(X, method, PROMISE)[0]))
    # The record moves the centre by 2 R_1 / n, and the others' mean not at all.
    assert found[1] - found[0] == pytest.approx(2 * last / 1_000 + 2 * first / 1_000**2, rel=1e-3)


def test_the_noise_is_that_of_the_promise_and_no_other():
    """A chi-square test of 200 columns of zeros, which rejects scales of 0.8 and 1.25."""
    told = {"radius": 1.0, "scale": 1.0, "n_rounds": 1, "guarantee": PROMISE, "random_state": 3}
    result = mean(np.zeros((1_000, 200)), check_records=False, **told)
    (radius,) = CoinPress(1.0, 1.0).radii(1_000, 200, math.sqrt(2 * RHO))
    sigma = 2 * radius / 1_000 / math.sqrt(2 * RHO)
    assert result.noise_std[0] == pytest.approx(sigma, rel=2e-3)
    ratio = float(np.mean(result.value**2)) / sigma**2  # 200 squares: 1 give or take 0.1
    assert 0.7 < ratio < 1.35
    assert not 0.7 < ratio * 0.8**2 < 1.35 or not 0.7 < ratio / 0.8**2 < 1.35


def test_normal_records_far_off_are_found_and_heavy_tails_leave_a_bias():
    rng = np.random.default_rng(1)
    told = {"radius": 1e4, "scale": 1.0, "guarantee": PROMISE, "random_state": 0}
    X = 400.0 + rng.standard_normal((20_000, 5))
    assert np.linalg.norm(mean(X, **told).value - 400.0) < 0.1
    heavy = rng.pareto(1.5, (20_000, 5))  # of mean 2, and no variance
    ours = np.linalg.norm(mean(heavy, **told).value - 2.0)
    core = tg.mean(heavy, guarantee=PROMISE, random_state=0).value
    assert ours > np.linalg.norm(core - 2.0)


def test_certificates_add_up_to_the_promise():
    result = mean(np.zeros((5_000, 2)), radius=9.0, scale=1.0, epsilon=1.0, delta=1e-6)
    assert result.certificate.mode == "private"
    assert 0.99 < result.certificate.total.epsilon <= 1.0
    assert result.method == "coinpress"
    assert "rounds" in str(result.explain())


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"radius": 0.0}, "radius must be"),
        ({"scale": -1.0}, "scale must be"),
        ({"n_rounds": 0}, "n_rounds must be"),
        ({"failure_probability": 1.0}, "failure_probability must be"),
        ({"center": math.nan}, "center must be"),
        ({"guarantee": tg.PureDP(1.0)}, "guarantee must not be PureDP"),
        ({"moment": tg.Moment(2.0, 1.0)}, "moment must not be given"),
    ],
)
def test_what_it_cannot_is_refused(told, words):
    known = {"radius": 9.0, "scale": 1.0, "guarantee": PROMISE, **told}
    with pytest.raises(tg.InputError, match=words):
        mean(np.zeros((100, 2)), **known)
