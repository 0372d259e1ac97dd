"""Audits of the methods that read every record once, and mutants of each that are caught.

Lower bounds on mu from runs on two neighbouring data sets (Nasr et al. 2023), at a false-alarm rate
of 1e-6: with few runs and gross mutants by default, with many runs in the audit.
"""

import numpy as np
import pytest

import tailguard as tg
from privacy.mutants.single_pass import MUTANTS
from support.audits import gdp_audit
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.gate.plan import Problem
from tailguard.noise.sources import SimulationSource
from tailguard.papers.solvers import localised
from tailguard.papers.solvers.doubling_accelerated import DoublingAccelerated
from tailguard.papers.solvers.localised import Localised
from tailguard.papers.solvers.permuted_accelerated import PermutedAccelerated
from tailguard.papers.solvers.phased_growth import DoublingLocalised, ShrinkingLocalised
from tailguard.solvers import descent

pytestmark = pytest.mark.usefixtures("any_query")

N_ROWS, MU, FALSE_ALARM = 60, 1.0, 1e-6
GUARANTEE = tg.GDP(MU)
FEW, MANY = 450, 4_500
LIMITS = {"clip_norm": 1.0, "row_limit": 1.0, "diameter": 50.0, "step_parameter": 1.0}
STEPS = {"clip_norm": 1.0, "diameter": 1e6, "smoothness": 1.0}
LOCALISED = {
    "localised": Localised(**LIMITS),
    "shrinking-localised": ShrinkingLocalised(**LIMITS),
    "doubling-localised": DoublingLocalised(**LIMITS),
}
ACCELERATED = {
    "permuted-accelerated": PermutedAccelerated(n_steps=3, **STEPS),
    "doubling-accelerated": DoublingAccelerated(n_steps=1, growth_bound=4.0, **STEPS),
}
ONE_BATCH = {
    "permuted-accelerated": PermutedAccelerated(n_steps=1, **STEPS),
    "doubling-accelerated": DoublingAccelerated(n_steps=1, growth_bound=4.0, **STEPS),
}
SOLVERS = {**LOCALISED, **ACCELERATED}


def first_of(solvers):
    """The first by default; its relatives, with the same query, in the audit."""
    first, *others = solvers
    return [first, *(pytest.param(name, marks=pytest.mark.audit) for name in others)]


def runs(solver, first, seeds, gate_kind):
    """Answers on rows that say nothing but for the first, which pulls as far as it may."""
    X, y = np.zeros((N_ROWS, 1)), np.zeros(N_ROWS)
    X[0], y[0] = 1.0, first
    problem = Problem(tg.losses.Squared(), N_ROWS, 1)
    plan = solver.plan(problem, GUARANTEE)
    rows = make_rows(X, y, loss=problem.loss)
    answers = []
    for seed in seeds:
        gate = gate_kind(rows, guarantee=GUARANTEE, source=SimulationSource(seed))
        gate.reserve(plan.event, coordinates=plan.coordinates)
        answers.append(solver.run(plan, gate).trace)
    return np.array(answers)[:, :, 0]


def audit(solver, n_runs, gate_kind=Gate):
    """Tell the neighbours apart by all points of the run, weighed by a pilot's discriminant."""

    def pair(start, count):
        return [
            runs(solver, y, range(start + i, start + 2 * count, 2), gate_kind)
            for i, y in enumerate((-1e9, 1e9))
        ]

    pilot = pair(10**6, 100)
    spread = np.cov(np.concatenate([points - points.mean(axis=0) for points in pilot]).T)
    gap = pilot[1].mean(axis=0) - pilot[0].mean(axis=0)
    weights = np.linalg.lstsq(np.atleast_2d(spread), gap, rcond=1e-9)[0]
    threshold = float(weights @ (pilot[0].mean(axis=0) + pilot[1].mean(axis=0)) / 2)
    null, shifted = (points @ weights for points in pair(0, n_runs))
    return gdp_audit(
        null, shifted, threshold=threshold, claimed_mu=MU, true_mu=2 * MU, false_alarm=FALSE_ALARM
    )


@pytest.mark.long
@pytest.mark.parametrize("name", ["localised", "permuted-accelerated"])
def test_no_run_shows_more_than_was_claimed(name):
    assert audit(SOLVERS[name], FEW).accepted


@pytest.mark.audit
@pytest.mark.parametrize("name", SOLVERS)
def test_many_runs_show_no_more_than_was_claimed(name):
    verdict = audit(SOLVERS[name], MANY)
    assert verdict.accepted
    assert verdict.statistic >= 0.3  # the attack does see something


@pytest.mark.long
@pytest.mark.parametrize("name", first_of(LOCALISED))
def test_a_minimiser_of_half_the_sensitivity_is_caught(name, monkeypatch):
    monkeypatch.setattr(localised, "ClippedMinimiser", MUTANTS.minimiser)
    assert not audit(LOCALISED[name], FEW).accepted


@pytest.mark.parametrize("name", first_of(ONE_BATCH))
def test_batches_of_half_the_sensitivity_are_caught(name, monkeypatch):
    monkeypatch.setattr(descent, "MeanClippedGradient", MUTANTS.gradient)
    assert not audit(ONE_BATCH[name], FEW).accepted


@pytest.mark.audit
def test_a_gate_that_forgets_which_block_it_reads_is_caught():
    assert not audit(SOLVERS["permuted-accelerated"], 1_500, MUTANTS.gate).accepted
