"""Losses of bounded slopes: what they aim at does not depend on how the target is spread."""

import numpy as np
import pytest

import tailguard as tg


def regression(n_rows, seed, *, signal=1.0, d=8):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, d))
    return X, 1.0 + signal * X.sum(axis=1) / np.sqrt(d) + rng.standard_normal(n_rows)


def huber_error(threshold):
    """Median squared error of the coefficients, of few records."""
    errors = []
    for seed in range(5):
        X, y = regression(2_000, seed)
        budget = {"epsilon": 1.0, "delta": 1e-6, "random_state": seed}
        model = tg.HuberRegression(threshold=threshold, **budget).fit(X, y)
        errors.append(((model.coef_ - 1.0 / np.sqrt(8)) ** 2).sum() + (model.intercept_ - 1.0) ** 2)
    return np.median(errors)


@pytest.mark.long
@pytest.mark.parametrize("threshold", [5.0, 1e100])
def test_a_threshold_that_no_residual_reaches_costs_no_noise(threshold):
    assert huber_error(threshold) < 1.5 * huber_error(1.345)


@pytest.mark.long
def test_with_many_records_a_threshold_is_what_was_asked_for():
    """Noise is skewed: the lower the threshold, the nearer to its mode, and it has to move."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100_000, 2))
    y = X.sum(axis=1) + rng.exponential(size=len(X))
    budget = {"epsilon": 8.0, "delta": 1e-6, "random_state": 0}
    low, high = (tg.HuberRegression(threshold=t, **budget).fit(X, y) for t in (0.3, 3.0))
    assert low.intercept_ < 0.85
    assert high.intercept_ == pytest.approx(1.0, abs=0.05)


@pytest.mark.long
def test_intervals_count_what_a_lower_clip_level_misses():
    """Of few records with skewed noise a high threshold is given up for less privacy noise."""
    covered = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((5_000, 3))
        y = X[:, 0] + rng.lognormal(size=len(X))
        budget = {"epsilon": 2.0, "delta": 1e-6, "random_state": seed}
        low, high = tg.HuberRegression(threshold=30.0, **budget).fit(X, y).conf_int()[-1]
        covered.append(low <= np.exp(0.5) <= high)
    assert np.mean(covered) > 0.4  # without that one in ten is


@pytest.mark.parametrize("signal", [0.0, 3.0, 30.0])
@pytest.mark.parametrize("level", [0.1, 0.9])
def test_a_quantile_is_one_however_much_columns_explain(signal, level):
    X, y = regression(50_000, 1, signal=signal)
    budget = {"epsilon": 8.0, "delta": 1e-6, "random_state": 1}
    model = tg.QuantileRegression(level=level, **budget).fit(X, y)
    assert np.mean(y < model.predict(X)) == pytest.approx(level, abs=0.01)


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_rounds_of_l4_settle_where_columns_are_heavy(seed):
    """Slopes at the clip level rise far more steeply than on average."""
    rng = np.random.default_rng(5_000 + seed)
    Z = rng.standard_normal((20_000, 30))
    X = Z.copy()
    X[:, 3] = rng.random(len(X)) < 0.5
    X[:, 4] = rng.random(len(X)) < 0.01
    X[:, 5] = (rng.random(len(X)) < 0.1) * np.exp(1.5 * rng.standard_normal(len(X))) * 0.8
    X[:, 6], X[:, 7], X[:, 8], X[:, 9] = 1.0, Z[:, 0], 0.0, np.exp(Z[:, 9])
    y = X @ np.full(30, 30**-0.5) + rng.standard_normal(len(X))
    X[:, 0] += 50.0
    budget = {"epsilon": 10.0, "delta": 1e-6, "random_state": seed, "fit_intercept": False}
    residual = y - tg.LpRegression(p=4.0, **budget).fit(X, y).predict(X)
    assert np.mean(residual**4) < 5.0


def test_the_power_two_is_least_squares():
    X, y = regression(5_000, 1, signal=1.0)
    budget = {"epsilon": 4.0, "delta": 1e-6, "random_state": 1}
    power, squares = (
        model.fit(X, y) for model in (tg.LpRegression(p=2, **budget), tg.LinearRegression(**budget))
    )
    np.testing.assert_array_equal(power.conf_int(), squares.conf_int())
