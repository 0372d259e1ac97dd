"""Weights of records: each query multiplies what a record adds by a number in [0, 1], and no more.

That replacing a record with its weight moves no answer beyond the charge is in ``test_query.py``,
whose examples have one by weight each.
"""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor

import tailguard as tg
from support.attack import MU, calibrated
from support.examples import query_examples
from support.hostile import cells
from support.query_example import N_FEATURES
from support.registered import class_of
from support.sources import QuietSource
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.gate.stage import Stage
from tailguard.queries.base import GaussianQuery
from tailguard.queries.clip_levels import LevelGradients
from tailguard.queries.registry import QUERIES, SMOOTH_QUERIES
from tailguard.queries.second_moments import SecondMoments
from tailguard.queries.units import Units
from tailguard.queries.usable_records import WeightTotals
from tailguard.queries.view import View

EXAMPLES = {example.name: example for example in query_examples()}
BY_WEIGHT = [name for name, example in EXAMPLES.items() if example.weighted]
EXAMPLES_WITHOUT = {name: replace(EXAMPLES[name], weighted=False) for name in BY_WEIGHT}
N_ROWS, MOST = 600, 4
# A pair counts by its lesser weight; usable records and cells are counted whatever they weigh.
WHATEVER = {"usable-records", "cell-kinds"}
# The cut comes after the weight, and so does the square: a record of weight 2 is not two records.
NOT_REPEATED = {"contribution-levels", "weight-totals"}


def kind(name):
    return name.split("/")[0]


def records(example, n_rows=N_ROWS, seed=0):
    """Records without their last number, the weight."""
    rng = np.random.default_rng(seed)
    data = rng.standard_t(3, (n_rows, example.width - 1)) * 2.0
    data[:, N_FEATURES:] = np.abs(data[:, N_FEATURES:])  # targets and exposures
    return data


def answer(example, data):
    """The answer without noise, in the units of the query."""
    calibration = calibrated(example, N_ROWS * MOST)
    with np.errstate(all="ignore"):
        lattice = example.query.answer(example.read(data), example.state, calibration)
    return lattice * calibration.grid, calibration.grid


def with_weights(data, weights):
    return np.column_stack([data, weights])


def test_every_query_that_takes_weights_has_an_example_by_weight_and_no_other_has():
    takes = {name for name in QUERIES if class_of(QUERIES[name]).takes_weights}
    assert {kind(name) for name in BY_WEIGHT} | {"usable-records"} == takes
    assert not any(class_of(SMOOTH_QUERIES[name]).takes_weights for name in SMOOTH_QUERIES)
    assert not GaussianQuery.takes_weights


@pytest.mark.parametrize("name", [name for name in BY_WEIGHT if kind(name) not in WHATEVER])
def test_full_weights_are_no_weights_and_zero_weights_are_no_records(name):
    example = EXAMPLES[name]
    data = records(example)
    plain, _ = answer(EXAMPLES_WITHOUT[name], data)
    full, _ = answer(example, with_weights(data, np.ones(N_ROWS)))
    np.testing.assert_array_equal(full, plain)
    nothing, _ = answer(example, with_weights(data, np.zeros(N_ROWS)))
    assert not nothing.any()


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in BY_WEIGHT
        if kind(name) not in WHATEVER | NOT_REPEATED and EXAMPLES[name].query.places != "random"
    ],
)
def test_whole_weights_are_repeated_rows_up_to_rounding(name):
    example, rng = EXAMPLES[name], np.random.default_rng(1)
    data, times = records(example), rng.integers(0, MOST + 1, N_ROWS)
    found, grid = answer(example, with_weights(data, times / MOST))
    repeated = with_weights(np.repeat(data, times, axis=0), np.ones(times.sum()))
    expected, _ = answer(example, repeated)
    # A count is rounded down by less than a step a record, a chunk's sum by half a step.
    steps = N_ROWS if example.query.sensitivity(N_ROWS, N_FEATURES).integer else 4
    np.testing.assert_allclose(MOST * found, expected, rtol=1e-9, atol=MOST * grid * steps)


def test_what_is_cut_after_the_weight_is_in_proportion_to_it_below_the_cut():
    example = EXAMPLES["contribution-levels/skewed by weight"]
    data = 1e-3 * records(example)
    ones, grid = answer(example, with_weights(data, np.ones(N_ROWS)))
    halves, _ = answer(example, with_weights(data, np.full(N_ROWS, 0.5)))
    np.testing.assert_allclose(2.0 * halves, ones, rtol=1e-9, atol=8 * grid)


def test_contributions_count_by_the_squared_weight():
    """The weight is a factor of a contribution, which is squared in the variance of a gradient."""
    rng = np.random.default_rng(0)
    X, y, weight = rng.standard_normal((500, 2)), rng.standard_normal(500), rng.uniform(size=500)
    view = View.plain(tg.losses.Squared(), Units.raw(2, intercept=False))
    query = SecondMoments(view.contributions(), 60.0, 60.0)
    found = released(query, np.zeros(2), X, y, weight) * 500
    contributions = weight[:, None] * (-y[:, None] * X)
    np.testing.assert_allclose(found, contributions.T @ contributions, rtol=1e-6)


def released(query, state, X, y, weight):
    """What a gate without noise answers, as a mean over the number of records."""
    guarantee = tg.GDP(1e5)
    rows = make_rows(X, y, sample_weight=weight, weight_bound=1.0, loss=query.view.loss)
    gate = Gate(rows, guarantee=guarantee, source=QuietSource())
    stage = Stage("test", "a query", 9e4, 1, 1)
    gate.reserve(stage.event)
    return gate.ask(query, state, stage)


FITS = {
    "squared": (
        tg.losses.Squared(),
        LinearRegression(),
        lambda s, r: s + r.standard_normal(s.size),
    ),
    "logistic": (
        tg.losses.Logistic(),
        LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000),
        lambda s, r: (s + r.logistic(size=s.size) > 0.0).astype(float),
    ),
    "poisson": (
        tg.losses.Poisson(),
        PoissonRegressor(alpha=0.0, tol=1e-12, max_iter=10_000, solver="newton-cholesky"),
        lambda s, r: r.poisson(np.exp(s)).astype(float),
    ),
}


@pytest.mark.parametrize("name", FITS)
def test_without_noise_weighted_answers_lead_to_scikit_learn_s_weighted_optimum(name):
    loss, reference, targets = FITS[name]
    rng = np.random.default_rng(0)
    X, weight = 0.5 * rng.standard_normal((2_000, 2)), rng.exponential(size=2_000)
    y = targets(X @ [1.0, -0.5] + 0.3 + 0.8 * X[:, 0] ** 2, rng)
    best = reference.fit(X, y, sample_weight=weight)
    expected = np.array([*np.ravel(best.coef_), *np.ravel(best.intercept_)])
    others = reference.fit(X, y)
    assert np.abs(np.ravel(others.coef_) - expected[:2]).max() > 1e-2
    view = View.plain(loss, Units.raw(2, intercept=True))
    part, weights = weight / weight.max(), np.zeros(3)
    gradient = LevelGradients(view, 8.0, (60.0,))
    for _ in range(60):
        mean = released(gradient, weights, X, y, part)[0]
        rows = np.column_stack([X, np.ones(len(X))])
        rise = loss.mean(rows @ weights + 1e-4) - loss.mean(rows @ weights - 1e-4)
        curvature = (rows * (part * rise / 2e-4)[:, None]).T @ rows / len(X)
        weights = weights - np.linalg.solve(curvature, mean)
    np.testing.assert_allclose(weights, expected, atol=1e-6)


def test_no_weight_is_outside_of_zero_and_one_and_none_concerns_another_record():
    weights = np.linspace(0.0, 3.0, 9)
    for cell in cells(200):
        column = weights.astype(object)
        column[4] = cell.cell
        block = make_rows(
            np.ones((9, 1)), np.ones(9), sample_weight=column, weight_bound=2.0
        ).block()
        expected = np.minimum(weights / 2.0, 1.0)
        usable = np.isfinite(cell.number) and cell.number >= 0.0
        expected[4] = min(cell.number / 2.0, 1.0) if usable else 0.0
        np.testing.assert_array_equal(block.weight, expected)
        assert block.void().tolist() == [False] * 4 + [not usable] + [False] * 4


@pytest.mark.parametrize("value", [1e308, 5e-324, 0.0, np.inf, -np.inf, np.nan, -1e-300])
def test_the_ends_of_floats_are_weights_in_zero_and_one_or_void(value):
    for bound in (1e-300, 1.0, 1e300):
        block = make_rows(np.ones((1, 1)), [1.0], sample_weight=[value], weight_bound=bound)
        (found,) = block.block().weight
        assert 0.0 <= found <= 1.0
        assert block.block().void()[0] == (not (np.isfinite(value) and value >= 0.0))


def test_totals_are_those_of_usable_records():
    weight = np.array([1.0, 0.5, 0.25, 1.0, np.nan, 9.0])
    X = np.array([[1.0], [2.0], [3.0], [np.nan], [5.0], [6.0]])
    rows = make_rows(X, np.ones(6), sample_weight=weight, weight_bound=1.0)
    query = WeightTotals()
    calibration = query.calibrate(6, 1, MU)
    found = query.answer(rows, None, calibration) * calibration.grid
    np.testing.assert_allclose(found, [2.75, 2.3125], atol=6 * calibration.grid)


def test_queries_in_which_records_cannot_count_by_weights_are_refused_before_a_record_is_read():
    for name, example in EXAMPLES.items():
        if example.query.takes_weights or example.exposed:
            continue
        rows = make_rows(
            np.ones((40, N_FEATURES)), np.ones(40), sample_weight=np.ones(40), weight_bound=1.0
        )
        gate = Gate(rows, guarantee=tg.GDP(1.0), source=QuietSource())
        stage = Stage("test", "a query", 0.5, 1, 1)
        gate.reserve(stage.event)
        with pytest.raises(
            tg.InputError, match="takes no weights; got " + type(example.query).__name__
        ):
            gate.ask(example.query, example.state, stage)
        assert not gate.books.releases, name
