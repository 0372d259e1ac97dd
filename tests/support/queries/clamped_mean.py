"""Group counts that are one, all of forty records, and no divisor of forty."""

import numpy as np

import tailguard as tg
from support.query_example import N_FEATURES, Example, skewed_units
from tailguard.means.clamped import ClampedMean
from tailguard.queries.units import Units


def examples():
    raw, zero = Units.raw(N_FEATURES, intercept=False), np.zeros(N_FEATURES)
    weights, squared = np.array([0.3, -0.2, 0.1]), tg.losses.Squared()
    low, high = (-1e6,) * 3 + (0.0,), (1e6,) * 3 + (0.0,)
    for n_groups in (1, 6, 40):
        clamped = ClampedMean(None, raw, threshold=1.5, n_groups=n_groups)
        name = f"clamped-mean/{n_groups}-groups"
        yield Example(name, clamped, zero, low, high, n_groups=n_groups, far=1e6)
    gradient = (1e5, 1e5, 1e5, 1e5), (1e5, 1e5, 1e5, -1e5)
    plain, tiny = ClampedMean(squared, raw, 1.0, 2), ClampedMean(squared, raw, 1e-150, 2)
    yield Example("clamped-mean/squared", plain, zero, *gradient, squared)
    yield Example("clamped-mean/tiny", tiny, weights, *gradient, squared)
    yield Example(
        "clamped-mean/units",
        ClampedMean(squared, skewed_units(True), 0.5, 2),
        np.array([0.1, 0.1, 0.1, 0.5]),
        (50.0, 50.0, 50.0, 1e9),
        (50.0, 50.0, 50.0, -1e9),
        squared,
    )
