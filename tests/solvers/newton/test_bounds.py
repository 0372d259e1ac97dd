"""Features are read within bounds: far rows neither lead a fit astray nor its predictions."""

from copy import copy
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

import tailguard as tg
from tailguard.gate.plan import Problem
from tailguard.losses.base import Link
from tailguard.queries.view import LARGEST_FEATURE
from tailguard.solvers.newton.schedule import FEATURE_BOUNDS, feature_bound
from tailguard.solvers.newton.state import LARGEST_MEAN

BUDGET = {"epsilon": 2.0, "delta": 1e-6, "random_state": 0}
RNG = np.random.default_rng(0)
N_ROWS = 8_000
X = RNG.standard_normal((N_ROWS, 3))
SCORE = X @ [1.0, -0.5, 0.0]
ESTIMATORS = {
    Link.IDENTITY: (tg.LinearRegression, SCORE + RNG.standard_normal(N_ROWS)),
    Link.LOGIT: (tg.LogisticRegression, (SCORE + RNG.logistic(size=N_ROWS) > 0).astype(int)),
    Link.LOG: (tg.PoissonRegression, RNG.poisson(np.exp(0.5 * SCORE)).astype(float)),
}


@cache
def clean(link):
    """A fit of clean columns, which tests copy before they change it."""
    estimator, y = ESTIMATORS[link]
    return estimator(**BUDGET).fit(X, y)


def far_column():
    """A column of which one record in fifty is a code far from all others."""
    column = RNG.standard_normal(N_ROWS)
    column[::50] = 999_999.0
    return column


@pytest.mark.parametrize("link", ESTIMATORS)
def test_codes_far_from_all_other_values_do_no_harm(link):
    estimator, y = ESTIMATORS[link]
    table = np.column_stack([X, far_column()])
    models = [estimator(**BUDGET | {"random_state": seed}).fit(table, y) for seed in range(3)]
    for model in models:
        np.testing.assert_allclose(model.coef_[:3], clean(link).coef_, atol=0.15)
    # Noise may choose a farther bound where columns lie within all of them.
    assert np.median([np.diff(model.feature_bounds_[3]) for model in models]) < 100.0


@pytest.mark.parametrize("link", ESTIMATORS)
def test_predictions_read_features_within_the_bounds_of_the_fit(link):
    estimator, y = ESTIMATORS[link]
    small = BUDGET | {"epsilon": 0.2}  # too little for a choice of other bounds
    model = estimator(**small).fit(X, y)
    bound = min(FEATURE_BOUNDS[link])
    assert model.plan_.settings["feature_bound"] == bound
    width = np.diff(model.feature_bounds_, axis=1)[:, 0]
    assert (width > 1.5 * bound).all()
    assert (width < 4.0 * bound).all()
    far, edge = np.full((1, 3), 1e9), model.feature_bounds_[:, 1][None, :]
    assert model._score_of(far) == pytest.approx(model._score_of(edge))
    near = 0.5 * X[:9]
    assert model._score_of(near) == pytest.approx(near @ model.coef_ + model.intercept_)
    linear = model.set_params(extrapolate="linear")
    assert linear._score_of(far) == pytest.approx(far @ model.coef_ + model.intercept_)
    assert np.isnan(model._score_of(np.full((1, 3), np.nan))).all()


@pytest.mark.parametrize("link", ESTIMATORS)
def test_means_of_a_log_link_alone_are_predicted_no_higher_than_its_bound(link):
    model = copy(clean(link))
    assert np.isfinite(model.score_bounds_[1]) == (link is Link.LOG)
    held = model._score_of(X)
    assert (held < model.score_bounds_[1]).all()  # a fit that is right is not held back
    model.coef_ = np.array([99.0, 0.0, 0.0])  # as noise may make one
    steep = X[:, :1] @ [99.0] + model.intercept_
    assert (model._score_of(X) <= model.score_bounds_[1]).all()
    linear = model.set_params(extrapolate="linear")
    assert linear._score_of(X) == pytest.approx(steep)


@pytest.mark.parametrize("factor", [2.0**-20, 2.0**20])
def test_the_bound_of_a_prediction_follows_the_unit_of_the_target(factor):
    _, y = ESTIMATORS[Link.LOG]
    bound = clean(Link.LOG).score_bounds_[1]
    moved = tg.PoissonRegression(**BUDGET).fit(X, y * factor).score_bounds_[1]
    assert moved - bound == pytest.approx(np.log(factor), abs=0.1)  # noise falls otherwise
    assert y.max() < np.exp(bound) < 4.0 * y.max()


@pytest.mark.parametrize("factor", [2.0**-20, 1.0, 2.0**20])
def test_without_an_intercept_it_does_so_too(factor):
    y = ESTIMATORS[Link.LOG][1] * factor
    model = tg.PoissonRegression(**BUDGET, fit_intercept=False)
    columns = np.column_stack([np.ones(N_ROWS), X])
    assert y.max() < np.exp(model.fit(columns, y).score_bounds_[1]) < 4.0 * y.max()


def test_rates_of_short_exposures_are_not_held_back_by_how_many_counts_there_are():
    rng = np.random.default_rng(0)
    short = rng.random(20_000) < 0.5
    exposure = np.where(short, 1e-3, 1.0)
    y = rng.poisson(3.0, 20_000)  # so rates are 3000 and 3
    model = tg.PoissonRegression(**BUDGET).fit(short[:, None], y, exposure=exposure)
    assert model.predict(np.array([[1.0], [0.0]])) == pytest.approx([3000.0, 3.0], rel=0.2)


@pytest.mark.parametrize("epsilon", [0.03, 0.1, 0.3])
def test_noise_in_a_coefficient_makes_no_mean_endless(epsilon):
    rng = np.random.default_rng(1)
    heavy = rng.lognormal(0.0, 2.0, (1_000, 4))
    y = rng.poisson(3.0, 1_000)
    for seed in range(4):
        model = tg.PoissonRegression(epsilon=epsilon, delta=1e-4, random_state=seed).fit(heavy, y)
        assert model.predict(1e6 * heavy).max() < 64.0 * y.max()


SIZE = RNG.normal(6.0, 1.0, N_ROWS)
PRICE = np.exp(2.0 * (SIZE - 6.0) + 0.2 * RNG.standard_normal(N_ROWS))
POWERS = {
    2.0: tg.GammaRegression(**BUDGET),
    1.5: tg.TweedieRegression(**BUDGET),
    1.0: tg.PoissonRegression(**BUDGET),
}


@pytest.mark.parametrize("seed", range(2))
def test_two_records_coded_zero_do_not_outweigh_all_others(seed):
    """Their predicted means are near zero, where the deviance of a Gamma loss has no bound."""
    columns = SIZE[:, None] + [[0.0, 0.0]] + 0.1 * X[:, :2]
    columns[:2], price = 0.0, np.append([4.0, 4.0], PRICE[2:])
    model = tg.GammaRegression(**BUDGET | {"random_state": seed}).fit(columns, price)

    def deviance(score):
        return model._loss().deviance(score, price).mean()

    constant = deviance(np.full(N_ROWS, np.log(price.mean())))
    held = deviance(model._score_of(columns))
    assert held < 0.15 * constant
    model.score_bounds_ = np.array([-np.inf, np.inf])
    assert deviance(model._score_of(columns)) > 5.0 * held


@pytest.mark.parametrize("power", POWERS)
def test_means_are_bounded_below_where_a_deviance_is_a_power_of_their_inverse(power):
    model = clone(POWERS[power]).fit(X, ESTIMATORS[Link.LOG][1] + 1.0)
    low, high = model.score_bounds_
    assert high < np.inf
    if power == 1.0:
        assert low == -np.inf
        return
    mean = np.log(1.0 + ESTIMATORS[Link.LOG][1].mean())
    assert low == pytest.approx(mean - np.log(LARGEST_MEAN), abs=0.1)
    model.coef_ = np.array([99.0, 0.0, 0.0])  # as noise may make one
    model.interval_center_ = np.append(model.coef_, model.intercept_)
    assert model.predict(X).min() == pytest.approx(np.exp(low))
    assert model.predict(X, interval="mean").min() == pytest.approx(np.exp(low))
    assert model.set_params(extrapolate="linear").predict(X).min() < np.exp(low - 9.0)


@pytest.mark.parametrize("factor", [2.0**-20, 1.0, 2.0**20])
def test_where_targets_spread_wide_the_lower_bound_is_what_few_of_them_stay_below(factor):
    low = clone(POWERS[2.0]).fit(SIZE[:, None], PRICE * factor).score_bounds_[0] - np.log(factor)
    assert low < np.log(PRICE.mean() / LARGEST_MEAN) - 0.5
    assert (np.exp(low) > PRICE).mean() < 0.015


def test_exposures_leave_a_gamma_fit_without_either_bound():
    model = clone(POWERS[2.0]).fit(SIZE[:, None], PRICE, exposure=np.ones(N_ROWS))
    np.testing.assert_array_equal(model.score_bounds_, [-np.inf, np.inf])


def test_a_column_that_is_not_read_has_no_bounds():
    model = tg.LinearRegression(**BUDGET).fit(np.column_stack([X, np.zeros(N_ROWS)]), SCORE)
    np.testing.assert_array_equal(model.feature_bounds_[3], [-np.inf, np.inf])
    assert model.coef_[3] == 0.0


def test_solvers_that_read_features_as_they_are_have_no_bounds():
    solver = tg.LinearRegression(**BUDGET, solver=tg.solvers.NoisyGradientDescent(step_size=0.1))
    assert solver.fit(X, SCORE).feature_bounds_ is None
    assert solver.predict(np.full((1, 3), 1e9))[0] == pytest.approx(
        1e9 * solver.coef_.sum() + solver.intercept_
    )


def test_another_word_for_extrapolation_is_refused_before_anything_is_spent():
    model = tg.LinearRegression(**BUDGET, extrapolate="flat")
    with pytest.raises(tg.InputError, match="extrapolate must be one of 'bounded', 'linear'"):
        model.fit(X, SCORE)
    assert not hasattr(model, "certificate_")


def test_a_high_power_of_the_residual_reads_features_as_they_are():
    model = tg.LpRegression(p=4.0, **BUDGET).fit(X, SCORE)
    assert model.feature_bounds_ is None
    assert model.plan_.settings["feature_bound"] == LARGEST_FEATURE
    assert "choice of bounds" not in [stage.name for stage in model.plan_.stages]


def test_minimize_tells_the_bounds():
    solved = tg.minimize(
        tg.losses.Squared(), X, SCORE, guarantee=tg.GDP(1.0), intercept=True, random_state=0
    )
    assert solved.feature_bounds.shape == (3, 2)
    assert feature_bound(Problem(tg.losses.Squared(), 10, 3)) == FEATURE_BOUNDS[Link.IDENTITY][0]
