"""One scale for all features: bought at the price of one column's, and never below what is seen."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.gate import Gate
from tailguard.plans.problem import Problem
from tailguard.privacy.events import Composed
from tailguard.queries.units import Units
from tailguard.solvers.shared_units import SharedUnits

N_ROWS, N_FEATURES = 4_000, 50


def buy(X, y, *, total_mu=0.5, loss=None, seed=0, intercept=True, **flags):
    problem = Problem(loss or tg.losses.Squared(), *X.shape, intercept=intercept)
    stated = Units.raw(X.shape[1], intercept=False)
    units = SharedUnits(
        problem, stated, **({"releases_scale": True, "releases_target": True} | flags)
    )
    stages = units.stages(total_mu)
    gate = Gate.over(X, y, guarantee=tg.GDP(total_mu), random_state=seed)
    gate.reserve(Composed(tuple(stage.event for stage in stages)))
    return units.release(gate, stages), gate


def columns(seed=0, n_rows=N_ROWS):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_rows, N_FEATURES)), rng.standard_normal(n_rows)


@pytest.mark.parametrize("unit", [1e-200, 1e-3, 1.0, 1e9, 1e200])
def test_scales_follow_the_units_of_the_data(unit):
    X, y = columns(seed=2)
    units, _ = buy(X * unit, 40.0 * unit + y * unit)
    # The median of the difference of two normals, to a quarter of an octave and noise.
    np.testing.assert_allclose(units.scale, 0.954 * unit, rtol=0.25)
    assert units.target_scale == pytest.approx(0.954 * unit, rel=0.25)
    assert units.target_center == pytest.approx(40.0 * unit, rel=0.02)
    assert (units.center == 0.0).all()


def test_without_an_intercept_the_target_keeps_its_place():
    X, y = columns()
    units, _ = buy(X, 40.0 + y, intercept=False)
    assert units.target_center == 0.0
    assert units.target_scale == pytest.approx(40.0, rel=0.02)


def test_the_noise_of_a_shared_scale_does_not_grow_with_the_columns():
    narrow, wide = (
        SharedUnits(
            Problem(tg.losses.Squared(), N_ROWS, width),
            Units.raw(width, intercept=False),
            releases_scale=True,
            releases_target=False,
        )
        for width in (1, 10_000)
    )
    noises = [
        each._cells.calibrate(N_ROWS, each.problem.n_features, each.stages(0.1)[0].mu).noise_std
        / each.problem.n_features
        for each in (narrow, wide)
    ]
    assert noises[0] == pytest.approx(noises[1], rel=1e-2)


def test_what_is_spent_is_what_was_planned_and_no_more_is_asked():
    X, y = columns()
    _, gate = buy(X, y)
    assert gate.certificate().spent.mu == pytest.approx(gate.certificate().total.mu, rel=1e-9)
    _, only_target = buy(X, y, releases_scale=False)
    names = {release.name for release in only_target.books.releases}
    assert not any("columns" in name for name in names)


def test_too_few_records_leave_raw_units():
    X, y = columns(n_rows=40)
    units, _ = buy(1e6 * X, 1e6 * y, total_mu=0.1)
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
