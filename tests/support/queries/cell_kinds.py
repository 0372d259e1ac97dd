"""Cells that become empty, with an exposure, and with a weight."""

import numpy as np

from support.query_example import Example
from tailguard.queries.usable_records import CellKinds


def examples():
    pair = (0.5,) * 5, (np.nan,) * 5
    yield Example("cell-kinds/exposure", CellKinds(5), None, *pair, exposed=True)
    yield Example("cell-kinds/weight", CellKinds(5), None, *pair, weighted=True)
