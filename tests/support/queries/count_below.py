"""Values and pair differences below thresholds, with and without an exposure."""

import numpy as np

from support.query_example import Example
from tailguard.queries.counts import CountBelow


def examples():
    yield Example(
        "count-below/pairs",
        CountBelow((0, 1, 2, 3), paired=True),
        np.full(4, 1.0),
        (0.0,) * 4,
        (1e6,) * 4,
    )
    yield Example(
        "count-below/exposure",
        CountBelow((0, 1, 2, 3, 4)),
        np.array([0.0, 1.0, -1.0, 0.5, 0.0]),
        (-9.0, -9.0, -9.0, -9.0, 0.1),
        (9.0, 9.0, 9.0, 9.0, 10.0),
        exposed=True,
    )
    yield Example(
        "count-below/exposure-pairs",
        CountBelow((0, 1, 2, 3, 4), paired=True),
        np.full(5, 1.0),
        (0.0, 0.0, 0.0, 0.0, 1.0),
        (1e6, 1e6, 1e6, 1e6, 1e6),
        exposed=True,
    )
