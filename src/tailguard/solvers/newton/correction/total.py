"""The total that a log link predicts for the records of the fit, brought to what they have.

Rounds clip slopes for the least error of a typical record, which takes away a good part of the sum
of skewed counts. One number, the mean residual cut far out, tells how much; the intercept takes it
up. It is asked for twice: the second one is small, so that how large the predicted total is need be
known only roughly.

Reference
---------
McCullagh and Nelder 1989, Section 2.2 (with a canonical link and an intercept, fitted means add up
to the total).
"""

import math
from dataclasses import replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.queries.level_gradients import LevelGradients
from tailguard.queries.view import View
from tailguard.solvers.newton.clipping import top_level
from tailguard.solvers.newton.constant import HEADROOM
from tailguard.solvers.newton.fit_session import FitSession
from tailguard.solvers.newton.schedule import ROUGH_TOTAL, TOTAL
from tailguard.solvers.newton.state import Fit
from tailguard.solvers.session import usable

# The most by which one of the moves changes the logarithm of means: of longer ones noise is a part.
LONGEST_MOVE = 1.0


def calibrate_total(session: FitSession, fit: Fit) -> Fit:
    """Move the intercept so that predictions add up to the targets, if that was planned."""
    if not session.plans(TOTAL) or not fit.iterates:
        return fit
    mean = fit.geometry.largest_curvature / HEADROOM  # of targets, as the start released it
    error = math.inf
    for name in (ROUGH_TOTAL, TOTAL):
        surplus, error = _surplus(session, fit, name)
        way = math.log(max(mean, 1e-12) / max(mean + surplus, 1e-12))
        mean = max(mean, error, 1e-12)
        fit = _moved(fit, min(max(way, -LONGEST_MOVE), LONGEST_MOVE))
    return replace(_with_noise(fit, error / mean), total_error=error / mean).noted(
        "the predicted total of all records was calibrated; its relative standard error is "
        f"{error / mean:.2g}"
    )


def _moved(fit: Fit, way: float) -> Fit:
    """Return the fit with another intercept."""
    return replace(fit, weights=usable(np.append(fit.weights[:-1], fit.weights[-1] + way)))


def _surplus(session: FitSession, fit: Fit, name: str) -> tuple[float, float]:
    """Release the mean of predictions less targets, cut at a level, and say how far off it is."""
    slopes, stage = fit.clipping.slopes, session.stage(name)
    n_rows, n_features = session.problem.n_rows, session.problem.n_features
    level = fit.geometry.largest_curvature
    if slopes.seen:
        level = max(top_level(slopes, 1.0, 1, n_rows, stage.mu), fit.clipping.slope_limit)
    ones = np.eye(fit.weights.size)[:, -1:]
    view = View(session.loss, fit.geometry.units, ones, bound=fit.geometry.bound)
    query = LevelGradients(view, 1.0, (level,))
    surplus = float(session.ask(query, fit.weights, stage)[0, 0])
    noise = float(query.noise_std(n_rows, n_features, stage.mu)[0])
    return surplus, math.hypot(noise, slopes.lost(level) if slopes.seen else 0.0)


def _with_noise(fit: Fit, error: float) -> Fit:
    """Return the fit with the noise of the total in place of that along the constant."""
    own = error * fit.geometry.inverse[:, -1:]
    along: FloatArray = fit.geometry.constant
    noise = np.hstack([fit.noise - along @ (along.T @ fit.noise), own])
    return replace(fit, noise=noise)
