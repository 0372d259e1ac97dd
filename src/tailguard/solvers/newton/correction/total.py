"""Move the constant of a log link to the zero of the mean slope: for counts, to their total.

Rounds clip slopes for the least error of a typical record, which cuts a large part of the sum of
skewed targets. One number, the mean slope at a high clip level, estimates this part, and moves the
intercept. For counts it is compared with the mean target, which is released before: the first
constant knows it only roughly, and cuts it far below its size if exposures span decades. Both
releases are cut at a level for slopes. If most of the total is in targets far above it, as after a
good fit with such exposures, the mean target is still too small. Then the move and its stated error
are both too large.

A few records can have a quarter of the sum of amounts, in bins that noise hides, so no histogram
shows where to clip. Slopes of amounts are clipped as far out as noise allows. They are compared
with the mean curvature, which is known, so one release is enough.

The constant before the move has an error, too: that of the corrected fit, or the noise of the
rounds and the bias of clipping. Bayes' rule combines both. The tail that noise may hide has half of
its largest size there, as where the clip level is chosen, and all of it in the stated error, since
tails of counts lie on one side. If the correction did not converge, a
few records are so large that no histogram shows their part of the sum. Then the move counts as an
error as well.

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
from tailguard.solvers.newton.clipping import SYMMETRIC_BIAS, top_level
from tailguard.solvers.newton.newton import FitSession
from tailguard.solvers.newton.schedule import HEADROOM, ROUGH_TOTAL, TOTAL
from tailguard.solvers.newton.state import Fit
from tailguard.solvers.session import usable

# At this score the expected count is zero, so minus the mean clipped slope is the mean target.
ZERO_MEAN_SCORE = -50.0
# A move changes the logarithm of means by at most this: longer moves are partly noise. It is also
# the standard error of a constant of which no error is known.
LONGEST_MOVE = 1.0
# Slopes of amounts are clipped where the noise is this part of the expected slope, and at most at
# this many times the largest slope seen. An error of this size in the total adds half its
# square, .0025, to the mean loss.
MOST_NOISE, FARTHEST = 0.07, 16.0


def calibrate_total(session: FitSession, fit: Fit) -> Fit:
    """Move the intercept so that slopes average zero."""
    counts, paid_error = session.loss.canonical, 0.0
    corrected = fit.estimate if fit.estimate is not None and fit.estimate.settled else None
    known = corrected.mean_curvature if corrected else fit.clipping.rows.weight
    if counts:
        zero_mean = ZERO_MEAN_SCORE * np.eye(fit.weights.size)[-1]
        known = fit.geometry.mean_target
        slope, noise, lost = _mean_slope(session, fit, zero_mean, ROUGH_TOTAL, known)
        paid_error = math.hypot(noise, SYMMETRIC_BIAS * lost)
        known = max(-slope, paid_error)
    slope, noise, lost = _mean_slope(session, fit, fit.weights, TOTAL, known)
    error = math.hypot(noise, SYMMETRIC_BIAS * lost)
    paid, expected = (known, known + slope) if counts else (known - slope, known)
    move = math.log(max(paid, error, 1e-12) / max(expected, error, 1e-12))
    # The error of the move, to its first order: that of the mean target nearly cancels.
    unit = max(known, error, 1e-12)
    relative = math.hypot(error, move * paid_error) / unit
    std = _std_of_constant(session, fit, known)
    weight = std**2 / (std**2 + relative**2)
    stated = math.hypot(noise, lost, move * paid_error) / unit
    relative = math.hypot(weight * stated, (1.0 - weight) * std)
    move = weight * min(max(move, -LONGEST_MOVE), LONGEST_MOVE)
    weights = usable(np.append(fit.weights[:-1], fit.weights[-1] + move))
    fit = replace(fit, weights=weights)
    if fit.estimate is not None and not fit.estimate.settled:
        relative = math.hypot(relative, move)
    # The noise along the constant is now that of the total.
    along, total_noise = fit.geometry.constant, relative * fit.geometry.inverse[:, -1:]
    noises = np.hstack([fit.noise - along @ (along.T @ fit.noise), total_noise])
    fit = replace(fit, noise=noises)
    if not counts:
        return fit.noted(
            f"the constant was calibrated; the standard error that this leaves is {relative:.2g}"
        )
    return replace(fit, total_error=relative).noted(
        "the predicted total of all records was calibrated; its relative standard error is "
        f"{relative:.2g}"
    )


def _std_of_constant(session: FitSession, fit: Fit, known: float) -> float:
    """Return the standard error of the constant before it moves, at most ``LONGEST_MOVE``.

    Without a corrected fit it is the noise of the rounds and the bias of clipping, of which the
    histogram shows a part and may hide another. No histogram shows the bias of amounts.
    """
    if fit.estimate is not None and fit.estimate.settled:
        return math.sqrt(float(fit.estimate.whole()[-1, -1]))
    slopes, geometry, limit = fit.clipping.slopes, fit.geometry, fit.clipping.slope_limit
    shown = session.loss.canonical and slopes.seen and np.isfinite(fit.noise).all()
    if not shown:
        return LONGEST_MOVE
    along = geometry.inverse[:, -1]
    noise = float(np.linalg.norm(along @ fit.noise)) / float(along @ along)
    bias = math.hypot(slopes.bias_std(limit), SYMMETRIC_BIAS * slopes.lost(limit))
    return min(math.hypot(noise, bias / known), LONGEST_MOVE)


def _mean_slope(
    session: FitSession, fit: Fit, weights: FloatArray, name: str, typical: float
) -> tuple[float, float, float]:
    """Release the mean of clipped slopes at ``weights``; return it, its noise and what it may lose.

    For counts it is the mean of predictions minus targets. The clip level comes from histograms, or
    from the typical slope if noise hides them.
    """
    slopes, stage = fit.clipping.slopes, session.stages[name]
    n_rows, level = session.problem.n_rows, HEADROOM * typical
    if slopes.seen:
        top = top_level(slopes, 1.0, 1, n_rows, stage.mu)
        level = max(top, fit.clipping.slope_limit, slopes.reach)
        if not session.loss.canonical:
            far = MOST_NOISE * typical * n_rows * stage.mu / 2.0
            level = max(level, min(far, FARTHEST * float(np.abs(slopes.slopes).max())))
    ones = np.eye(fit.weights.size)[:, -1:]
    view = View(session.loss, fit.geometry.units, ones, bound=fit.geometry.bound)
    query = LevelGradients(view, 1.0, (level,))
    slope = float(session.ask(query, weights, stage)[0, 0])
    noise = float(session.noise_of(query, stage)[0])
    return slope, noise, slopes.lost(level) if slopes.seen else 0.0
