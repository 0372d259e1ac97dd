"""Units of descent: right wherever columns lie, harmless where they hide, and by the mean."""

import numpy as np
import pytest

import tailguard as tg
from support.spy import gate_over, spent_mu
from tailguard.plans.problem import Problem
from tailguard.solvers.scaled_gradient_descent import ScaledGradientDescent, _query
from tailguard.solvers.session import BudgetSession

N_ROWS = 20_000
POISSON = tg.losses.Poisson()


def query_of(X, y, loss=None, *, intercept=True, mu=0.5):
    """What is asked for in the released units, and the budget that is left."""
    problem = Problem(loss or tg.losses.Squared(), *X.shape, intercept=intercept)
    guarantee = tg.GDP(mu)
    plan = ScaledGradientDescent().plan(problem, guarantee)
    gate, books = gate_over(problem, X, y, guarantee, seed=1)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    session = BudgetSession(plan, gate)
    return _query(session), session, books


@pytest.mark.parametrize("unit", [1e-30, 1e-6, 1.0, 1e6, 1e30])
@pytest.mark.parametrize("offset", [0.0, 50.0, -1000.0])
def test_location_and_scale_follow_unit_and_offset(unit, offset):
    rng = np.random.default_rng(1)
    z = offset + np.column_stack([rng.standard_normal(N_ROWS), rng.standard_t(2, N_ROWS)])
    units = query_of(unit * z, unit * z[:, 0])[0].units
    assert (units.scale > 0.6 * unit).all()
    assert (units.scale < 2.0 * unit).all()
    np.testing.assert_allclose(units.center / unit, offset, atol=0.5)
    assert abs(units.target_center / unit - offset) < 0.5


def test_a_column_that_is_mostly_zero_keeps_its_unit():
    rng = np.random.default_rng(2)
    cost = np.where(rng.random(N_ROWS) < 0.8, 0.0, 1e6 * rng.lognormal(size=N_ROWS))
    units = query_of(np.column_stack([cost, rng.standard_normal(N_ROWS)]), cost)[0].units
    assert 1e5 < units.scale[0] < 1e7
    assert units.center[0] == 0.0


def test_columns_without_spread_fall_back_to_a_harmless_scale():
    rng = np.random.default_rng(3)
    X = np.column_stack([np.full(N_ROWS, 1e6), np.zeros(N_ROWS), rng.random(N_ROWS) < 1e-4])
    units = query_of(X.astype(float), X[:, 2])[0].units
    assert np.abs((X - units.center) / units.scale).max() <= 1.0 + 1e-6
    assert units.scale[1] == 1.0


def test_nothing_but_void_records_gives_finite_units():
    units = query_of(np.full((500, 2), np.nan), np.zeros(500))[0].units
    assert np.isfinite(units.scale).all()
    assert (units.scale > 0).all()
    assert np.isfinite(units.center).all()


@pytest.mark.parametrize("mean", [0.05, 0.3, 100.0])
def test_counts_are_scaled_to_their_mean_but_not_shifted(mean):
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((N_ROWS, 1)), rng.poisson(mean, N_ROWS).astype(float)
    query, session, _ = query_of(X, y, POISSON)
    assert query.units.target_center == 0.0
    assert mean / 2.0 < query.units.target_scale < 2.0 * mean
    # The same slopes are clipped, and the larger limit is charged.
    assert query.slope_limit >= float(session.plan.settings["slope_limit"])


@pytest.mark.parametrize("y", [np.zeros(500), np.full(500, 1e300), np.full(500, np.nan)])
def test_the_scale_of_counts_is_a_usable_number_whatever_they_are(y):
    query, _, _ = query_of(np.zeros((500, 1)), y, POISSON)
    assert 0.0 < query.units.target_scale < np.inf
    assert np.isfinite(query.norm_limit)


def test_labels_are_not_measured():
    rng = np.random.default_rng(6)
    labels = (rng.random(N_ROWS) < 0.5).astype(float)
    units = query_of(rng.standard_normal((N_ROWS, 1)), labels, tg.losses.Logistic())[0].units
    assert (units.target_center, units.target_scale) == (0.0, 1.0)


def test_descent_spends_what_the_histograms_leave():
    rng = np.random.default_rng(7)
    X, y = rng.standard_normal((N_ROWS, 2)), rng.poisson(0.3, N_ROWS).astype(float)
    problem, guarantee = Problem(POISSON, N_ROWS, 2, intercept=True), tg.GDP(0.5)
    plan = ScaledGradientDescent().plan(problem, guarantee)
    gate, books = gate_over(problem, X, y, guarantee, seed=1)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    ScaledGradientDescent().run(plan, gate)
    assert spent_mu(books) == pytest.approx(plan.total_mu, rel=1e-7)
    assert "fine location" not in {release.stage for release in books.releases}
