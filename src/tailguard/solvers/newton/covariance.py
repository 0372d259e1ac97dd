"""Standard errors that cover sampling and privacy noise, and the solution in the user's units.

The variance ``V`` of the clipped gradient is released as second moments weighted by squared slopes.
With ``c`` the curvature of that gradient, coefficients have the variance ``V / (n c**2)`` from
sampling. The known variance of the noise is added.

Fits of a residual have the errors of the correction by contributions; what follows is for
likelihoods without that correction. If targets are skewed, clipping may leave a bias in the
debiased directions. Histograms estimate its size, and its square is added to the variance. This
widens intervals at least as much as such a bias requires: with ``b`` the bias and ``v`` the
variance, a normal interval of variance ``v + b**2`` covers more often than an interval of variance
``v`` covers without bias.

Reference
---------
Huber 1967 (sandwich variance); Avella-Medina, Bradshaw and Loh 2023, Section 5 (intervals from a
noised sandwich); Armstrong and Kolesar 2020 (intervals that count the bias); Stein 1956 and James
and Stein 1961 (shrinkage of a release towards an estimate from histograms).
"""

import math
from contextlib import suppress
from itertools import chain

import numpy as np

from tailguard.array_types import BoolArray, FloatArray
from tailguard.gate.plan import NO_INTERVAL, NOT_ESTIMATED, TOTAL_ERROR, Solution
from tailguard.losses.base import Link
from tailguard.queries.second_moments import SecondMoments, Weighting
from tailguard.scaling.units import LEVELS
from tailguard.solvers.newton.choices import EXTRA_BOUND
from tailguard.solvers.newton.correction.estimate import moved_far
from tailguard.solvers.newton.newton import FitSession
from tailguard.solvers.newton.outlook import (
    ESTIMAND,
    ESTIMAND_OF_BULK,
    why_no_interval,
    with_remedy,
)
from tailguard.solvers.newton.schedule import FEATURE_BOUNDS
from tailguard.solvers.newton.state import Fit, Geometry
from tailguard.solvers.newton.whitening import shrunk
from tailguard.solvers.session import BEYOND_FLOATS

# A coefficient has no interval if more than this share of its column's second moment was not
# released but added by raising eigenvalues, if others explain more of it while more of its variance
# lies along indistinct directions, or if more of its variance comes from such columns. It is not
# estimated if the first, or the second and the third, exceed one minus this share. On T00 to T55,
# 96 % of the 95 % intervals held the truth where the first was up to .2, 92 % up to .3, 88 % up to
# .4, and 40 % beyond .5, where columns are rare indicators. In fits of 13 real tables of outcomes
# without a correction, intervals held 59 % of 484 slopes for which the second and the third
# exceeded this share, and 96 % of 548 others.
UNRESOLVED = 0.3
# If a slope is this many standard errors from zero, bounds move it by a large part of a standard
# error: on training tasks by 6 to 13 % of the slope if .7 to 2.8 % of the values lie beyond the
# bounds (T35, T09, T05).
BENT = 3.0
# The largest share of the records that noise may hide in a bin beyond the farthest slope that was
# seen. With lognormal residuals of squares, 80 to 90 % of the 95 % intervals of a constant held it
# above this share (log-sd .3 and 1), and 98 % or more below it (log-sd .6 to 1.2), but fewer if
# residuals were heavier (1.4 and 1.7).
LARGEST_HIDDEN = 0.02
# The largest mean of slopes beyond the histogram, as a share of the mean curvature. From .08 on,
# errors on two real tables were 2 to 6 times the stated ones; below, on others, at most 2.5 times.
UNSEEN_SLOPE = 0.07
# If the curvature of log-odds was not released, intervals need at least this share of the rarer
# outcome. On simulated tables of two columns (3,000 to 8,000 records, epsilon 0.5 and 1), 66 % of
# 726 intervals held the truth for shares of 0.03 to 0.1; with eight columns 91 % of 554 for 0.33.
RARE_OUTCOMES = 0.15
UNSEEN_COLUMN = "the budget did not show its column"
RARE_LEVEL = "fewer records have this level than the budget can tell"
RARE_BASELINE = "fewer records have the baseline of this column than the budget can tell"
UNRESOLVED_COLUMN = "noise hides what tells its column from others"
RAISED_COLUMN = "noise hides how large the part of its column is that others do not explain"
RARE_CLASS = "a class is too rare to tell how far off coefficients may be"
UNSETTLED = "the correction did not settle, or few far records decide it"
HIDDEN_TAIL = "noise hides how far targets reach, and whether they are skewed"
STILL_MOVING = "rounds moved it too far to tell its error"

Reasons = list[tuple[BoolArray, str]]
"""For each reason, which standardised weights have no known variance."""


def solution(session: FitSession, fit: Fit) -> Solution:
    """Map weights, their noise and their variance back to the user's units."""
    geometry, problem = fit.geometry, session.problem
    units, link, size = geometry.units, problem.link, problem.n_features
    coef, intercept = units.coefficients(fit.weights, link)
    jacobian, why = units.jacobian(link), no_intervals(session, fit)
    noise, total, unknown = covariances(session, fit, with_sampling=why is None)
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
    for columns, reason in unknown:
        leave_out(columns, reason, estimated=True)
    if why is not None:
        reasons[reasons == ""] = f"{NO_INTERVAL}: {why}"
        notes.append(f"no intervals: {why}")
    estimate = fit.estimate if fit.estimate and fit.estimate.settled else None
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
        estimand=ESTIMAND_OF_BULK if estimate is None else ESTIMAND,
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
    return np.asarray(partial > UNRESOLVED * np.diag(jacobian @ covariance @ jacobian.T))


def unresolved(fit: Fit) -> BoolArray:
    """Return which standardised weights the released second moments do not resolve.

    Their columns are hidden by noise, or are nearly sums of others.
    """
    if fit.estimate is not None:
        return fit.estimate.unresolved
    if not fit.iterates:
        return np.arange(fit.weights.size) < fit.geometry.units.center.size
    return ~fit.geometry.left_out & fit.geometry.whitening.hides(1.0 - UNRESOLVED)


def no_intervals(session: FitSession, fit: Fit) -> str | None:
    """Return why no coefficient has a known variance; None if some may have one.

    If the curvature of log-rates was not released, there are no intervals: 90 % of 195 would hold
    the truth on two training tasks (T37, T77), and 80 % of 148 on a third (T21). Nor are there if
    that of rare outcomes was not.
    """
    if fit.estimate is not None:
        return None if fit.estimate.settled else UNSETTLED
    plan, geometry = session.plan, fit.geometry
    robust = plan.settings["target"] == "robust"
    mean_weight = session.problem.n_rows / plan.problem.n_rows
    public_facts = session.problem, plan.guarantee
    if (why := why_no_interval(*public_facts, robust=robust, weight=mean_weight)) is not None:
        return why
    if far_rows_still_matter(fit):
        return "columns are so heavy that far rows still move the fit"
    if not geometry.curvature_released and (geometry.loss.link.log or _rare_outcomes(geometry)):
        why = "the budget is too small to estimate the curvature of the loss"
        return with_remedy(why, *public_facts, robust=robust, weight=mean_weight)
    slopes, weight = fit.clipping.slopes, fit.clipping.rows.weight
    clipped = slopes.seen and fit.clipping.slope_limit < slopes.reach
    if clipped and abs(slopes.unseen) > UNSEEN_SLOPE * weight:
        return "noise hides how large the largest targets are, and these move the fit"
    return None


def _rare_outcomes(geometry: Geometry) -> bool:
    """Whether one of two outcomes is rare, as the first constant of log-odds shows."""
    share = geometry.mean_target
    has_share = geometry.units.intercept and not geometry.loss.link.scaled
    return has_share and min(share, 1.0 - share) < RARE_OUTCOMES


def far_rows_still_matter(fit: Fit) -> bool:
    """Whether far rows are cut so much that the fit is another.

    With log-odds they are if bounds are the farthest, or one that still cuts many rows of many
    columns. Then the rounds have not converged. In T4 and L4 of the accuracy benchmark a bound of
    16 cuts a fifth of the columns or more, and a third to three quarters of the 95 % intervals of
    lognormal columns held the coefficients. In other tasks it cuts at most one column in 57, and
    95 % of 1,600 intervals hold.
    """
    geometry = fit.geometry
    if geometry.loss.link.scaled:  # rounds of other losses converge
        return False
    farthest, (_, farther) = FEATURE_BOUNDS[Link.LOGIT][-1], EXTRA_BOUND[Link.LOGIT]
    # A tenth of the columns lies between the tasks that converge and those that do not.
    cuts = geometry.bound == farthest and float(geometry.often_beyond.mean()) > 0.1
    return cuts or geometry.bound == farther


def covariances(
    session: FitSession, fit: Fit, *, with_sampling: bool
) -> tuple[FloatArray, FloatArray, Reasons]:
    """Return covariances of standardised weights, of noise and of all errors; NaN if unknown.

    Also return which weights have no known variance, and why. Without ``with_sampling`` the
    covariance of all errors is unknown.
    """
    noise = whole = np.full((fit.weights.size, fit.weights.size), np.nan)
    hidden: Reasons = []
    if (estimate := fit.estimate) is not None and estimate.settled:
        hidden = [(estimate.moving(), STILL_MOVING)]
        return estimate.noise @ estimate.noise.T, estimate.whole(), hidden
    if fit.iterates:
        with suppress(*BEYOND_FLOATS):
            # This does not include the noise in the choices of clip levels.
            noise_root = fit.geometry.matrix @ fit.noise
            noise = noise_root @ noise_root.T
            if with_sampling:
                total = whole_covariance(session, fit)
                # A correction may amplify the noise.
                values, directions = np.linalg.eigh(noise - total)
                total = total + (directions * np.maximum(values, 0.0)) @ directions.T
                # Set both or neither: a covariance is not shown without the reasons.
                whole, hidden = total, withheld(fit, np.sqrt(np.diag(total)))
    return noise, whole, hidden


def withheld(fit: Fit, std: FloatArray) -> Reasons:
    """Return which standardised weights have no known variance, once for each reason.

    A bound cuts values beyond it, so it changes the slope of a column by a share of that slope.
    This matters if the slope is many standard errors from zero. Other weights then move as well,
    by the inverse of the curvature.
    """
    geometry, slopes = fit.geometry, fit.clipping.slopes
    n_features = geometry.units.center.size
    bent = (np.abs(fit.weights) > BENT * std)[:n_features] & geometry.often_beyond
    columns = np.flatnonzero(bent)
    inverse = geometry.matrix @ geometry.matrix[columns].T
    moves = np.abs(inverse * (fit.weights[columns] / np.diag(inverse[columns])))
    beyond = np.asarray((moves > BENT * std[:, None]).any(axis=1))
    noise_hides = slopes.seen and slopes.distribution.hidden > LARGEST_HIDDEN
    tail_hidden = (share_of_constant(fit, std) > UNRESOLVED) & noise_hides
    far = np.zeros(beyond.size, dtype=np.bool_)
    if geometry.loss.link.curved:  # if no curvature was released, that of the first constant counts
        start = fit.iterates[0].start if fit.curvature_of is None else fit.curvature_of
        far = moved_far(fit.weights - start, std)
    return [
        (beyond, "many values of its column, or of one that moves it, lie beyond the bounds"),
        (~geometry.left_out & geometry.whitening.hides(UNRESOLVED), RAISED_COLUMN),
        (tail_hidden, HIDDEN_TAIL),
        (far, STILL_MOVING),
    ]


def share_of_constant(fit: Fit, std: FloatArray) -> FloatArray:
    """Return the share of each variance along the first corrected direction: the constant.

    Without an intercept it is the mean row.
    """
    if (correction := fit.correction) is None:
        return np.zeros(std.size)
    variance = (
        correction.std[0] ** 2 + correction.bias[0] ** 2 + float((correction.noise[0] ** 2).sum())
    )
    along = fit.geometry.matrix @ correction.directions[:, 0]
    return np.asarray(along**2 * variance / np.maximum(std**2, 1e-300))


def whole_covariance(session: FitSession, fit: Fit) -> FloatArray:
    """Covariance from sampling and noise in standardised weights.

    Along the debiased directions it is that of the correction before shrinkage. The shrinkage
    factor depends on the noise, too, so a shrunk correction varies by more than the factor says.
    """
    geometry, clipping = fit.geometry, fit.clipping
    covariance = gradient_variance(session, fit) / (session.problem.n_rows * clipping.curvature**2)
    stretch = np.sqrt(geometry.whitening.variance_inflation)
    covariance = fit.damping @ (covariance * np.outer(stretch, stretch)) @ fit.damping.T
    covariance = covariance + fit.noise @ fit.noise.T
    if fit.correction is not None:
        covariance = fit.correction.covariance(covariance)
    return np.asarray(geometry.matrix @ covariance @ geometry.matrix.T)


def gradient_variance(session: FitSession, fit: Fit) -> FloatArray:
    """Release the variance of the clipped gradient, in whitened coordinates, if that is planned.

    Histograms estimate it as well, if residuals do not depend on the row. The release corrects this
    estimate, shrunk by its noise.
    """
    view = fit.geometry.view
    rows, slopes = fit.clipping.rows, fit.clipping.slopes
    limit, slope_limit = fit.clipping.row_limit, fit.clipping.slope_limit
    width, by_histograms = view.width, rows.variance(limit) / view.width
    if slopes.seen:
        by_histograms *= slopes.variance(slope_limit) / rows.weight
    by_histograms /= session.evenness
    identity = np.eye(width)
    if "variance" not in session.stages:
        return by_histograms * identity
    stage = session.stages["variance"]
    weighting = Weighting(kind="squared-slope", slope_limit=slope_limit)
    query = SecondMoments(view, limit, limit, weighting)
    unit = slope_limit**2 / by_histograms
    noise_std = session.noise_of(query, stage) * unit
    excess = session.ask(query, fit.weights, stage) * unit - identity
    total_noise = noise_std**2 * width * (width + 1) / 2.0
    values, vectors = np.linalg.eigh(identity + shrunk(excess.ravel(), total_noise) * excess)
    # Along every direction the variance is at least a tenth of that from histograms.
    return np.asarray(by_histograms * (vectors * np.maximum(values, 0.1)) @ vectors.T)
