"""Counts that are mostly zero, beside columns that nearly repeat each other: no fit runs away.

Nor does a fit of counts that rise far more slowly than the exponential of a count beside them.
"""

from functools import lru_cache

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import xlogy
from sklearn.linear_model import PoissonRegressor

import tailguard as tg

N_ROWS, N_COLUMNS, N_OWN, ZEROS = 6_000, 17, 11, 0.93
MOST = 1.5  # of what a constant loses beyond the best fit; 1 is the constant itself


@lru_cache
def rare_counts(seed, n_rows=2 * N_ROWS):
    """Counts of which 93 % are zero, and 17 columns of which six nearly repeat others.

    The others are heavy, indicators or normal; a repeated column differs by a hundredth to a tenth
    of its spread. Counts vary more than Poisson ones, by a gamma factor.
    """
    rng = np.random.default_rng(seed)
    own = rng.standard_normal((n_rows, N_OWN))
    own[:, :3] = rng.lognormal(0.0, 1.0, (n_rows, 3))
    own[:, 3:6] = rng.random((n_rows, 3)) < [0.02, 0.1, 0.4]
    copies = rng.choice(N_OWN, N_COLUMNS - N_OWN, replace=False)
    apart = 10.0 ** rng.uniform(-2.0, -1.0, copies.size) * own[:, copies].std(axis=0)
    repeated = own[:, copies] + apart * rng.standard_normal((n_rows, copies.size))
    X = np.column_stack([own, repeated])
    score = (own - own.mean(axis=0)) / own.std(axis=0) @ rng.normal(0.0, 0.25, N_OWN)
    mean = np.exp(np.clip(score, -3.0, 3.0)) * rng.gamma(0.3, 1.0 / 0.3, n_rows)
    rate = brentq(lambda rate: np.exp(-rate * mean).mean() - ZEROS, 1e-3, 1e3)
    return X, rng.poisson(rate * mean).astype(float)


def deviance(y, mean):
    return float(np.mean(xlogy(y, y / mean) - (y - mean)))


def excess(epsilon, seed):
    """Loss on other records, in parts of what a constant loses beyond the best linear fit."""
    X, y = rare_counts(seed)
    model = tg.PoissonRegression(epsilon=epsilon, delta=N_ROWS**-1.1, random_state=seed)
    model.fit(X[:N_ROWS], y[:N_ROWS])
    test, told = X[N_ROWS:], y[N_ROWS:]
    best = best_means(seed)
    constant = deviance(told, np.full(told.size, y[:N_ROWS].mean()))
    least = min(deviance(told, best), 0.99 * constant)
    found = deviance(told, np.maximum(model.predict(test), 1e-12))
    return (found - least) / (constant - least)


@lru_cache
def best_means(seed):
    """Means that the fit without privacy predicts, within eight deviations of each column."""
    X, y = rare_counts(seed)
    X, y, others = X[:N_ROWS], y[:N_ROWS], X[N_ROWS:]
    center, scale = X.mean(axis=0), X.std(axis=0)
    rows, far = (np.clip((each - center) / scale, -8.0, 8.0) for each in (X, others))
    return PoissonRegressor(alpha=1e-4, max_iter=500).fit(rows, y).predict(far)


def test_the_simulated_counts_are_what_they_are_said_to_be():
    X, y = rare_counts(0)
    assert (y == 0).mean() == pytest.approx(ZEROS, abs=0.01)
    correlations = np.abs(np.corrcoef(X.T) - np.eye(N_COLUMNS))
    assert (correlations.max(axis=0) > 0.99).sum() == 2 * (N_COLUMNS - N_OWN)


@pytest.mark.parametrize(
    "epsilon", [3.0, *(pytest.param(each, marks=pytest.mark.long) for each in (1.0, 10.0, 30.0))]
)
def test_no_fit_loses_more_than_half_as_much_again_as_a_constant(epsilon):
    losses = [excess(epsilon, seed) for seed in range(6)]
    assert max(losses) < MOST


def part_of_a_count(seed, n_rows=3_000):
    """Counts of something, and how many of them were of one kind, beside eight other columns.

    The kind is a binomial part, so its mean is proportional to the count. Exponentials fitted to
    the many small counts run far beyond the few large ones.
    """
    rng = np.random.default_rng(seed)
    count = rng.negative_binomial(0.35, 0.35 / (0.35 + 0.45), n_rows).astype(float)
    others = rng.standard_normal((n_rows, 8)) * [1.0, 3.0, 10.0, 30.0, 1.0, 1.0, 1.0, 1.0]
    return np.column_stack([count, others]), rng.binomial(count.astype(int), 0.55).astype(float)


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0])
def test_predictions_do_not_run_beyond_counts_that_grow_more_slowly(epsilon):
    for seed in range(4):
        X, y = part_of_a_count(seed)
        model = tg.PoissonRegression(epsilon=epsilon, delta=1e-5, random_state=seed).fit(X, y)
        constant = deviance(y, np.full(y.size, y.mean()))
        assert deviance(y, model.predict(X)) < 0.9 * constant
        assert model.predict(X).sum() == pytest.approx(y.sum(), rel=0.35)
