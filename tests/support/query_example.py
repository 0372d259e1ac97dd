"""The example of a query that audits use: a pair that attains its charge."""

import numpy as np

from tailguard.audit.worst_pairs import N_FEATURES
from tailguard.audit.worst_pairs import WorstPair as Example
from tailguard.queries.units import Units

__all__ = ["N_FEATURES", "Example", "skewed_units"]


def skewed_units(intercept):
    return Units(np.array([0.5, -1.0, 0.0]), np.array([1.0, 2.0, 1e-3]), intercept, 0.25, 2.0)
