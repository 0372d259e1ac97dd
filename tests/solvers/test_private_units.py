"""Private units: right in every unit and at every offset, and total on degenerate columns."""

import numpy as np
import pytest

import tailguard as tg
from support.spy import gate_over
from tailguard.plans.problem import Problem
from tailguard.privacy.events import Composed
from tailguard.solvers.private_units import release_units, scale_and_location_stages

N_ROWS = 20_000
UNIT_SIZES = (1e-250, 1e-6, 1.0, 1e6, 1e250)


def bought(X, y=None, *, loss=None, seed=0, mu=0.2, intercept=True):
    loss = loss or tg.losses.Squared()
    problem = Problem(loss, len(X), X.shape[1], intercept)
    stages = scale_and_location_stages(problem, mu)
    guarantee = tg.GDP(mu * (1 + 1e-9))
    gate, _ = gate_over(problem, X, X[:, 0] if y is None else y, guarantee, seed=seed)
    gate.reserve(Composed(tuple(stage.event for stage in stages)))
    return release_units(gate, problem, *stages)


@pytest.mark.parametrize("size", UNIT_SIZES)
@pytest.mark.parametrize("offset", [0.0, 50.0, -1000.0])
def test_location_and_scale_follow_unit_and_offset(size, offset):
    rng = np.random.default_rng(1)
    X = size * (offset + np.column_stack([rng.standard_normal(N_ROWS), rng.standard_t(2, N_ROWS)]))
    units = bought(X)
    # The median of |x - x'| is 0.95 standard deviations of a Gaussian; rounding is to a quarter
    # octave upwards.
    assert 0.7 * size < units.scale[0] < 1.6 * size
    np.testing.assert_allclose(units.center / size, offset, atol=0.25)


def test_a_column_that_is_mostly_zero_keeps_its_unit():
    rng = np.random.default_rng(2)
    cost = np.where(rng.random(N_ROWS) < 0.8, 0.0, 1e6 * rng.lognormal(size=N_ROWS))
    units = bought(np.column_stack([cost, rng.standard_normal(N_ROWS)]))
    assert 1e5 < units.scale[0] < 1e7
    assert abs(units.center[0]) < 1e-3


def test_columns_without_spread_fall_back_to_a_harmless_scale():
    rng = np.random.default_rng(3)
    X = np.column_stack([np.full(N_ROWS, 1e6), np.zeros(N_ROWS), rng.random(N_ROWS) < 1e-4])
    units = bought(X.astype(float))
    standardised = np.abs((X - units.center) / units.scale)
    assert standardised.max() <= 1.0 + 1e-6
    assert units.scale[1] == 1.0


def test_void_records_do_not_shift_the_quantiles():
    rng = np.random.default_rng(4)
    X = 10.0 + rng.standard_normal((N_ROWS, 2))
    X[rng.random(N_ROWS) < 0.4, 1] = np.nan
    units = bought(X, np.zeros(N_ROWS))
    np.testing.assert_allclose(units.center, 10.0, atol=0.3)
    assert ((units.scale > 0.7) & (units.scale < 1.6)).all()


def test_nothing_but_void_records_gives_finite_units():
    units = bought(np.full((500, 2), np.nan))
    assert np.isfinite(units.scale).all()
    assert (units.scale > 0).all()
    assert np.isfinite(units.center).all()


def test_a_count_target_is_scaled_but_not_shifted():
    rng = np.random.default_rng(5)
    counts = rng.poisson(100.0, N_ROWS).astype(float)
    units = bought(rng.standard_normal((N_ROWS, 1)), counts, loss=tg.losses.Poisson())
    assert units.target_center == 0.0
    assert 50 < units.target_scale < 200


def test_labels_are_not_measured():
    rng = np.random.default_rng(6)
    labels = (rng.random(N_ROWS) < 0.5).astype(float)
    units = bought(rng.standard_normal((N_ROWS, 1)), labels, loss=tg.losses.Logistic())
    assert (units.target_center, units.target_scale) == (0.0, 1.0)
