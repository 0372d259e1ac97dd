"""Histograms of norms, entries and differences; the worst pair spans all of them."""

import numpy as np

from support.query_example import N_FEATURES, Example, skewed_units
from tailguard.queries.magnitudes import CountMagnitudes
from tailguard.queries.units import Units


def examples():
    raw, zero = Units.raw(N_FEATURES, intercept=False), np.zeros(N_FEATURES)
    low, high = (0.0,) * 4, (1e6, 1e6, 1e6, 0.0)
    for of in ("entries", "differences"):
        edges = (0.5, 1.0, 8.0) if of != "differences" else tuple(np.geomspace(0.01, 100.0, 11))
        query = CountMagnitudes(raw, edges, of)
        yield Example(f"count-magnitudes/{of}", query, zero, low, high)
    yield Example(
        "count-magnitudes/units", CountMagnitudes(skewed_units(False), (1.0, 9.0)), zero, low, high
    )
