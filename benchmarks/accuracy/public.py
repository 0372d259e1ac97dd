"""T1 to T5: five public tasks, as in published comparisons of private regression tools.

Four are simulated with fixed coefficients; ``T5`` is the RAND health insurance experiment and needs
``randhie.parquet`` in the data folder. Every seed draws its own training and test sample, but for
T5, where the seed drives the noise of the fits alone. ``paired`` is the excess over the best
non-private fit on one test sample, as published; ``excess`` is over the population optimum.
"""

from functools import lru_cache

import numpy as np
from scipy.special import expit

from accuracy.judges import Judge
from accuracy.optimum import minimise, non_private_fits
from accuracy.risks import loss_values
from accuracy.tasks import Task, Trial, finite

SEEDS = tuple(101 * k for k in range(1, 21))
N_TEST = 100_000
N_REFERENCE = 200_000
REFERENCE_SEED = 20_202
MEDIAN_BLOCKS = 101  # of the median-of-means risk of T3, whose squared errors are very heavy
T1_RADIUS = 2.0  # public ball onto which every answer to T1 is projected


def direction(n_features):
    """The unit vector that T1 to T3 share."""
    weights = np.random.default_rng(7).normal(size=n_features)
    return weights / np.linalg.norm(weights)


def draw_t1(rng, n_rows, n_features=10):
    """Gaussian columns, centred lognormal(1, 1) noise."""
    X = rng.normal(size=(n_rows, n_features))
    noise = rng.lognormal(1.0, 1.0, size=n_rows) - np.exp(1.5)
    return X, X @ direction(n_features) + noise


def _t2_noise_mean(location=0.2, scale=0.2):
    return np.exp(location) * np.pi * scale / np.sin(np.pi * scale)


def draw_t2(rng, n_rows, n_features=10, location=0.2, scale=0.2):
    """Gaussian columns; the label is the sign of a score with log-logistic noise."""
    X = rng.normal(size=(n_rows, n_features))
    u = rng.uniform(size=n_rows)
    noise = np.exp(location) * (u / (1 - u)) ** scale - _t2_noise_mean(location, scale)
    return X, (X @ direction(n_features) + noise > 0).astype(float)


def chance_t2(X, location=0.2, scale=0.2):
    """Probability of label 1 in T2: the tail of the log-logistic noise."""
    threshold = (_t2_noise_mean(location, scale) - X @ direction(X.shape[1])) / np.exp(location)
    return 1.0 / (1.0 + np.maximum(threshold, 0.0) ** (1.0 / scale))


def scales_t3(n_features=20):
    """Units of the columns of T3, from 1 to 100 in a fixed random order."""
    return np.random.default_rng(8).permutation(np.logspace(0, 2, n_features))


def draw_t3(rng, n_rows, n_features=20):
    """Student-t(2.5) columns in unlike units, Student-t(2.2) noise."""
    units = scales_t3(n_features)
    X = rng.standard_t(2.5, size=(n_rows, n_features)) * units
    return X, X @ (direction(n_features) / units) + rng.standard_t(2.2, size=n_rows)


def weights_t4(n_features=30):
    """Coefficients of T4."""
    return np.random.default_rng(9).normal(size=n_features) * 0.25


def chance_t4(X):
    """Probability of label 1 in T4."""
    return expit(np.clip((X - 1.0) @ weights_t4(X.shape[1]), -700, 700))


def draw_t4(rng, n_rows, n_features=30):
    """Correlated lognormal columns with log-sd 1.5, logistic labels."""
    order = np.arange(n_features)
    mixing = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(order, order)))
    X = np.exp(1.5 * (rng.normal(size=(n_rows, n_features)) @ mixing.T))
    return X, (rng.uniform(size=n_rows) < chance_t4(X)).astype(float)


def known_linear(coef, covariance_diagonal, radius=np.inf):
    """Excess ``sum s_j (coef - truth)_j^2`` for centred uncorrelated columns, no intercept."""

    def excess(answer, _intercept):
        answer = project(answer, radius)
        return np.sum(covariance_diagonal * (answer - coef) ** 2)

    return excess, float(np.sum(covariance_diagonal * coef**2))


def project(coef, radius):
    """Move onto a ball around zero."""
    norm = np.linalg.norm(coef)
    return coef if norm <= radius else coef * (radius / norm)


@lru_cache(maxsize=2)
def logistic_judge(name):
    """Judge T2 and T4 against their best linear scores on a large sample."""
    rng = np.random.default_rng(REFERENCE_SEED)
    X, _ = DRAWS[name](rng, N_REFERENCE)
    if name == "T2":
        chance = chance_t2(X)
        best = minimise(X, chance, "logistic", intercept=True)
    else:
        weights = weights_t4()
        chance, best = chance_t4(X), (weights, -float(weights.sum()))
    return Judge("logistic", X, chance, best, intercept=True)


DRAWS = {"T1": draw_t1, "T2": draw_t2, "T3": draw_t3, "T4": draw_t4}


def population(name):
    """Return (excess, constant gap, truth) of a simulated task."""
    if name == "T1":
        truth = direction(10)
        return *known_linear(truth, np.ones(10), T1_RADIUS), (truth, 0.0)
    if name == "T3":
        units = scales_t3()
        truth = direction(20) / units
        return *known_linear(truth, 5.0 * units**2), (truth, 0.0)  # Student-t(2.5) has variance 5
    judge = logistic_judge(name)
    return judge.excess, judge.constant_gap(), judge.raw_optimum()


def paired_excess(loss, train, test, *, intercept, blocks=None, radius=np.inf):
    """Return the excess over the best non-private fit on a test sample, and that best fit."""

    def losses(coef, constant):
        return loss_values(loss, test[0] @ project(coef, radius) + constant, test[1])

    def aggregate(values):
        if blocks is None:
            return np.mean(values)
        return np.median([block.mean() for block in np.array_split(values, blocks)])

    fits = non_private_fits(*train, loss, intercept=intercept)
    best = min(fits.values(), key=lambda fit: aggregate(losses(*fit)))
    reference = losses(*best)
    return lambda coef, constant: aggregate(losses(coef, constant) - reference)


def _simulated_trial(name, seed, n_rows, loss, intercept):
    rng = np.random.default_rng([int(name[1]), seed, n_rows, D_OF[name]])
    train = DRAWS[name](rng, n_rows)
    test = DRAWS[name](rng, N_TEST)
    excess, gap, truth = population(name)
    paired = paired_excess(
        loss,
        train,
        test,
        intercept=intercept,
        blocks=MEDIAN_BLOCKS if name == "T3" else None,
        radius=T1_RADIUS if name == "T1" else np.inf,
    )
    return Trial(*train, finite(excess), gap, truth, finite(paired))


D_OF = {"T1": 10, "T2": 10, "T3": 20, "T4": 30}


def simulated(name, loss, n_rows, *, intercept):
    """Build T1 to T4."""
    return Task(
        name=name,
        suite="public",
        loss=loss,
        n_rows=n_rows,
        n_features=D_OF[name],
        intercept=intercept,
        trial=lambda seed: _simulated_trial(name, seed, n_rows, loss, intercept),
    )


def public_tasks():
    """T1 to T4; T5 comes with the data folder."""
    return [
        simulated("T1", "squared", 100_000, intercept=False),
        simulated("T2", "logistic", 100_000, intercept=True),
        simulated("T3", "squared", 100_000, intercept=False),
        simulated("T4", "logistic", 50_000, intercept=True),
    ]
