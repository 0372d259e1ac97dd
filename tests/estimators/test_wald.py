"""Intervals and tests of coefficients, and the table that shows them."""

import numpy as np
import pytest
from scipy.stats import norm

import tailguard as tg
from tailguard.estimators.summary import coefficient_cells

N_ROWS = 20_000
TRUTH = np.array([0.0, 0.5, 0.0, -0.3])


def fitted(seed, *, rng=None, **options):
    """A fit of two columns that matter, two that do not, and one that is constant."""
    rng = np.random.default_rng(seed) if rng is None else rng
    X = np.column_stack([rng.standard_normal((N_ROWS, 4)), np.full(N_ROWS, 3.0)])
    y = 2.0 + X[:, :4] @ TRUTH + rng.standard_normal(N_ROWS)
    budget = {"epsilon": 1.0, "delta": 1e-6, "random_state": seed}
    return tg.LinearRegression(**budget, **options).fit(X, y)


def test_a_test_says_what_its_interval_says_at_any_level():
    model = fitted(0)
    z, p = model.wald_test().T
    for level in (0.5, 0.9, 0.99):
        low, high = model.conf_int(level).T
        known = ~np.isnan(low)
        outside = (low > 0.0) | (high < 0.0)
        np.testing.assert_array_equal(outside[known], (p < 1.0 - level)[known])
    np.testing.assert_allclose(p, 2.0 * norm.sf(np.abs(z)))
    np.testing.assert_allclose(z[:5], model.interval_center_[:5] / model.coef_std_)


def test_the_test_of_a_true_zero_has_about_the_size_that_it_says():
    """One in twenty is expected to be below five per cent; 80 are tested."""
    p = np.concatenate([fitted(seed).wald_test()[[0, 2], 1] for seed in range(40)])
    assert p.size == 80
    assert (p < 0.05).mean() <= 0.13
    assert 0.3 < np.median(p) < 0.7


def test_what_was_not_estimated_says_so_and_has_neither_interval_nor_test():
    model = fitted(1)
    assert np.isnan(model.wald_test()[4]).all()
    table = model.summary()
    (line,) = (line for line in table.splitlines() if line.startswith("x4 "))
    assert line.split() == ["x4", "not", "estimated"]
    reason = "not estimated: the budget did not show its column"
    assert f"x4: {reason}" in table
    assert "not estimated: 1 of 6 coefficients" in model.explain()
    assert model.reasons_ == ("", "", "", "", reason, "")
    frame = model.coef_frame()
    assert frame.loc["x4", "coefficient":"p"].isna().all()
    assert frame.reason["x4"] == reason
    assert np.isfinite(model.predict(np.ones((1, 5)))).all()


def test_corrected_least_squares_say_what_they_aim_at():
    assert "aims at: the slope that ordinary least squares would give" in fitted(0).summary()
    X = np.random.default_rng(0).standard_normal((5_000, 2))
    robust = tg.HuberRegression(epsilon=1.0, delta=1e-6, random_state=0).fit(X, X[:, 0])
    assert "aims at" not in robust.summary()


def test_a_frame_holds_what_intervals_lie_about():
    model = fitted(2)
    frame = model.coef_frame(0.9)
    known = frame.reason == ""
    np.testing.assert_allclose(((frame.low + frame.high) / 2.0)[known], frame.coefficient[known])
    np.testing.assert_allclose(frame[["low", "high"]], model.conf_int(0.9))
    assert list(frame.index) == ["x0", "x1", "x2", "x3", "x4", "(intercept)"]


def test_a_frame_of_a_solver_without_variances_has_neither_intervals_nor_reasons():
    X = np.random.default_rng(0).standard_normal((500, 2))
    model = tg.SparseLinearRegression(n_nonzero=1, epsilon=1.0, delta=1e-6, random_state=0)
    frame = model.fit(X, X[:, 0]).coef_frame()
    assert frame[["std", "low", "high", "z", "p"]].isna().all(axis=None)
    assert np.isfinite(frame.coefficient).all()
    assert (frame.reason == "").all()


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
def test_a_table_is_no_wider_than_a_screen(scale):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N_ROWS, 3)) * scale
    y = -1e5 * X[:, 0] / scale + rng.standard_normal(N_ROWS)
    model = tg.LinearRegression(epsilon=1.0, delta=1e-6, random_state=0).fit(X, y)
    lines = model.summary().splitlines()
    assert max(map(len, lines)) <= 100
    headers, cells = coefficient_cells(model, digits=6)
    assert headers[-2:] == ["z", "p"]
    assert cells[0][-1] == "<0.001"


def test_a_solver_that_pays_for_no_variance_has_no_tests():
    X = np.random.default_rng(0).standard_normal((500, 3))
    model = tg.SparseLinearRegression(n_nonzero=1, epsilon=1.0, delta=1e-6, random_state=0)
    with pytest.raises(tg.InputError, match="confidence intervals and tests"):
        model.fit(X, X[:, 0]).wald_test()
    assert " z " not in model.summary()
