"""The example of a query that audits use, a pair that attains its charge; and parts of examples."""

import numpy as np

import tailguard as tg
from tailguard.audit.worst_pairs import N_FEATURES
from tailguard.audit.worst_pairs import WorstPair as Example
from tailguard.queries.units import Units

__all__ = ["N_FEATURES", "Example", "skewed_units"]

RAW, SQUARED = Units.raw(N_FEATURES, intercept=False), tg.losses.Squared()
ZERO, WEIGHTS = np.zeros(N_FEATURES), np.array([0.3, -0.2, 0.1])
SKEWED = np.array([[1.0, 0.5, 0.0], [0.0, 2.0, -1.0], [0.3, 0.0, 1e-3]])


def skewed_units(intercept):
    return Units(np.array([0.5, -1.0, 0.0]), np.array([1.0, 2.0, 1e-3]), intercept, 0.25, 2.0)
