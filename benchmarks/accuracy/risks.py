"""Losses and excess risks of linear scores, for judging fits: never private."""

import numpy as np
from scipy.special import expit

SCORE_LIMIT = 700.0  # exp stays finite


def loss_values(loss, score, target):
    """Loss of each record: squared error (not halved), or minus a log-likelihood."""
    if loss == "squared":
        return (target - score) ** 2
    if loss == "logistic":
        # log(1 + exp(score)), several times faster than logaddexp
        softplus = np.maximum(score, 0.0) + np.log(1.0 + np.exp(-np.abs(score)))
        return softplus - target * score
    return np.exp(np.minimum(score, SCORE_LIMIT)) - target * score


def mean_of(loss, score):
    """Expected target of a score."""
    if loss == "squared":
        return score
    return expit(score) if loss == "logistic" else np.exp(np.minimum(score, SCORE_LIMIT))


def curvature_of(loss, score):
    """Second derivative of the (halved, for squares) loss."""
    if loss == "squared":
        return np.ones_like(score)
    mean = mean_of(loss, score)
    return mean * (1.0 - mean) if loss == "logistic" else mean


def excess_values(loss, score, best, mean):
    """Excess loss of each record over ``best`` in expectation over a target of this mean.

    For squares ``best`` must be that mean.
    """
    if loss == "squared":
        return (score - best) ** 2
    return loss_values(loss, score, mean) - loss_values(loss, best, mean)


def best_constant(loss, mean):
    """The score that predicts ``mean`` for every record."""
    if loss == "squared":
        return float(mean)
    mean = max(float(mean), 1e-12)
    return float(np.log(mean)) if loss == "poisson" else float(np.log(mean / max(1 - mean, 1e-12)))
