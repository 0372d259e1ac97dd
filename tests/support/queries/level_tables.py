"""One table and three that share columns, whose indicators need not be indicators."""

import numpy as np

from support.query_example import Example
from tailguard.queries.level_tables import LevelTables


def examples():
    one = LevelTables((((0,), (1, 2)),))
    yield Example("level-tables/one", one, None, (0.0,) * 4, (1.0, 0.0, np.nan, 0.0))
    three = LevelTables((((0,),), ((1, 2),), ((0,), (1, 2))))
    yield Example(
        "level-tables/three", three, None, (-5e-324, 7.0, 1.0, 0.0), (np.inf,) + (0.0,) * 3
    )
