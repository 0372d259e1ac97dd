"""Rare counts on columns that nearly repeat each other: what noise hides moves no fit far."""

import numpy as np
from scipy.special import xlogy

import tailguard as tg

N_ROWS = 6_000


def claims(seed, n_rows):
    """Counts of which 93 % are zero, and 17 columns in odd units: ten are nearly made of others."""
    rng = np.random.default_rng(seed)
    own = rng.standard_normal((n_rows, 6))
    own[:, :3] = np.exp(1.2 * own[:, :3])
    own[:, 3:] *= rng.random((n_rows, 3)) < 0.2
    apart = 10.0 ** rng.uniform(-4.0, -1.0, 6) * own.std(axis=0)
    copies = own + apart * rng.standard_normal((n_rows, 6))
    sums = own[:, :3] @ rng.standard_normal((3, 3)) + 0.01 * rng.standard_normal((n_rows, 3))
    rare = rng.random((n_rows, 2)) < [0.01, 0.3]
    units = 10.0 ** rng.uniform(-2.0, 3.0, 17)
    score = (own - own.mean(axis=0)) / own.std(axis=0) @ (0.3 * rng.standard_normal(6))
    means = np.exp(np.clip(score, -4.0, 3.0))
    counts = rng.poisson(0.08 * means / means.mean() * rng.gamma(0.5, 2.0, n_rows))
    return np.hstack([own, copies, sums, rare]) * units, counts


def deviance(means, counts):
    means = np.maximum(means, 1e-300)
    return float(np.mean(xlogy(counts, counts / means) - counts + means))


def test_no_fit_on_columns_that_nearly_repeat_others_loses_much_more_than_a_constant():
    worse = []
    for seed in range(6):
        X, y = claims(seed, 2 * N_ROWS)
        model = tg.PoissonRegression(epsilon=3.0, delta=1e-5, random_state=seed)
        model.fit(X[:N_ROWS], y[:N_ROWS])
        new, counts = X[N_ROWS:], y[N_ROWS:]
        alone = deviance(np.full(N_ROWS, y[:N_ROWS].mean()), counts)
        worse.append(deviance(model.predict(new), counts) / alone)
    assert max(worse) < 1.2
    assert np.median(worse) < 0.95
