"""Intervals that nothing supports are not given: which, why, and what would give them."""

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import QuantileRegressor

import tailguard as tg
from solvers.newton.test_covariance import N_ROWS, skewed
from support.fits import plain_fit
from tailguard.gate.plan import Problem
from tailguard.queries.units import Units
from tailguard.scaling.noisy_distribution import BIN_SIGNIFICANCE
from tailguard.solvers.newton.covariance import (
    BENT,
    LARGEST_HIDDEN,
    UNRESOLVED,
    unresolved,
    withheld,
)
from tailguard.solvers.newton.outlook import LITTLE, with_remedy
from tailguard.solvers.newton.schedule import Shares
from tailguard.solvers.newton.solver import WhitenedNewton
from tailguard.solvers.newton.state import Correction


def test_rounds_of_squares_have_no_intervals_where_the_default_would_have_a_correction():
    X = np.random.default_rng(0).standard_normal((20_000, 3))
    rounds, corrected = (
        tg.LinearRegression(solver=WhitenedNewton(shares=shares), guarantee=tg.GDP(1.0)).fit(
            X, X.sum(axis=1)
        )
        for shares in (Shares(), None)
    )
    assert np.isnan(rounds.conf_int()).all()
    assert any("how far single records reach" in note for note in rounds.notes_)
    assert np.isfinite(corrected.conf_int()).all()


@pytest.mark.parametrize(("spread", "given"), [(0.5, True), (1.5, False)])
def test_log_odds_of_columns_too_heavy_for_all_bounds_have_no_intervals_and_say_so(spread, given):
    """Of so many columns that contributions are not corrected."""
    rng = np.random.default_rng(5)
    X = rng.lognormal(sigma=spread, size=(N_ROWS, 24))
    score = (X / X.std(axis=0)) @ np.where(np.arange(24) % 2, 1.0, -1.0)
    y = (rng.uniform(size=N_ROWS) < 1.0 / (1.0 + np.exp(-score))).astype(int)
    model = tg.LogisticRegression(epsilon=0.8, delta=1e-5, classes=(0, 1), random_state=1)
    model.fit(X, y)
    assert (np.isfinite(model.conf_int()).mean() > 0.85) == given  # noise may hide one or two
    assert np.isnan(model.conf_int()).all() != given
    assert any("so heavy that far rows" in note for note in model.notes_) != given
    assert np.isfinite(model.coef_noise_std_).all()


@pytest.mark.parametrize(("constant", "given"), [(-0.5, True), (-4.5, False)])
def test_log_odds_of_a_rare_outcome_have_no_intervals_if_noise_hides_their_curvature(
    constant, given
):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-1.0, 1.0, 4_000), rng.integers(0, 2, 4_000)])
    y = (rng.random(4_000) < 1.0 / (1.0 + np.exp(-X.sum(axis=1) - constant))).astype(int)
    model = tg.LogisticRegression(epsilon=1.0, delta=1e-6, classes=(0, 1), random_state=0)
    model.fit(X, y)
    assert np.isfinite(model.conf_int()).all() == given
    assert ("curvature of the loss" in model.reasons_[0]) != given


def one_column(**changes):
    """A fit of one column and a constant, with other whitening, slopes or units."""
    fit = plain_fit(tg.losses.Squared(), 1, bound=4.0)
    geometry, slopes = fit.geometry, changes.pop("slopes", fit.clipping.slopes)
    if units := changes.pop("units", {}):
        changes["units"] = replace(geometry.units, **units)
    geometry = replace(geometry, **changes)
    return replace(fit, geometry=geometry, clipping=replace(fit.clipping, slopes=slopes))


def hidden_by(fit):
    """Which weights have no known variance: by bounds, by raised columns, by hidden tails."""
    return [columns.tolist() for columns, _ in withheld(fit, np.ones(2))]


@pytest.mark.parametrize(
    ("far_size", "center", "hidden"),
    [(3.9, 0.0, False), (4.1, 0.0, True), (7.1, 3.0, True), (18.1, 5.0, True), (17.9, 5.0, False)],
)
def test_a_slope_that_bounds_move_is_told_by_the_sizes_of_its_column(far_size, center, hidden):
    fit = one_column(units={"center": np.array([center])}, far_size=np.array([far_size]))
    for significance in (BENT * 0.99, BENT * 1.01):
        beyond, *_ = hidden_by(replace(fit, weights=np.full(2, significance)))
        assert beyond == [hidden and significance > BENT, False]


@pytest.mark.parametrize("turn", [0.0, 0.1, 0.5])
def test_a_weight_that_follows_a_slope_that_bounds_move_is_unknown_too(turn):
    """It does where rows of both are alike: the inverse of the curvature has an entry for both."""
    rotation = np.array([[1.0, turn], [0.0, 1.0]])
    told = replace(one_column().geometry.whitening, matrix=rotation)
    fit = replace(
        one_column(whitening=told, far_size=np.array([4.1])), weights=np.array([9.0, 0.0])
    )
    beyond, *_ = hidden_by(fit)
    assert beyond == [True, turn / (1.0 + turn**2) > BENT / 9.0]


@pytest.mark.parametrize("share", [0.01, -0.01])
def test_a_slope_is_unknown_if_the_second_moment_of_its_column_was_added_not_told(share):
    """Such are rare columns: noise raises them to others, and rounds then hardly move them."""
    whitening = one_column().geometry.whitening
    told = replace(whitening, diagonal=np.array([1.0 - UNRESOLVED - share, 1.0]))
    fit = replace(one_column(whitening=told), iterates=(None,))
    _, hidden, *_ = hidden_by(fit)
    assert hidden == [share > 0.0, False]
    assert not unresolved(fit).any()
    less = replace(whitening, diagonal=np.array([UNRESOLVED - share, 1.0]))
    fit = replace(one_column(whitening=less), iterates=(None,))
    assert unresolved(fit).tolist() == [share > 0.0, False]


@pytest.mark.parametrize("margin", [0.02, -0.02])
@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("share", [UNRESOLVED, 1.0 - UNRESOLVED])
def test_a_slope_is_unknown_if_its_column_may_be_a_sum_of_others(margin, distinct, share):
    """Two columns of correlation ``r`` explain ``r**2`` of each other."""
    correlation = np.sqrt(share + margin)
    values = np.array([1.0 - correlation, 1.0 + correlation])
    directions = np.array([[-1.0, 1.0], [1.0, 1.0]]) / np.sqrt(2.0)
    whitening = replace(
        one_column().geometry.whitening,
        matrix=directions / np.sqrt(values),
        distinct=np.array([distinct, True]),
    )
    fit = replace(one_column(whitening=whitening), iterates=(None,))
    _, hidden, *_ = hidden_by(fit)
    assert hidden == [not distinct and (margin > 0.0 or share > 0.5)] * 2
    assert unresolved(fit).tolist() == [not distinct and margin > 0.0 and share > 0.5] * 2


@pytest.mark.parametrize("share", [1.01, 0.99])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("corrected", [True, False])
def test_what_varies_along_the_constant_is_unknown_where_noise_hides_how_far_residuals_reach(
    share, intercept, corrected
):
    """Without an intercept it is what varies along the mean row."""
    slopes, zero = skewed(), np.zeros(1)
    told = replace(slopes.distribution, bin_noise=share * LARGEST_HIDDEN / BIN_SIGNIFICANCE)
    fit = one_column(slopes=replace(slopes, distribution=told))
    fit = replace(fit, geometry=replace(fit.geometry, units=Units.raw(1, intercept=intercept)))
    made = Correction(np.eye(2)[:, 1:], np.array([[np.sqrt(1.01 * UNRESOLVED)]]), zero, zero)
    *_, hidden, _ = hidden_by(replace(fit, correction=made if corrected else None))
    assert hidden == [False, corrected and share > 1.0]
    less = replace(made, noise=np.array([[np.sqrt(0.99 * UNRESOLVED)]]))
    *_, hidden, _ = hidden_by(replace(fit, correction=less))
    assert hidden == [False, False]


def test_intervals_are_not_given_where_bounds_are_seen_to_move_a_slope():
    """Half a per cent of the heavy column decides its slope under a log link."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.pareto(2.5, 6_000), rng.standard_normal(6_000)])
    y = rng.poisson(np.exp(0.2 * np.minimum(X[:, 0], 9.0) + 0.3 * X[:, 1]))
    # With exposures, as counts are corrected without, for features within the bounds.
    model = tg.PoissonRegression(epsilon=1.0, delta=1e-5, random_state=0)
    model.fit(X, y, exposure=np.ones(6_000))
    assert model.feature_bounds_[0, 1] < np.quantile(X[:, 0], 0.99)
    assert np.isnan(model.conf_int()[0]).all()
    assert np.isfinite(model.conf_int()[1]).all()
    assert model.notes_[-1].startswith("no interval for 1 of 3 coefficients: many values")
    assert model.summary().count("no interval (a)") == 1


def test_counts_whose_curvature_hides_have_no_intervals_and_say_so():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 25))
    y = rng.poisson(np.exp(0.2 * X[:, 0]))
    hidden, seen = (
        tg.PoissonRegression(epsilon=epsilon, delta=1e-5, random_state=0).fit(
            X, y, exposure=np.ones(20_000)
        )
        for epsilon in (0.7, 8.0)
    )
    assert "variance" in {stage.name for stage in hidden.plan_.stages}
    reason = "no intervals: the budget is too small to estimate the curvature of the loss"
    assert any(note.startswith(f"{reason}; about ") for note in hidden.notes_)
    assert np.isnan(hidden.conf_int()).all()
    assert "variance" not in {release.stage for release in hidden.certificate_.releases}
    assert not any(note.startswith(reason) for note in seen.notes_)
    assert np.isfinite(seen.conf_int()).any()


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
    ("loss", "grows"), [(tg.losses.Poisson(), 2.5), (tg.losses.Logistic(), 10.0)]
)
def test_a_remedy_of_weighted_records_counts_rows_of_the_table(loss, grows):
    """From 2,000 or 500 records times mu on, but of a total weight of at least 500 over mu."""
    problem = Problem(loss, 1_000, 3, intercept=True, has_weights=True)
    told = [
        with_remedy(LITTLE, replace(problem, n_rows=round(1_000 * weight)), tg.ApproxDP(1.0, 1e-6),
                    robust=False, weight=weight)
        for weight in (1.0, 0.1)
    ]  # fmt: skip
    records = [int(re.search(r"about ([\d,]+)", t)[1].replace(",", "")) for t in told]
    assert records[1] == pytest.approx(grows * records[0], rel=0.1)


def test_indicators_that_noise_hides_have_no_intervals_and_others_do():
    rng = np.random.default_rng(0)
    common = rng.standard_normal((20_000, 40))
    rare = rng.random((20_000, 3)) < [0.01, 0.02, 0.5]
    X = np.column_stack([common, rare])
    y = X[:, 0] + 3.0 * X[:, 40] + rng.standard_normal(20_000)
    model = tg.LinearRegression(epsilon=0.5, delta=1e-5, random_state=0).fit(X, y)
    given = np.isfinite(model.conf_int()[:, 0])
    assert not given[[40, 41]].any()
    assert given[:40].all()


def test_a_column_that_was_not_seen_is_not_estimated_and_a_note_says_so():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((20_000, 2)), np.full(20_000, 7.0)])
    y = X[:, 0] + rng.standard_normal(20_000)
    model = tg.LinearRegression(epsilon=1.0, delta=1e-5, random_state=0).fit(X, y)
    assert model.coef_[2] == 0.0
    assert np.isnan(model.coef_noise_std_).tolist() == [False, False, True]
    assert np.isnan(model.conf_int()[:, 0]).tolist() == [False, False, True, False]
    assert any(note.startswith("not estimated: 1 of 4 coefficients") for note in model.notes_)


def test_few_records_a_coefficient_have_no_intervals_though_the_fit_has_noise_stated():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4_000, 40))
    y = (X[:, 0] + rng.logistic(size=4_000) > 0.0).astype(int)
    few, enough = (
        tg.LogisticRegression(
            guarantee=tg.GDP(30.0 * share * 41 / 4_000), classes=(0, 1), random_state=0
        ).fit(X, y)
        for share in (0.95, 1.05)
    )
    assert np.isnan(few.conf_int()).all()
    assert any("budget is too small" in note for note in few.notes_)
    assert np.isfinite(few.coef_noise_std_).mean() > 0.8
    assert np.isfinite(enough.conf_int()).mean() > 0.6


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


def test_intervals_that_cannot_be_judged_are_not_shown(monkeypatch):
    def fails(*_):
        raise np.linalg.LinAlgError

    monkeypatch.setattr("tailguard.solvers.newton.covariance.withheld", fails)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((5_000, 2)), rng.integers(0, 2, 5_000)
    model = tg.LogisticRegression(epsilon=1.0, delta=1e-6, classes=(0, 1), random_state=0)
    assert np.isnan(model.fit(X, y).conf_int()).all()


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
