"""A count that one column decides, and one that two decide."""

import numpy as np

from support.query_example import Example
from tailguard.queries.level_tables import CountOfLevels


def examples():
    missing = CountOfLevels(((0, 1),), ((3,),))
    yield Example("count-of-levels/missing", missing, None, (np.nan, 0.0, 0.0, 0.0), (0.0,) * 4)
    two = CountOfLevels(((0,), (1, 2)), ((0, 1), (2,)))
    yield Example("count-of-levels/two", two, None, (1.0, 0.0, 1.0, 0.0), (1.0, 1.0, 1.0, 0.0))
