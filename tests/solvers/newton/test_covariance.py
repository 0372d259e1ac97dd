"""Standard errors: the bias that clipping leaves is counted, where there is any."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import ndtr

import tailguard as tg
from support.fits import plain_fit
from support.whitened import example_fit
from tailguard.gate.plan import Plan, Problem
from tailguard.queries.column_histograms import Bins
from tailguard.queries.units import Units
from tailguard.scaling.noisy_distribution import BIN_SIGNIFICANCE, NoisyDistribution
from tailguard.solvers.newton.clipping import Clipping, RowNormDistribution, SlopeDistribution
from tailguard.solvers.newton.covariance import (
    BENT,
    LARGEST_HIDDEN,
    UNEVEN,
    UNTOLD,
    GradientVariance,
    gradient_variance,
    hiding,
    solution,
    unresolved,
    whole_covariance,
)
from tailguard.solvers.newton.debiasing import squared_bias
from tailguard.solvers.newton.fit_session import FitSession
from tailguard.solvers.newton.newton import averaged, step
from tailguard.solvers.newton.outlook import LITTLE, UNPREDICTED, with_remedy
from tailguard.solvers.newton.schedule import SLOPE_BINS, Shares
from tailguard.solvers.newton.solver import WhitenedNewton
from tailguard.solvers.newton.state import Correction

N_ROWS = 20_000
BINS = Bins("linear", -8.0, 4.0, 96)
SHARES, NO_MOVE = np.array([0.7, 0.08]), np.zeros(2)


def slopes_of(residuals):
    counts = np.bincount(BINS.index(residuals).astype(int), minlength=BINS.count)
    return SlopeDistribution(None, NoisyDistribution.of(counts.astype(float), BINS, 3.0))


def skewed(n_rows=100_000):
    return slopes_of(np.random.default_rng(0).lognormal(0.0, 0.8, n_rows) - np.exp(0.32))


def symmetric(n_rows=100_000):
    return slopes_of(np.random.default_rng(0).standard_normal(n_rows))


def test_a_normal_interval_that_counts_the_squared_bias_covers_whatever_the_bias():
    bias = np.linspace(0.0, 20.0, 400)
    reach = 1.959964 * np.sqrt(1.0 + bias**2)
    assert (ndtr(reach - bias) - ndtr(-reach - bias) >= 0.95 - 1e-6).all()


def test_symmetric_residuals_leave_no_bias_and_skewed_ones_less_at_higher_levels():
    assert (squared_bias(symmetric(), (1.0, 4.0), SHARES, NO_MOVE, 1e-4) == 0.0).all()
    levels = (0.5, 1.0, 2.0, 6.0)
    left = [squared_bias(skewed(), (level, 6.0), SHARES, NO_MOVE, 1e6) for level in levels]
    assert (np.diff(left, axis=0) < 0.0).all()


def test_a_direction_without_a_share_is_not_biased_whatever_noise_moved_it():
    shares, moved = np.array([0.5, 0.0, 0.2]), np.array([0.1, 0.1, 0.1])
    left = squared_bias(skewed(), (0.5, 6.0), shares, moved, 1e-4)
    assert left[1] == 0.0
    assert (left[[0, 2]] > 0.0).all()


def test_what_was_measured_above_a_level_replaces_what_was_expected():
    slopes, moved = skewed(), np.array([-0.4, 0.1])
    sure = squared_bias(slopes, (0.5, 6.0), SHARES, moved, 1e-9)
    beyond = squared_bias(slopes, (6.0, 6.0), SHARES, NO_MOVE, 1e-9)
    np.testing.assert_allclose(sure - beyond, moved**2, rtol=1e-3)
    np.testing.assert_allclose(beyond, (slopes.lost(6.0) * np.array([1.0, 0.08 / 0.7])) ** 2)
    vague = squared_bias(slopes, (0.5, 6.0), SHARES, moved, 1e9)
    unmoved = squared_bias(slopes, (0.5, 6.0), SHARES, NO_MOVE, 1e9)
    np.testing.assert_allclose(vague, unmoved, rtol=1e-3)


def test_the_tail_that_noise_hides_adds_to_the_variance():
    slopes = skewed()
    for level in (1.0, 4.0, 20.0):
        assert slopes.variance(level) < slopes.upper_variance(level) <= level**2
    assert slopes.upper_variance(20.0) < 1.5 * slopes.variance(20.0)


def counting_fit(rate):
    """A fit of counts of that mean, of which only histograms were told: rows of mean square 1."""
    problem = Problem(tg.losses.Poisson(), N_ROWS, 3, intercept=True)
    plan = Plan("example", problem, tg.GDP(1e-6), ())
    told = NoisyDistribution.of(np.array([0.0, N_ROWS, 0.0]), Bins("linear", 1.9, 10.0, 3), 1.0)
    rows = RowNormDistribution(told, 4.0, weight=rate)
    slopes = np.random.default_rng(0).poisson(rate, 400_000) - rate
    counts = np.bincount(SLOPE_BINS.index(slopes).astype(int), minlength=SLOPE_BINS.count)
    seen = SlopeDistribution(None, NoisyDistribution.of(counts.astype(float), SLOPE_BINS, 1e-3))
    clipping = Clipping(rows, seen, 10.0, 1e3, rate)
    fit = replace(plain_fit(problem.loss, 3), clipping=clipping, noise=np.zeros((4, 4)))
    return FitSession(plan, None, Shares()), fit


@pytest.mark.parametrize("rate", [0.05, 1.0, 20.0])
def test_counts_tell_a_log_rate_as_well_as_their_number_allows(rate):
    """The variance is one over the number of events, in every direction."""
    session, fit = counting_fit(rate)
    told = gradient_variance(session, fit)
    variance = N_ROWS * rate * whole_covariance(session, fit, told)
    np.testing.assert_allclose(variance, np.eye(4), atol=0.2)  # what bins blur


def test_intervals_of_skewed_records_whose_spread_varies_cover_the_intercept():
    rng, truth, scores = np.random.default_rng(1), np.array([1.0, -0.5, 0.0, 2.0]), []
    for seed in range(20):
        X = rng.standard_normal((N_ROWS, 3))
        noise = (rng.lognormal(size=N_ROWS) - np.exp(0.5)) * (1.0 + 0.5 * np.abs(X[:, 0]))
        model = tg.LinearRegression(epsilon=1.0, delta=1e-5, random_state=seed)
        model.fit(X, truth[3] + X @ truth[:3] + noise)
        low, high = model.conf_int(0.95).T
        scores.append(((low + high) / 2.0 - truth) / ((high - low) / 3.92))
    assert np.mean(np.abs(scores) < 1.96) >= 0.9
    assert abs(np.mean(scores, axis=0)[3]) < 1.1  # 1.4 where the bias is not counted


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


def test_a_budget_too_small_for_the_variance_has_no_intervals():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 3))
    y = X.sum(axis=1) + rng.standard_normal(2000)
    small, large = (
        tg.LinearRegression(guarantee=tg.GDP(mu), random_state=0).fit(X, y) for mu in (0.9, 2.0)
    )
    assert "contribution rounds" not in {stage.name for stage in small.plan_.stages}
    assert np.isnan(small.conf_int()).all()
    assert any("how far single records reach" in note for note in small.notes_)
    assert np.isfinite(small.coef_noise_std_).all()
    assert np.isfinite(large.conf_int()).all()


@pytest.mark.parametrize(("spread", "given"), [(0.5, True), (1.5, False)])
def test_log_odds_of_columns_too_heavy_for_all_bounds_have_no_intervals_and_say_so(spread, given):
    """Of so many columns that contributions are not corrected."""
    rng = np.random.default_rng(5)
    X = rng.lognormal(sigma=spread, size=(N_ROWS, 24))
    score = (X / X.std(axis=0)) @ np.where(np.arange(24) % 2, 1.0, -1.0)
    y = (rng.uniform(size=N_ROWS) < 1.0 / (1.0 + np.exp(-score))).astype(int)
    model = tg.LogisticRegression(epsilon=0.8, delta=1e-5, classes=(0, 1), random_state=1)
    model.fit(X, y)
    assert np.isfinite(model.conf_int()).all() == given
    assert np.isnan(model.conf_int()).all() != given
    assert any("so heavy that far rows" in note for note in model.notes_) != given
    assert np.isfinite(model.coef_noise_std_).all()


def test_sampling_and_noise_are_larger_along_directions_whose_whitening_is_noisy():
    session, fit = counting_fit(1.0)
    blurred = replace(fit.geometry.whitening, noise_radius_squared=np.array([0.0, 0.2, 0.5, 0.0]))
    fit = replace(fit, geometry=replace(fit.geometry, whitening=blurred))
    told = GradientVariance(np.eye(4), np.zeros((4, 4)), 0.1)
    variances = N_ROWS * np.diag(whole_covariance(session, fit, told))
    np.testing.assert_allclose(variances, blurred.variance_inflation)


def test_along_a_correction_its_own_variance_replaces_that_of_rounds_and_sampling():
    _, fit = counting_fit(1.0)
    told = GradientVariance(np.eye(4), np.zeros((4, 4)), 0.1)
    made = Correction(np.eye(4)[:, :1], np.array([[0.4]]), np.array([0.3]), np.array([0.2]))
    session = SimpleNamespace(problem=SimpleNamespace(n_rows=1))
    fit = replace(fit, noise=2.0 * np.eye(4), correction=made)
    variances = np.diag(whole_covariance(session, fit, told))
    np.testing.assert_allclose(variances, [0.4**2 + 0.3**2 + 0.2**2, 5.0, 5.0, 5.0])


def test_stated_noise_of_a_debiased_constant_is_near_what_it_varies_by():
    """What chooses clip levels adds to it; the noise of rounds alone is below half of it."""
    rng, found, told = np.random.default_rng(3), [], []
    X = rng.standard_normal((N_ROWS, 3))
    y = X @ [1.0, -1.0, 0.5] + rng.lognormal(sigma=1.2, size=N_ROWS)
    for seed in range(20):
        model = tg.LinearRegression(epsilon=1.0, delta=1e-6, random_state=seed).fit(X, y)
        found.append(model.intercept_)
        told.append(model.intercept_noise_std_)
    assert 0.5 < np.mean(told) / np.std(found) < 1.2


ALIKE = GradientVariance(np.eye(2), np.zeros((2, 2)), 0.1)


def one_column(**changes):
    """A fit of one column and a constant, with other whitening, slopes or units."""
    fit = plain_fit(tg.losses.Squared(), 1, bound=4.0)
    geometry, slopes = fit.geometry, changes.pop("slopes", fit.clipping.slopes)
    if units := changes.pop("units", {}):
        changes["units"] = replace(geometry.units, **units)
    geometry = replace(geometry, **changes)
    return replace(fit, geometry=geometry, clipping=replace(fit.clipping, slopes=slopes))


def hidden_by(fit, variance=ALIKE):
    """Which weights have no known variance: by bounds, by uneven residuals, by hidden ones."""
    return [columns.tolist() for columns, _ in hiding(fit, variance, np.ones(2))]


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
    told = replace(whitening, diagonal=np.array([1.0 - UNTOLD - share, 1.0]))
    _, hidden, *_ = hidden_by(one_column(whitening=told))
    assert hidden == [share > 0.0, False]
    fit = replace(one_column(whitening=told), iterates=(None,))
    assert not unresolved(fit).any()
    less = replace(whitening, diagonal=np.array([UNTOLD - share, 1.0]))
    fit = replace(one_column(whitening=less), iterates=(None,))
    assert unresolved(fit).tolist() == [share > 0.0, False]


@pytest.mark.parametrize("share", [0.01, -0.01])
def test_a_slope_is_unknown_if_it_varies_along_a_direction_that_was_added_not_told(share):
    """Such are duplicates: each column is seen, the difference of both is not."""
    whitening = one_column().geometry.whitening
    along = np.sqrt(UNTOLD + share)
    rotation = np.array([[np.sqrt(1.0 - along**2), along], [0.0, 1.0]])
    told = replace(whitening, matrix=rotation, told=np.array([1.0, 0.0]))
    fit = replace(one_column(whitening=told), iterates=(None,))
    assert unresolved(fit).tolist() == [share > 0.0, True]


@pytest.mark.parametrize("residuals", [skewed(), symmetric()])
@pytest.mark.parametrize(("excess", "noise_std"), [(1.01, 0.1), (0.99, 0.1), (2.01, 1.0)])
def test_skewed_residuals_that_grow_with_a_column_hide_its_slope(residuals, excess, noise_std):
    """The excess is in shares of UNEVEN, or of the noise where that is larger."""
    size = excess * UNEVEN if noise_std < UNEVEN / 2.0 else excess * noise_std
    told = GradientVariance(np.eye(2), np.diag([size, 0.0]), noise_std)
    _, _, hidden, _ = hidden_by(one_column(slopes=residuals), told)
    assert hidden == [residuals.skewed and excess > 1.0, False]


@pytest.mark.parametrize("share", [1.01, 0.99])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("corrected", [True, False])
def test_what_varies_along_the_constant_is_unknown_where_noise_hides_how_far_residuals_reach(
    share, intercept, corrected
):
    """Without an intercept it is what varies along the mean row."""
    slopes, zero = skewed(), np.zeros(1)
    most = LARGEST_HIDDEN[0 if intercept else 1]
    told = replace(slopes.distribution, bin_noise=share * most / BIN_SIGNIFICANCE)
    fit = one_column(slopes=replace(slopes, distribution=told))
    fit = replace(fit, geometry=replace(fit.geometry, units=Units.raw(1, intercept=intercept)))
    made = Correction(np.eye(2)[:, 1:], np.array([[np.sqrt(1.01 * UNTOLD)]]), zero, zero)
    *_, hidden = hidden_by(replace(fit, correction=made if corrected else None))
    assert hidden == [False, corrected and share > 1.0]
    less = replace(made, noise=np.array([[np.sqrt(0.99 * UNTOLD)]]))
    *_, hidden = hidden_by(replace(fit, correction=less))
    assert hidden == [False, False]


def test_no_interval_is_narrower_than_the_privacy_noise_alone():
    """A correction may follow noise by more than all of it; intervals count it as if by all."""
    session, fit = example_fit(tg.losses.Huber(1.345), phase=0)
    fit = averaged(step(session, fit))
    made = Correction(np.eye(3)[:, 2:], 1e-9 * np.eye(1), np.zeros(1), np.zeros(1))
    found = solution(session, replace(fit, noise=7.0 * np.eye(3), correction=made))
    assert found.intercept_std >= found.intercept_noise_std > 1.0
    assert found.intercept_std == pytest.approx(found.intercept_noise_std, rel=1e-5)


def test_what_was_released_moves_the_variance_as_far_as_it_stands_out_of_noise():
    """With noise that hides all it is what histograms tell, the same in all directions."""
    found = {}
    for grows in (False, True):
        rng = np.random.default_rng(4)
        X = rng.standard_normal((40_000, 5))
        size = 1.0 + 2.0 * np.abs(X[:, 0]) if grows else 1.0
        y = X.sum(axis=1) + size * rng.standard_normal(40_000)
        model = tg.HuberRegression(epsilon=8.0, delta=1e-5, random_state=0).fit(X, y)
        found[grows] = model.coef_std_ / model.coef_std_[1:].mean()
    assert found[True][0] > 1.05
    assert np.abs(found[False] - 1.0).max() < 0.03


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


def test_a_remedy_of_weighted_records_counts_rows_of_the_table():
    problem = Problem(tg.losses.Poisson(), 1_000, 3, intercept=True, has_weights=True)
    told = [
        with_remedy(LITTLE, problem, tg.ApproxDP(1.0, 1e-6), robust=False, weight=weight)
        for weight in (1.0, 0.1)
    ]
    records = [int(re.search(r"about ([\d,]+)", t)[1].replace(",", "")) for t in told]
    assert records[1] == pytest.approx(10 * records[0], rel=0.1)
    enough = replace(problem, n_rows=records[0])
    assert with_remedy(LITTLE, enough, tg.ApproxDP(1.0, 1e-6), robust=False).endswith(UNPREDICTED)


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
    y = X.sum(axis=1) + rng.standard_normal(4_000)
    few, enough = (
        tg.HuberRegression(guarantee=tg.GDP(30.0 * share * 41 / 4_000), random_state=0).fit(X, y)
        for share in (0.95, 1.05)
    )
    assert np.isnan(few.conf_int()).all()
    assert any("budget is too small" in note for note in few.notes_)
    assert np.isfinite(few.coef_noise_std_).all()
    assert np.isfinite(enough.conf_int()).mean() > 0.8


def test_many_columns_whose_directions_noise_hides_have_intervals_that_hold_the_truth():
    """Each column is seen, and noise has turned all directions; no variance was planned."""
    rng, held, truth = np.random.default_rng(3), [], np.linspace(-1.0, 1.0, 100)
    for seed in range(3):
        X = rng.standard_normal((20_000, 100))
        y = (rng.random(20_000) < 1.0 / (1.0 + np.exp(-0.3 * (X @ truth)))).astype(int)
        model = tg.LogisticRegression(epsilon=2.0, delta=1e-5, classes=(0, 1), random_state=seed)
        low, high = model.fit(X, y).conf_int()[:100].T
        assert "variance" not in {stage.name for stage in model.plan_.stages}
        given = np.isfinite(low)
        assert given.mean() > 0.9
        held.append(((low <= 0.3 * truth) & (0.3 * truth <= high))[given].mean())
    assert 0.92 <= np.mean(held) <= 0.99


def test_duplicates_have_no_intervals_and_others_do():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 4))
    X = np.column_stack([X, X[:, 0]])
    y = X @ [1.0, 1.0, 0.0, 0.0, 0.0] + rng.standard_normal(20_000)
    model = tg.LinearRegression(epsilon=1.0, delta=1e-5, random_state=0).fit(X, y)
    given = np.isfinite(model.conf_int()[:, 0])
    assert given[:5].tolist() == [False, True, True, True, False]
    assert abs(model.coef_[0] + model.coef_[4] - 1.0) < 0.05


def test_intervals_that_cannot_be_judged_are_not_shown(monkeypatch):
    def fails(*_):
        raise np.linalg.LinAlgError

    monkeypatch.setattr("tailguard.solvers.newton.covariance.hiding", fails)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5_000, 2))
    model = tg.HuberRegression(epsilon=2.0, delta=1e-6, random_state=0).fit(X, X.sum(axis=1))
    assert np.isnan(model.conf_int()).all()
