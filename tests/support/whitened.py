"""A small fit of simulated records by the default method."""

import numpy as np

from tailguard.gate import Gate
from tailguard.gate.plan import Problem
from tailguard.losses.base import Loss
from tailguard.privacy.guarantees import GDP
from tailguard.scaling.columns import columns_of
from tailguard.scaling.units import find_units
from tailguard.solvers.newton.newton import FitSession
from tailguard.solvers.newton.solver import WhitenedNewton
from tailguard.solvers.newton.start import release_row_norms, start, start_phase
from tailguard.solvers.newton.state import Fit


def example_run(loss: Loss) -> FitSession:
    """Plan a fit of 4000 records of two columns and reserve its budget.

    The target is skewed: ``x_0 - x_1 / 2``, an exponential and a constant. Labels are 1 where
    it is above its mean.
    """
    order = np.arange(4000.0)
    X = np.column_stack([np.sin(order), np.cos(np.sqrt(2.0) * order)])
    y = X[:, 0] - X[:, 1] / 2.0 + np.exp(np.sin(np.sqrt(3.0) * order)) + 3.0
    if not loss.valid_target(y).all():
        y = (y > y.mean()).astype(np.float64)
    problem = Problem(loss, len(X), 2, intercept=True)
    solver, guarantee = WhitenedNewton(), GDP(2.0)
    plan = solver.plan(problem, guarantee)
    gate = Gate.over(X, y, guarantee=guarantee, loss=loss, random_state=0)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    return FitSession(plan, gate, solver.shares_of(problem, guarantee))


def example_fit(loss: Loss, *, phase: int | None = None) -> tuple[FitSession, Fit]:
    """Return the example's fit at its beginning, or after its first phase chose clip levels."""
    session = example_run(loss)
    fit = start(session, *find_units(session, columns_of(session.problem)))
    if phase is None:
        return session, fit
    return session, start_phase(session, release_row_norms(session, fit), phase) or fit
