"""One shell, four, in units and tiny."""

import numpy as np

from support.query_example import N_FEATURES, Example, skewed_units
from tailguard.means.clipped import ClippedShells
from tailguard.queries.units import Units


def examples():
    raw, zero = Units.raw(N_FEATURES, intercept=False), np.zeros(N_FEATURES)
    far, opposite = (1e200, 0.0, 0.0, 0.0), (-1e200, 0.0, 0.0, 0.0)
    for name, units, radii in (
        ("one", raw, (3.0,)),
        ("units", skewed_units(False), (0.1, 5.0)),
        ("tiny", raw, (1e-150, 3e-150)),
    ):
        query = ClippedShells(units, radii)
        yield Example(f"clipped-shells/{name}", query, zero, far, opposite)
