"""A user's own gradient, and several classes."""

import numpy as np

import tailguard as tg
from support.query_example import N_FEATURES, Example
from tailguard.queries.record_gradient import MeanRecordGradient


def gradient_of_one_record(w, x, y):
    return (x @ w - y) * x


def examples():
    zero = np.zeros(N_FEATURES)
    record_loss = tg.losses.RecordGradient(gradient_of_one_record)
    yield Example(
        "mean-record-gradient/python",
        MeanRecordGradient(record_loss, clip_norm=0.5),
        zero,
        (1.0, 0, 0, 1e5),
        (1.0, 0, 0, -1e5),
        record_loss,
    )
    multinomial = tg.losses.Multinomial(3)
    yield Example(
        "mean-record-gradient/multinomial",
        MeanRecordGradient(multinomial, clip_norm=2.0),
        np.zeros(9),
        (1e5, 0, 0, 0.0),
        (-1e5, 0, 0, 0.0),
        multinomial,
    )
