"""A ridge: public, beside the mean loss, in the user's units, without the intercept."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, Ridge, TweedieRegressor

import tailguard as tg
from support.fits import plain_fit
from tailguard.gate.plan import Problem
from tailguard.solvers.newton.choices import choose_fit
from tailguard.solvers.newton.state import NewtonIterate

N_ROWS = 20_000
LARGE, BUDGET = {"guarantee": tg.GDP(20.0)}, {"epsilon": 1.0, "delta": 1e-6}
MODELS = {
    "linear": tg.LinearRegression,
    "logistic": tg.LogisticRegression,
    "poisson": tg.PoissonRegression,
    "gamma": tg.GammaRegression,
    "tweedie": tg.TweedieRegression,
}
POWERS = {"poisson": 1.0, "gamma": 2.0, "tweedie": 1.5}
each_model = pytest.mark.parametrize("name", MODELS)


def records(name, seed=0, n_rows=N_ROWS):
    """Bounded columns: two alike, and one in units of its own, far from zero."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.5, 1.5, (n_rows, 4))
    X[:, 1] = X[:, 0] + 0.2 * X[:, 1]
    X[:, 2] = 100.0 + 20.0 * X[:, 2]
    score = X @ [0.5, -0.4, 0.01, 0.3] - 0.8
    if name == "linear":
        return X, 3.0 * score + rng.standard_t(4.0, n_rows)
    if name == "logistic":
        return X, (rng.random(n_rows) < expit(score)).astype(int)
    if name == "poisson":
        return X, rng.poisson(np.exp(score))
    y = np.exp(score) * rng.gamma(2.0, 0.5, n_rows)
    return X, y * (rng.random(n_rows) < 0.5) if name == "tweedie" else y


def optimum(name, alpha, X, y):
    """Coefficients without privacy, the intercept last."""
    if name == "linear":
        best = Ridge(alpha=alpha * len(y)).fit(X, y)
    elif name == "logistic":
        best = LogisticRegression(C=1.0 / (alpha * len(y)), solver="newton-cholesky", tol=1e-8)
        best = best.fit(X, y)
    else:
        best = TweedieRegressor(
            power=POWERS[name], alpha=alpha, link="log", solver="newton-cholesky", tol=1e-8
        ).fit(X, y)
    return np.append(np.ravel(best.coef_), best.intercept_)


def of(model):
    return np.append(model.coef_, model.intercept_)


@each_model
@pytest.mark.parametrize("alpha", [0.02, 2.0])
def test_a_large_budget_finds_the_optimum_of_scikit_learn(name, alpha):
    X, y = records(name)
    model = MODELS[name](alpha=alpha, random_state=0, **LARGE).fit(X, y)
    best, typical = optimum(name, alpha, X, y), np.append(X.std(axis=0), 1.0)
    plain = optimum(name, 1e-9, X, y)
    # The intercept is that of a row of zeros, six deviations from the mean of one column.
    apart = of(model) - best
    apart[-1] += apart[:-1] @ X.mean(axis=0)
    np.testing.assert_allclose(apart * typical, 0.0, atol=0.015)
    shrunk = np.abs(best - plain)[:-1] * typical[:-1]
    assert shrunk.max() > 0.1  # which a fit without the ridge would miss
    cost = [
        model._loss().value(X @ coef + constant, y).mean() + alpha / 2.0 * (coef @ coef)
        for *coef, constant in (best, of(model), plain)
        for coef in (np.array(coef),)
    ]
    assert cost[1] - cost[0] < 0.01 * (cost[2] - cost[0]) + 1e-5


@each_model
def test_an_endless_ridge_leaves_the_mean(name):
    X, y = records(name)
    model = MODELS[name](alpha=1e8, random_state=0, **LARGE).fit(X, y)
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-6)
    expected = model._loss().mean(model.intercept_)
    np.testing.assert_allclose(expected, y.mean(), rtol=0.03)


@pytest.mark.long
def test_it_counts_coefficients_in_the_units_of_the_user():
    X, y = records("linear")
    alpha, plain = 0.1, tg.LinearRegression(alpha=0.1, random_state=0, **LARGE).fit(X, y)
    wide = tg.LinearRegression(alpha=100.0 * alpha, random_state=0, **LARGE).fit(10.0 * X, y)
    np.testing.assert_allclose(10.0 * wide.coef_, plain.coef_, atol=0.01)
    large = tg.LinearRegression(alpha=alpha, random_state=0, **LARGE).fit(X, 1e6 * y)
    np.testing.assert_allclose(large.coef_ / 1e6, plain.coef_, atol=0.01)
    for name, power in POWERS.items():
        X, y = records(name)
        fits = [
            MODELS[name](alpha=alpha * factor, random_state=0, **LARGE).fit(X, unit * y)
            for unit, factor in ((1.0, 1.0), (1e4, 1e4 ** (2.0 - power)))
        ]
        np.testing.assert_allclose(fits[1].coef_, fits[0].coef_, atol=0.01)


@pytest.mark.long
@pytest.mark.parametrize("name", ["linear", "logistic", "gamma"])
def test_columns_that_are_nearly_alike_have_less_noise_and_intervals_hold(name):
    alpha, held = 0.1, []
    others = [optimum(name, alpha, *records(name, seed, 100_000)) for seed in range(90, 92)]
    truth = np.mean(others, axis=0)
    for seed in range(24):
        X, y = records(name, seed)
        model = MODELS[name](alpha=alpha, random_state=seed, **BUDGET).fit(X, y)
        low, high = model.conf_int().T
        known = ~np.isnan(low)
        held += list(((low <= truth) & (truth <= high))[known])
    assert len(held) > 40
    assert np.mean(held) > 0.85
    free = MODELS[name](random_state=0, **BUDGET).fit(X, y)
    assert model.coef_noise_std_[0] < 0.5 * free.coef_noise_std_[0]
    assert model.coef_std_[0] < 0.5 * free.coef_std_[0]


@each_model
def test_no_ridge_is_none(name):
    X, y = records(name, n_rows=2000)
    models = [MODELS[name](random_state=0, **BUDGET, **more) for more in ({}, {"alpha": 0.0})]
    fits = [model.fit(X, y) for model in models]
    np.testing.assert_array_equal(of(fits[0]), of(fits[1]))
    assert "ridge" not in fits[0].explain()
    ridge = MODELS[name](random_state=0, alpha=0.5, **BUDGET).fit(X, y)
    assert "ridge = 0.5" in ridge.explain()
    assert "ridge of alpha=0.5" in ridge.summary()
    assert ridge.plan_.stages == fits[0].plan_.stages  # it is public


def test_fits_are_compared_with_what_the_ridge_costs_them():
    """Records prefer the fit by .1 a record; without its coefficients the ridge is saved."""
    session = SimpleNamespace(
        loss=tg.losses.Squared(), stages={"choice of fit": None},
        ask=lambda *_: np.array([0.1, 0.1]),
    )  # fmt: skip
    start = NewtonIterate(np.zeros(3), np.ones(3), 0.1, 1_000)
    fit = replace(plain_fit(session.loss, 2, weights=np.ones(3)), iterates=(start,))
    for ridge, kept in ((0.0, 1.0), (0.09, 1.0), (0.11, 0.0)):
        found = choose_fit(session, replace(fit, geometry=replace(fit.geometry, ridge=ridge)))
        np.testing.assert_allclose(found.weights, [kept, kept, 1.0], atol=1e-12)


@pytest.mark.parametrize("alpha", [-1.0, np.nan, np.inf, "1", None])
def test_what_is_no_ridge_is_refused(alpha):
    X, y = records("linear", n_rows=200)
    with pytest.raises(tg.InputError, match="alpha must be a number from 0 to 1e\\+100"):
        tg.LinearRegression(alpha=alpha, **BUDGET).fit(X, y)


def test_other_solvers_and_losses_refuse_it():
    X, y = records("linear")
    solver = tg.solvers.SampleAndAggregate(diameter=10.0)
    model = tg.LinearRegression(alpha=1.0, solver=solver, **BUDGET)
    with pytest.raises(tg.InputError, match=r"alpha must be 0 unless solver .* got 1\.0\."):
        model.fit(X, y)
    sparse = tg.SparseLinearRegression
    for other in (tg.HuberRegression, tg.QuantileRegression, tg.LpRegression, sparse):
        with pytest.raises(TypeError, match="alpha"):
            other(alpha=1.0)
    problem = Problem(tg.losses.Huber(), 10_000, 2, intercept=True, ridge=1.0)
    with pytest.raises(tg.InputError, match="alpha must be 0 for the loss Huber"):
        tg.solvers.WhitenedNewton().plan(problem, tg.GDP(1.0))
