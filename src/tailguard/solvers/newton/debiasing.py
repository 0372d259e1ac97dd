"""Correct a fit of a squared or log-link loss along the two directions that clipping biases most.

Skewed residuals bias the constant, and a spread that grows with the mean biases the fitted score.
Two coordinates get little noise, so residuals can be clipped far higher than in all directions, and
the level grows with ``n * mu``.

Increments between levels are released jointly, with shares of ``mu**2`` in proportion to their
widths. Then their sum has the noise of the top level alone; no other shares give less.

Reference
---------
Cox 1958 (recalibration by intercept and slope); Efron and Morris 1973 (shrinkage of a correction by
its noise).
"""

import itertools
from dataclasses import replace

import numpy as np
from scipy.special import expit

from tailguard.array_types import FloatArray
from tailguard.queries.clip_levels import LevelGradients
from tailguard.queries.second_moments import SecondMoments
from tailguard.queries.view import View
from tailguard.solvers.newton.clipping import SlopeDistribution, top_level
from tailguard.solvers.newton.newton import FitSession
from tailguard.solvers.newton.schedule import DEBIASING_LEVELS
from tailguard.solvers.newton.start import curvature_weighting
from tailguard.solvers.newton.state import Fit
from tailguard.solvers.newton.whitening import noise_level
from tailguard.solvers.session import usable

ROW_LIMIT = 1.5  # a row of a constant and a standardised score has typical length sqrt(2)
# Corrections that are not expected count only beyond this many times their variance.
UNEXPECTED = 4.0
# For the curvature, rows are cut at this multiple of the row limit: a few may be far longer than
# most along directions in which residuals are skewed. Eigenvalues are raised to the last share of
# the curvature of rounds.
CAP, LEAST_CURVATURE = 8.0, 0.1
# Clipping bias of the constant and of the fitted score if no release measures it, as shares of the
# mean absolute excess over the level. That excess comes from the histogram, whose hidden tail is an
# upper estimate. The shares were chosen on simulated tasks.
CLIPPED_SHARES = (0.7, 0.08)


def debias(session: FitSession, fit: Fit) -> Fit:
    """Move the fit in two directions to the zero of gradients that are clipped far higher.

    The fit does not change if noise hides the residuals.
    """
    slopes, geometry = fit.clipping.slopes, fit.geometry
    if not slopes.seen:
        return fit
    n_rows, basis = session.problem.n_rows, directions(fit)
    stage, first = session.stages["debiasing"], fit.clipping.slope_limit
    top = top_level(slopes, ROW_LIMIT, basis.shape[1], n_rows, stage.mu)
    levels, level_shares = joint_levels(first, top, DEBIASING_LEVELS)
    view = geometry.view.through(geometry.matrix @ basis)
    query = LevelGradients(view, ROW_LIMIT, levels, level_shares)
    answer = session.ask(query, fit.weights, stage)
    noise = session.noise_of(query, stage)
    clipped = [np.clip(slopes.slopes, -level, level) for level in (0.0, *levels)]
    increment_squares = np.array(
        [slopes.distribution.mean((high - low) ** 2) for low, high in itertools.pairwise(clipped)]
    )
    variances = noise**2 + increment_squares / (n_rows * session.evenness)
    shares = np.array(CLIPPED_SHARES[: basis.shape[1]])
    biases = [
        squared_bias(slopes, (level, levels[-1]), shares, answer[k:], variances[k:])
        for k, level in enumerate(levels, start=1)
    ]
    chosen = int(np.argmin(basis.shape[1] * np.cumsum(variances) + biases))
    gradient, variance = answer[: chosen + 1].sum(axis=0), float(variances[: chosen + 1].sum())
    curvature = _released_curvature(session, fit, view, levels[chosen])
    pull, diagonal = basis.T @ fit.pull, np.diag(curvature)
    damping = np.linalg.inv(np.eye(len(diagonal)) + pull @ basis)  # by the ridge
    inverse = damping @ np.linalg.inv(curvature)
    expected = shares * (slopes.lost(first) - slopes.lost(levels[chosen])) / diagonal
    # Noise is the same along all directions of the gradient; the inverse curvature changes that.
    error = inverse @ gradient + damping @ pull @ fit.whitened
    covariance = variance * inverse @ inverse.T
    noise_root = np.linalg.norm(noise[: chosen + 1]) * inverse
    subject = "mean and fitted score were" if basis.shape[1] > 1 else "the mean was"
    farthest = geometry.loss.residual(float(levels[chosen]))
    limit = float(f"{farthest * geometry.units.target_scale:.3g}")
    return _corrected(fit, basis, noise_root, error, covariance, expected).noted(
        f"{subject} debiased; residuals beyond {limit:,g} ({farthest:.3g} of the target's "
        "scale) were cut"
    )


def _corrected(
    fit: Fit,
    basis: FloatArray,
    noise_root: FloatArray,
    estimated: FloatArray,
    covariance: FloatArray,
    expected: FloatArray,
) -> Fit:
    """Move a fit by the shrunk estimate of its error; return it with its new noise.

    ``noise_root`` maps independent standard noise to that of the estimate, along each direction.
    """
    curved = fit.geometry.loss.link.curved

    def move(error: FloatArray) -> FloatArray:
        """Return the shrunk error; its length is at most one if the curvature varies."""
        believed = _shrunk_error(error, covariance, expected)
        return believed / max(1.0, float(np.linalg.norm(believed)) * curved)

    weights = usable(fit.weights - fit.geometry.matrix @ (basis @ move(estimated)))
    # The move removes a part of the noise: its derivative, averaged over a standard deviation.
    steps = np.diag(np.sqrt(np.diag(covariance)))
    response = np.array([move(estimated + step) - move(estimated - step) for step in steps]).T
    response = basis @ response / (2.0 * np.maximum(steps.sum(axis=0), 1e-300))
    noise = np.hstack([fit.noise - response @ (basis.T @ fit.noise), response @ noise_root])
    return replace(fit, weights=weights, noise=noise)


def directions(fit: Fit) -> FloatArray:
    """Return an orthonormal basis of the directions that clipping biases most.

    These are the constant, or without an intercept the mean row, and the fitted score. If the
    curvature of a likelihood was not released, the fit may be mostly noise, so its score is left
    out.
    """
    geometry = fit.geometry
    constant, mean_row = geometry.inverse[:, -1], geometry.matrix.T @ geometry.mean_row
    first = constant if geometry.units.intercept else mean_row
    both = geometry.curvature_released or not geometry.loss.link.curved
    basis, _ = np.linalg.qr(np.column_stack([first, fit.whitened] if both else [first]))
    return np.asarray(basis)


def _shrunk_error(wrong: FloatArray, covariance: FloatArray, expected: FloatArray) -> FloatArray:
    """Return the shrunk estimate of an error, by directions.

    Shrinkage applies to the error of weights, not to the gradient: if the fitted score has a mean,
    a wrong constant also shows in the gradient along it. By Bayes' rule for normal distributions
    with covariance ``prior`` of the error and ``covariance`` of its noise, the shrinkage is
    ``prior @ inv(prior + covariance)``: the part removed along one direction counts as noise along
    others. Noise alone may make residuals look skewed, so the result is multiplied by the
    probability that there is an error at all.
    """
    variance = np.diag(covariance)
    prior = np.diag(np.maximum(expected**2, wrong**2 - UNEXPECTED * variance))
    total = prior + covariance
    shrunk_error = prior @ np.linalg.solve(total, wrong)
    probability = float(expit(_log_density(wrong, total) - _log_density(wrong, covariance)))
    return np.asarray(probability * shrunk_error)


def _log_density(point: FloatArray, covariance: FloatArray) -> float:
    """Log density of N(0, covariance), up to a constant."""
    volume = float(np.linalg.slogdet(covariance)[1])
    return -(float(point @ np.linalg.solve(covariance, point)) + volume) / 2.0


def _released_curvature(session: FitSession, fit: Fit, view: View, level: float) -> FloatArray:
    """Release the curvature through ``view``; raise eigenvalues to the level of the noise."""
    weights = replace(curvature_weighting(session, fit), slope_limit=level)
    stage, scale = session.stages["debiasing curvature"], weights.bound
    if weights.kind == "expected-curvature":  # clipped slopes keep a part of the curvature
        scale *= max(fit.clipping.slopes.curvature(level), LEAST_CURVATURE)
    query = SecondMoments(view, ROW_LIMIT, CAP * ROW_LIMIT, weights)
    noise = session.noise_of(query, stage) * scale
    released = session.ask(query, fit.weights, stage) * scale
    values, vectors = np.linalg.eigh(released)
    floor = max(noise_level(noise, view.width), LEAST_CURVATURE * fit.clipping.curvature)
    return np.asarray((vectors * np.maximum(values, floor)) @ vectors.T)


def joint_levels(
    first: float, top: float, count: int
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return ``first`` and ``count`` more levels up to ``top``, in equal ratios, and their shares.

    The shares give the sum of all increments the least noise: with widths ``w`` and shares ``c`` of
    norm 1, its variance is ``sum (w / c)**2``, which is least if ``c**2`` is proportional to ``w``
    (Cauchy-Schwarz). If ``top`` is less than a bin of slopes above ``first``, there is one level.
    """
    levels = np.array([first])
    if top > 1.25 * first:
        levels = first * (top / first) ** (np.arange(count + 1) / count)
    widths = np.diff(levels, prepend=0.0)
    return tuple(levels.tolist()), tuple(np.sqrt(widths / widths.sum()).tolist())


def squared_bias(
    slopes: SlopeDistribution,
    levels: tuple[float, float],
    shares: FloatArray,
    increments: FloatArray,
    variances: FloatArray,
) -> float:
    """Return the expected squared bias that remains at the first level along debiased directions.

    The prior bias is ``shares`` of the mean absolute excess over the level. Releases up to the
    second level, the top, update this prior by Bayes' rule for normal distributions. Beyond the top
    nothing is measured: there the bias of the first direction may be the whole excess over the top.
    """
    (level, top), variance = levels, float(variances.sum())
    prior = shares * (slopes.lost(level) - slopes.lost(top))
    kept = prior**2 / np.maximum(prior**2 + variance, 1e-300)
    beyond = shares / shares.max() * slopes.lost(top)
    remaining = (kept * increments.sum(axis=0)) ** 2 + kept * variance + beyond**2
    return float(remaining.sum())
