"""Black-box audits of runs of DP-SGD on fresh samples; the pair is that of one question."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import binom, norm

import tailguard as tg
from privacy.mutants.public_sample import PublicSample
from privacy.test_samples import UNDER_NOISED, power, shown_delta
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.gate.plan import Problem
from tailguard.noise.sources import SimulationSource
from tailguard.papers.solvers import DpSgd

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
        gate = kind(rows, guarantee=tg.GDP(1.0), source=SimulationSource(seed))
        gate.reserve(plan.event, coordinates=plan.coordinates, unprotected=True)
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


@pytest.mark.long
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
