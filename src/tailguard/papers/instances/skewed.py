"""Linear scores of normal columns with skewed noise: the simulated data of Wang and others (2020).

The paper states the laws of the noise and neither that of the columns nor the weights: here columns
are standard normal, and the weights are a unit vector.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailguard.array_types import FloatArray
from tailguard.checks import check_integer
from tailguard.datasets.dataset import Dataset, check_sizes
from tailguard.datasets.heavy_tailed import alternating_weights

# Of the lognormal and of the log-logistic law, as the paper states them.
LOGNORMAL_LOCATION, LOGNORMAL_SCALE = 1.0, 1.0
LOGLOGISTIC_LOCATION, LOGLOGISTIC_SCALE = 0.2, 0.2


def lognormal_line(n_rows: int, n_features: int, *, seed: int = 0) -> Dataset:
    """Draw targets that are a linear score with centred lognormal noise of variance 34.5."""
    rng, X, weights = _design(n_rows, n_features, seed)
    mean = math.exp(LOGNORMAL_LOCATION + LOGNORMAL_SCALE**2 / 2.0)
    noise = rng.lognormal(LOGNORMAL_LOCATION, LOGNORMAL_SCALE, n_rows) - mean
    return _dataset(X, X @ weights + noise, weights, "centred lognormal noise")


def loglogistic_labels(n_rows: int, n_features: int, *, seed: int = 0) -> Dataset:
    """Draw labels 1 where a linear score with centred log-logistic noise is above zero, else 0.

    The paper's labels are the opposite ones, so that its optimum points away from the weights.
    """
    rng, X, weights = _design(n_rows, n_features, seed)
    labels = (X @ weights + loglogistic_noise(rng.random(n_rows)) > 0.0).astype(np.int64)
    return _dataset(X, labels, weights, "labels by centred log-logistic noise")


def loglogistic_noise(chances: FloatArray) -> FloatArray:
    """Return the quantiles of the centred log-logistic law at some chances."""
    angle = math.pi * LOGLOGISTIC_SCALE
    mean = math.exp(LOGLOGISTIC_LOCATION) * angle / math.sin(angle)
    odds = chances / (1.0 - chances)
    noise: FloatArray = math.exp(LOGLOGISTIC_LOCATION) * odds**LOGLOGISTIC_SCALE - mean
    return noise


def _design(
    n_rows: int, n_features: int, seed: int
) -> tuple[np.random.Generator, FloatArray, FloatArray]:
    """Draw normal columns; return the generator behind them, and a unit vector of weights."""
    rng = np.random.default_rng(check_integer("seed", seed, minimum=0))
    check_sizes(n_rows=n_rows, n_features=n_features)
    X = rng.standard_normal((n_rows, n_features))
    weights = alternating_weights(n_features)
    unit: FloatArray = weights / np.linalg.norm(weights)
    return rng, X, unit


def _dataset(X: FloatArray, target: NDArray[Any], weights: FloatArray, noise: str) -> Dataset:
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    return Dataset(X, names, target, weights, 0.0, f"Normal columns, {noise}.")
