"""Cells that become empty, with an exposure."""

import numpy as np

from support.query_example import Example
from tailguard.queries.usable_records import CellKinds


def examples():
    yield Example(
        "cell-kinds/exposure", CellKinds(5), None, (0.5,) * 5, (np.nan,) * 5, exposed=True
    )
