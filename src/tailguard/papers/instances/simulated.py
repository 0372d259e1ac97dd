"""Simulated data of the papers, on normal columns.

*Wang and others (2020)*: linear scores with skewed noise. The paper states the laws of the noise,
but not the law of the columns or the weights: here columns are standard normal, and the weights are
a unit vector.

*Xu and others (2025, Section 4)*: ``E (<w, x> - y)^4`` on the unit l1 ball. Columns are clipped at
the number of records, and targets are bounded: the Lipschitz constant is large, and moments are
small. The risk grows away from its minimum with exponent 4.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import gammaln

from tailguard.array_types import FloatArray
from tailguard.datasets.dataset import Dataset
from tailguard.datasets.heavy_tailed import alternating_weights
from tailguard.means.formulas import check_facts
from tailguard.papers.instances.hard_instances import generator

# Parameters of the lognormal and of the log-logistic law, as in the paper.
LOGNORMAL_LOCATION, LOGNORMAL_SCALE = 1.0, 1.0
LOGLOGISTIC_LOCATION, LOGLOGISTIC_SCALE = 0.2, 0.2


def lognormal_line(n_rows: int, n_features: int, *, seed: int = 0) -> Dataset:
    """Draw targets that are a linear score with centred lognormal noise of variance 34.5."""
    rng, X, weights = _design(n_rows, n_features, seed)
    mean = math.exp(LOGNORMAL_LOCATION + LOGNORMAL_SCALE**2 / 2.0)
    noise = rng.lognormal(LOGNORMAL_LOCATION, LOGNORMAL_SCALE, n_rows) - mean
    return _dataset(X, X @ weights + noise, weights, "centred lognormal noise")


def loglogistic_labels(n_rows: int, n_features: int, *, seed: int = 0) -> Dataset:
    """Draw labels: 1 if a linear score with centred log-logistic noise is above zero, else 0.

    The paper swaps the two labels, so its optimum has the opposite sign of the weights.
    """
    rng, X, weights = _design(n_rows, n_features, seed)
    labels = (X @ weights + loglogistic_noise(rng.random(n_rows)) > 0.0).astype(np.int64)
    return _dataset(X, labels, weights, "labels by centred log-logistic noise")


def loglogistic_noise(levels: FloatArray) -> FloatArray:
    """Return the quantiles of the centred log-logistic law at these levels, between 0 and 1."""
    angle = math.pi * LOGLOGISTIC_SCALE
    mean = math.exp(LOGLOGISTIC_LOCATION) * angle / math.sin(angle)
    odds = levels / (1.0 - levels)
    return math.exp(LOGLOGISTIC_LOCATION) * odds**LOGLOGISTIC_SCALE - mean


def _design(
    n_rows: int, n_features: int, seed: int
) -> tuple[np.random.Generator, FloatArray, FloatArray]:
    """Draw normal columns; return the generator behind them, and a unit vector of weights."""
    rng = generator(seed, n_rows=n_rows, n_features=n_features)
    X = rng.standard_normal((n_rows, n_features))
    weights = alternating_weights(n_features)
    return rng, X, weights / np.linalg.norm(weights)


def _dataset(X: FloatArray, target: NDArray[Any], weights: FloatArray, noise: str) -> Dataset:
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    return Dataset(X, names, target, weights, 0.0, f"Normal columns, {noise}.")


TARGET_BOUND = 1.0  # "O(1)" in the paper
NOISE_STD = 0.5  # the paper does not state it


def fourth_power_line(n_rows: int, n_features: int, *, seed: int = 0) -> Dataset:
    """Draw normal columns, cut at plus and minus ``n_rows``, and a bounded noisy linear score.

    Examples
    --------
    >>> data = fourth_power_line(1000, 3)
    >>> bool(abs(data.target).max() <= TARGET_BOUND)
    True
    """
    rng = generator(seed, n_rows=n_rows, n_features=n_features)
    X = stats.truncnorm(-n_rows, n_rows).rvs((n_rows, n_features), random_state=rng)
    weights = alternating_weights(n_features)
    weights = weights / np.abs(weights).sum()
    target = X @ weights + NOISE_STD * rng.standard_normal(n_rows)
    target = np.clip(target, -TARGET_BOUND, TARGET_BOUND)
    return _dataset(X, target, weights, "cut at the number of records, bounded targets")


def fourth_power_lipschitz(
    *, n_rows: int, n_features: int, target_bound: float = TARGET_BOUND
) -> float:
    """Lipschitz constant of the loss: ``4 (n + target_bound)^3 n sqrt(d)``.

    On the unit l1 ball a score is at most the largest entry of its record, which is n.

    Examples
    --------
    >>> f"{fourth_power_lipschitz(n_rows=10**4, n_features=4):.1e}"
    '8.0e+16'
    """
    check_facts(n_rows=n_rows, n_features=n_features, target_bound=target_bound)
    return 4.0 * (n_rows + target_bound) ** 3 * n_rows * math.sqrt(n_features)


def fourth_power_scale(
    *, n_features: int, moment_order: float, target_bound: float = TARGET_BOUND
) -> float:
    """Bound ``(E sup_w ||gradient||^p)^(1/p)`` on the set, for order p and any number of records.

    The largest norm of a gradient is ``4 (M + |y|)^3 |x|`` for the largest entry M of the record x.
    By the inequalities of Cauchy-Schwarz and Minkowski the bound is
    ``4 ((d E|g|^(6p))^(1/(6p)) + target_bound)^3 (E|x|^(2p))^(1/(2p))``, ``g`` standard normal,
    ``|x|^2`` chi-squared; clipping only makes entries smaller.

    Examples
    --------
    >>> round(fourth_power_scale(n_features=4, moment_order=4.0))
    759
    """
    check_facts(n_features=n_features, moment_order=moment_order, target_bound=target_bound)
    p, half = moment_order, n_features / 2.0
    log_moment = 3.0 * p * math.log(2.0) + gammaln(3.0 * p + 0.5) - math.log(math.pi) / 2.0
    log_largest = (log_moment + math.log(n_features)) / (6.0 * p)
    log_norm = (p * math.log(2.0) + gammaln(half + p) - gammaln(half)) / (2.0 * p)
    return float(4.0 * (math.exp(log_largest) + target_bound) ** 3 * math.exp(log_norm))
