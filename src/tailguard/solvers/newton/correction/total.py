"""Move the constant of a log link to the zero of the mean slope: for counts, to their total.

Rounds clip slopes for the least error of a typical record, which cuts a large part of the sum of
skewed targets. One number, the mean slope at a high clip level, estimates this part, and moves the
intercept. For counts it is released twice. The slope is compared with the mean target; the second
move is small, so a rough mean target is enough. If exposures span decades, even that is not known,
as the first mean target was clipped to a small part of its size. Then the first release is the mean
target at the same high level.

A few records can have a quarter of the sum of amounts, in bins that noise hides, so no histogram
shows where to clip. Slopes of amounts are clipped as far out as noise allows. They are compared
with the mean curvature, which is known, so one release is enough.

The interval of a corrected fit gives the error of its constant, and Bayes' rule weights the move by
this error; so does that of the rounds where events are too rare for a correction. If the correction
did not converge, a few records are so large that no histogram shows their part of the sum. Then the
second move counts as an error, too.

The slope is ``expected - paid`` with ``expected = m**(2 - p)`` and ``paid = target * m**(1 - p)``,
where ``m`` is the expected target and ``p`` the power of the variance. Moving the intercept by
``c`` multiplies these by ``exp((2 - p) * c)`` and ``exp((1 - p) * c)``, so slopes average zero at
``c = log(mean paid / mean expected)``. For counts, of power 1, the mean of ``paid`` is the mean
target. For other losses the mean of ``expected`` is the mean curvature, which is 1 for power 2.

Reference
---------
McCullagh and Nelder 1989, Section 2.2 (with a canonical link and an intercept, fitted means add up
to the total); Chapter 9 (estimating equations of quasi-likelihoods).
"""

import math
from dataclasses import replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.queries.clip_levels import LevelGradients
from tailguard.queries.view import View
from tailguard.solvers.newton.clipping import top_level
from tailguard.solvers.newton.constant import ZERO_MEAN_SCORE
from tailguard.solvers.newton.newton import FitSession
from tailguard.solvers.newton.schedule import HEADROOM, ROUGH_TOTAL, TOTAL
from tailguard.solvers.newton.state import Fit
from tailguard.solvers.session import usable

# A move changes the logarithm of means by at most this: longer moves are partly noise.
LONGEST_MOVE = 1.0
# Slopes of amounts are clipped where the noise is this part of the expected slope, and at most at
# this many times the largest slope seen. An error of this size in the total adds half its
# square, .0025, to the mean loss.
MOST_NOISE, FARTHEST = 0.07, 16.0


def calibrate_total(session: FitSession, fit: Fit) -> Fit:
    """Move the intercept so that slopes average zero."""
    counts, relative = session.loss.canonical, math.inf
    estimate = fit.estimate if fit.estimate and fit.estimate.settled else None
    known = fit.geometry.mean_target if counts else fit.clipping.rows.weight
    exposed = counts and session.problem.has_offset
    if exposed:  # the first mean target is too low if targets span decades
        zero_mean = ZERO_MEAN_SCORE * np.eye(fit.weights.size)[-1]
        slope, error = _mean_slope(session, fit, zero_mean, ROUGH_TOTAL, HEADROOM * known)
        known = max(known, -slope - error)
    for name in (ROUGH_TOTAL, TOTAL) if counts and not exposed else (TOTAL,):
        slope, error = _mean_slope(session, fit, fit.weights, name, HEADROOM * known)
        paid, expected = (known, known + slope) if counts else (known - slope, known)
        move = math.log(max(paid, 1e-12) / max(expected, 1e-12))
        known = max(known, error, 1e-12)
        relative = error / known
        std = _std_of_constant(session, fit, known)
        weight = 1.0 if math.isinf(std) else std**2 / (std**2 + relative**2)
        if weight < 1.0:
            relative = math.hypot(weight * relative, (1.0 - weight) * std)
        move = weight * min(max(move, -LONGEST_MOVE), LONGEST_MOVE)
        weights = usable(np.append(fit.weights[:-1], fit.weights[-1] + move))
        fit = replace(fit, weights=weights)
    if counts and fit.estimate is not None and estimate is None:
        relative = math.hypot(relative, move)
    # The noise along the constant is now that of the total.
    along, total_noise = fit.geometry.constant, relative * fit.geometry.inverse[:, -1:]
    noise = np.hstack([fit.noise - along @ (along.T @ fit.noise), total_noise])
    fit = replace(fit, noise=noise)
    if not counts:
        return fit.noted(
            f"the constant was calibrated; the standard error that this leaves is {relative:.2g}"
        )
    return replace(fit, total_error=relative).noted(
        "the predicted total of all records was calibrated; its relative standard error is "
        f"{relative:.2g}"
    )


def _std_of_constant(session: FitSession, fit: Fit, known: float) -> float:
    """Return the standard error of the constant before it moves; infinite if it is not known.

    If events are too rare for the planned correction, it is the noise of the rounds and the bias of
    clipping that their histogram shows. With few records that bias may be hidden.
    """
    if fit.estimate is not None and fit.estimate.settled:
        return math.sqrt(float(fit.estimate.whole()[-1, -1]))
    slopes, geometry = fit.clipping.slopes, fit.geometry
    if not (session.dropped and slopes.seen and np.isfinite(fit.noise).all()):
        return math.inf
    along = geometry.inverse[:, -1]
    noise = float(np.linalg.norm(along @ fit.noise)) / float(along @ along)
    return math.hypot(noise, slopes.bias_std(fit.clipping.slope_limit) / known)


def _mean_slope(
    session: FitSession, fit: Fit, weights: FloatArray, name: str, level: float
) -> tuple[float, float]:
    """Release the mean of clipped slopes at ``weights``; return it with its standard error.

    For counts it is the mean of predictions minus targets. The clip level comes from histograms, or
    is ``level`` if noise hides them.
    """
    slopes, stage = fit.clipping.slopes, session.stages[name]
    n_rows = session.problem.n_rows
    if slopes.seen:
        top = top_level(slopes, 1.0, 1, n_rows, stage.mu)
        level = max(top, fit.clipping.slope_limit, slopes.reach)
        if not session.loss.canonical:
            far = MOST_NOISE * fit.clipping.rows.weight * n_rows * stage.mu / 2.0
            level = max(level, min(far, FARTHEST * float(np.abs(slopes.slopes).max())))
    ones = np.eye(fit.weights.size)[:, -1:]
    view = View(session.loss, fit.geometry.units, ones, bound=fit.geometry.bound)
    query = LevelGradients(view, 1.0, (level,))
    slope = float(session.ask(query, weights, stage)[0, 0])
    noise = float(session.noise_of(query, stage)[0])
    return slope, math.hypot(noise, slopes.lost(level) if slopes.seen else 0.0)
