"""Sparse models keep the columns that matter, say which, and speak of no others."""

import numpy as np
import pytest

import tailguard as tg

MODELS = [tg.SparseLinearRegression, tg.SparseLogisticRegression]
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def data(model, n_rows=10_000, n_features=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3, size=(n_rows, n_features))
    y = X[:, 4] - X[:, 20] + X[:, 41] + rng.standard_t(3, n_rows)
    return X, (y > 0).astype(int) if model is tg.SparseLogisticRegression else y


@pytest.mark.parametrize("model", MODELS)
def test_the_support_is_reported(model):
    X, y = data(model)
    fitted = model(n_nonzero=3, **BUDGET, random_state=0).fit(X, y)
    assert fitted.support_.tolist() == [4, 20, 41]
    assert np.count_nonzero(fitted.coef_) == 3
    assert fitted.score(X, y) > 0.6
    table = fitted.summary()
    assert all(name in table for name in ("x4 ", "x20 ", "x41 ", "(intercept)"))
    assert "x5 " not in table
    assert "nan" not in table


@pytest.mark.parametrize("model", MODELS)
def test_an_unfitted_model_has_no_support(model):
    assert not hasattr(model(), "support_")


@pytest.mark.parametrize("model", MODELS)
def test_columns_in_other_units_give_the_same_predictions(model):
    X, y = data(model)
    plain, scaled = (
        model(n_nonzero=3, **BUDGET, random_state=0).fit(unit * X, y) for unit in (1.0, 2.0**20)
    )
    np.testing.assert_array_equal(plain.support_, scaled.support_)
    np.testing.assert_allclose(2.0**20 * scaled.coef_, plain.coef_, rtol=0.05)


def test_the_intercept_is_not_counted_and_found():
    X, y = data(tg.SparseLinearRegression)
    model = tg.SparseLinearRegression(n_nonzero=3, **BUDGET, random_state=0).fit(X, y + 100.0)
    assert model.intercept_ == pytest.approx(100.0, abs=0.5)
    assert model.support_.tolist() == [4, 20, 41]
    without = tg.SparseLinearRegression(n_nonzero=3, **BUDGET, random_state=0, fit_intercept=False)
    assert "(intercept)" not in without.fit(X, y).summary()


def test_a_solver_of_another_kind_is_refused():
    X, y = data(tg.SparseLinearRegression, n_rows=100)
    model = tg.SparseLinearRegression(**BUDGET, solver="whitened-newton")
    with pytest.raises(tg.InputError, match="must be given no constraint"):
        model.fit(X, y)


def test_more_kept_than_there_are_columns_keeps_all():
    X, y = data(tg.SparseLinearRegression)
    model = tg.SparseLinearRegression(n_nonzero=99, guarantee=tg.GDP(3.0), random_state=0)
    assert model.fit(X[:, :5], y).support_.tolist() == [0, 1, 2, 3, 4]
