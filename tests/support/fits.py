"""Fits of the default method for tests, and their session."""

import numpy as np

from tailguard.queries.units import Units
from tailguard.solvers.newton.clipping import Clipping, RowNormDistribution, SlopeDistribution
from tailguard.solvers.newton.newton import FitSession
from tailguard.solvers.newton.state import Fit, Geometry, unknown_noise
from tailguard.solvers.newton.whitening import StepShortening, Whitening


def plain_fit(loss, n_features, *, intercept=True, weights=None, mean_row=None, **geometry):
    """A fit before its first release, in raw units."""
    size = n_features + intercept
    nothing = np.zeros(size)
    seen = Geometry(
        loss,
        Units.raw(n_features, intercept=intercept),
        Whitening(np.eye(size), float(size), np.zeros(size), np.ones(size) > 0, np.ones(size)),
        mean_row=nothing if mean_row is None else mean_row,
        without_baseline=np.zeros(n_features, dtype=bool),
        **geometry,
    )
    slopes = SlopeDistribution.of_likelihood(loss.slope_bound())
    clipping = Clipping(RowNormDistribution.of_ones(0.0), slopes)
    start = nothing if weights is None else weights
    return Fit(seen, clipping, StepShortening(np.eye(size)), start, unknown_noise(size))


def reserved(plan, gate, shares):
    """A session of a plan that is reserved at the gate."""
    gate.reserve(plan.event, coordinates=plan.coordinates)
    return FitSession(plan, gate, shares)
