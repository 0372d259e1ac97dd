"""Black-box audits of fresh samples, one question at a time and in runs of DP-SGD.

The worst pair: all records pull one way, and the one that differs pulls back or goes along. Then
one neighbour's answers are normal, and the other's are a mixture that attains the claimed profile.
At a stated epsilon, what is seen of one happens at most ``exp(epsilon)`` times as often as of the
other, and delta more; lower bounds at 99.9 per cent (Clopper and Pearson 1934) must not pass delta.
"""

import dataclasses

import numpy as np
import pytest
from scipy.stats import binom, norm

import tailguard as tg
from privacy.mutants.public_sample import PublicSample
from support.stages import of_sample
from tailguard.audit.bounds import clopper_pearson_upper
from tailguard.baselines import DpSgd
from tailguard.gate import Gate
from tailguard.noise.sources import SimulationSource
from tailguard.plans.problem import Problem
from tailguard.privacy.amplification.sampled import fixed_size_profile, poisson_profile
from tailguard.privacy.events import Repeated, Sampled
from tailguard.privacy.guarantees import Unprotected
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.units import Units
from tailguard.rows.arrays import make_rows

FALSE_ALARM = 1e-3
UNDER_NOISED = 1.3


def shown_delta(caught, false_alarms, n_runs, epsilon):
    """Lower confidence bound on delta at ``epsilon``, from one event."""
    upper = clopper_pearson_upper([n_runs - caught, false_alarms], n_runs, FALSE_ALARM / 2)
    return (1.0 - upper[0]) - np.exp(epsilon) * upper[1]


def power(n_runs, detection, false_alarm, epsilon, claimed):
    """Chance that the bound passes the claim, if the event has these probabilities."""
    counts = np.arange(n_runs + 1)
    upper = clopper_pearson_upper(counts, n_runs, FALSE_ALARM / 2)
    allowed = np.searchsorted(upper, 1.0 - np.exp(epsilon) * upper - claimed)
    missed = binom.cdf(allowed - 1, n_runs, 1.0 - detection)
    return float(binom.pmf(counts, n_runs, false_alarm) @ missed)


# One question after the other, on four of eight records.

MU, RATE, EPSILON, THRESHOLD = 2.0, 0.5, 1.0, 2.1
MEAN = MeanClippedGradient(None, Units.raw(1, intercept=False), row_limit=1.0, slope_limit=1.0)


def scores(kind, first, mu, n_runs, seed):
    """How far the answers are from what the others pull to, in noise deviations."""
    X = np.ones((8, 1))
    X[0] = first
    source = SimulationSource(seed)
    gate = kind(make_rows(X), guarantee=Unprotected(tg.GDP(1.0)), source=source)
    gate.reserve(Repeated(Sampled(mu, RATE), n_runs), coordinates=n_runs)
    answers = [gate.ask(MEAN, np.zeros(1), of_sample(mu, 4, 8))[0] for _ in range(n_runs)]
    return (1.0 - np.array(answers)) * 4.0 / 2.0 * mu


def delta_of_questions(kind, mu, n_runs):
    seen = [scores(kind, x, mu, n_runs, seed) > THRESHOLD for seed, x in enumerate((-1.0, 1.0))]
    return shown_delta(*(int(each.sum()) for each in seen), n_runs, EPSILON)


@pytest.mark.audit
def test_many_fresh_samples_show_what_is_claimed_and_no_more():
    claimed = float(fixed_size_profile(MU, RATE).delta(np.array([EPSILON]))[0])
    assert 0.75 * claimed < delta_of_questions(Gate, MU, 20_000) <= claimed


@pytest.mark.audit
def test_less_noise_and_known_samples_and_a_poisson_price_are_caught():
    n_runs, e = 3_000, np.array([EPSILON])
    claimed = float(fixed_size_profile(MU, RATE).delta(e)[0])
    missing = norm.sf(THRESHOLD)
    for mu, rate in ((UNDER_NOISED * MU, RATE), (MU, 1.0)):
        detection = (1.0 - rate) * missing + rate * norm.sf(THRESHOLD - mu)
        assert power(n_runs, detection, missing, EPSILON, claimed) >= 0.999
    assert delta_of_questions(Gate, UNDER_NOISED * MU, n_runs) > claimed
    assert delta_of_questions(PublicSample, MU, n_runs) > claimed
    # What is right shows more than Poisson samples would: to price it as such is a mistake.
    poisson = float(poisson_profile(MU, RATE).delta(e)[0])
    assert poisson < delta_of_questions(Gate, MU, n_runs) <= claimed


# DP-SGD of two steps, each on four of eight records.

CLAIM, N_STEPS = tg.ApproxDP(1.0, 0.2), 2
PROBLEM = Problem(tg.losses.Squared(), n_rows=8, n_features=1)
SOLVER = DpSgd(clip_norm=1.0, batch_rows=4, step_size=1.0, iterate="last", sampling="fresh")
PLACE = 1.65


def plan_of(louder=1.0):
    plan = SOLVER.plan(PROBLEM, CLAIM)
    (stage,) = plan.stages
    return dataclasses.replace(plan, stages=(dataclasses.replace(stage, mu=louder * stage.mu),))


def end_points(kind, plan, target, n_runs, first_seed):
    """Where the last point is beyond the others' pull, in noise deviations of all steps."""
    X, y = np.ones((8, 1)), np.full(8, 1e9)
    y[0] = target
    rows, found = make_rows(X, y, loss=PROBLEM.loss), []
    for seed in range(first_seed, first_seed + n_runs):
        gate = kind(rows, guarantee=Unprotected(CLAIM), source=SimulationSource(seed))
        gate.reserve(plan.event, coordinates=plan.coordinates)
        found.append(SOLVER.run(plan, gate).coef[0])
    # Every step goes up by 1, and by half less if the record that pulls down was drawn.
    return (N_STEPS - np.array(found)) * 2.0 * plan.stages[0].mu / np.sqrt(N_STEPS)


def delta_of_runs(kind, louder, n_runs):
    plan = plan_of(louder)
    low, high = (
        end_points(kind, plan, target, n_runs, side * n_runs) > PLACE
        for side, target in enumerate((-1e9, 1e9))
    )
    return shown_delta(int(low.sum()), int(high.sum()), n_runs, CLAIM.epsilon)


def power_of_runs(n_runs, louder, drawn=None):
    """Power, if so many steps draw the record; by default as often as fresh samples do."""
    mu, times = louder * plan_of().stages[0].mu, np.arange(N_STEPS + 1)
    chances = binom.pmf(times, N_STEPS, 0.5) if drawn is None else times == drawn
    detection = chances @ norm.sf(PLACE - times * mu / np.sqrt(N_STEPS))
    return power(n_runs, detection, norm.sf(PLACE), CLAIM.epsilon, CLAIM.delta)


def test_known_batches_priced_as_fresh_samples_are_caught_in_runs_of_dp_sgd():
    n_runs = 700
    assert power_of_runs(n_runs, 1.0, drawn=N_STEPS) >= 0.999
    assert delta_of_runs(PublicSample, 1.0, n_runs) > CLAIM.delta
    assert delta_of_runs(Gate, 1.0, n_runs) <= CLAIM.delta


@pytest.mark.audit
def test_many_runs_of_dp_sgd_show_no_more_and_less_noise_is_caught():
    n_runs = 9_000
    assert power_of_runs(n_runs, UNDER_NOISED) >= 0.999
    assert delta_of_runs(Gate, UNDER_NOISED, n_runs) > CLAIM.delta
    # The price composes the worst of both orders, so that this pair stays below it.
    assert 0.6 * CLAIM.delta < delta_of_runs(Gate, 1.0, n_runs) <= CLAIM.delta
