"""Audits by one run: guesses of randomised response, and a fit with no noise to speak of."""

import math

import numpy as np
import pytest
from scipy.stats import norm

import tailguard as tg
from tailguard.audit.cases import FALSE_ALARM
from tailguard.audit.gates import NOISE
from tailguard.audit.one_run import audit_one_run, epsilon_of_guesses, guess_p_value
from tailguard.audit.suite import LONG

ROWS = np.eye(200)


def mean_at(mu):
    def fit(X, *, seed):
        facts = {"guarantee": tg.GDP(mu), "method": "clipped", "clip_norm": 1.0}
        return -tg.mean(X, random_state=seed, **facts).value

    return fit


def test_randomised_response_is_rejected_no_oftener_than_is_said():
    generator, epsilon = np.random.default_rng(0), 1.0
    right = generator.binomial(100, 1.0 / (1.0 + math.exp(-epsilon)), size=2_000)
    for delta in (0.0, 1e-6):
        p = np.array([guess_p_value(int(v), 100, 100, epsilon, delta) for v in right])
        assert np.mean(p <= 0.05) <= 0.06


def test_more_right_guesses_prove_more_and_delta_proves_less():
    facts = {"false_alarm": 1e-3}
    bounds = [epsilon_of_guesses(v, 100, 1_000, delta=0.0, **facts) for v in (50, 80, 95, 100)]
    assert bounds == sorted(bounds)
    assert bounds[0] == 0.0
    assert epsilon_of_guesses(95, 100, 1_000, delta=1e-4, **facts) < bounds[2]


def test_a_mean_shows_no_more_than_it_claims_and_one_without_noise_is_caught():
    found = audit_one_run(mean_at(1.0), (ROWS,), (-ROWS,), claim=tg.GDP(1.0))
    assert found.accepted
    assert found.shown > 0.1
    claim = tg.ApproxDP(1.0, 1e-5)
    caught = audit_one_run(mean_at(50.0), (ROWS,), (-ROWS,), claim=claim)
    assert caught.verdict == "BROKEN"


def test_no_statistic_of_one_run_sees_noise_of_four_fifths():
    """Why that row of the long audit has no power, and no better statistic could give it some.

    With a chance of ``often``, release the scores of all canaries with 0.8 times the noise, cut at
    ``furthest``; else nothing. For one canary, what is likelier than some ratio are scores beyond
    some point, so that this keeps mu = 2 where the pairs of errors of all points do. But a test
    rejects it with at least ``often`` times the chance, less that of any score that is cut, with
    which it rejects too little noise; and may reject it with that of a false alarm at most.
    """
    claimed, n_canaries, often, furthest = 2.0, 1_000, 2.5e-4, 5.25
    broken = claimed / NOISE
    points = np.linspace(0.0, furthest, 10_001)
    wrong, seen = (often * norm.sf(points - side * broken / 2.0) for side in (-1.0, 1.0))
    assert (norm.ppf(seen) - norm.ppf(wrong)).max() <= claimed
    cut = n_canaries * sum(norm.sf(furthest - side * broken / 2.0) for side in (-1.0, 1.0))
    assert FALSE_ALARM / len(LONG) / often + cut < 0.08


def test_canaries_are_as_many_as_partners():
    with pytest.raises(tg.InputError, match="of one size"):
        audit_one_run(mean_at(1.0), (ROWS,), (ROWS[1:],), claim=tg.GDP(1.0))
