"""Tails of columns: a heavy column pays for itself, and hidden sizes are not called exact."""

import math

import numpy as np
import pytest

import tailguard as tg
from support.means import planned, task_of
from tailguard.audit.gates import OverheardGate
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.means.clipped import Clipped
from tailguard.means.column_tails import BINS, WIDE_BINS, release_tails, unit_factors
from tailguard.means.magnitude_distribution import cell_edges, last_visible
from tailguard.means.private_units import COLUMN_TAILS
from tailguard.privacy.events import Gaussian
from tailguard.queries.units import Units

N_ROWS = 10_000
DELTA = {"delta": 1e-6}


def with_far_cells(seed=0):
    """Seven normal columns, and one that hardly varies but for 0.8 percent of its cells."""
    rng = np.random.default_rng(seed)
    X = rng.normal(50.0, 10.0, (N_ROWS, 8))
    X[:, 7] = np.where(rng.random(N_ROWS) < 0.008, 0.0, 1.0 + 1e-6 * rng.normal(size=N_ROWS))
    return X


def with_costs(seed=0):
    """Six normal columns, and two of costs with a long tail."""
    rng = np.random.default_rng(seed)
    X = rng.normal(50.0, 10.0, (N_ROWS, 8))
    X[:, 6:] = rng.lognormal(5.0, 2.0, (N_ROWS, 2))
    return X


def mostly_zero(seed=0):
    """The cost of 20 000 contracts, of which one in ten has a claim."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(20_000) < 0.1, rng.lognormal(7.0, 1.5, 20_000), 0.0)


def column_errors(X, epsilon, n_draws=5):
    """Median errors of the columns, in their standard deviations."""
    found = [tg.mean(X, epsilon=epsilon, **DELTA, random_state=seed) for seed in range(n_draws)]
    errors = [np.abs(one.value - X.mean(axis=0)) / X.std(axis=0) for one in found]
    return np.median(errors, axis=0)


@pytest.mark.long
@pytest.mark.parametrize("made", [with_far_cells, with_costs])
def test_a_heavy_column_does_not_ruin_the_others(made):
    X = made()
    by_epsilon = [column_errors(X, epsilon) for epsilon in (1.0, 4.0, 20.0)]
    for errors, most in zip(by_epsilon, (0.03, 0.015, 0.006), strict=True):
        assert errors[:6].max() < most
    assert (by_epsilon[2].mean() < by_epsilon[1].mean() < by_epsilon[0].mean()).all()


@pytest.mark.long
def test_a_heavy_column_is_as_good_as_alone_with_its_share():
    X = with_costs()
    mu = tg.mean(X[:, :1], epsilon=4.0, **DELTA, random_state=0).certificate.total.mu
    share = {"guarantee": tg.GDP(mu / math.sqrt(8.0))}
    alone = np.median(
        [
            np.abs([tg.mean(x, **share, random_state=s).value for x in X.T] - X.mean(axis=0))
            for s in range(5)
        ],
        axis=0,
    )
    together = column_errors(X, 4.0) * X.std(axis=0)
    assert together[:6].mean() < 1.5 * alone[:6].mean()
    assert together[6:].mean() < 1.2 * alone[6:].mean()


def test_units_of_columns_that_are_alike_stay():
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(unit_factors(rng.uniform(0.6, 1.6, 20)), 1.0)
    assert unit_factors(np.array([1.0, 1.0, 1.0, 1e5]))[3] == pytest.approx(1e5)
    assert unit_factors(np.array([1e-5, 1.0, 1.0]))[2] == pytest.approx(1e5)
    # Half of the columns are heavy: the middle is between both groups, and near neither.
    halves = unit_factors(np.repeat([0.2, 5.0], 4))
    assert 12.0 < halves[7] / halves[0] <= 25.0


def test_a_cost_that_is_mostly_zero_has_the_scale_of_its_claims():
    x = mostly_zero()
    for seed in range(3):
        found = tg.mean(x, epsilon=0.3, **DELTA, random_state=seed)
        assert 0.3 * x.mean() < found.value < 1.3 * x.mean()
        assert found.noise_std > 0.01 * x.mean()
        assert found.low < x.mean() < found.high


@pytest.mark.long
def test_a_rare_level_beside_others_keeps_its_mean():
    """The scale of rare cells is released, and noise hides these cells in the tails."""
    rng = np.random.default_rng(0)
    X = (rng.random((N_ROWS, 8)) < np.array([0.02] * 4 + [0.4] * 4)).astype(float)
    stated = []
    for seed in range(6):
        found = tg.mean(X, epsilon=1.0, **DELTA, random_state=seed)
        stated.append(np.abs(found.value - X.mean(axis=0)) / found.noise_std)
    known = np.ravel(stated)[~np.isnan(np.ravel(stated))]
    assert known.size > 24
    assert np.mean(known < 3.0) > 0.95


# Intervals ---------------------------------------------------------------------------------------

RNG = np.random.default_rng(2)
LAWS = {
    "normal": RNG.normal(5.0, 1.0, 5_000),
    "uniform": RNG.uniform(size=5_000),
    "indicator": RNG.random(5_000) < 0.3,
    "grades": 4.0 - np.minimum(RNG.geometric(0.6, 5_000), 4),
    "exponential": 2_000.0 - RNG.exponential(3.0, 5_000),
    "lognormal": RNG.lognormal(0.0, 1.5, 5_000),
    "t(3)": RNG.standard_t(3.0, 5_000),
    "pareto": RNG.pareto(1.5, 5_000),
    "zeros": np.where(RNG.random(5_000) < 0.5, 0.0, RNG.pareto(2.0, 5_000)),
    "hardly varies": np.where(RNG.random(5_000) < 0.003, RNG.random(5_000), 1.0),
    "ones and twos": 1.0 + (RNG.random(5_000) < 0.05),
}


def share_held(X, epsilon, n_draws):
    """The share of intervals that hold the mean of the records; a missing one is an error."""
    runs = [tg.mean(X, epsilon=epsilon, **DELTA, random_state=seed) for seed in range(n_draws)]
    low, high = np.array([run.low for run in runs]), np.array([run.high for run in runs])
    assert np.isfinite(low).all()
    return np.mean((low <= X.mean(axis=0)) & (X.mean(axis=0) <= high))


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
def test_an_interval_holds_the_mean_of_the_records(law):
    x = LAWS[law].astype(float)
    assert share_held(x, 1.0, 20) >= 0.85
    assert share_held(x, 4.0, 20) >= 0.85


def test_an_interval_holds_a_tail_that_exceeds_the_noise_only_in_many_bins_together():
    """A tenth of the cells spread over ten octaves, and noise hides them in every bin."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random(9_000) < 0.1, np.exp(rng.uniform(0.0, 5.0, 9_000)), rng.random(9_000))
    runs = [tg.mean(x, epsilon=1.0, **DELTA, random_state=seed) for seed in range(12)]
    assert np.mean([run.low <= x.mean() <= run.high for run in runs if run.low < run.high]) >= 0.9


@pytest.mark.parametrize("share", [0.1, 0.5, 0.7])
def test_an_indicator_has_noise_of_a_range_near_its_own(share):
    x = (np.random.default_rng(0).random(20_000) < share) * 1.0
    runs = [tg.mean(x, epsilon=4.0, **DELTA, random_state=seed) for seed in range(6)]
    mu = runs[0].choice.plan.stage("mean").mu
    assert max(run.noise_std for run in runs) < 2.0 * 2.0 / (x.size * mu)
    assert all(run.low <= x.mean() <= run.high for run in runs)


@pytest.mark.parametrize("size", [1e60, 1.5e308])
def test_cells_beyond_the_largest_unit_have_a_note_and_no_error(size):
    rng = np.random.default_rng(0)
    large, normal = size * (1.0 + 0.1 * rng.random(4_000)), rng.standard_normal(4_000)
    found = tg.mean(np.column_stack([large, normal]), epsilon=4.0, **DELTA, random_state=1)
    assert np.isnan([found.low[0], found.noise_std[0]]).all()
    assert any("x0 exceed 1e+45" in note for note in found.notes)
    assert not any("x1 exceed" in note for note in found.notes)


def test_intervals_hold_beside_heavy_columns():
    X = np.column_stack([LAWS[law].astype(float) for law in LAWS if law != "zeros"])
    assert share_held(X, 4.0, 8) >= 0.9


def test_an_interval_without_much_noise_is_narrow():
    found = tg.mean(LAWS["normal"], epsilon=4.0, **DELTA, random_state=0)
    assert found.high - found.low < 20.0 * found.noise_std


def test_a_method_that_does_not_measure_what_it_clips_has_no_interval():
    for options in ({"method": "soft"}, {"method": "clipped", "clip_norm": 9.0}):
        found = tg.mean(LAWS["normal"], epsilon=4.0, **DELTA, random_state=0, **options)
        assert math.isnan(found.low)
        assert math.isnan(found.high)


def test_cells_besides_one_value_that_noise_hides_are_within_the_noise():
    """The finest bin would be the scale, and its noise a thousandth of the error."""
    x = LAWS["hardly varies"]
    for seed in range(4):
        found = tg.mean(x, epsilon=1.0, **DELTA, random_state=seed)
        assert 1e-4 < found.noise_std < 1e-2
        assert abs(found.value - x.mean()) < 4.0 * found.noise_std


def test_hidden_sizes_are_noted_and_have_no_stated_error():
    X = np.column_stack([mostly_zero(), np.random.default_rng(0).normal(5.0, 1.0, 20_000)])
    found = tg.mean(X, epsilon=0.1, **DELTA, random_state=0)
    assert np.isnan([found.noise_std[0], found.low[0], found.high[0]]).all()
    assert found.noise_std[1] > 0.0
    assert found.low[1] < found.high[1]
    assert any(note.startswith("noise hides all sizes of x0: up to 0.1") for note in found.notes)
    assert not any(" of x1" in note for note in found.notes)


@pytest.mark.parametrize("n_columns", [1, 4])
def test_plain_columns_have_no_notes(n_columns):
    X = np.random.default_rng(0).normal(5.0, 1.0, (N_ROWS, n_columns))
    for seed in range(5):
        found = tg.mean(X, epsilon=1.0, **DELTA, random_state=seed)
        assert not any(" of x" in note for note in found.notes)
        assert np.isfinite(found.noise_std).all()


def test_bins_are_on_the_grid_of_distributions():
    edges = BINS.upper()[: len(cell_edges(1))]
    np.testing.assert_allclose(edges, cell_edges(1))
    assert WIDE_BINS.upper()[-1] == pytest.approx(BINS.upper()[-1])
    assert WIDE_BINS.count % 2 == 0


def test_few_cells_that_spread_are_visible_together_but_noise_is_not():
    noise = np.random.default_rng(0).normal(0.0, 10.0, (2_000, 60))
    noise[:, 0] += 1_000.0
    assert np.mean([last_visible(row, 10.0) > 5 for row in noise]) < 0.002
    noise[:, 20:36] += 30.0
    assert np.mean([last_visible(row, 10.0) >= 30 for row in noise]) > 0.98


# The release of the tails ------------------------------------------------------------------------

MU, WIDTH = 0.7, 3


def tails_of(X, seed=0):
    """The released tails of columns in raw units, and their gate."""
    plan = planned(Clipped(), task_of(len(X), WIDTH, tg.GDP(2.0)))
    gate = Gate.over(X, guarantee=tg.GDP(MU), random_state=seed)
    gate.reserve(Gaussian(MU), coordinates=10**4)
    stage = plan.stage(COLUMN_TAILS)
    stage = type(stage)(stage.name, stage.purpose, MU * (1 - 1e-9), 1, stage.coordinates)
    raw = Units.raw(WIDTH, intercept=False)
    return release_tails(gate, raw, np.ones(WIDTH, dtype=bool), stage, len(X)), gate


def test_the_books_state_the_sensitivity_of_one_bin_per_column():
    _, gate = tails_of(np.ones((500, WIDTH)))
    (release,) = gate.books.releases
    assert release.sensitivity == pytest.approx(math.sqrt(2.0 * WIDTH))


def test_noise_hides_the_cells_of_a_known_scale_if_all_seem_to_be_near_zero():
    X = np.zeros((500, WIDTH))
    X[:8] = 1.0
    tails, _ = tails_of(X)
    assert tails.distributions == (None,) * WIDTH
    assert not tails.unknown.any()


@pytest.mark.long
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_noise_of_the_counts_is_that_of_the_sensitivity_and_of_no_other(scale):
    """The counts of 300 releases of the same table differ by noise only."""
    X = np.ones((500, WIDTH))
    counted = np.array([tails_of(X, seed)[0].counted for seed in range(300)])
    stated = scale * math.sqrt(2.0 * WIDTH) / MU * math.sqrt(BINS.count / WIDTH)
    ratio = counted.std() / stated
    assert (abs(ratio - 1.0) < 0.15) == (scale == 1.0)


FAR = [1e4] * WIDTH, [-1e-3] * WIDTH


def test_a_whole_mean_shows_no_more_of_a_record_than_it_claims():
    """One record is far out in every column, or near the centre: it changes a bin in each."""
    table, mu = np.random.default_rng(0).standard_normal((300, WIDTH)), 1.5
    plan = planned(Clipped(), task_of(len(table), WIDTH, tg.GDP(mu)))
    for seed in range(30):
        pair = [make_rows(np.vstack([record, table[1:]])) for record in FAR]
        gate = OverheardGate.over_rows(
            *pair, guarantee=plan.guarantee, neighbour=seed % 2 == 1, seed=seed
        )
        gate.reserve(plan.event, coordinates=plan.coordinates)
        Clipped().run(plan, gate)
        assert gate.transcript.mu <= mu * (1.0 + 1e-9)
        assert "histograms of values" in {query.name for query in gate.transcript.queries}
