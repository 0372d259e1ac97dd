"""What one could use instead, in short NumPy functions; none of them comes from another package.

Neighbours differ in one replaced record and the number of records is public, as for tailguard
itself; noise follows from the exact mu-GDP conversion and composition of ``tailguard.privacy``.
``neighbours="add-remove"`` (one record more or less) halves the noise of a clipped sum, as some
published figures have it.

All work on prepared columns, the constant among them, and return weights of those columns.
"""

import math

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from tailguard.privacy.accounting.gaussian import mu_of

EXPONENT_LIMIT = 30.0  # of a score during descent
TINY = 1e-300
BLOCK_ROWS = 1024

# How far one record moves a sum of vectors of norm at most 1: replaced, or one more.
SUM_MOVES = {"replace-one": 2.0, "add-remove": 1.0}
# How far one record moves a sum of u u' with |u| <= 1 in Frobenius norm.
GRAM_MOVES = {"replace-one": math.sqrt(2.0), "add-remove": 1.0}


def budget(epsilon, delta):
    """Largest mu of Gaussian releases that cost at most (epsilon, delta)."""
    return mu_of(epsilon, delta)


def clip_rows(X, bound):
    """Shrink rows to norm at most ``bound``."""
    norms = np.linalg.norm(X, axis=1)
    return X * np.minimum(1.0, bound / np.maximum(norms, TINY))[:, None]


def descents(X, y, loss, mu, rng, *, n_steps, clips, sizes, neighbours="replace-one", start=0.0):
    """Full-batch noisy gradient descent (DP-GD) for many clips and step sizes at once.

    Each step releases the sum of clipped gradients at ``mu / sqrt(n_steps)``. Returns the last
    iterates and the means of the second half of them, one column a setting. In float32, for speed.
    ``start`` is a column of weights that nobody pays for, or zero.

    *Reference.* Bassily, Smith and Thakurta 2014; Abadi and others 2016 for the clip.
    """
    X, y = X.astype(np.float32), y.astype(np.float32)
    clips, sizes = np.asarray(clips, np.float32), np.asarray(sizes, np.float32)
    norms = np.linalg.norm(X, axis=1)[:, None]
    noise_std = SUM_MOVES[neighbours] * clips * math.sqrt(n_steps) / mu
    tail = np.zeros((X.shape[1], len(clips)), np.float32)
    weights = tail + np.asarray(start, np.float32)
    for step in range(n_steps):
        total = _clipped_sum(X, y, norms, loss, weights, clips)
        noise = (rng.standard_normal(weights.shape) * noise_std).astype(np.float32)
        weights = weights - sizes * (total + noise) / np.float32(len(y))
        if step >= n_steps // 2:
            tail += weights
    return weights, tail / (n_steps - n_steps // 2)


def _clipped_sum(X, y, norms, loss, weights, clips):
    """Sum clipped gradients at each column of weights, by blocks of records that stay in cache."""
    total = np.zeros_like(weights)
    for start in range(0, len(y), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        slope = _means(X[rows] @ weights, loss)
        slope -= y[rows, None]
        size = np.abs(slope)
        size *= norms[rows]
        slope /= np.maximum(size, clips, out=size)
        total += X[rows].T @ slope
    return total * clips


def _means(score, loss):
    """Return expected targets of scores, in their place; exponents stop at float32 limits."""
    if loss == "squared":
        return score
    np.clip(score, -EXPONENT_LIMIT, EXPONENT_LIMIT, out=score)
    if loss == "poisson":
        return np.exp(score, out=score)
    np.exp(np.negative(score, out=score), out=score)
    score += 1.0
    return np.reciprocal(score, out=score)


def symmetric_noise(n_columns, std, rng):
    """Symmetric Gaussian matrix, isotropic in Frobenius norm: ``std`` on the diagonal.

    Off the diagonal ``std / sqrt(2)``, since every number there counts twice.
    """
    square = std * rng.standard_normal((n_columns, n_columns))
    return (square + square.T) / 2.0


def ridged_gram(X, bound, mu, rng, *, neighbours="replace-one", failure=0.05):
    """Release ``X' X`` and its smallest eigenvalue, each at ``mu``; add AdaSSP's ridge.

    The eigenvalue moves by at most ``bound^2`` when a record is replaced; the ridge tops it up to
    the size of the noise with probability ``1 - failure``.

    *Reference.* Wang 2018, Algorithm 2.
    """
    n_columns = X.shape[1]
    gram = X.T @ X
    gram_std = GRAM_MOVES[neighbours] * bound**2 / mu
    smallest_std = bound**2 / mu
    smallest = np.linalg.eigvalsh(gram)[0] + smallest_std * rng.standard_normal()
    smallest = max(0.0, smallest - smallest_std * math.sqrt(2.0 * math.log(2.0 / failure)))
    spread = math.sqrt(n_columns * math.log(2.0 * n_columns**2 / failure)) * gram_std
    ridge = max(0.0, spread / math.sqrt(2.0) - smallest)
    return gram + symmetric_noise(n_columns, gram_std, rng) + ridge * np.eye(n_columns)


def adassp(X, y, mu, rng, *, row_bound, target_bound, neighbours="replace-one"):
    """Ridge regression from noisy sufficient statistics, its ridge chosen privately.

    *Reference.* Wang 2018, Algorithm 2, with three Gaussian releases of ``mu / sqrt(3)``.
    """
    share = mu / math.sqrt(3.0)
    X, y = clip_rows(X, row_bound), np.clip(y, -target_bound, target_bound)
    gram = ridged_gram(X, row_bound, share, rng, neighbours=neighbours)
    std = SUM_MOVES[neighbours] * row_bound * target_bound / share
    return np.linalg.solve(gram, X.T @ y + std * rng.standard_normal(X.shape[1]))


def boosted_adassp(
    X, y, mu, rng, *, row_bound=1.0, residual_bound=1.0, n_rounds=100, neighbours="replace-one"
):
    """AdaSSP on clipped residuals, again and again, with one noisy ``X' X``.

    *Reference.* Tang and others 2023, Algorithm 1; both bounds are 1 and 100 rounds there.
    """
    share = mu / math.sqrt(3.0)
    X = clip_rows(X, row_bound)
    solve = np.linalg.pinv(ridged_gram(X, row_bound, share, rng, neighbours=neighbours))
    std = SUM_MOVES[neighbours] * row_bound * residual_bound * math.sqrt(n_rounds) / share
    weights = np.zeros(X.shape[1])
    for _ in range(n_rounds):
        residual = np.clip(y - X @ weights, -residual_bound, residual_bound)
        weights = weights + solve @ (X.T @ residual + std * rng.standard_normal(len(weights)))
    return weights


def objective_perturbation_scale(row_bound, epsilon, delta, share=0.5):
    """Ridge and noise of objective perturbation under replacement: (ridge, noise_std).

    The density ratio at a minimiser has two factors. The ratio of determinants is at most
    ``1 + row_bound^2 / (4 ridge)``, since a logistic curvature is at most 1/4 and has rank one; the
    ridge makes its logarithm ``share * epsilon``. The gradients of two records differ by a vector
    of norm at most ``2 row_bound`` in the plane of both records, onto which the noise projects with
    a norm above ``noise_std sqrt(2 log(1/delta))`` with probability ``delta``; outside of that the
    logarithm of the Gaussian factor is at most ``2 t / s + 2 / s^2`` with ``s = noise_std /
    row_bound`` and ``t = sqrt(2 log(1/delta))``, which is set to the rest of epsilon.

    *Reference.* Chaudhuri, Monteleoni and Sarwate 2011; Kifer, Smith and Thakurta 2012, Section 3,
    whose constants are for one record more or less.
    """
    ridge = row_bound**2 / (4.0 * math.expm1(share * epsilon))
    rest, t = (1.0 - share) * epsilon, math.sqrt(2.0 * math.log(1.0 / delta))
    return ridge, row_bound * (t + math.sqrt(t * t + 2.0 * rest)) / rest


def objective_perturbation(X, y, epsilon, delta, rng, *, row_bound, share=0.5):
    """Logistic regression whose objective carries a ridge and a random linear term.

    The guarantee holds for the exact minimiser; this one is found to about 1e-9.
    """
    ridge, noise_std = objective_perturbation_scale(row_bound, epsilon, delta, share)
    X = clip_rows(X, row_bound)
    push = noise_std * rng.standard_normal(X.shape[1])

    def objective(weights):
        score = X @ weights
        value = np.sum(np.logaddexp(0.0, score) - y * score)
        value += ridge / 2.0 * weights @ weights + push @ weights
        slope = X.T @ (expit(score) - y) + ridge * weights + push
        return value / len(y), slope / len(y)

    options = {"maxiter": 2000, "gtol": 1e-9, "ftol": 1e-14}
    start = np.zeros(X.shape[1])
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
