"""Group counts that are one, no divisor of forty, and all of forty records."""

import numpy as np

import tailguard as tg
from support.query_example import N_FEATURES, Example, skewed_units
from tailguard.means.iterative import IterativeMean
from tailguard.queries.units import Units


def examples():
    raw, squared = Units.raw(N_FEATURES, intercept=False), tg.losses.Squared()
    weights = np.array([0.3, -0.2, 0.1])
    pair = (9.0, 0, 0, 1e6), (9.0, 0, 0, -1e6)
    for n_groups in (1, 40):
        query = IterativeMean(squared, raw, clip_norm=1.5, n_groups=n_groups, centre="median")
        yield Example(f"iterative-mean/{n_groups}-groups", query, weights, *pair, squared)
    rows = IterativeMean(None, raw, clip_norm=3.0, n_groups=6)
    low, high = (-1e5, 0, 0, 0.0), (1e5, 0, 0, 0.0)
    yield Example("iterative-mean/rows", rows, np.zeros(N_FEATURES), low, high)
    intercept = IterativeMean(squared, skewed_units(True), clip_norm=2.5, n_groups=4)
    state = np.array([0.1, 0.1, 0.1, 0.5])
    pair = (50.0, 0, 0, 1e9), (50.0, 0, 0, -1e9)
    yield Example("iterative-mean/units", intercept, state, *pair, squared)
