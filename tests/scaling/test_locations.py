"""Where columns lie: a bell is believed only if it holds most of the records."""

from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from tailguard.gate import Gate
from tailguard.gate.plan import Plan
from tailguard.gate.problem import Problem
from tailguard.gate.stage import Stage
from tailguard.scaling.column_queries import ColumnQueries
from tailguard.scaling.columns import ColumnScales
from tailguard.scaling.location_scale_fit import fit_location_scale
from tailguard.scaling.locations import (
    FALSE_LOCATION,
    FINE_BINS,
    LEAST_SHARE,
    LOCATION_BINS,
    LOCATION_WINDOWS,
    REFINEMENTS,
    find_locations,
)
from tailguard.scaling.noisy_distribution import detection_threshold
from tailguard.solvers.session import BudgetSession

N_ROWS, SIZE = 4_000, 100.0


def placed(x, *, fine_mu=1.0, seed=0):
    """What is found of one column of that size."""
    problem = Problem(tg.losses.Squared(), len(x), 1)
    stages = (Stage("location", "centres", 1.0, 1 + REFINEMENTS, FINE_BINS[-1].count),)
    plan = Plan("example", problem, tg.GDP(2.0), stages)
    gate = Gate.over(x[:, None], guarantee=tg.GDP(2.0), random_state=seed)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    found = ColumnScales.unknown(1)
    found.scale[:] = SIZE
    queries = ColumnQueries(BudgetSession(plan, gate), (0,))
    found.narrow = find_locations(queries, found, stages[0], replace(stages[0], mu=fine_mu))
    return found


def valid(share):
    """A column far from zero; the other records are void."""
    x = SIZE + 10.0 * np.random.default_rng(0).standard_normal(N_ROWS)
    x[int(share * N_ROWS) :] = np.nan
    return x


@pytest.mark.parametrize("share", [1.0, 0.8])
def test_a_bell_that_holds_most_of_the_records_tells_the_centre(share):
    assert abs(placed(valid(share)).center[0] - SIZE) < 20.0


@pytest.mark.parametrize("share", [0.1, 0.2])
def test_a_bell_that_holds_few_of_the_records_is_refused_however_clear_it_is(share):
    x = valid(share)
    counts = np.bincount(
        LOCATION_BINS.index(x[np.isfinite(x)] / SIZE), minlength=LOCATION_BINS.count
    ).astype(float)
    fitted = fit_location_scale(counts, LOCATION_BINS, N_ROWS, noise_std=np.sqrt(2.0))
    assert fitted.significance > 10.0 * detection_threshold(1, FALSE_LOCATION, LOCATION_WINDOWS)
    assert fitted.share < LEAST_SHARE
    found = placed(x)
    assert found.center[0] == 0.0
    assert found.scale[0] == SIZE
    assert found.width[0] == 0.0


def test_one_value_in_most_records_is_one_bin_at_the_closest_look():
    found = placed(SIZE * (np.random.default_rng(1).uniform(size=N_ROWS) < 0.78))
    assert abs(found.center[0] - SIZE) < 0.01 * SIZE
    assert found.narrow.all()


@pytest.mark.parametrize("spreads", [1e2, 1e3, 2e3])
def test_a_narrow_column_far_from_zero_is_no_such_value(spreads):
    std = SIZE / spreads
    found = placed(SIZE + std * np.random.default_rng(2).standard_normal(N_ROWS))
    assert abs(found.center[0] - SIZE) < std
    assert std / 2.0 < found.scale[0] < 4.0 * std
    assert not found.narrow.any()


def test_the_spread_of_a_faint_bell_at_a_closer_look_is_not_believed():
    """Noise narrows bells; what it does to a scale would cut all rows."""
    scales, centers, location = [], [], 1.09 * SIZE
    for seed in range(60):
        x = location + 3.0 * np.random.default_rng(seed).standard_normal((300, 1))
        problem = Problem(tg.losses.Squared(), 300, 1)
        stages = (Stage("location", "centres", 1.0, 1 + REFINEMENTS, FINE_BINS[-1].count),)
        plan = Plan("example", problem, tg.GDP(2.0), stages)
        gate = Gate.over(x, guarantee=tg.GDP(2.0), random_state=seed)
        gate.reserve(plan.event, coordinates=plan.coordinates)
        found = ColumnScales.unknown(1)
        found.scale[:] = SIZE
        queries = ColumnQueries(BudgetSession(plan, gate), (0,))
        find_locations(queries, found, *(replace(stages[0], mu=mu) for mu in (0.1, 0.06)))
        if found.scale[0] < SIZE:
            scales.append(found.scale[0])
            centers.append(found.center[0])
    assert len(scales) > 40
    assert min(scales) > 0.5
    assert np.mean(np.abs(np.array(centers) - location)) < 2.0  # 4.5 after the first look


def test_one_value_in_most_records_is_known_by_faint_looks_too():
    """Bells of six or seven standard deviations: their spread is not believed, that they are."""
    x = SIZE * (np.random.default_rng(1).uniform(size=N_ROWS) < 0.9)
    fine_mu = 7.0 * np.sqrt(2.0) / (0.9 * N_ROWS)
    narrow = [placed(x, fine_mu=fine_mu, seed=seed).narrow[0] for seed in range(20)]
    assert np.mean(narrow) > 0.5
