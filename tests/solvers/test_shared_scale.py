"""One scale for all features: bought at the price of one column's, and never below what is seen."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Problem
from tailguard.queries.units import Units
from tailguard.solvers.session import BudgetSession
from tailguard.solvers.units import FEATURES, SharedScale

N_ROWS, N_FEATURES = 4_000, 50


def buy(X, y, *, total_mu=0.5, seed=0, intercept=True, **flags):
    problem = Problem(tg.losses.Squared(), *X.shape, intercept=intercept)
    stated = Units.raw(X.shape[1], intercept=False)
    flags = {"releases_scale": True, "releases_target": True} | flags
    shared = SharedScale(problem, stated, **flags)
    guarantee = tg.GDP(total_mu * (1.0 + 1e-9))
    plan = Plan("test", problem, guarantee, shared.stages(total_mu))
    gate = Gate.over(X, y, guarantee=guarantee, random_state=seed)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    return shared.release(BudgetSession(plan, gate)), gate


def columns(seed=0, n_rows=N_ROWS):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_rows, N_FEATURES)), rng.standard_normal(n_rows)


@pytest.mark.parametrize("unit", [1e-30, 1e-3, 1.0, 1e9, 1e30])
def test_scales_follow_the_units_of_the_data(unit):
    X, y = columns(seed=2)
    units, _ = buy(X * unit, 40.0 * unit + y * unit)
    # The median of the difference of two normals, to the shape of an octave and noise.
    np.testing.assert_allclose(units.scale, 0.954 * unit, rtol=0.25)
    assert units.target_scale == pytest.approx(0.954 * unit, rel=0.3)
    assert units.target_center == pytest.approx(40.0 * unit, rel=0.02)
    assert (units.center == 0.0).all()


@pytest.mark.parametrize("place", [0.0, 30.0])
def test_features_may_lie_away_from_zero_since_differences_are_measured(place):
    X, y = columns()
    np.testing.assert_allclose(buy(place + X, y)[0].scale, 0.954, rtol=0.25)


def test_without_an_intercept_the_target_keeps_its_place():
    X, y = columns()
    units, _ = buy(X, 40.0 + y, intercept=False)
    assert units.target_center == 0.0
    assert 30.0 < units.target_scale < 80.0


def test_the_noise_of_a_shared_scale_does_not_grow_with_the_columns():
    needs = []
    for width in (1, 10_000):
        problem = Problem(tg.losses.Squared(), 100, width)
        shared = SharedScale(problem, Units.raw(width, intercept=False), True, False)
        (warning,) = shared.warnings(tg.GDP(0.5), shared.stages(0.1), width)
        needs.append(warning.split(",")[0])
    assert needs[0] == needs[1]


def test_no_more_is_asked_or_spent_than_was_planned():
    X, y = columns()
    _, gate = buy(X, y)
    assert gate.certificate().spent.mu <= gate.certificate().total.mu * (1.0 + 1e-9)
    assert gate.books.releases[0].stage == FEATURES
    _, only_target = buy(X, y, releases_scale=False)
    assert {release.stage for release in only_target.books.releases} <= {
        *("target typical size", "target location", "target scale"),
    }


def test_too_few_records_leave_raw_units():
    X, y = columns(n_rows=40)
    units, _ = buy(1e6 * X, 1e6 * y, total_mu=0.05)
    assert (units.scale == 1.0).all()
    assert units.target_center == 0.0


def test_mostly_zero_columns_keep_their_unit():
    X, y = columns()
    X[np.random.default_rng(1).random(X.shape) < 0.9] = 0.0
    units, _ = buy(100.0 * X, y)
    assert 30.0 < units.scale[0] < 300.0


@pytest.mark.parametrize("spoiled", [np.nan, np.inf, 1e308, 5e-324])
def test_any_records_leave_finite_units(spoiled):
    X, y = columns()
    X[:], y[:] = spoiled, spoiled
    units, _ = buy(X, y)
    for found in (units.scale, units.target_scale, 1.0 / units.scale, units.target_center):
        assert np.isfinite(found).all()
