"""Scale and place of every column, whatever its unit."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Problem
from tailguard.privacy.events import Gaussian
from tailguard.scaling.columns import columns_of
from tailguard.scaling.units import find_units, histogram_stages
from tailguard.solvers.session import BudgetSession

N_ROWS = 4_000
MU = 3.0


def session_over(X, y, mu, *, intercept=True, seed=0, **shares):
    """A budget session that planned for the histograms only, and its columns."""
    problem = Problem(tg.losses.Squared(), len(X), X.shape[1], intercept=intercept)
    shares = {"pair_differences": 0.02, "target": 0.02, **shares}
    stages = histogram_stages(columns_of(problem), Gaussian(mu), **shares)
    plan = Plan("test", problem, tg.GDP(mu), tuple(stages))
    gate = Gate.over(X, y, guarantee=tg.GDP(mu), random_state=seed)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    return BudgetSession(plan, gate), columns_of(problem)


def units_and_seen(session, columns):
    units, found = find_units(session, columns)
    return units, found.detected


def measured(X, y, mu, **asked):
    """Units, and which columns are seen, of such a session."""
    return units_and_seen(*session_over(X, y, mu, **asked))


def units_of(X, *, intercept=True, mu=MU):
    shares = {"size": 0.3, "location": 0.3, "pair_differences": 0.2, "target": 0.2}
    return measured(X, X[:, 0].copy(), mu, intercept=intercept, **shares)


@pytest.mark.parametrize("unit", [1e-30, 1e-9, 1.0, 1e9, 1e30])
@pytest.mark.parametrize("offset", [0.0, 50.0, -1e4])
def test_scale_and_place_are_found_in_any_unit_and_far_from_zero(unit, offset):
    z = np.random.default_rng(0).standard_normal((N_ROWS, 2))
    units, seen = units_of(unit * (z + offset))
    assert seen.all()
    assert 0.4 * unit < units.scale[0] < 6.0 * unit
    # Far from zero the last bin is wide, and the scale is at least a sixteenth of it.
    reach = 8.0 if offset == -1e4 else 1.0
    assert abs(units.center[0] - unit * offset) < reach * units.scale[0]


def test_columns_that_hide_their_scale_are_not_seen_but_rare_indicators_are():
    rng = np.random.default_rng(1)
    z = rng.standard_normal(N_ROWS)
    rare = (rng.random(N_ROWS) < 0.01).astype(float)
    X = np.column_stack([z, np.full(N_ROWS, 7e8), rare, np.where(rare > 0, 1e6, 0.0)])
    units, seen = units_of(X)
    assert seen[[0, 2]].all()
    assert not seen[1]
    assert units.scale[2] == pytest.approx(1.4, abs=0.7)


def test_a_column_that_is_mostly_one_number_keeps_its_size_for_a_scale():
    """Some of its pairs differ, by this much and that: no octave of them stands out."""
    rng = np.random.default_rng(8)
    mostly = np.where(rng.random(N_ROWS) < 0.1, 20.0 * np.exp2(rng.uniform(-5, 3, N_ROWS)), 20.0)
    X = np.column_stack([rng.standard_normal(N_ROWS), mostly, np.full(N_ROWS, 20.0)])
    seen = np.array([units_of(X, mu=MU * part)[1] for part in (0.03, 0.04, 0.06, 1.0)])
    assert seen[:, :2].all()
    assert not seen[:, 2].any()


def test_nothing_is_shifted_without_an_intercept():
    z = np.random.default_rng(2).standard_normal((N_ROWS, 1))
    units, seen = units_of(z + 50.0, intercept=False)
    assert seen.all()
    assert units.center[0] == 0.0
    assert 25.0 < units.scale[0] < 100.0


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e308, 5e-324])
def test_units_are_finite_whatever_the_records_hold(bad):
    X = np.random.default_rng(3).standard_normal((N_ROWS, 2))
    X[: N_ROWS // 2] = bad
    units, _ = units_of(X)
    assert np.isfinite(units.scale).all()
    assert (units.scale > 0).all()
    assert np.isfinite(units.center).all()


@pytest.mark.parametrize(
    ("others", "size", "asked"),
    [
        (N_ROWS, 3e-3, False),  # seen at once
        (N_ROWS, 3e-7, True),
        (N_ROWS // 25, 3e-3, False),  # mostly zero: few records are left to be seen
    ],
)
def test_sizes_are_asked_again_of_columns_that_were_not_seen_and_may_be(others, size, asked):
    """Of the second column so many records are not zero."""
    z = np.random.default_rng(4).standard_normal((N_ROWS, 2))
    z[others:, 1] = 0.0
    session, columns = session_over(z, z[:, 0], MU, size=size, location=0.1, size_retry=0.4)
    _, seen = units_and_seen(session, columns)
    again = [line.stage for line in session.gate.books.releases if line.stage.endswith("retry")]
    assert bool(again) == asked
    assert seen[0]


def rare(n_rare, *, value=3.0):
    """A full column, and others of which each is zero but in one record of fifty."""
    z = np.zeros((N_ROWS, 1 + n_rare))
    z[:, 0] = np.random.default_rng(6).standard_normal(N_ROWS)
    for column in range(1, 1 + n_rare):
        z[column::50, column] = value
    return z


@pytest.mark.parametrize("value", [3.0, 3e-40, 3e40])
def test_columns_that_are_mostly_zero_share_a_size(value):
    z = rare(30, value=value)
    units, seen = measured(z, z[:, 0], 1.0, size=0.02, location=0.1, shared_size=0.05)
    assert seen[:-1].all()
    assert (0.25 * value <= units.scale[1:]).all()  # half of a bin's middle
    assert (units.scale[1:] <= value).all()
    assert (units.center[1:] == 0.0).all()


def test_rare_indicators_keep_their_ones_beside_frequent_amounts_in_another_unit():
    """A fifth of the amounts are not zero: so many that noise cannot hide them, unlike the ones."""
    z = rare(12, value=1.0)
    z[::5, 1] = 1e-5 * np.random.default_rng(7).uniform(0.5, 2.0, N_ROWS // 5)
    units, seen = measured(z, z[:, 0], 0.3, size=1e-2, location=0.1, shared_size=0.2)
    assert seen[:-1].all()
    assert ((units.scale[2:] > 0.25) & (units.scale[2:] <= 1.0)).all()
    assert 1e-6 < units.scale[1] < 1e-4


def test_columns_of_nothing_but_zeros_share_nothing():
    z = rare(3, value=0.0)
    _, seen = measured(z, z[:, 0], 1.0, size=0.02, location=0.1, shared_size=0.05)
    assert seen[0]
    assert not seen[1:-1].any()


def test_a_column_that_is_not_mostly_zero_shares_no_size():
    z = rare(3)
    z[:, 1] = np.exp2(np.random.default_rng(8).uniform(-150, 150, N_ROWS))  # of no typical size
    _, seen = measured(z, z[:, 0], 1.0, size=1e-3, location=0.1, shared_size=0.05)
    assert seen.tolist() == [True, False, True, True, True]


@pytest.mark.parametrize("location", [0.0, 40.0])
def test_a_target_whose_size_is_hidden_is_placed_with_all_that_is_left(location):
    y = 1e-4 * (location + np.random.default_rng(5).standard_normal(N_ROWS))
    units, seen = measured(y[:, None], y, MU, size=0.1, location=0.8, target=1e-9)
    assert not seen.any()
    assert abs(units.target_center - 1e-4 * location) < 1e-4


def test_a_target_that_is_mostly_zero_is_placed_where_most_of_it_lies():
    rng = np.random.default_rng(9)
    y = np.where(rng.random(N_ROWS) < 0.8, 0.0, 7.0 + rng.standard_normal(N_ROWS))
    units, seen = measured(y[:, None], y, MU, size=0.3, location=0.3, target=0.3)
    assert seen.all()
    assert abs(units.target_center) < 0.5


def test_columns_alone_at_a_centre_that_stays_coarse_are_asked_for_pairs():
    """Where the plan gives pairs too little for all columns, and the few that need it enough."""
    z = np.random.default_rng(8).standard_normal((N_ROWS, 40))
    X = z + np.where(np.arange(40) == 3, 1e4, 0.0)
    session, columns = session_over(X, z[:, 0], 1.0, size=0.3, location=0.3, pair_differences=0.004)
    units, seen = units_and_seen(session, columns)
    paired = [r for r in session.gate.books.releases if r.name == "histograms of pair differences"]
    assert seen.all()
    assert [release.parameters["columns"] for release in paired] == [1, 1]  # of the target, too
    assert units.scale[3] < 6.0


def test_the_target_is_seen_where_its_columns_are_not():
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((500, 50)), rng.standard_normal(500)
    _, seen = measured(X, y, 0.5, size=0.05, location=0.05, target=0.1)
    assert seen.tolist() == [False] * 50 + [True]


def test_a_rare_column_is_no_indicator_where_more_than_noise_is_neither_tie_nor_one():
    rng = np.random.default_rng(7)
    ties = rng.random(N_ROWS) < 0.8
    column = np.where(ties, 0.0, 2.0 ** rng.uniform(-150, 150, N_ROWS))
    column[:80] = 1.0
    _, seen = units_of(np.column_stack([rng.standard_normal(N_ROWS), column]), mu=0.1)
    assert seen.tolist() == [True, False, True]
