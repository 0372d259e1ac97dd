"""Private units, and a histogram alone: how many rows it takes to buy them."""

import math
from bisect import bisect_left

import numpy as np
import pytest

import tailguard as tg
from support.means import planned, task_of
from tailguard.gate import Gate
from tailguard.means.base import most_coordinates
from tailguard.means.choice import make_method
from tailguard.means.private_units import PrivateUnits, affords_tail, affords_units
from tailguard.privacy.events import Composed

MU = 0.5
GDP = tg.GDP(MU)


@pytest.mark.parametrize("n_features", [1, 10, 100])
@pytest.mark.parametrize("name", ["clipped", "soft"])
def test_half_as_many_again_as_the_documented_number_of_rows_is_safe(name, n_features):
    stated = 1.5 * 70.0 * math.sqrt(n_features) / MU
    affordable = [
        affords_units(
            planned(make_method(name), task_of(round(part * stated), n_features, tg.GDP(MU)))
        )
        for part in (0.85, 1.15)
    ]
    assert affordable == [False, True]


@pytest.mark.parametrize("guarantee", [tg.GDP(MU), tg.PureDP(4.0 * MU)])
@pytest.mark.parametrize("n_features", [1, 20])
def test_typical_columns_are_measured_where_that_is_safe(guarantee, n_features):
    """Centres and scales of all columns, but for one fit in twenty."""

    def affords(n_rows):
        return affords_units(planned(make_method("soft"), task_of(n_rows, n_features, guarantee)))

    sizes = range(1, 10**5, 50)
    task = task_of(sizes[bisect_left(sizes, True, key=affords)], n_features, guarantee)
    missed = 0
    for seed in range(20):
        x = np.random.default_rng(seed).normal(3.0, 1.0, (task.n_rows, n_features))
        found = released(x, guarantee, seed).units
        missed += (np.abs(found.center - 3.0) > 1.5).mean() > 0.05
        missed += ((found.scale < 0.2) | (found.scale > 6.0)).any()
    assert missed <= 1


@pytest.mark.parametrize("offset", [0.0, 50.0, 1e6])
@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
def test_units_follow_the_columns_wherever_they_lie(unit, offset):
    n_rows = 20_000
    rng = np.random.default_rng(1)
    z = offset + np.column_stack([rng.standard_normal(n_rows), rng.standard_t(2, n_rows)])
    units = released(unit * z).units
    # The typical absolute difference is 0.95 standard deviations of a normal column; far from zero
    # the finest bin, a two hundred thousandth of the offset, is the least scale.
    assert (units.scale > 0.5 * unit).all()
    assert (units.scale < 2.5 * unit * max(1.0, 1e-5 * abs(offset))).all()
    np.testing.assert_allclose((units.center / unit - offset) * unit / units.scale, 0.0, atol=0.6)


def test_columns_without_spread_have_the_width_of_their_bin_for_a_scale():
    n_rows = 20_000
    X = np.column_stack([np.full(n_rows, 1e6), np.zeros(n_rows), np.full(n_rows, -3.0)])
    units = released(X).units
    assert units.scale[1] == 1.0
    assert (np.abs(units.center - X[0]) <= 2.0 * units.scale).all()
    assert units.scale[0] < 20.0


@pytest.mark.parametrize("value", [np.nan, 1e308, 5e-324])
def test_units_are_finite_whatever_the_records_hold(value):
    units = released(np.full((500, 2), value)).units
    assert np.isfinite(units.center).all()
    assert (np.isfinite(units.scale) & (units.scale > 0.0)).all()


def test_what_histograms_leave_goes_to_the_tail_in_the_gaussian_currency_alone():
    X = np.random.default_rng(2).normal(3.0, 1.0, (20_000, 2))
    for guarantee in (tg.GDP(MU), tg.PureDP(4.0)):
        task = task_of(len(X), 2, guarantee)
        units, gate = units_and_gate(X, guarantee)
        units.release(gate)
        fine = next(stage for stage in units.stages if stage.name == "fine location")
        tail = gate.books.releases[-1].event()
        planned, amount = units.stages[-1].mu, fine.mu
        if task.pure:
            assert tail.epsilon == pytest.approx(planned, rel=1e-3)
        else:
            assert tail.mu == pytest.approx(math.hypot(planned, math.sqrt(3) * amount), rel=1e-3)


def units_and_gate(X, guarantee, seed=0):
    units, _ = PrivateUnits.of(task_of(*X.shape, guarantee), "entries")
    gate = Gate.over(X, guarantee=guarantee, random_state=seed)
    gate.reserve(Composed(tuple(stage.event for stage in units.stages)), coordinates=10**6)
    return units, gate


def released(X, guarantee=GDP, seed=0):
    """What is released of the columns of these records."""
    units, gate = units_and_gate(X, guarantee, seed)
    return units.release(gate)


@pytest.mark.parametrize("n_features", [3, 100])
@pytest.mark.parametrize(
    ("guarantee", "stated"), [(tg.GDP(MU), 200.0 / MU), (tg.PureDP(MU), 2300.0 / MU)]
)
def test_a_histogram_takes_the_documented_number_of_rows_whatever_the_columns(
    n_features, guarantee, stated
):
    affordable = [
        affords_tail(
            planned(
                make_method("soft"), task_of(round(part * stated), n_features, guarantee, unit=1.0)
            )
        )
        for part in (0.9, 1.1)
    ]
    assert affordable == [False, True]


@pytest.mark.parametrize("n_features", [1, 50])
@pytest.mark.parametrize("name", ["clipped", "clamped", "soft"])
def test_a_plan_releases_no_more_numbers_than_its_budget_is_worked_out_for(name, n_features):
    plan = planned(make_method(name), task_of(20_000, n_features, tg.ApproxDP(1.0, 1e-6)))
    assert plan.coordinates <= most_coordinates(plan.problem)
