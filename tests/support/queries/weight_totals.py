"""The total alone: of no weight and a full one, and of a void record and a usable one."""

import numpy as np

from support.query_example import Example
from tailguard.audit.worst_pairs import worst_pair


def examples():
    alone = worst_pair("weight-totals, alone")
    yield alone
    void = np.nan, *alone.new[1:]
    yield Example("weight-totals/void", alone.query, None, void, alone.new, weighted=True)
