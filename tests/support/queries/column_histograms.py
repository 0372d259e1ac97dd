"""Values in coarse and fine bins, and differences of pairs."""

import numpy as np

from support.query_example import Example
from tailguard.queries.histograms import Bins, ColumnHistograms


def examples():
    columns = (0, 1, 2, 3)
    low, high = (-9.0,) * 4, (9.0,) * 4
    state = (np.array([0.5, -1.0, 0.0, 0.0]), np.array([1.0, 2.0, 1e-3, 1e300]))
    linear = ColumnHistograms(columns, Bins("linear", -1e-3, 500.0, 2))
    yield Example("column-histograms/linear", linear, state, low, high)
    octaves = Bins("octaves", -20.0, 1.0, 40)
    yield Example(
        "column-histograms/pairs", ColumnHistograms(columns, octaves, paired=True), state,
        (0.0,) * 4, (1e6,) * 4,
    )  # fmt: skip
