"""A target that the loss does not allow, and one that it does; a record with one cell, and none."""

import numpy as np

from support.query_example import Example
from tailguard.losses.poisson import Poisson
from tailguard.queries.usable_records import UsableRecords


def examples():
    allowed, refused = (0.0, 0.0, 0.0, 2.0), (0.0, 0.0, 0.0, -1.0)
    yield Example("usable-records/poisson", UsableRecords(), None, allowed, refused, Poisson())
    one, none = (np.nan, 1.0, np.inf, 0.0), (np.nan, -np.inf, np.inf, 0.0)
    yield Example("usable-records/any-cell", UsableRecords(any_cell=True), None, one, none)
