"""Cells between edges: one group and several, edges that coincide, and open ends."""

import numpy as np

from support.query_example import Example
from tailguard.queries.value_histograms import ValueHistograms


def examples():
    plain = ValueHistograms((0, 1, 2), 2)
    edges = np.array([[-1.0, 1.0], [0.0, 0.0], [-np.inf, 5e-324]])
    yield Example("value-histograms/plain", plain, edges, (-9.0,) * 4, (9.0,) * 4)
    grouped = ValueHistograms((0, 1), 1, by=((2,),))
    ends = (-9.0, 5.0, 0.0, 0.0), (9.0, -5.0, 1.0, 0.0)
    yield Example("value-histograms/groups", grouped, np.zeros((6, 1)), *ends)
