"""Sparse models keep the columns that matter, say which, and speak of no others."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.solvers.hard_thresholding import HIDDEN

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


@pytest.mark.parametrize("model", MODELS)
def test_columns_may_lie_anywhere_in_any_units(model):
    X, y = data(model)
    units, centers = 10.0 ** np.resize([-3, 0, 4], 60), np.resize([0.0, 500.0, -40.0], 60)
    moved = model(n_nonzero=3, **BUDGET, random_state=0).fit(units * (X + centers), y)
    assert moved.support_.tolist() == [4, 20, 41]
    plain = model(n_nonzero=3, **BUDGET, random_state=0).fit(X, y)
    assert moved.score(units * (X + centers), y) > plain.score(X, y) - 0.05


def test_three_shifted_columns_are_better_than_a_constant():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5_000, 3)) * [1.0, 10.0, 0.1] + [100.0, -2_000.0, 7.0]
    y = X @ [1.0, 0.1, 5.0] + rng.standard_normal(5_000)
    model = tg.SparseLinearRegression(n_nonzero=2, **BUDGET, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.3
    assert "can be told from the noise" in model.explain()


def test_of_too_many_columns_one_scale_serves_all():
    problem = tg.gate.plan.Problem(tg.losses.Squared(), 2_000, 5_000, intercept=True)
    plan = tg.solvers.HardThresholding(5).plan(problem, tg.ApproxDP(1.0, 1e-6))
    assert "feature scale" in plan.by_name
    assert any("comparable units" in each for each in plan.assumptions)


def test_a_column_that_is_not_seen_is_not_read():
    X, y = data(tg.SparseLinearRegression)
    X[:, 7] = 0.0
    model = tg.SparseLinearRegression(n_nonzero=60, guarantee=tg.GDP(3.0), random_state=0)
    assert abs(model.fit(X, y).coef_[7]) < 1e-50


@pytest.mark.long
@pytest.mark.parametrize("model", MODELS)
def test_a_fit_that_noise_may_have_chosen_says_so(model):
    X, y = data(model)
    rich = model(n_nonzero=3, epsilon=3.0, delta=1e-6, random_state=0).fit(X, y)
    assert HIDDEN not in rich.notes_
    unlike = np.random.default_rng(1).permutation(y)
    for epsilon in (0.3, 1.0):
        told = {"epsilon": epsilon, "delta": 1e-6, "random_state": 0}
        found = model(n_nonzero=3, **told).fit(X, unlike)
        assert HIDDEN in found.notes_
        assert HIDDEN in found.explain()


@pytest.mark.parametrize("model", MODELS)
def test_a_far_cell_is_predicted_as_one_at_its_bound(model, tmp_path):
    X, y = data(model)
    fitted = model(n_nonzero=3, **BUDGET, random_state=0).fit(X, y)
    low, high = fitted.feature_bounds_.T
    far, within = np.full((1, 60), 1e9), high[None, :]
    fitted.save(tmp_path / "model.json")
    for each in (fitted, tg.load(tmp_path / "model.json")):
        np.testing.assert_array_equal(each.predict(far), each.predict(within))
        np.testing.assert_array_equal(each.predict(-far), each.predict(low[None, :]))
    if model is tg.SparseLinearRegression:
        linear = fitted.set_params(extrapolate="linear")
        assert abs(linear.predict(far) - linear.predict(within)) > 1e6


def test_a_model_without_any_coefficient_has_a_summary_and_a_report():
    """A fit without a constant keeps no column if zero is better."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3000, 4)), rng.standard_normal(3000)
    model = tg.SparseLinearRegression(n_nonzero=2, fit_intercept=False, random_state=0, **BUDGET)
    model.fit(X, y)
    assert model.support_.size == 0
    assert "no coefficients" in model.summary()
    assert "no coefficient was kept" in model.report().to_html()
