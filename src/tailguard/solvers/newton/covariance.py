"""The solution in the user's units: coefficients, their errors, and the reasons for gaps.

Standard errors are those of the correction by contributions. Other fits have the noise of their
coefficients, which is known, but no intervals.

Reference
---------
Huber 1967 (sandwich variance); Belsley, Kuh and Welsch 1980, Section 3.2 (which coefficients the
data do not resolve).
"""

import math
from contextlib import suppress
from itertools import chain

import numpy as np

from tailguard.array_types import BoolArray, FloatArray
from tailguard.gate.plan import NO_INTERVAL, NOT_ESTIMATED, TOTAL_ERROR, Solution
from tailguard.scaling.units import LEVELS
from tailguard.solvers.newton.newton import FitSession
from tailguard.solvers.newton.outlook import ESTIMAND, why_no_interval
from tailguard.solvers.newton.state import Fit
from tailguard.solvers.session import BEYOND_FLOATS

# Without a correction a coefficient is not estimated if more than the first share of its column's
# second moment was not released but added by raising eigenvalues, or if others explain more of it
# while more of its variance lies along indistinct directions. A coefficient depends on a column if
# more than the second share of its variance comes from it.
HIDDEN, DEPENDS = 0.7, 0.3
UNSEEN_COLUMN = "the budget did not show its column"
RARE_LEVEL = "fewer records have this level than the budget can tell"
RARE_BASELINE = "fewer records have the baseline of this column than the budget can tell"
UNRESOLVED_COLUMN = "noise hides what tells its column from others"
UNSETTLED = "the correction did not settle, or few far records decide it"
STILL_MOVING = "rounds moved it too far to tell its error"


def solution(session: FitSession, fit: Fit) -> Solution:
    """Map weights, their noise and their variance back to the user's units."""
    geometry, problem = fit.geometry, session.problem
    units, link, size = geometry.units, problem.link, problem.n_features
    estimate = fit.estimate if fit.estimate and fit.estimate.settled else None
    coef, intercept = units.coefficients(fit.weights, link)
    jacobian, why = units.jacobian(link), no_intervals(session, fit)
    noise, total = covariances(fit)
    noise_std, root = np.sqrt(np.diag(jacobian @ noise @ jacobian.T)), jacobian @ square_root(total)
    std = np.linalg.norm(root, axis=1)
    reasons, notes = np.full(std.size, "", dtype=object), list(fit.notes)

    def leave_out(columns: BoolArray, reason: str, *, estimated: bool) -> None:
        """Mark coefficients that depend on these columns: no interval, or not estimated."""
        affected = depend_on(jacobian, columns, total if np.isfinite(total).all() else noise)
        affected[:size] |= columns[:size]
        std[affected] = math.nan
        if not estimated:
            noise_std[affected] = math.nan
        affected &= reasons == ""
        reasons[affected] = f"{NO_INTERVAL if estimated else NOT_ESTIMATED}: {reason}"
        if affected.any():
            heading = f"{NO_INTERVAL} for" if estimated else f"{NOT_ESTIMATED}:"
            notes.append(f"{heading} {affected.sum()} of {std.size} coefficients: {reason}")

    is_level = np.isin(np.arange(fit.weights.size), [*chain(*problem.levels)])
    left_out, rare_baseline = geometry.left_out, geometry.without_baseline
    if LEVELS in session.stages:
        leave_out(left_out & is_level, RARE_LEVEL, estimated=False)
    leave_out(left_out & ~is_level, UNSEEN_COLUMN, estimated=False)
    rare_baseline = np.append(rare_baseline, np.full(int(problem.intercept), rare_baseline.any()))
    leave_out(rare_baseline, RARE_BASELINE, estimated=False)  # confounded with the constant
    leave_out(unresolved(fit), UNRESOLVED_COLUMN, estimated=False)
    if estimate is not None:
        leave_out(estimate.moving(), STILL_MOVING, estimated=True)
    if why is not None:
        reasons[reasons == ""] = f"{NO_INTERVAL}: {why}"
        notes.append(f"no intervals: {why}")
    corrected = None if estimate is None else units.coefficients(estimate.weights, link)
    return Solution(
        center=None if corrected is None else np.nan_to_num(np.append(*corrected)),
        # Units near the limits of floats can carry a coefficient beyond them.
        coef=np.nan_to_num(coef),
        intercept=float(np.nan_to_num(intercept)),
        plan=session.plan,
        coef_noise_std=noise_std[:size],
        intercept_noise_std=float(noise_std[-1]) if problem.intercept else 0.0,
        trace=np.array([a.weights for a in fit.iterates]).reshape(-1, problem.size),
        coef_std=std[:size],
        intercept_std=float(std[-1]) if problem.intercept else 0.0,
        covariance_root=triangular(root, np.isnan(std)),
        residual_shares=fit.residual_shares,
        residual_center=fit.residual_center,
        reasons=tuple(map(str, reasons)),
        estimand="" if estimate is None else ESTIMAND,
        notes=tuple(notes),
        feature_bounds=geometry.feature_bounds,
        score_bounds=fit.score_bounds(exposed=problem.has_offset),
        found={} if math.isnan(fit.total_error) else {TOTAL_ERROR: fit.total_error},
    )


def square_root(covariance: FloatArray) -> FloatArray:
    """Return a matrix ``R`` with ``R R^T`` the covariance; NaN if that is not finite."""
    if not np.isfinite(covariance).all():
        return np.full_like(covariance, math.nan)
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def triangular(root: FloatArray, unknown: BoolArray) -> FloatArray:
    """Return a lower triangular root of the same covariance; NaN in rows that are unknown."""
    known = np.where(unknown[:, None], 0.0, root)
    lower = np.linalg.qr(known.T).R.T
    return np.where(unknown[:, None], math.nan, lower)


def depend_on(jacobian: FloatArray, columns: BoolArray, covariance: FloatArray) -> BoolArray:
    """Return which coefficients have too much of their variance from the weights of ``columns``.

    An intercept depends on columns, since their centres shift it.
    """
    restricted = jacobian * columns
    partial = np.diag(restricted @ covariance @ restricted.T)
    return np.asarray(partial > DEPENDS * np.diag(jacobian @ covariance @ jacobian.T))


def unresolved(fit: Fit) -> BoolArray:
    """Return which standardised weights the released second moments do not resolve.

    Their columns are hidden by noise, or are nearly sums of others.
    """
    if fit.estimate is not None:
        return fit.estimate.unresolved
    if not fit.iterates:
        return np.arange(fit.weights.size) < fit.geometry.units.center.size
    return ~fit.geometry.left_out & fit.geometry.whitening.hides(HIDDEN)


def no_intervals(session: FitSession, fit: Fit) -> str | None:
    """Return why no coefficient has a known variance; None if some may have one."""
    if fit.estimate is not None:
        return None if fit.estimate.settled else UNSETTLED
    plan, problem = session.plan, session.problem
    robust, weight = plan.settings["target"] == "robust", problem.n_rows / plan.problem.n_rows
    return why_no_interval(problem, plan.guarantee, robust=robust, weight=weight)


def covariances(fit: Fit) -> tuple[FloatArray, FloatArray]:
    """Return covariances of standardised weights, of noise and of all errors; NaN if unknown."""
    unknown = np.full((fit.weights.size, fit.weights.size), np.nan)
    if (estimate := fit.estimate) is not None and estimate.settled:
        return estimate.noise @ estimate.noise.T, estimate.whole()
    if fit.iterates:
        with suppress(*BEYOND_FLOATS):
            # This does not include the noise in the choices of clip levels.
            noise_root = fit.geometry.matrix @ fit.noise
            return noise_root @ noise_root.T, unknown
    return unknown, unknown
