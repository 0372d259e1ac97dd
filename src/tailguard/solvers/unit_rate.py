"""Bringing a log-link fit to a mean of about 1, from one released gradient.

A Poisson loss has curvature equal to its mean, so rare events make descent slow. One clipped
gradient at zero weights tells the mean; the target is then read in units in which it is 1, and the
slope limit is read in the same units, so that the same slopes are clipped.

Reference
---------
McCullagh and Nelder 1989, Section 6.2 (scaling a Poisson target shifts the intercept only).
"""

from dataclasses import replace

import numpy as np

from tailguard.gate import Gate
from tailguard.plans.problem import Problem
from tailguard.plans.stage import Stage
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.solvers.private_units import target_units

__all__ = ["RATE_PURPOSE", "RATE_SHARE", "at_unit_rate", "needs_rate"]

RATE_SHARE = 0.03
"""Share of ``mu**2`` that is spent on the mean."""

RATE_PURPOSE = "the mean of the target, so that descent starts near it"
"""What the release is for, in plain words."""

SIGNIFICANT = 3.0  # a mean is told from zero when it exceeds this many noise standard deviations
LARGEST_RATE = 1.0


def needs_rate(problem: Problem) -> bool:
    """Say whether the loss has a log link and an intercept to absorb the scale.

    Examples
    --------
    >>> import tailguard as tg
    >>> needs_rate(Problem(tg.losses.Poisson(), n_rows=10, n_features=1, intercept=True))
    True
    """
    return target_units(problem) == "scale" and problem.intercept


def at_unit_rate(gate: Gate, query: MeanClippedGradient, stage: Stage) -> MeanClippedGradient:
    """Release one gradient at zero and return the query in units of the mean it tells.

    At zero weights the intercept's slope is ``1 - y`` (before exposure), so one minus its mean is
    the mean of the target, up to clipping.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.gate import Gate
    >>> from tailguard.queries.units import Units
    >>> y = np.r_[np.ones(100), np.zeros(900)]
    >>> gate = Gate.over(np.zeros((1000, 1)), y, guarantee=tg.GDP(9.0), random_state=0)
    >>> stage = Stage("rate", RATE_PURPOSE, 9.0, 1, 2)
    >>> gate.reserve(stage.event)
    >>> query = MeanClippedGradient(tg.losses.Poisson(), Units.raw(1, intercept=True), 2.0, 4.0)
    >>> round(at_unit_rate(gate, query, stage).units.target_scale, 1)
    0.1
    """
    gradient = gate.ask(query, np.zeros(query.units.size), stage)
    calibration = query.calibrate(gate.n_rows, gate.n_features, stage.mu)
    floor = SIGNIFICANT * calibration.noise_std / gate.n_rows
    rate = float(np.clip(LARGEST_RATE - gradient[-1], min(floor, LARGEST_RATE), LARGEST_RATE))
    units = replace(query.units, target_scale=query.units.target_scale * rate)
    return replace(query, units=units, slope_limit=query.slope_limit / rate)
