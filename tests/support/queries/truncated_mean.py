"""Group counts that are one and all of forty records."""

import numpy as np

import tailguard as tg
from support.query_example import N_FEATURES, Example
from tailguard.means.truncated import TruncatedMean
from tailguard.queries.units import Units


def examples():
    raw, zero = Units.raw(N_FEATURES, intercept=False), np.zeros(N_FEATURES)
    huber = tg.losses.Huber(1.0)
    at_threshold = (-2.0,) * 3 + (0.0,), (2.0,) * 3 + (0.0,)
    for n_groups in (1, 40):
        truncated = TruncatedMean(None, raw, threshold=2.0, n_groups=n_groups)
        name = f"truncated-mean/{n_groups}-groups"
        yield Example(name, truncated, zero, *at_threshold, n_groups=n_groups, far=2.0)
    exact = (2.0, 2.0, 2.0, 1.0), (2.0, 2.0, 2.0, -1.0)
    yield Example("truncated-mean/huber", TruncatedMean(huber, raw, 2.0), zero, *exact, huber)
