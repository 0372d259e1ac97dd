"""How long contributions are beyond what histograms show, and what that does to intervals."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import tailguard as tg
from support.whitened import example_fit
from tailguard.queries.histograms import Bins
from tailguard.scaling.noisy_distribution import NoisyDistribution
from tailguard.solvers.newton.correction.curvature import Moments, release_lengths
from tailguard.solvers.newton.correction.metric import Metric, _tail
from tailguard.solvers.newton.correction.tail import Tail
from tailguard.solvers.newton.covariance import STILL_MOVING
from tailguard.solvers.newton.schedule import LENGTHS_OF_SQUARES


def test_what_lies_beyond_the_sight_of_a_histogram_counts_by_its_hidden_share():
    counts = np.array([0.0, 900.0, 100.0, 0.0])
    lengths = NoisyDistribution.of(counts, Bins("linear", 0.0, 1.0, 4), noise_std=2.0)
    none, two = np.zeros(1), np.array([2.0, 50.0])
    tail = Tail(lengths, none, np.ones(1))
    assert tail.seen_beyond(2.0) == pytest.approx(0.05)
    assert tail.beyond(2.0) > tail.seen_beyond(2.0)
    longer = replace(tail, residuals=two, mass=np.array([0.99, 0.01]))
    assert longer.seen_beyond(2.0) == pytest.approx(0.48)
    assert longer.levels()[-1] >= 50.0


@pytest.mark.parametrize("loss", [tg.losses.Squared(), tg.losses.Poisson()])
def test_residuals_of_persons_count_as_much_shorter_as_sums_of_their_rows_are(loss):
    """Sums of unlike rows are shorter than rows are, which histograms of sums show."""
    counts = np.array([0.0, 900.0, 100.0, 0.0])
    lengths = NoisyDistribution.of(counts, Bins("linear", 0.0, 1.0, 4), noise_std=2.0)
    session, fit = example_fit(loss, phase=0)
    width = fit.geometry.width

    def tail_of(max_rows, size):
        problem = replace(session.problem, max_rows=max_rows)
        seen = SimpleNamespace(loss=session.loss, problem=problem)
        curvature = SimpleNamespace(matrix=size**2 * np.eye(width))
        return _tail(seen, fit, lengths, curvature, np.eye(width))

    for size in (0.01, 5.0, 50.0):
        rows, persons = tail_of(None, size), tail_of(4, size)
        in_mean_square = rows.mass @ rows.residuals**2
        shorter = min(1.0, lengths.mean(lengths.points**2) / in_mean_square)
        np.testing.assert_allclose(persons.residuals, rows.residuals * math.sqrt(shorter))
        assert persons.least == pytest.approx(rows.least / 4.0)
        assert (persons.least > 0.0) == session.loss.link.curved
    assert shorter < 1.0  # of the last size


def test_contributions_to_a_likelihood_vary_by_what_it_says_at_least():
    """Second moments of rare events are cut far below their length."""
    counts = np.array([0.0, 800.0, 0.0, 200.0])
    lengths = NoisyDistribution.of(counts, Bins("linear", 0.0, 1.0, 4), noise_std=1e-9)
    cut = Moments(np.diag([0.1, 9.0]), 0.0, 4.0, lengths)
    tail = Tail(lengths, np.zeros(1), np.zeros(1), least=2.0)
    told = Metric(np.eye(2), np.eye(2), cut, tail).covariance()
    np.testing.assert_allclose(told, np.diag([1.0, 9.0]), rtol=1e-6)


@pytest.mark.long
def test_a_rare_level_is_told_to_within_its_error_where_events_are_rare():
    """Second moments told a tenth of its variance, and cut nearly all of its 15 events."""
    apart = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.standard_normal((50_000, 3)), rng.random(50_000) < 0.02])
        score = X @ [0.5, -0.5, 0.0, 1.0] - 5.2
        y = rng.random(50_000) < 1.0 / (1.0 + np.exp(-score))
        model = tg.LogisticRegression(classes=(0, 1), epsilon=4.0, delta=1e-6, random_state=seed)
        model.fit(X, y.astype(int))
        apart.append((model.interval_center_[3] - 1.0) / model.coef_std_[3])
    assert sum(np.abs(apart) < 2.5) >= 3


def test_levels_far_above_the_baseline_have_no_interval_where_rounds_have_not_arrived():
    """Counts by parts of a day: those of the night are a thirtieth of those of noon."""
    rng = np.random.default_rng(0)
    part, others = rng.integers(0, 6, 17_000), rng.standard_normal((17_000, 2))
    mean = np.exp(np.array([-2.0, 0.2, 1.0, 1.0, 1.2, 0.3])[part] + 3.5 + 0.2 * others[:, 0])
    y = rng.poisson(mean * rng.gamma(3.0, 1.0 / 3.0, 17_000))
    X = np.column_stack([part[:, None] == np.arange(1, 6), others]).astype(float)
    apart, known, held = np.array([2.2, 3.0, 3.0, 3.2, 2.3, 0.2, 0.0]), [], []
    for seed in range(6):
        model = tg.PoissonRegression(epsilon=1.0, delta=1e-6, random_state=seed).fit(X, y)
        low, high = model.conf_int()[:7].T
        known.append(np.isfinite(low))
        held.extend(((low <= apart) & (apart <= high))[known[-1]])
    assert np.mean(np.array(known)[:, :5].any(axis=1)) < 0.5
    assert np.mean(held) >= 0.9


def test_a_level_without_events_has_no_interval():
    """It has no finite best coefficient, and the curvature along it falls as it moves."""
    n_rows = 20_000
    given = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.standard_normal((n_rows, 3)), rng.random(n_rows) < 0.3])
        chance = 1.0 / (1.0 + np.exp(-X[:, :3] @ [0.5, -0.5, 0.0]))
        y = (rng.random(n_rows) < chance) & (X[:, 3] == 0.0)
        model = tg.LogisticRegression(classes=(0, 1), epsilon=1.0, delta=1e-6, random_state=seed)
        low, _ = model.fit(X, y.astype(int)).conf_int().T
        assert np.isnan(low[3])
        assert STILL_MOVING in model.reasons_[3]
        given += np.isfinite(low[:3]).sum()
    assert given >= 6


def test_squares_of_contributions_to_a_likelihood_average_what_it_says_at_least():
    counts = np.array([0.0, 1_000.0, 0.0, 0.0])
    lengths = NoisyDistribution.of(counts, Bins("linear", 0.0, 1.0, 4), noise_std=1e-9)
    seen = Tail(lengths, np.zeros(1), np.zeros(1))
    known = replace(seen, least=6.0)
    missing = 6.0 - lengths.mean(lengths.points**2)
    assert seen.beyond(4.0, 2.0) == pytest.approx(0.0, abs=1e-6)
    assert known.beyond(4.0, 2.0) == pytest.approx(missing)
    assert known.beyond(4.0) == pytest.approx(missing / 16.0)


@pytest.mark.parametrize("times", ["slope", "one"])
def test_far_bins_are_sought_among_contributions_and_not_among_rows(times):
    """A far bin of rows that is only noise would leave a fit without intervals."""
    session, fit = example_fit(tg.losses.Squared(), phase=0)
    counts = np.zeros(LENGTHS_OF_SQUARES.count)
    counts[8:20], counts[22:34] = 1e4, 22.0
    told = SimpleNamespace(
        loss=session.loss, stages=session.stages, histograms=lambda *_: (counts, 10.0)
    )
    view = replace(fit.geometry.view, loss=session.loss, times=times)
    lengths = release_lengths(told, view, fit.weights, "contribution lengths")
    assert (lengths.last > 30) == (times == "slope")


@pytest.mark.long
def test_intervals_hold_slopes_of_mostly_zero_targets():
    """Their few positive targets exceed the noise in no bin of a third of an octave."""
    held = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.uniform(size=8_000), rng.integers(0, 2, 8_000)])
        mean = 50.0 + X @ [100.0, 50.0]
        paid = rng.random(8_000) < 0.05
        y = np.where(paid, mean / 0.05 * rng.lognormal(-0.5, 1.0, 8_000), 0.0)
        model = tg.LinearRegression(epsilon=3.0, delta=1e-6, random_state=seed).fit(X, y)
        low, high = model.conf_int()[:2].T
        held.extend(((low <= [100.0, 50.0]) & (high >= [100.0, 50.0]))[np.isfinite(low)])
    assert len(held) >= 16
    assert np.mean(held) > 0.7  # without these bins it is a third


@pytest.mark.long
def test_intervals_hold_slopes_that_a_few_far_records_decide():
    """Three copies of a size; in 3 of 1,000 records one copy is zero or five times too large."""
    held = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        size = np.exp(0.3 * rng.standard_normal(20_000))
        X = size[:, None] * (1.0 + 0.04 * rng.standard_normal((20_000, 3)))
        wrong = np.flatnonzero(rng.random(20_000) < 3e-3)
        X[wrong, rng.integers(0, 3, wrong.size)] *= rng.choice([0.0, 5.0], wrong.size)
        y = 10.0 * size + rng.standard_normal(20_000)
        model = tg.LinearRegression(epsilon=4.0, delta=1e-5, random_state=seed).fit(X, y)
        read = np.column_stack([np.clip(X, *model.feature_bounds_.T), np.ones(20_000)])
        best = np.linalg.lstsq(read, y)[0][:3]
        low, high = model.conf_int()[:3].T
        held.extend(((low <= best) & (best <= high))[np.isfinite(low)])
    assert len(held) >= 6
    assert np.mean(held) >= 0.9
