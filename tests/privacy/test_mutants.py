"""Each known way to break the promise is caught by the suite that guards it."""

import dataclasses
import math
from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from privacy.mutants.faulty_gates import ReusedHistogram, UnchargedHistograms
from privacy.mutants.faulty_queries import (
    AddRemoveSensitivity,
    ForgottenClip,
    HalvedKinds,
    HeavyCount,
    NaiveClosedForm,
    NeighbourCount,
    OneSidedLadder,
    UncountedSquares,
    printed_closed_form,
)
from support.attack import attack
from support.clean_tables import n_stopped
from support.examples import query_examples
from support.spy import spent_mu
from support.statistics import gaussian_scale_test
from tailguard.checks import BudgetError
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate, record_check
from tailguard.gate.plan import Problem
from tailguard.noise.lattice import LatticeMechanism
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.calibration import Sensitivity
from tailguard.solvers.newton.allocation import shares_for
from tailguard.solvers.newton.solver import WhitenedNewton

EXAMPLES = {example.name: example for example in query_examples()}
SQUARED = EXAMPLES["mean-clipped-gradient/squared"]
SOFT = EXAMPLES["soft-mean/smoothing-4.6"]
LADDER = EXAMPLES["level-gradients/whitened"]
N_DRAWS = 6_000


def mutated(mutant):
    query = SQUARED.query
    return dataclasses.replace(
        SQUARED, query=mutant(query.loss, query.units, clip_norm=query.clip_norm)
    )


@pytest.mark.parametrize("mutant", [AddRemoveSensitivity, ForgottenClip])
def test_a_query_that_understates_its_sensitivity_is_caught(mutant):
    assert attack(SQUARED, 200, seed=1) <= 1.0
    assert attack(mutated(mutant), 200, seed=1) > 1.5


def test_slopes_that_are_taken_for_one_sided_are_caught():
    exact = LADDER.query
    mutant = OneSidedLadder(exact.view, exact.row_limit, exact.levels, exact.shares)
    assert attack(LADDER, 200, seed=1) <= 1.0
    assert attack(dataclasses.replace(LADDER, query=mutant), 200, seed=1) > 1.5


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        ("usable-records/one", NeighbourCount()),
        ("cell-kinds/numbers", HalvedKinds(4)),
        ("weight-totals/one", UncountedSquares()),
        ("target-totals/void", HeavyCount(0.5)),
    ],
)
def test_a_count_of_records_that_reads_a_neighbour_or_is_charged_too_little_is_caught(name, mutant):
    assert attack(EXAMPLES[name], 200, seed=1) <= 1.0
    assert attack(dataclasses.replace(EXAMPLES[name], query=mutant), 200, seed=1) > 1.2


def test_a_stop_on_the_wrong_side_of_the_noise_is_caught(monkeypatch):
    assert n_stopped(20) == 0
    monkeypatch.setattr(record_check, "SURELY", -record_check.SURELY)
    assert n_stopped(20) > 5


def test_a_count_that_is_left_out_of_the_plan_is_refused(monkeypatch):
    X = np.random.default_rng(0).standard_normal((1000, 2))
    ask = {"guarantee": tg.GDP(1.0), "method": "clamped", "threshold": 3.0}
    assert tg.mean(X, **ask).certificate.unused == {}
    monkeypatch.setattr(record_check.RecordCheck, "stages", ())
    with pytest.raises(BudgetError, match="must be covered by the reserved budget"):
        tg.mean(X, **ask)


def test_the_printed_closed_form_of_the_soft_truncation_is_caught():
    assert printed_closed_form(np.array([1e6]), math.log(100.0))[0] > 10.0
    exact = SOFT.query
    naive = NaiveClosedForm(None, exact.units, exact.scale, exact.smoothing)
    assert attack(SOFT, 200, seed=1) <= 1.0
    assert attack(dataclasses.replace(SOFT, query=naive), 200, seed=1) > 1.5


class HalvedNoise(LatticeMechanism):
    """Draws correctly, then halves the noise."""

    def release(self, lattice, calibration, source):
        return (super().release(lattice, calibration, source) + lattice) // 2


def noise_of(mechanism):
    sensitivity = Sensitivity("l2", 2.0, 2.0, N_DRAWS, 1e3, 1e6)
    calibration = mechanism.calibrate(sensitivity, 1.0)
    zero = np.zeros(N_DRAWS, dtype=np.int64)
    draws = mechanism.release(zero, calibration, SimulationSource(8)) * calibration.grid
    return draws, calibration.noise_std


def test_halved_noise_is_caught():
    for mechanism, accepted in (
        (LatticeMechanism("gaussian"), True),
        (HalvedNoise("gaussian"), False),
    ):
        verdict = gaussian_scale_test(*noise_of(mechanism), false_alarm=1e-6)
        assert verdict.accepted is accepted
        assert verdict.power >= 0.999


def test_releases_that_are_not_charged_are_caught_by_comparing_spent_with_planned():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_000, 2))
    y = X[:, 0] + rng.standard_normal(2_000)
    problem = Problem(tg.losses.Squared(), 2_000, 2, intercept=True)
    guarantee = tg.GDP(1.0)
    solver = WhitenedNewton(shares=replace(shares_for(problem, 1.0), target=0.05))
    plan = solver.plan(problem, guarantee)
    spent = []
    for kind in (Gate, ReusedHistogram, UnchargedHistograms):
        rows = make_rows(X, y, loss=problem.loss)
        gate = kind(rows, guarantee=guarantee, source=SimulationSource(1))
        gate.reserve(plan.event, coordinates=plan.coordinates)
        solver.run(plan, gate)
        spent.append(spent_mu(gate.books))
    assert spent[0] == pytest.approx(plan.total_mu, rel=1e-6)
    assert max(spent[1:]) < 0.99 * plan.total_mu
