"""The local asymptotic oracle: what one release could reach from the truth itself.

A one-step estimator that starts at the true coefficients, knows the curvature ``H`` and spends the
whole budget on one release of the clipped whitened score ``u c`` with ``u = H^(-1/2) x``. To first
order its excess risk is

    1/2 [ tr(J^-1 V J^-T) / n + |J^-1 b|^2 + 4 C^2 / (n mu)^2 tr(J^-1 J^-T) ],

with ``b`` and ``V`` the mean and covariance of the clipped gradient, ``J`` its derivative and ``C``
its bound. The clip is the best of a grid: of the score's norm, or of row and residual apart. It is
a figure to aim at, not a bound for every method.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import expit

from accuracy.laboratory import logistic_judge, make_law
from accuracy.risks import curvature_of, mean_of

N_DRAWS, DRAW_SEED = 300_000, 123
SCORE_QUANTILES = (0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.997, 0.999)
ROW_QUANTILES = (0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 0.99, 0.999)
RESIDUAL_QUANTILES = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.997, 0.999)


@dataclass(frozen=True)
class Clip:
    """The three terms of a clip: sampling variance times n, squared bias, and noise per (mu n)^-2.

    All are halved, as the excess is.
    """

    variance: float
    bias: float
    noise: float

    def excess(self, n_rows, mu):
        return self.variance / n_rows + self.bias + self.noise / (n_rows * mu) ** 2


def local_oracle(name, mu):
    """Excess risk of the best clip at a budget."""
    n_rows = make_law(name).n_rows
    return min(clip.excess(n_rows, mu) for clip in clips(name))


@lru_cache(maxsize=4)
def clips(name, n_draws=N_DRAWS):
    """Work out the terms of every clip of the grid, which no budget enters."""
    law = make_law(name)
    X, y = law.draw(n_draws, np.random.default_rng(DRAW_SEED))
    score = X @ law.coef
    residual = mean_of(law.loss, score) - y
    curvature = curvature_of(law.loss, score)
    values, vectors = np.linalg.eigh(_curvature_matrix(law))
    rows = X @ (vectors / np.sqrt(values))
    found = []
    for limit, multiplier, kept in _grid(law.loss, np.linalg.norm(rows, axis=1), residual):
        found.append(terms_of(rows, limit, multiplier, curvature * kept))
    return tuple(found)


def _curvature_matrix(law):
    if law.loss == "squared":
        return law.second_moments
    X = logistic_judge(law.name).columns
    chance = expit(X @ law.coef)
    return (X * (chance * (1.0 - chance))[:, None]).T @ X / len(X)


def _grid(loss, norms, residual):
    """Yield (bound of the clipped slope, its multiplier of the row, share of slope kept)."""
    sizes = np.abs(residual) * norms
    for limit in np.quantile(sizes, SCORE_QUANTILES):
        inside = sizes <= limit
        yield limit, residual * np.minimum(1.0, limit / np.maximum(sizes, 1e-300)), inside
    for row_limit in np.quantile(norms, ROW_QUANTILES):
        shrink = np.minimum(1.0, row_limit / norms)
        if loss == "logistic":  # residuals are at most 1; clipping them would bias the score
            yield row_limit, residual * shrink, shrink
            continue
        for limit in np.quantile(np.abs(residual), RESIDUAL_QUANTILES):
            inside = np.abs(residual) <= limit
            yield row_limit * limit, np.clip(residual, -limit, limit) * shrink, shrink * inside


def terms_of(rows, limit, multiplier, slope):
    n = len(rows)
    score = rows * multiplier[:, None]
    mean = score.mean(axis=0)
    covariance = score.T @ score / n - np.outer(mean, mean)
    inverse = np.linalg.inv((rows * slope[:, None]).T @ rows / n)
    variance = np.trace(inverse @ covariance @ inverse.T)
    shift = inverse @ mean
    bias = max(0.0, shift @ shift - variance / n)  # less what sampling alone makes of it
    noise = 4.0 * limit**2 * np.sum(inverse**2)
    return Clip(variance / 2.0, bias / 2.0, noise / 2.0)
