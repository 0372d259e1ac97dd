"""Intervals that nothing supports are not given: which, why, and what would give them."""

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import QuantileRegressor

import tailguard as tg
from support.fits import plain_fit
from tailguard.gate.plan import Problem
from tailguard.solvers.newton.covariance import HIDDEN, unresolved
from tailguard.solvers.newton.outlook import why_no_interval
from tailguard.solvers.newton.schedule import Shares
from tailguard.solvers.newton.solver import WhitenedNewton


def test_rounds_of_squares_have_no_intervals_where_the_default_would_have_a_correction():
    X = np.random.default_rng(0).standard_normal((20_000, 3))
    rounds, corrected = (
        tg.LinearRegression(solver=WhitenedNewton(shares=shares), guarantee=tg.GDP(1.0)).fit(
            X, X.sum(axis=1)
        )
        for shares in (Shares(), None)
    )
    assert np.isnan(rounds.conf_int()).all()
    assert any("was not corrected" in note for note in rounds.notes_)
    assert np.isfinite(corrected.conf_int()).all()


def one_column(**changes):
    """A fit of one column and a constant with another whitening, whose rounds ended."""
    fit = plain_fit(tg.losses.Squared(), 1, bound=4.0)
    whitening = replace(fit.geometry.whitening, **changes)
    return replace(fit, geometry=replace(fit.geometry, whitening=whitening), iterates=(None,))


@pytest.mark.parametrize("margin", [0.01, -0.01])
def test_a_slope_is_unknown_if_the_second_moment_of_its_column_was_added_not_told(margin):
    """Such are rare columns: noise raises them to others, and rounds then hardly move them."""
    told = one_column(diagonal=np.array([1.0 - HIDDEN - margin, 1.0]))
    assert unresolved(told).tolist() == [margin > 0.0, False]


@pytest.mark.parametrize("margin", [0.02, -0.02])
@pytest.mark.parametrize("distinct", [True, False])
def test_a_slope_is_unknown_if_its_column_may_be_a_sum_of_others(margin, distinct):
    """Two columns of correlation ``r`` explain ``r**2`` of each other."""
    correlation = np.sqrt(HIDDEN + margin)
    values = np.array([1.0 - correlation, 1.0 + correlation])
    directions = np.array([[-1.0, 1.0], [1.0, 1.0]]) / np.sqrt(2.0)
    told = one_column(matrix=directions / np.sqrt(values), distinct=np.array([distinct, True]))
    assert unresolved(told).tolist() == [not distinct and margin > 0.0] * 2


@pytest.mark.parametrize(
    ("model", "n_rows"),
    [(tg.LinearRegression, 5_000), (tg.LogisticRegression, 1_000), (tg.PoissonRegression, 1_000)],
)
def test_a_budget_without_intervals_says_which_records_or_epsilon_give_them(model, n_rows):
    X = np.random.default_rng(0).standard_normal((10_000, 3))
    y = (X[:, 0] > 0.0).astype(int)

    def fitted(rows, epsilon):
        return model(epsilon=epsilon, delta=1e-6, random_state=0).fit(X[:rows], y[:rows])

    without = fitted(n_rows, 1.0)
    assert np.isnan(without.conf_int()).all()
    reason = next(each for each in without.reasons_ if "; about" in each)
    assert f"no intervals: {reason.removeprefix('no interval: ')}" in without.plan_.explain()
    words = re.search(r"; about ([\d,]+) records, or epsilon = ([\d.]+), would do$", reason)
    records, epsilon = int(words[1].replace(",", "")), float(words[2])
    assert not any("; about" in each for each in fitted(records, 1.0).reasons_)
    assert not any("; about" in each for each in fitted(n_rows, epsilon).reasons_)
    assert any("; about" in each for each in fitted(int(0.8 * records), 1.0).reasons_)


@pytest.mark.parametrize("model", [tg.PoissonRegression, tg.GammaRegression])
@pytest.mark.parametrize("beside", ["exposure", "weight"])
def test_log_rates_with_exposures_or_weights_say_which_records_or_epsilon_suffice(model, beside):
    """A hidden curvature comes with a remedy that does, in rows of the table."""
    rng = np.random.default_rng(0)
    X, times = rng.standard_normal((120_000, 7)), rng.uniform(0.2, 0.8, 120_000)
    y = np.exp(0.2 * X[:, 0]) * rng.gamma(2.0, 0.5, 120_000)
    y = np.round(y) if model is tg.PoissonRegression else y
    hidden = "the budget is too small to "

    def reasons(rows, epsilon):
        made = model(epsilon=epsilon, delta=1e-6, random_state=0)
        told = {"offset": np.log(times[:rows])}
        if beside == "weight":
            made.set_params(weight_bound=1.0)
            told = {"sample_weight": times[:rows]}
        made.fit(X[:rows], y[:rows], **told)
        return [each.removeprefix("no interval: ") for each in made.reasons_]

    first = reasons(2_500, 1.0)[0]
    words = re.search(r"; about ([\d,]+) records, or epsilon = ([\d.]+), would do$", first)
    records, epsilon = int(words[1].replace(",", "")), float(words[2])
    assert not any(each.startswith(hidden) for each in reasons(records, 1.0))
    assert not any(each.startswith(hidden) for each in reasons(2_500, epsilon))


@pytest.mark.parametrize(
    ("loss", "grows"), [(tg.losses.Poisson(), 2.5), (tg.losses.Logistic(), 5.0)]
)
def test_a_remedy_of_weighted_records_counts_rows_of_the_table(loss, grows):
    """From 2,000 or 1,000 records times mu on, but of a total weight of at least 500 over mu."""
    problem = Problem(loss, 1_000, 3, intercept=True, has_weights=True)
    told = [
        why_no_interval(
            replace(problem, n_rows=round(1_000 * weight)),
            tg.ApproxDP(1.0, 1e-6),
            robust=False,
            weight=weight,
        )
        for weight in (1.0, 0.1)
    ]
    records = [int(re.search(r"about ([\d,]+)", t)[1].replace(",", "")) for t in told]
    assert records[1] == pytest.approx(grows * records[0], rel=0.1)


def test_indicators_that_noise_hides_have_few_intervals_and_others_have_them():
    rng, given = np.random.default_rng(0), []
    common = rng.standard_normal((20_000, 40))
    rare = rng.random((20_000, 3)) < [0.01, 0.02, 0.5]
    X = np.column_stack([common, rare])
    y = X[:, 0] + 3.0 * X[:, 40] + rng.standard_normal(20_000)
    for seed in range(8):
        model = tg.LinearRegression(epsilon=0.5, delta=1e-5, random_state=seed).fit(X, y)
        given.append(np.isfinite(model.conf_int()[:, 0]))
    rate = np.mean(given, axis=0)
    assert (rate[[40, 41]] < 0.5).all()
    assert (rate[:40] > 0.8).all()


def test_a_column_that_was_not_seen_is_not_estimated_and_a_note_says_so():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((20_000, 2)), np.full(20_000, 7.0)])
    y = X[:, 0] + rng.standard_normal(20_000)
    model = tg.LinearRegression(epsilon=1.0, delta=1e-5, random_state=0).fit(X, y)
    assert model.coef_[2] == 0.0
    assert np.isnan(model.coef_noise_std_).tolist() == [False, False, True]
    assert np.isnan(model.conf_int()[:, 0]).tolist() == [False, False, True, False]
    assert any(note.startswith("not estimated: 1 of 4 coefficients") for note in model.notes_)


def test_duplicates_have_no_intervals_and_others_do():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 4))
    X = np.column_stack([X, X[:, 0]])
    y = X @ [1.0, 1.0, 0.0, 0.0, 0.0] + rng.standard_normal(20_000)
    model = tg.LinearRegression(epsilon=1.0, delta=1e-5, random_state=0).fit(X, y)
    given = np.isfinite(model.conf_int()[:, 0])
    assert given[:5].tolist() == [False, True, True, True, False]
    assert abs(model.coef_[0] + model.coef_[4] - 1.0) < 0.05
    assert any("what tells its column from others" in note for note in model.notes_)


@pytest.mark.parametrize("sigma", [0.8, 0.0])
def test_intervals_of_medians_hold_the_tables_own_slopes_where_rounds_cut_far_rows(sigma):
    """Rounds count far rows less, so where the score is not linear they fit the bulk alone."""
    rng = np.random.default_rng(0)
    X = rng.lognormal(0.0, 0.8, (20_000, 6)) ** (sigma / 0.8) if sigma else rng.random((20_000, 6))
    bent = np.minimum(X, 1.5).sum(axis=1) + rng.standard_normal(20_000)
    model = tg.QuantileRegression(level=0.5, epsilon=4.0, delta=1e-6, random_state=0)
    model.fit(X, bent)
    own = QuantileRegressor(quantile=0.5, alpha=0.0, solver="highs-ipm")
    own.fit(np.clip(X, *model.feature_bounds_.T), bent)
    low, high = model.conf_int()[:-1].T
    assert ((low <= own.coef_) & (own.coef_ <= high)).all()


@pytest.mark.parametrize("model", [tg.LpRegression, tg.LinearRegression])
def test_fits_whose_clip_levels_decide_where_they_end_have_no_intervals_and_say_so(model):
    """Those of powers above two, and those that keep the bias of clipping."""
    X = np.random.default_rng(0).standard_normal((5_000, 2))
    given = {"solver": "whitened-newton"} if model is tg.LpRegression else {}
    if model is tg.LinearRegression:
        given = {"target": "robust"}
    made = model(epsilon=4.0, delta=1e-6, random_state=0, **given).fit(X, X.sum(axis=1))
    assert np.isnan(made.conf_int()).all()
    assert np.isfinite(made.coef_noise_std_).all()
    assert all("depends on clip levels" in reason for reason in made.reasons_)
