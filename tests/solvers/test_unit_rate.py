"""The rate of a log-link fit: booked like everything else, and charged at the limits it sets."""

import numpy as np
import pytest

import tailguard as tg
from support.spy import gate_over, spent_mu
from support.stages import once
from tailguard.gate import Gate
from tailguard.noise.sources import SimulationSource
from tailguard.plans.problem import Problem
from tailguard.privacy.events import Gaussian
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.units import Units
from tailguard.rows.arrays import make_rows
from tailguard.solvers.scaled_gradient_descent import ScaledGradientDescent
from tailguard.solvers.unit_rate import at_unit_rate

N_ROWS = 2_000
POISSON = tg.losses.Poisson()


def counts(mean, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((N_ROWS, 2)), rng.poisson(mean, N_ROWS).astype(float)


def asked(y, mu=5.0, n_rows=N_ROWS):
    problem = Problem(POISSON, n_rows, 1, intercept=True)
    gate, books = gate_over(problem, np.zeros((n_rows, 1)), y, tg.GDP(mu * (1 + 1e-9)), seed=1)
    gate.reserve(Gaussian(mu))
    query = MeanClippedGradient(POISSON, Units.raw(1, intercept=True), 2.0, 4.0)
    return query, at_unit_rate(gate, query, once(mu)), books


@pytest.mark.parametrize("mean", [0.05, 0.3])
def test_the_target_is_read_in_units_of_its_mean(mean):
    _, scaled, _ = asked(counts(mean)[1])
    assert scaled.units.target_scale == pytest.approx(mean, rel=0.25)


def test_the_same_slopes_are_clipped_and_the_larger_limit_is_charged():
    before, after, books = asked(counts(0.1)[1])
    rate = after.units.target_scale
    assert after.slope_limit * rate == pytest.approx(before.slope_limit)
    charged = after.sensitivity(N_ROWS, 1).ideal
    assert charged == pytest.approx(before.sensitivity(N_ROWS, 1).ideal / rate)
    assert spent_mu(books) == pytest.approx(5.0)


@pytest.mark.parametrize("y", [np.zeros(50), np.full(50, 1e300), np.full(50, np.nan)])
def test_the_rate_is_a_usable_number_whatever_the_targets_are(y):
    _, scaled, _ = asked(y, mu=0.01, n_rows=50)
    assert 0.0 < scaled.units.target_scale <= 1.0
    assert np.isfinite(scaled.norm_limit)


@pytest.mark.parametrize("exposed", [False, True])
def test_a_whole_fit_spends_what_was_planned(exposed):
    X, y = counts(0.3)
    guarantee = tg.ApproxDP(1.0, 1e-6)
    problem = Problem(POISSON, N_ROWS, 2, intercept=True, has_offset=exposed)
    plan = ScaledGradientDescent().plan(problem, guarantee)
    rows = make_rows(X, y, exposure=np.full(N_ROWS, 0.5) if exposed else None, loss=POISSON)
    gate = Gate(rows, guarantee=guarantee, source=SimulationSource(1))
    gate.reserve(plan.event, coordinates=plan.coordinates)
    ScaledGradientDescent().run(plan, gate)
    releases = gate.books.releases
    assert [stage.name for stage in plan.stages] == ["scale", "location", "rate", "descent"]
    assert spent_mu(gate.books) == pytest.approx(plan.total_mu, rel=1e-9)
    assert sum(release.times for release in releases) == sum(stage.times for stage in plan.stages)
    assert releases[-1].sensitivity > releases[-2].sensitivity  # the rate is below 1
