"""Rivals that are told bounds free of charge, in short NumPy functions by published formulas.

All read a ``Box``: features and target clipped at bounds that they are told, centred at means that
they are told, and divided so that they lie in [-1, 1]. So none of them fits an intercept. Where
publications count one record more or less as neighbours, noise here is that of a replaced record,
of a public number of records; budgets are split as published, but within one guarantee
instead of by adding epsilons up, which favours the rivals; that of IHM is an upper bound.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr
from scipy.stats import norm

from accuracy.peers import GRAM_MOVES, SUM_MOVES, clip_rows, symmetric_noise

QUANTILE = 0.99
# Iterative Hessian Mixing: rounds, and rows of a sketch for each column, as in its experiments.
ROUNDS, SKETCH_ROWS = 3, 6.0
TAIL_SHARE = 0.1  # of delta, that the smallest eigenvalue was overestimated; and of a bad sketch
# BinAgg: shares of mu for partition, counts, sums of features and of targets; the least count.
BIN_SHARES, LEAST_COUNT = np.array([1.0, 3.0, 3.0, 3.0]) / math.sqrt(28.0), 2.0
STATISTICS_SHARES = np.array([0.4, 0.4, 0.2]) / 0.6  # of X'X, X'y and y'y
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Box:
    """A table within told bounds: ``"range"``, or ``"quantile"`` of distances from the median."""

    raw_features: np.ndarray
    raw_target: np.ndarray
    kind: str

    @cached_property
    def _columns(self):
        return _told(self.raw_features, self.kind)

    @cached_property
    def _target(self):
        return _told(self.raw_target[:, None], self.kind)

    @property
    def clipped(self):
        """Features and target within the bounds, in raw units."""
        low, high = self._target[:2]
        return self.clip(self.raw_features), np.clip(self.raw_target, low, high)

    @cached_property
    def features(self):
        _, _, center, scale = self._columns
        return (self.clip(self.raw_features) - center) / scale

    @cached_property
    def target(self):
        low, high, center, scale = self._target
        return (np.clip(self.raw_target, low, high) - center) / scale

    @property
    def sides(self):
        """Bounds of the features in the units of ``features``."""
        low, high, center, scale = self._columns
        return (low - center) / scale, (high - center) / scale

    @cached_property
    def row_bound(self):
        """The largest norm of a row, which rivals are told, too."""
        return float(np.linalg.norm(self.features, axis=1).max())

    def clip(self, features):
        low, high = self._columns[:2]
        return np.clip(features, low, high)

    def slopes(self, weights):
        """Return coefficients, or their errors, in raw units."""
        return weights * self._target[3] / self._columns[3]

    @property
    def target_sides(self):
        """Bounds of the target in raw units."""
        return float(self._target[0][0]), float(self._target[1][0])

    def back(self, weights):
        """Return coefficients and intercept in raw units."""
        coef = self.slopes(weights)
        return coef, float(self._target[2][0] - self._columns[2] @ coef)


def _told(values, kind):
    """Return bounds, means within them, and the larger distance of a bound from the mean."""
    low, high = values.min(axis=0), values.max(axis=0)
    if kind == "quantile":
        middle = np.median(values, axis=0)
        reach = np.quantile(np.abs(values - middle), QUANTILE, axis=0)
        # Where a column is nearly always its median, its range.
        low = np.where(reach > 0.0, np.maximum(low, middle - reach), low)
        high = np.where(reach > 0.0, np.minimum(high, middle + reach), high)
    center = np.clip(values, low, high).mean(axis=0)
    scale = np.maximum(high - center, center - low)
    return low, high, center, np.where(scale > 0.0, scale, 1.0)


def sketch_divergence(alpha, gamma):
    """Largest Renyi divergence that replacing a record brings about in one row of a sketch.

    The row is normal with covariance ``X'X + e I``, whose smallest eigenvalue is at least
    ``gamma`` > ``alpha``, and records have norm at most 1. Without the record an eigenvalue is at
    least ``gamma - 1``. The determinant of the product of one covariance with the inverse of the
    other depends on norms alone, its trace is largest where both records are orthogonal, and so is
    the divergence, which is then a sum over two directions.

    *Reference.* Lev and others 2025 (the first part: one record more or less).
    """
    less = np.log1p(-1.0 / gamma)
    more = np.log1p(-alpha / gamma) - alpha * less
    other = np.log1p((alpha - 1.0) / gamma) + (alpha - 1.0) * less
    return -(more + other) / (2.0 * (alpha - 1.0))


def mixing_epsilon(gamma, n_sketch, gradient_mu, delta, n_rounds=ROUNDS):
    """Epsilon of all sketches, the smallest eigenvalue and the gradients, by Renyi divergences.

    *Reference.* Canonne, Kamath and Steinke 2020, Proposition 12 (the conversion).
    """
    alpha = 1.0 + np.geomspace(1e-3, max(gamma - 1.0, 2e-3) * 0.999, 500)
    spent = n_rounds * n_sketch * sketch_divergence(alpha, gamma)
    spent = spent + alpha * (n_sketch / gamma**2 + gradient_mu**2) / 2.0
    past = math.log(1.0 / delta) + (alpha - 1.0) * np.log1p(-1.0 / alpha) - np.log(alpha)
    return float(np.min(spent + past / (alpha - 1.0)))


def least_eigenvalue(n_sketch, gradient_mu, epsilon, delta, n_rounds=ROUNDS):
    """Return the smallest gamma whose sketches keep the promise."""
    low, high = 1.01, 1e12
    for _ in range(200):
        middle = math.sqrt(low * high)
        fits = mixing_epsilon(middle, n_sketch, gradient_mu, delta, n_rounds) <= epsilon
        low, high = (low, middle) if fits else (middle, high)
    return high


def hessian_mixing(X, y, mu, epsilon, delta, rng, *, row_bound, n_rounds=ROUNDS):
    """Newton's steps with a curvature from private sketches, and noisy clipped residuals.

    Gradients have half of the squared mu, and all releases one guarantee; the paper adds two
    halves of epsilon up, so that its noise is larger.

    *Reference.* Lev, Shenfeld, Srinivasan, Ligett and Wilson 2026, Iterative Hessian Mixing.
    """
    X, y, d = clip_rows(X / row_bound, 1.0), np.clip(y, -1.0, 1.0), X.shape[1]
    bad = TAIL_SHARE * delta
    n_sketch = int(SKETCH_ROWS * max(d, math.log(4.0 * n_rounds / bad)))
    gradient_mu = mu / math.sqrt(2.0)
    gamma = least_eigenvalue(n_sketch, gradient_mu, epsilon, delta - bad, n_rounds)
    gram = X.T @ X
    std = gamma / math.sqrt(n_sketch)  # one record moves the smallest eigenvalue by at most 1
    known = np.linalg.eigvalsh(gram)[0] + std * (rng.standard_normal() - norm.isf(bad))
    # Rows of a sketch of X with noise are normal: they are drawn by their covariance.
    values, vectors = np.linalg.eigh(gram + max(0.0, gamma - max(0.0, known)) * np.eye(d))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    noise = SUM_MOVES["replace-one"] * math.sqrt(n_rounds) / gradient_mu
    weights = np.zeros(d)
    for _ in range(n_rounds):
        sketch = rng.standard_normal((n_sketch, d)) @ root.T
        slope = X.T @ np.clip(y - X @ weights, -1.0, 1.0) + noise * rng.standard_normal(d)
        weights = weights + np.linalg.solve(sketch.T @ sketch / n_sketch, slope)
    return weights / row_bound


def noisy_statistics(X, y, mu, rng, *, row_bound):
    """Least squares from noisy ``X'X``, ``X'y`` and ``y'y``; weights and their covariance.

    The covariance counts sampling with equal variances, and noise to first order.

    *Reference.* dp-econometrics (shares of the budget, repair, residual variance); Evans and King
    2023 (errors that count noise).
    """
    X, y = clip_rows(X, row_bound), np.clip(y, -1.0, 1.0)
    n, d = X.shape
    shares = mu * STATISTICS_SHARES
    gram_std = GRAM_MOVES["replace-one"] * row_bound**2 / shares[0]
    product_std = SUM_MOVES["replace-one"] * row_bound / shares[1]
    gram = X.T @ X + symmetric_noise(d, gram_std, rng)
    product = X.T @ y + product_std * rng.standard_normal(d)
    squares = y @ y + rng.standard_normal() / shares[2]
    smallest = np.linalg.eigvalsh(gram)[0]
    if smallest <= 0.0:
        gram = gram + (1e-6 - smallest) * np.eye(d)
    inverse = np.linalg.inv(gram)
    weights = inverse @ product
    variance = max(squares - weights @ product, 0.0) / max(n - d, 1)
    # The covariance of a symmetric noise matrix times the weights.
    turned = gram_std**2 / 2.0 * (weights @ weights * np.eye(d) + np.outer(weights, weights))
    noise = product_std**2 * np.eye(d) + turned
    return weights, variance * inverse + inverse @ noise @ inverse


@dataclass(frozen=True, eq=False)
class Bins:
    """A partition of a box: the records of each part, and its lower and upper corner."""

    rows: list
    low: np.ndarray
    high: np.ndarray

    @property
    def reach(self):
        """Largest absolute value of each feature in each part: the scale of its noise."""
        return np.maximum(np.maximum(np.abs(self.low), np.abs(self.high)), TINY)

    @property
    def moves(self):
        """How far a replaced record moves all sums of features, over ``reach``.

        Within one part it moves by at most the part's widths; from one part to another it takes
        the sum of one by its own features, and that of the other.
        """
        within = np.linalg.norm((self.high - self.low) / self.reach, axis=1).max()
        return max(float(within), math.sqrt(2.0 * self.low.shape[1]))


def pure_epsilon(mu):
    """Return the epsilon of pure privacy that is ``mu``-GDP (Dong, Roth and Su 2022)."""
    return float(log_ndtr(mu / 2.0) - log_ndtr(-mu / 2.0))


def private_tree(X, sides, mu, rng):
    """Halve a box along its longest side while noisy counts, less a toll by depth, are above zero.

    *Guarantee.* ``mu``-GDP: a replaced record is one less and one more, each for half of epsilon.

    *Reference.* Zhang, Xiao and Xie 2016 (PrivTree), two children a node.
    """
    scale = 2.0 * 3.0 / pure_epsilon(mu)
    toll = scale * math.log(2.0)
    waiting, parts = [(np.arange(len(X)), *sides, 0)], []
    while waiting:
        rows, low, high, depth = waiting.pop()
        count = max(len(rows) - toll * depth, -toll)
        if count + rng.laplace(scale=scale) > 0.0:
            waiting += [(*half, depth + 1) for half in _halves(X, rows, low, high)]
        else:
            parts.append((rows, low, high))
    while len(parts) <= X.shape[1]:  # as published, at least one part more than columns
        largest = int(np.argmax([np.sum(np.log(part[2] - part[1] + TINY)) for part in parts]))
        parts += _halves(X, *parts.pop(largest))
    rows, low, high = zip(*parts, strict=True)
    return Bins(list(rows), np.array(low), np.array(high))


def _halves(X, rows, low, high):
    """Return both halves of a part, cut across its longest side."""
    side = int(np.argmax(high - low))
    middle = (low[side] + high[side]) / 2.0
    above = X[rows, side] >= middle
    upper, lower = low.copy(), high.copy()
    upper[side] = lower[side] = middle
    return [(rows[~above], low, lower), (rows[above], upper, high)]


def bin_sums(X, y, bins, mu, rng):
    """Release counts, sums of features and sums of targets; return them and the features' noise.

    Targets lie in [-1, 1].
    """
    _, count_mu, feature_mu, target_mu = mu * BIN_SHARES
    counts = np.array([len(rows) for rows in bins.rows], float)
    sums = np.array([X[rows].sum(axis=0) for rows in bins.rows])
    targets = np.array([y[rows].sum() for rows in bins.rows])
    std = bins.reach * bins.moves / feature_mu
    counts += math.sqrt(2.0) / count_mu * rng.standard_normal(len(counts))
    targets += SUM_MOVES["replace-one"] / target_mu * rng.standard_normal(len(counts))
    return counts, sums + std * rng.standard_normal(sums.shape), targets, std


def corrected_fit(counts, sums, targets, std, *, share=1.0):
    """Weighted least squares of sums, less the curvature that noise adds; with its sandwich.

    ``share`` of that curvature is taken away from the fit's: all of it by the theorem.
    """
    n, d = sums.shape
    curvature = (sums / counts[:, None]).T @ sums
    added = (std**2 / counts[:, None]).sum(axis=0)
    weights = np.linalg.pinv(curvature - share * np.diag(added)) @ (sums / counts[:, None]).T
    weights = weights @ targets
    inverse = np.linalg.pinv(curvature - np.diag(added))
    residual = targets - sums @ weights
    parts = (sums * residual[:, None] + std**2 * weights) / counts[:, None]
    meat = n / max(n - d, 1) * parts.T @ parts
    return weights, inverse @ meat @ inverse


def binned(X, y, sides, mu, rng, *, corrected=True):
    """BinAgg: least squares from noisy sums over a private partition; weights and covariance.

    Without ``corrected`` the fit takes away the mean correction of a part, as the authors' package
    does, instead of the sum over all parts that the theorem has.

    *Reference.* Lin, Slavkovic and Bhoomireddy 2025, Algorithms 1 and 2 and Theorem 4.2.
    """
    bins = private_tree(X, sides, mu * BIN_SHARES[0], rng)
    counts, sums, targets, std = bin_sums(X, np.clip(y, -1.0, 1.0), bins, mu, rng)
    kept = counts >= LEAST_COUNT
    if not kept.any():
        return np.zeros(X.shape[1]), np.full((X.shape[1],) * 2, np.nan)
    counts = np.maximum(counts * len(y) / counts[kept].sum(), 1.0)
    share = 1.0 if corrected else 1.0 / kept.sum()
    return corrected_fit(counts[kept], sums[kept], targets[kept], std[kept], share=share)
