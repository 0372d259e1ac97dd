"""The default method at the estimators: targets, intervals, hard columns, plain words."""

import numpy as np
import pytest

import tailguard as tg

N_ROWS = 20_000
BUDGET = {"epsilon": 2.0, "delta": 1e-6, "random_state": 0}


def skewed(n_rows, seed=0):
    """Log-normal noise whose spread depends on the first column: clipping biases the mean."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 3))
    noise = (rng.lognormal(size=n_rows) - np.exp(0.5)) * (1.0 + 0.5 * np.abs(X[:, 0]))
    return X, 2.0 + X @ [1.0, -0.5, 0.0] + noise


def test_the_default_finds_the_mean_and_the_robust_target_says_that_it_does_not():
    X, y = skewed(N_ROWS)
    mean = tg.LinearRegression(**BUDGET).fit(X, y)
    robust = tg.LinearRegression(target="robust", **BUDGET).fit(X, y)
    assert abs(mean.intercept_ - 2.0) < 0.15
    assert robust.intercept_ < 1.7
    assert "target = robust" in robust.explain()


def test_a_robust_target_with_another_solver_is_refused():
    X, y = skewed(100)
    model = tg.LinearRegression(target="robust", solver="hard-thresholding", **BUDGET)
    with pytest.raises(tg.InputError, match="target must be 'mean'"):
        model.fit(X, y)


@pytest.mark.long
def test_intervals_cover_about_as_often_as_they_say():
    rng, truth, covered = np.random.default_rng(1), np.array([1.0, -0.5, 0.0, 2.0]), []
    for seed in range(30):
        X = rng.standard_normal((5_000, 3))
        y = X @ truth[:3] + truth[3] + rng.standard_normal(5_000)
        model = tg.LinearRegression(epsilon=2.0, delta=1e-6, random_state=seed).fit(X, y)
        low, high = model.conf_int(0.95).T
        known = ~np.isnan(low)
        covered += [*((low <= truth) & (truth <= high))[known]]
        assert (model.coef_std_ > model.coef_noise_std_)[known[:3]].all()
    assert len(covered) >= 0.98 * 30 * truth.size
    assert 0.85 <= np.mean(covered) <= 1.0


def test_a_constant_fit_says_that_its_intervals_are_unknown():
    X, y = np.ones((900, 2)), np.ones(900)
    model = tg.LinearRegression(epsilon=0.1, delta=1e-6, random_state=1).fit(X, y)
    assert model.notes_[0].startswith("no coefficient was fitted: the budget showed no scale")
    assert model.summary().count("not estimated") == 3  # twice in the table, once with the reason
    assert model.coef_frame().coefficient.isna().tolist() == [True, True, False]
    assert np.isnan(model.conf_int()).all()


def test_hard_columns_do_no_harm():
    rng = np.random.default_rng(2)
    plain = rng.standard_normal((N_ROWS, 2))
    rare = (rng.random(N_ROWS) < 0.01).astype(float)
    costs = np.where(rng.random(N_ROWS) < 0.3, rng.lognormal(size=N_ROWS), 0.0)
    binary = (rng.random(N_ROWS) < 0.4).astype(float)
    columns = [1e-9 * (plain[:, 0] + 50.0), 1e9 * plain[:, 1], rare, costs, binary]
    X = np.column_stack([*columns, np.full(N_ROWS, 7e8), columns[1]])
    signal = plain @ [1.0, -1.0] + rare + 0.3 * costs + 0.5 * binary
    y = 3.0 + signal + rng.standard_t(2.5, N_ROWS)
    X[::50, 0] = np.nan
    model = tg.LinearRegression(**BUDGET).fit(X, y)
    predicted = model.predict(np.nan_to_num(X, nan=5e-8))
    kept = ~np.isnan(X[:, 0])
    error = np.mean((predicted - 3.0 - signal)[kept] ** 2)
    assert error < 0.05 * np.var(signal)


def test_many_columns_and_few_records_give_a_finite_answer():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((500, 200)), rng.standard_normal(500)
    for model in (tg.LinearRegression, tg.LogisticRegression, tg.PoissonRegression):
        target = np.abs(np.sign(y)) if model is tg.LogisticRegression else np.abs(y)
        fitted = model(**BUDGET).fit(X, target)
        assert np.isfinite(fitted.coef_).all()
        assert np.isfinite(fitted.intercept_)


@pytest.mark.parametrize("seed", [19, 31, 40])
def test_a_quantile_of_few_records_is_fitted_where_noise_hides_the_residuals_near_it(seed):
    """With these seeds noise leaves no residuals near zero, and steps would have no bound."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(4.0, (500, 5))
    y = X.sum(axis=1) + rng.standard_t(3.0, 500)
    budget = {"epsilon": 1.0, "delta": 500**-1.1, "random_state": seed}
    off = np.mean(np.abs(tg.QuantileRegression(**budget).fit(X, y).predict(X) - y))
    assert off < 0.7 * np.mean(np.abs(y - np.median(y)))


def test_a_record_loss_is_refused_with_the_solver_to_use():
    with pytest.raises(tg.InputError, match="noisy-gradient-descent"):
        tg.minimize(
            tg.losses.Multinomial(3), np.zeros((10, 2)), np.zeros(10),
            guarantee=tg.GDP(1.0), solver="whitened-newton", random_state=0,
        )  # fmt: skip
