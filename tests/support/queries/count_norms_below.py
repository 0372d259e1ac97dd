"""Gradient norms of scores and of a user's own gradient, with and without an exposure."""

import numpy as np

import tailguard as tg
from support.query_example import Example
from tailguard.queries.norm_counts import CountNormsBelow


def gradient_of_one_record(w, x, y):
    return (x @ w - y) * x


def examples():
    weights = np.array([0.3, -0.2, 0.1])
    poisson = tg.losses.Poisson()
    record_loss = tg.losses.RecordGradient(gradient_of_one_record)
    yield Example(
        "count-norms-below/record",
        CountNormsBelow(record_loss, weights),
        np.array([2.0]),
        (0.0,) * 4,
        (1e6,) * 4,
        record_loss,
    )
    yield Example(
        "count-norms-below/exposure",
        CountNormsBelow(poisson, weights),
        np.array([2.0]),
        (0.0, 0, 0, 0.0, 1.0),
        (1e6, 0, 0, 1e6, 1.0),
        poisson,
        exposed=True,
    )
