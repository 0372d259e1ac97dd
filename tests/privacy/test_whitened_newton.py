"""Audits of whole fits of the default method, by everything that they release.

The pair moves all stages but the last together: its records differ in size, so that every histogram
moves, their rows are orthogonal with the target and opposite without, so that moments and scores
move by their whole sensitivity.
"""

import numpy as np
import pytest

import tailguard as tg
from support.statistics import gaussian_scale_test, gdp_audit
from support.transcripts import OverheardGate
from tailguard.solvers.base import Problem
from tailguard.solvers.whitened_newton import WhitenedNewton

N_ROWS = 200
CLAIMED_MU = 2.0
FALSE_ALARM = 1e-6
N_RUNS = 2_600
PROBLEM = Problem(tg.losses.Squared(), N_ROWS, 1)


def worst_pair():
    rng = np.random.default_rng(0)
    signs, sizes = rng.choice([-1.0, 1.0], (2, N_ROWS)), rng.uniform(1.0, 1.4, (2, N_ROWS))
    x, y = signs * sizes
    pair = []
    for first in ((2.0**6, 2.0**6), (-(2.0**12), 2.0**12)):
        x[0], y[0] = first
        pair.append((x[:, None].copy(), y.copy()))
    return pair


PAIR = worst_pair()


def transcript(mu, seed, *, neighbour):
    """Fit once; return what the fit told about the pair."""
    guarantee = tg.GDP(mu)
    plan = WhitenedNewton().plan(PROBLEM, guarantee)
    gate = OverheardGate.of(PROBLEM, PAIR, guarantee, neighbour=neighbour, seed=seed)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    with np.errstate(all="ignore"):
        WhitenedNewton().run(plan, gate)
    return gate.transcript


def test_all_releases_together_move_by_the_whole_budget_and_no_more():
    for seed in range(20):
        attained = transcript(CLAIMED_MU, seed, neighbour=seed % 2 == 1).mu
        assert 0.97 * CLAIMED_MU < attained <= CLAIMED_MU


def test_every_release_carries_its_noise_where_the_pair_differs():
    noises = np.concatenate(
        [transcript(CLAIMED_MU, seed, neighbour=seed % 2 == 1).noises for seed in range(60)]
    )
    verdict = gaussian_scale_test(noises, 1.0, false_alarm=FALSE_ALARM, ratios=(1 / 1.3, 1.3))
    assert verdict.accepted
    assert verdict.power >= 0.999
    assert not gaussian_scale_test(noises / 1.3, 1.0, false_alarm=FALSE_ALARM).accepted


def audit(mu):
    """Audit the claim on fits that spend ``mu``, by their privacy loss."""
    scores = [
        [transcript(mu, seed, neighbour=neighbour).score(neighbour=neighbour) for seed in seeds]
        for neighbour, seeds in ((False, range(N_RUNS)), (True, range(N_RUNS, 2 * N_RUNS)))
    ]
    return gdp_audit(
        *scores,
        threshold=0.65 * mu,
        claimed_mu=CLAIMED_MU,
        true_mu=1.3 * 0.97 * CLAIMED_MU,
        false_alarm=FALSE_ALARM,
    )


@pytest.mark.audit
def test_a_whole_fit_keeps_its_claim():
    assert audit(CLAIMED_MU).accepted


@pytest.mark.audit
def test_a_whole_fit_with_too_little_noise_is_caught():
    verdict = audit(1.3 * CLAIMED_MU)
    assert verdict.power >= 0.999
    assert not verdict.accepted
