"""Whole fits and means, as functions of features and a target."""

import numpy as np

import tailguard as tg

N_ROWS, N_FEATURES = 20_000, 10
QUICK_N_ROWS = 2_000
BUDGET = {"epsilon": 2.0, "delta": 1e-6}
GUARANTEE = tg.ApproxDP(**BUDGET)
# Tables without a usable record are fitted to the end, as long as others are.
ON = {"on_unusable": "fit", "random_state": 0}


def fit(estimator):
    """A fit, which returns how many answers were released."""

    def run(X, y):
        return len(estimator(**BUDGET, **ON).fit(X, y).certificate_.releases)

    return run


def mean(X, y):
    return len(tg.mean(X, guarantee=GUARANTEE, **ON).certificate.releases)


def minimise(X, y):
    squared = tg.losses.Squared()
    found = tg.minimize(squared, X, y, guarantee=GUARANTEE, **ON)
    return len(found.certificate.releases)


def cases(*, quick):
    """Names, functions of features and target, features and targets."""
    n_rows = QUICK_N_ROWS if quick else N_ROWS
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, N_FEATURES))
    score = X @ np.linspace(-0.5, 0.5, N_FEATURES)
    y = score + rng.standard_normal(n_rows)
    labels = (score + rng.logistic(size=n_rows) > 0).astype(float)
    counts = rng.poisson(np.exp(score)).astype(float)
    yield "LinearRegression", fit(tg.LinearRegression), X, y
    yield "LogisticRegression", fit(tg.LogisticRegression), X, labels
    yield "PoissonRegression", fit(tg.PoissonRegression), X, counts
    yield "mean", mean, X, None
    yield "minimize, squared loss", minimise, X, y
