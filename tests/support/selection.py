"""The best of several tries of mechanisms with few outcomes, computed exactly."""

import math

import numpy as np
from scipy.stats import norm


def generating(tries, z):
    """The generating function of a number of tries."""
    p, z = tries.parameter, np.asarray(z)
    if tries.single:
        return z
    if tries.law == "poisson":
        return np.expm1(p * z) / math.expm1(p)
    if tries.law == "geometric":
        return p * z / (1.0 - (1.0 - p) * z)
    return np.log1p(-(1.0 - p) * z) / math.log(p)


def best_of(tries, chances):
    """Probabilities that each outcome is the best of many tries; the last outcome is the best."""
    ends = np.minimum(np.concatenate([[0.0], np.cumsum(chances)]), 1.0)
    return np.diff(generating(tries, ends))


def cells(mu, cuts):
    """Probabilities of the cells between cuts, for two Gaussian releases that differ by mu."""
    pair = (norm.cdf(np.sort(cuts) - shift) for shift in (0.0, mu))
    return [np.diff(np.concatenate([[0.0], ends, [1.0]])) for ends in pair]


def hockey_stick(first, second, epsilon):
    """The larger value of both orders of the pair."""
    factor = math.exp(epsilon)
    return max(
        float(np.maximum(one - factor * other, 0.0).sum())
        for one, other in ((first, second), (second, first))
    )


def renyi(first, second, order):
    """Renyi divergence of an order: the larger value of both orders of the pair."""
    seen = (first > 1e-290) & (second > 1e-290)
    logs = np.log(first[seen]), np.log(second[seen])
    return max(
        float(np.logaddexp.reduce(order * one + (1.0 - order) * other)) / (order - 1.0)
        for one, other in (logs, logs[::-1])
    )
