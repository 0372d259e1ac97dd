"""Products of three columns, and of two in units that are far apart."""

import numpy as np

from support.query_example import Example
from tailguard.queries.bounded_moments import CellProducts


def examples():
    state = np.array([[0.5, -1.0, 0.0]]), np.array([[2.0, 1.0, 3.0]])
    ends = (1e300, -1.0, 0.0, 0.0), (0.5, 1e300, 0.0, 0.0)
    yield Example("cell-products/three", CellProducts((0, 1, 2)), state, *ends)
    units = np.zeros((1, 2)), np.array([[1e-100, 1e100]])
    ends = (5.0, 0.0, np.nan, 0.0), (-0.0, -1e200, np.inf, 0.0)
    yield Example("cell-products/units", CellProducts((0, 1)), units, *ends)
