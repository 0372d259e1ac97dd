"""Moments of one group, of a record that attains both norms, and of several, over which it goes."""

import numpy as np

from support.query_example import Example
from tailguard.queries.bounded_moments import BoundedMoments


def examples():
    state = np.array([[0.5, -1.0, 0.0]]), np.array([[2.0, 1e-3, 1e100]])
    ends = (1e300, 9.0, 1e200, 0.0), (-0.1, -1.0003, -3e99, 0.0)
    yield Example("bounded-moments/plain", BoundedMoments((0, 1, 2)), state, *ends)
    grouped, state = BoundedMoments((0, 1), by=((2,),)), (np.zeros((3, 2)), np.ones((3, 2)))
    ends = (9.0, 9.0, 0.0, 0.0), (9.0, 9.0, 1.0, 0.0)
    yield Example("bounded-moments/groups", grouped, state, *ends)
