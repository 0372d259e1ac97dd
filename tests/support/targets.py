"""Targets for an estimator's loss, by its link, so that a new estimator needs no entry here."""

import numpy as np
from scipy.special import expit

from support.registered import ESTIMATORS

FREE = {name: kind for name, kind in ESTIMATORS.items() if kind()._constraint() is None}
"""The estimators without a constraint set: the default method fits them."""


def takes_labels(model):
    """Whether targets of an estimator are labels, by default 0 and 1."""
    return model()._loss().n_classes is not None


def target_for(model, score, rng):
    """Targets whose expectation follows from a score by the loss's link: outcomes, counts, or the
    score itself with heavy-tailed noise."""
    loss = model()._loss()
    if takes_labels(model):
        return (rng.random(len(score)) < expit(score)).astype(int)
    if loss.link.log:
        drawn = rng.poisson(np.exp(np.clip(score, -3.0, 3.0)))
    else:
        drawn = score + 0.7 * rng.standard_t(4, len(score))
    return np.where(loss.valid_target(drawn), drawn, 1)


def column_for(model):
    """The name of the target column in tables that have labels, counts and costs."""
    if takes_labels(model):
        return "ill"
    return "claims" if model()._loss().link.log else "cost"
