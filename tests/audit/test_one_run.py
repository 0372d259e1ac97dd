"""Audits by one run: guesses of randomised response, and a fit with no noise to speak of."""

import math

import numpy as np
import pytest

import tailguard as tg
from tailguard.audit.one_run import audit_one_run, epsilon_of_guesses, guess_p_value

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


def test_canaries_are_as_many_as_partners():
    with pytest.raises(tg.InputError, match="of one size"):
        audit_one_run(mean_at(1.0), (ROWS,), (ROWS[1:],), claim=tg.GDP(1.0))
