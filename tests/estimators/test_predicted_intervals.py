"""Intervals of predictions hold what they say, and are refused where nothing tells them."""

import numpy as np
import pandas as pd
import pytest

import tailguard as tg

N_ROWS = 20_000
COEF = np.array([2.0, -1.0, 0.05])


def design(rng, n_rows):
    """Columns that lean on each other, one of them far from zero."""
    first = rng.standard_normal(n_rows)
    second = 0.8 * first + 0.6 * rng.standard_normal(n_rows)
    return np.column_stack([first, second, 2000.0 + 10.0 * rng.standard_normal(n_rows)])


def fitted(seed, residuals):
    rng = np.random.default_rng(seed)
    X = design(rng, N_ROWS)
    y = X @ COEF + residuals(rng, N_ROWS)
    return tg.LinearRegression(epsilon=2.0, delta=1e-6, random_state=seed).fit(X, y), rng


def normal(rng, n_rows):
    return rng.standard_normal(n_rows)


def skewed(rng, n_rows):
    return rng.exponential(1.0, n_rows) - 1.0


def costs(rng, n_rows):
    """Ages and illnesses, and costs: a third of them zero, their means not linear in either."""
    age, ill = rng.integers(18, 90, n_rows), rng.poisson(0.7, n_rows)
    typical = np.exp(5.0 + 0.02 * (age - 50) + 0.35 * ill)
    some = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-0.02 * (age - 60) - 0.5 * ill - 0.3))
    size = typical * rng.lognormal(-1.6, 1.9, n_rows)
    return np.column_stack([age, ill]).astype(float), np.where(some, size, 0.0)


@pytest.mark.long
@pytest.mark.parametrize("residuals", [normal, skewed])
def test_intervals_of_means_and_of_new_records_hold_as_often_as_they_say(residuals):
    mean, new = [], []
    for seed in range(6):
        model, rng = fitted(seed, residuals)
        X = design(rng, 400)
        low, high = model.predict(X, interval="mean").T
        mean.append(((low <= X @ COEF) & (high >= X @ COEF)).mean())
        y = X @ COEF + residuals(rng, 400)
        low, high = model.predict(X, interval="new", level=0.9).T
        new.append(((low <= y) & (y <= high)).mean())
    assert 0.85 <= np.mean(mean) <= 1.0
    assert 0.88 <= np.mean(new) <= 0.97


def test_the_interval_of_a_mean_follows_from_the_covariance():
    model, rng = fitted(0, normal)
    X = design(rng, 5)
    rows = np.column_stack([np.clip(X, *model.feature_bounds_.T), np.ones(5)])
    low, high = model.predict(X, interval="mean", level=0.9).T
    np.testing.assert_allclose((low + high) / 2.0, rows @ model.interval_center_, rtol=1e-9)
    variance = np.einsum("ij,jk,ik->i", rows, model.covariance_, rows)
    np.testing.assert_allclose((high - low) / 2.0, 1.6448536 * np.sqrt(variance), rtol=1e-6)


def test_the_interval_of_a_new_record_follows_from_the_released_residuals():
    model, rng = fitted(1, skewed)
    X = design(rng, 3)
    shares = model._residual_shares
    assert (np.diff(shares, axis=0) >= 0.0).all()
    assert (shares[0, 1], shares[-1, 1]) == (0.0, pytest.approx(1.0))
    below, above = np.interp([0.05, 0.95], shares[:, 1], shares[:, 0])
    rows = np.column_stack([np.clip(X, *model.feature_bounds_.T), np.ones(3)])
    score = rows @ model._residual_center
    new = model.predict(X, interval="new", level=0.9)
    np.testing.assert_allclose(new, score[:, None] + [below, above])
    assert below == pytest.approx(np.log(1.0 / 0.95) - 1.0, abs=0.2)
    assert above == pytest.approx(np.log(20.0) - 1.0, abs=0.6)


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_intervals_of_new_costs_hold_although_corrections_move_the_fit(epsilon):
    """The mean of skewed costs is far from where most residuals are: the fit moves by quartiles."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        model = tg.LinearRegression(epsilon=epsilon, delta=1e-6, random_state=seed)
        model.fit(*costs(rng, 24_000))
        X, y = costs(rng, 20_000)
        for level in (0.5, 0.9):
            low, high = model.predict(X, interval="new", level=level).T
            assert ((low <= y) & (y <= high)).mean() == pytest.approx(level, abs=0.05)


def test_a_row_that_needs_what_was_not_estimated_has_no_interval():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.standard_normal(N_ROWS), "flat": 3.0})
    table["region"] = rng.choice(["north", "south"], N_ROWS)
    table["cost"] = table.age + (table.region == "south") + rng.standard_normal(N_ROWS)
    schema = {"categorical": {"region": ["north", "south"]}, "target": "cost"}
    model = tg.LinearRegression(schema=schema, epsilon=1.0, delta=1e-6, random_state=0).fit(table)
    assert [bool(reason) for reason in model.reasons_] == [False, True, False, True, False]
    new = pd.DataFrame({"age": [0.0, np.nan, 0.0], "flat": 3.0, "region": ["south"] * 2 + ["moon"]})
    known = np.isfinite(model.predict(new, interval="mean")).all(axis=1)
    assert known.tolist() == [True, False, False]  # the fit does not read the flat column


def test_rates_and_chances_have_intervals_on_their_own_scales():
    rng = np.random.default_rng(0)
    X, years = rng.standard_normal((N_ROWS, 2)), rng.uniform(0.5, 2.0, N_ROWS)
    rates = np.exp(0.3 * X[:, 0] - 1.0)
    counts = tg.PoissonRegression(epsilon=4.0, delta=1e-6, random_state=0)
    counts.fit(X, rng.poisson(years * rates), exposure=years)
    low, high = counts.predict(X[:50], exposure=years[:50], interval="mean").T
    mean = counts.predict(X[:50], exposure=years[:50])
    assert (low < mean).all()
    assert (mean < high).all()
    np.testing.assert_allclose(low, years[:50] * counts.predict(X[:50], interval="mean")[:, 0])
    with pytest.raises(tg.InputError, match="interval must be 'mean' for this model"):
        counts.predict(X[:50], interval="new")
    labels = tg.LogisticRegression(classes=(0, 1), epsilon=4.0, delta=1e-6, random_state=0)
    labels.fit(X, rng.random(N_ROWS) < 1.0 / (1.0 + np.exp(-X[:, 1])))
    low, high = labels.predict_proba(X[:50], interval="mean").T
    chance = labels.predict_proba(X[:50])[:, 1]
    assert ((low >= 0.0) & (low < chance) & (chance < high) & (high <= 1.0)).all()


def test_what_has_no_interval_says_why():
    X = np.random.default_rng(0).standard_normal((500, 2))
    sparse = tg.SparseLinearRegression(n_nonzero=1, epsilon=1.0, delta=1e-6, random_state=0)
    sparse.fit(X, X[:, 0])
    with pytest.raises(tg.InputError, match="solver must be one that pays for sampling variance"):
        sparse.predict(X, interval="mean")
    few = tg.LinearRegression(epsilon=0.1, delta=1e-6, random_state=0).fit(X, X[:, 0])
    assert np.isnan(few.predict(X, interval="mean")).all()
    with pytest.raises(tg.InputError, match="interval must be one of 'mean', 'new'; got 'both'"):
        few.predict(X, interval="both")
    with pytest.raises(tg.InputError, match="level must be"):
        few.predict(X, interval="mean", level=95)
