"""Little and much smoothing."""

import numpy as np

import tailguard as tg
from support.query_example import N_FEATURES, Example
from tailguard.means.soft import SoftMean
from tailguard.queries.units import Units


def examples():
    raw, zero = Units.raw(N_FEATURES, intercept=False), np.zeros(N_FEATURES)
    weights, squared = np.array([0.3, -0.2, 0.1]), tg.losses.Squared()
    low, high = (-1e6,) * 3 + (0.0,), (1e6,) * 3 + (0.0,)
    for smoothing in (0.25, 100.0):
        soft = SoftMean(None, raw, scale=2.0, smoothing=smoothing)
        yield Example(f"soft-mean/smoothing-{smoothing}", soft, zero, low, high)
    gradient = (1e5, 1e5, 1e5, 1e5), (1e5, 1e5, 1e5, -1e5)
    query = SoftMean(squared, raw, 3.0, 2.0)
    yield Example("soft-mean/squared", query, weights, *gradient, squared)
