"""Standard errors that cover sampling and privacy noise, and the solution in the user's units.

The variance of the clipped score is released as second moments weighted by squared slopes. With the
curvature ``c`` of the clipped score, the coefficients vary by ``V / (n c**2)`` through sampling and
by the known variance of the noise on top.

Where residuals are skewed, what clipping may still take away is an error too. Along which rows
residuals are large tells where, and how far histograms reach how much; it enters as a second
moment, which widens intervals by at least what a bias of that size asks for: with ``b`` the bias
and ``v`` the variance, a normal interval of variance ``v + b**2`` covers more often than one of
variance ``v`` without bias.

Reference
---------
Huber 1967 (sandwich variance); Avella-Medina, Bradshaw and Loh 2023, Section 5 (intervals from a
noised sandwich); Armstrong and Kolesar 2020 (intervals that count the bias).
"""

import math
from contextlib import suppress

import numpy as np

from tailguard.array_types import BoolArray, FloatArray
from tailguard.plans.solution import Solution
from tailguard.queries.second_moments import SecondMoments, Weighting
from tailguard.solvers.session import BEYOND_FLOATS
from tailguard.solvers.whitened.choices import far_rows_count
from tailguard.solvers.whitened.clipping import SKEWED_LENGTH
from tailguard.solvers.whitened.constant import HEADROOM
from tailguard.solvers.whitened.session import FitSession
from tailguard.solvers.whitened.state import Fit, Geometry
from tailguard.solvers.whitened.whitening import noise_level

__all__ = [
    "covariances",
    "curvature_hides",
    "hiding",
    "noise_covariance",
    "sampling_covariance",
    "score_bound",
    "solution",
]


# Of ten real tables of counts at epsilon 0.1 to 1, four to 64 times cure the same fits; from eight
# times on none is worse by it.
LARGEST_MEAN = 32.0
# Of the variance of a coefficient, along directions that noise hides. On two training tasks (T12,
# T00) 71 % of intervals above .98 held the truth, and all but 2 of some 400 below .95.
UNRESOLVED_SHARE = 0.95
# Standard errors of a slope from which on bounds move it by a good part of one: on training tasks
# they moved slopes by 6 to 13 % where .7 to 2.8 % of the values lie beyond (T35, T09, T05).
BENT = 3.0

CURVATURE_HIDES = "no intervals: noise hides how the loss is curved"


def solution(session: FitSession, fit: Fit) -> Solution:
    """Map weights, their noise and their variance back to the user's units.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> solution(*example_fit(tg.losses.Squared(), phase=0)).coef.shape
    (2,)
    """
    geometry, problem = fit.geometry, session.problem
    units, own = geometry.units, problem.intercept
    coef, intercept = units.coefficients(fit.weights, problem.link)
    gain = units.gain(problem.link)
    jacobian = np.diag(gain / units.scale)
    if own:
        below = np.append(-gain * units.center / units.scale, gain)
        jacobian = np.vstack([np.column_stack([jacobian, np.zeros(coef.size)]), below])
    noise, whole = (jacobian @ matrix @ jacobian.T for matrix in covariances(session, fit))
    noise_std, std = (np.sqrt(np.diag(matrix)) for matrix in (noise, whole))
    std[: coef.size][geometry.left_out] = math.nan
    notes = [CURVATURE_HIDES] if session.plans("variance") and curvature_hides(geometry) else []
    for hidden, reason in hiding(geometry, jacobian, np.abs(coef) / std[: coef.size]):
        lost = hidden & ~np.isnan(std)
        std[lost] = math.nan
        if lost.any():
            notes.append(f"no interval for {lost.sum()} of {std.size} coefficients: {reason}")
    return Solution(
        # Units near the limits of floats can carry a coefficient beyond them.
        coef=np.nan_to_num(coef),
        intercept=float(np.nan_to_num(intercept)),
        plan=session.plan,
        coef_noise_std=noise_std[: coef.size],
        intercept_noise_std=float(noise_std[-1]) if own else 0.0,
        trace=np.array([a.weights for a in fit.iterates]).reshape(-1, problem.size),
        coef_std=std[: coef.size],
        intercept_std=float(std[-1]) if own else 0.0,
        notes=(*fit.notes, *notes),
        feature_bounds=geometry.feature_bounds,
        score_bound=score_bound(session, fit),
    )


def hiding(
    geometry: Geometry, jacobian: FloatArray, significance: FloatArray
) -> list[tuple[BoolArray, str]]:
    """Return which of the user's coefficients have no known variance, each time with the reason.

    A bound moves the slope of a column by a share of itself, as the values beyond are not followed:
    that shows in a slope that stands out of its standard error.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> _, fit = example_fit(tg.losses.Squared())
    >>> [hidden.any() for hidden, _ in hiding(fit.geometry, np.eye(3), np.array([9.0, 9.0]))]
    [np.False_, np.False_]
    """
    beyond = np.zeros(len(jacobian), dtype=bool)
    beyond[: significance.size] = geometry.often_beyond & (significance > BENT)
    variances = (jacobian @ geometry.matrix) ** 2 * geometry.whitening.variance_inflation
    unresolved = variances[:, geometry.whitening.unresolved].sum(axis=1)
    return [
        (beyond, "many values of its column lie beyond the bounds"),
        (
            unresolved > UNRESOLVED_SHARE * variances.sum(axis=1),
            "noise hides what tells its column from others",
        ),
    ]


def score_bound(session: FitSession, fit: Fit) -> float:
    """Return the largest score of a prediction, in the user's units: that of a log link has one.

    Its means are exponentials, so that noise in a coefficient makes a far row's endless. No mean is
    predicted beyond so many times the largest residual that was seen, or the mean target.

    *Edge cases.* Rates by the unit of an exposure have none: where exposures are short rates may be
    far larger than any target.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> [score_bound(*example_fit(loss)) for loss in (tg.losses.Squared(), tg.losses.Logistic())]
    [inf, inf]
    >>> 3.0 < score_bound(*example_fit(tg.losses.Poisson())) < 5.0
    True
    """
    geometry, slopes = fit.geometry, fit.clipping.slopes
    if session.problem.has_offset or not geometry.loss.link.log:
        return math.inf
    largest = geometry.largest_curvature / HEADROOM  # the mean target
    if slopes.seen:
        largest = max(largest, float(np.abs(slopes.distribution.points).max()))
    return math.log(LARGEST_MEAN * largest) + math.log(geometry.units.target_scale)


def curvature_hides(geometry: Geometry) -> bool:
    """Whether noise kept the curvature of a log link from being released, so that none is known.

    Of the intervals that one could compute 90 % held the truth, of 195 on two training tasks (T37,
    T77); of log-odds, whose curvature differs less, 99 % of 254 (T75).

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> losses = tg.losses.Poisson(), tg.losses.Logistic()
    >>> [curvature_hides(example_fit(loss)[1].geometry) for loss in losses]
    [True, False]
    """
    return geometry.loss.link.log and not geometry.curvature_released


def covariances(session: FitSession, fit: Fit) -> tuple[FloatArray, FloatArray]:
    """Covariance of standardised weights by the noise alone, and in all; NaN where unknown.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> from tailguard.solvers.whitened.newton import averaged, step
    >>> session, fit = example_fit(tg.losses.Squared(), phase=0)
    >>> noise, whole = covariances(session, averaged(step(session, fit)))
    >>> bool((np.diag(whole) > np.diag(noise)).all())
    True
    """
    noise = whole = np.full((fit.weights.size, fit.weights.size), np.nan)
    if fit.iterates:
        with suppress(*BEYOND_FLOATS):
            noise = noise_covariance(fit)
            # A budget too small for the release is too small for intervals as well: whitening and
            # curvature are not known well enough (training family: T13, T39, T99, T103).
            hides = far_rows_count(fit.geometry) or curvature_hides(fit.geometry)
            if session.plans("variance") and not hides:
                whole = noise + sampling_covariance(session, fit)
    return noise, whole


def noise_covariance(fit: Fit) -> FloatArray:
    """Covariance of the privacy noise in standardised weights.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> noise_covariance(example_fit(tg.losses.Squared())[1]).shape
    (3, 3)
    """
    matrix, inflation = fit.geometry.matrix, fit.geometry.whitening.variance_inflation
    return np.asarray(fit.noise_std**2 * (matrix * inflation) @ matrix.T)


def sampling_covariance(session: FitSession, fit: Fit) -> FloatArray:
    """Covariance through sampling in standardised weights, from the released score variance.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> covariance = sampling_covariance(*example_fit(tg.losses.Squared(), phase=0))
    >>> bool((np.diag(covariance) > 0.0).all())
    True
    """
    geometry, clipping, slopes = fit.geometry, fit.clipping, fit.clipping.slopes
    width, inflation = geometry.width, geometry.whitening.variance_inflation
    covariance = _score_variance(session, fit) / (session.problem.n_rows * clipping.curvature**2)
    covariance *= np.sqrt(np.outer(inflation, inflation))
    if fit.debiased is not None:
        # In the debiased directions the last correction is all that counts.
        basis = fit.debiased / np.linalg.norm(fit.debiased, axis=0)
        outside = np.eye(width) - basis @ basis.T
        covariance = outside @ covariance @ outside + fit.debiased @ fit.debiased.T
        if slopes.skewed and session.problem.link.residual:
            # What clipping may take in all other directions, none of which is preferred.
            beside = SKEWED_LENGTH * slopes.lost(clipping.slope_limit) / clipping.curvature
            covariance += beside**2 / width * np.eye(width)
    if slopes.is_bounded:
        # A slope that is cut below its own bound aims elsewhere where residuals are skewed.
        constant = geometry.constant * slopes.missed(clipping.slope_limit) / clipping.curvature
        covariance += constant @ constant.T
    return np.asarray(geometry.matrix @ covariance @ geometry.matrix.T)


def _score_variance(session: FitSession, fit: Fit) -> FloatArray:
    """Release the variance of the clipped score along whitened directions.

    Where its noise exceeds what the histograms told before, the histograms' word is taken, which
    assumes that residuals do not depend on the row.
    """
    problem, stage, view = session.problem, session.stage("variance"), fit.geometry.view
    rows, slopes = fit.clipping.rows, fit.clipping.slopes
    limit, height = fit.clipping.row_limit, fit.clipping.slope_limit
    plain = rows.variance(limit) / view.width
    if slopes.seen:
        plain *= slopes.variance(height) / rows.weight
    weighting = Weighting(kind="squared-slope", slope_limit=height)
    query = SecondMoments(view, limit, limit, weighting)
    noise = query.noise_std(problem.n_rows, problem.n_features, stage.mu) * height**2
    if noise_level(noise, view.width) > plain:
        return plain * np.eye(view.width)
    released = session.ask(query, fit.weights, stage) * height**2
    values, vectors = np.linalg.eigh(released)
    least = max(noise, 0.1 * plain)
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)
