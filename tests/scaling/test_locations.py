"""Where columns lie: what a fitted curve tells, and that it is believed only if it holds most."""

from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Problem
from tailguard.gate.stage import Stage
from tailguard.queries.histograms import Bins
from tailguard.scaling.columns import ColumnQueries, ColumnScales
from tailguard.scaling.noisy_distribution import detection_threshold
from tailguard.scaling.sizes_and_locations import (
    FALSE_LOCATION,
    FINE_BINS,
    LEAST_SHARE,
    LOCATION_BINS,
    LOCATION_WINDOWS,
    REFINEMENTS,
    find_locations,
    fit_location_scale,
)
from tailguard.solvers.session import BudgetSession

N_ROWS, MANY_ROWS, SIZE = 4_000, 20_000, 100.0


def placed(x, *, mu=1.0, fine_mu=1.0, seed=0):
    """What is found of one column of that size."""
    problem = Problem(tg.losses.Squared(), len(x), 1)
    stages = (Stage("location", "centres", 1.0, 1 + REFINEMENTS, FINE_BINS[-1].count),)
    plan = Plan("example", problem, tg.GDP(2.0), stages)
    gate = Gate.over(x[:, None], guarantee=tg.GDP(2.0), random_state=seed)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    found = ColumnScales.unknown(1)
    found.scale[:] = SIZE
    queries = ColumnQueries(BudgetSession(plan, gate), (0,))
    asked = (replace(stages[0], mu=each) for each in (mu, fine_mu))
    found.narrow = find_locations(queries, found, *asked)
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
        x = location + 3.0 * np.random.default_rng(seed).standard_normal(300)
        found = placed(x, mu=0.1, fine_mu=0.06, seed=seed)
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


def counts_of(values, bins):
    return np.bincount(bins.index(values), minlength=bins.count).astype(float)


def spread_of(values):
    """Median absolute difference of two records."""
    half = len(values) // 2
    return float(np.median(np.abs(values[:half] - values[half : 2 * half])))


def normal(rng, shape):
    return rng.standard_normal(shape)


def lognormal(rng, shape):
    return np.exp(rng.standard_normal(shape))


def mostly_zero(rng, shape):
    """Zero for three in ten, and positive else."""
    return np.where(rng.random(shape) < 0.3, 0.0, 1.0 + 0.5 * rng.standard_normal(shape))


@pytest.mark.parametrize("distribution", [normal, lognormal, mostly_zero])
@pytest.mark.parametrize("offset", [0.0, 1.5, -4.0])
def test_centre_and_spread_are_those_of_the_records(distribution, offset):
    values = offset + distribution(np.random.default_rng(0), MANY_ROWS)
    fitted = fit_location_scale(
        counts_of(values, LOCATION_BINS), LOCATION_BINS, MANY_ROWS, noise_std=1.0
    )
    assert abs(fitted.location - np.median(values)) < 0.6 * spread_of(values)
    assert 0.5 < fitted.scale / spread_of(values) < 2.0
    assert not fitted.narrow


@pytest.mark.parametrize("bins", [LOCATION_BINS, *FINE_BINS, Bins("linear", -8.0, 4.0, 64)])
def test_only_what_lies_in_one_bin_is_sharp(bins):
    location = bins.count // 3
    width = float(bins.value(location + 1) - bins.value(location))
    z = np.random.default_rng(1).standard_normal(MANY_ROWS)
    for spread, narrow in ((0.0, True), (0.1, True), (3.0, False)):
        values = bins.value(location + 0.5) + spread * width * z
        fitted = fit_location_scale(counts_of(values, bins), bins, MANY_ROWS, noise_std=1.0)
        assert fitted.narrow == narrow
        assert abs(fitted.location - float(bins.value(location + 0.5))) < width


def test_a_spread_is_told_where_noise_hides_all_but_few_bins_from_quantiles():
    """Noise of a third of the largest bin."""
    rng = np.random.default_rng(2)
    values = rng.standard_normal(MANY_ROWS)
    counts = counts_of(values, LOCATION_BINS)
    noise_std, ratios = counts.max() / 3.0, []
    for _ in range(100):
        noised = counts + noise_std * rng.standard_normal(counts.size)
        fitted = fit_location_scale(noised, LOCATION_BINS, MANY_ROWS, noise_std)
        ratios.append(fitted.scale / spread_of(values))
    assert 1 / 1.5 < np.median(ratios) < 1.5


def test_how_far_a_bell_stands_out_is_in_units_of_the_noise():
    rng = np.random.default_rng(3)
    seen = [
        fit_location_scale(
            5.0 * rng.standard_normal(LOCATION_BINS.count), LOCATION_BINS, 1.0, noise_std=5.0
        ).significance
        for _ in range(200)
    ]
    assert np.max(np.abs(seen)) < 5.0
    counts = counts_of(rng.standard_normal(MANY_ROWS), LOCATION_BINS)
    one, ten = (
        fit_location_scale(counts, LOCATION_BINS, MANY_ROWS, noise_std=s).significance
        for s in (1.0, 10.0)
    )
    assert one == pytest.approx(10.0 * ten)
    assert one > 3_000


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 1.0])
def test_the_share_is_that_of_the_records_in_the_bell(share):
    values = np.random.default_rng(4).standard_normal(MANY_ROWS)[: int(share * MANY_ROWS)]
    fitted = fit_location_scale(
        counts_of(values, LOCATION_BINS), LOCATION_BINS, MANY_ROWS, noise_std=1.0
    )
    assert fitted.share == pytest.approx(share, abs=0.1)
