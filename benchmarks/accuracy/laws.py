"""Laws of columns and of noise: what simulated tasks are made of.

Columns share a Gaussian latent vector, so that any of them may be correlated: a law bends one
latent column. Noise has mean zero and variance one.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

RARE = 1e-12  # keeps a tail probability away from zero where the latent normal overflows it
MIXED_SHARE, MIXED_SCALE = 0.1, 5.0

CONTINUOUS = ("gaussian", "student", "pareto", "lognormal", "mixture")
DISCRETE = ("binary", "rare", "zero-inflated")


@dataclass(frozen=True)
class Column:
    """The law of a column before units: ``shape`` is a tail index, a log-sd or a share of ones."""

    law: str
    shape: float = 0.0

    def bend(self, latent, rng):
        """Turn standard normals into this law."""
        return BENDS[self.law](latent, self.shape, rng)


def _student(latent, freedom, rng):
    return latent / np.sqrt(rng.chisquare(freedom, len(latent)) / freedom)


def _pareto(latent, index, _):
    """Both tails fall like ``x^-index``; the median is zero."""
    return np.sign(latent) * ((2.0 * ndtr(-np.abs(latent)) + RARE) ** (-1.0 / index) - 1.0)


def _mixture(latent, _, rng):
    return latent * np.where(rng.random(len(latent)) < MIXED_SHARE, MIXED_SCALE, 1.0)


def _indicator(latent, share, _):
    return (ndtr(-latent) < share).astype(float)


def _costs(latent, share, rng):
    """Zero for most records; a skewed amount for a ``share`` of them."""
    return _indicator(latent, share, rng) * np.exp(rng.standard_normal(len(latent)))


BENDS = {
    "gaussian": lambda latent, _shape, _rng: latent,
    "student": _student,
    "pareto": _pareto,
    "lognormal": lambda latent, log_std, _rng: np.exp(log_std * latent) - 1.0,
    "mixture": _mixture,
    "binary": _indicator,
    "rare": _indicator,
    "zero-inflated": _costs,
}


def draw_noise(law, shape, n_rows, rng):
    """Draw noise of mean zero and variance one."""
    if law == "gaussian":
        return rng.standard_normal(n_rows)
    if law == "student":
        return rng.standard_t(shape, n_rows) * np.sqrt(1.0 - 2.0 / shape)
    if law == "pareto":  # one tail, of index above 2
        mean = 1.0 / (shape - 1.0)
        std = np.sqrt(shape / (shape - 2.0)) / (shape - 1.0)
        return (rng.pareto(shape, n_rows) - mean) / std
    if law == "lognormal":
        mean = np.exp(shape**2 / 2.0)
        return (rng.lognormal(0.0, shape, n_rows) - mean) / (mean * np.sqrt(np.expm1(shape**2)))
    variance = 1.0 - MIXED_SHARE + MIXED_SHARE * MIXED_SCALE**2
    return _mixture(rng.standard_normal(n_rows), 0.0, rng) / np.sqrt(variance)


def correlation(kind, strength, n_features, rng):
    """Return a matrix ``A`` such that ``standard normals @ A`` have the correlations wanted."""
    if kind == "none":
        return np.eye(n_features)
    order = np.arange(n_features)
    if kind == "ar":
        matrix = strength ** np.abs(np.subtract.outer(order, order))
    elif kind == "factor":
        loading = np.sqrt(strength) * rng.uniform(-1.0, 1.0, n_features)
        matrix = np.outer(loading, loading)
    else:  # blocks of five
        matrix = strength * (order[:, None] // 5 == order // 5)
    np.fill_diagonal(matrix, 1.0)
    return np.linalg.cholesky(matrix).T
