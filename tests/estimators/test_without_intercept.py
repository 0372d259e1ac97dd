"""Without an intercept nothing is moved: what is fitted goes through the origin."""

import numpy as np
import pytest

import tailguard as tg

BUDGET = {"epsilon": 4.0, "delta": 1e-6, "random_state": 0, "fit_intercept": False}
RNG = np.random.default_rng(0)
NEAR_ZERO = RNG.standard_normal((20_000, 3))
FAR = np.abs(NEAR_ZERO) + 0.5
TRUTH = np.array([1.0, 0.6, 0.4])


@pytest.mark.parametrize("X", [NEAR_ZERO, FAR], ids=["near", "far"])
@pytest.mark.parametrize("exposed", [False, True])
def test_counts_of_any_size_are_fitted_without_a_constant(X, exposed):
    """Dividing counts by their scale moves all scores, and no intercept takes that up."""
    rng = np.random.default_rng(1)
    exposure = np.exp(0.5 * rng.standard_normal(len(X)) + 1.0) if exposed else np.ones(len(X))
    y = rng.poisson(exposure * np.exp(X @ TRUTH))
    model = tg.PoissonRegression(**BUDGET).fit(X, y, exposure=exposure if exposed else None)
    assert model.intercept_ == 0.0
    np.testing.assert_allclose(model.coef_, TRUTH, atol=0.03)
    assert (np.abs(model.conf_int() - TRUTH[:, None]) < 0.1).all()


@pytest.mark.parametrize("epsilon", [1.0, 3.0, 10.0])
@pytest.mark.parametrize("seed", range(2))
def test_rates_that_spread_over_decades_are_reached_from_the_scale_of_counts(epsilon, seed):
    X = np.abs(np.random.default_rng(2).standard_normal((50_000, 3))) + 0.5
    y = np.random.default_rng(seed).poisson(np.exp(X @ TRUTH))
    budget = BUDGET | {"epsilon": epsilon, "random_state": seed}
    np.testing.assert_allclose(tg.PoissonRegression(**budget).fit(X, y).coef_, TRUTH, atol=0.03)


@pytest.mark.parametrize("size", [3.0, 7.0])
def test_exposures_of_any_size_are_taken_off_before_the_fit_starts(size):
    rng = np.random.default_rng(0)
    exposure = np.exp(0.5 * rng.standard_normal(len(FAR)) + size)
    y = rng.poisson(exposure * np.exp(-FAR @ TRUTH))
    model = tg.PoissonRegression(**BUDGET).fit(FAR, y, exposure=exposure)
    np.testing.assert_allclose(model.coef_, -TRUTH, atol=0.05)


def test_sparse_fits_leave_no_constant_either():
    budget = BUDGET | {"n_nonzero": 2}
    model = tg.SparseLinearRegression(**budget).fit(NEAR_ZERO, 50.0 + 3.0 * NEAR_ZERO[:, 0])
    assert model.intercept_ == 0.0


@pytest.mark.parametrize("model", [tg.LinearRegression, tg.LogisticRegression, tg.HuberRegression,
                                   tg.QuantileRegression, tg.LpRegression])  # fmt: skip
def test_no_model_leaves_a_constant(model):
    score = FAR @ TRUTH
    y = (score > np.median(score)) * 1.0 if model is tg.LogisticRegression else score
    fitted = model(**BUDGET).fit(FAR, y)
    assert fitted.intercept_ == 0.0
    assert np.isfinite(fitted.coef_).all()
