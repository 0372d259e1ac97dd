"""Few and all entries kept, an intercept, units, and a state far away."""

import numpy as np

import tailguard as tg
from support.query_example import N_FEATURES, Example, skewed_units
from tailguard.queries.peeling import PeeledStep
from tailguard.queries.units import Units


def examples():
    raw, squared = Units.raw(N_FEATURES, intercept=False), tg.losses.Squared()
    logistic = tg.losses.Logistic()
    zero, exact = np.zeros(N_FEATURES), ((2.0, 2.0, 2.0, 1.0), (2.0, 2.0, 2.0, -1.0))
    step = PeeledStep(squared, raw, threshold=2.0, step_size=0.5, n_nonzero=1)
    yield Example("peeled-step/keeps-1", step, zero, *exact, squared)
    far = PeeledStep(squared, raw, threshold=1e200, step_size=1e-200, n_nonzero=2)
    yield Example("peeled-step/huge", far, zero, (1e100,) * 4, (1e100, 0, 0, -1e100), squared)
    step = PeeledStep(squared, skewed_units(True), threshold=3.0, step_size=0.25, n_nonzero=2)
    # In these units the slope is -3 and 3, and so is the last entry.
    intercept = (0.5, -1.0, 0.0, 6.25), (0.5, -1.0, 0.0, -5.75)
    yield Example("peeled-step/intercept", step, np.zeros(4), *intercept, squared)
    step = PeeledStep(logistic, raw, threshold=8.0, step_size=2.0, n_nonzero=1)
    labels = (15.9, 0.0, 0.0, 1.0), (15.9, 0.0, 0.0, 0.0)
    yield Example("peeled-step/logistic", step, zero, *labels, logistic)
