"""A user's own gradient, and several classes."""

import numpy as np

import tailguard as tg
from support.query_example import Example
from tailguard.queries.record_gradient import MeanRecordGradient


def examples():
    multinomial = tg.losses.Multinomial(3)
    yield Example(
        "mean-record-gradient/multinomial",
        MeanRecordGradient(multinomial, clip_norm=2.0),
        np.zeros(9),
        (1e5, 0, 0, 0.0),
        (-1e5, 0, 0, 0.0),
        multinomial,
    )
