"""The first fit, from released units: row norms, second moments, whitening, a constant.

Reference
---------
Wang 2018, Algorithm 2 (regression from noised second moments).
"""

import math
from dataclasses import replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.losses.balanced_logistic import BalancedLogistic
from tailguard.queries.second_moments import SecondMoments
from tailguard.queries.units import Units
from tailguard.queries.view import View
from tailguard.queries.whitened_histogram import WhitenedHistogram
from tailguard.scaling.columns import ColumnScales
from tailguard.scaling.noisy_distribution import NoisyDistribution
from tailguard.solvers.newton.allocation import SAMPLE_FOR_EVENTS, sample_suffices
from tailguard.solvers.newton.clipping import Clipping
from tailguard.solvers.newton.constant import mean_target, weights_at_mean
from tailguard.solvers.newton.fit_session import FitSession
from tailguard.solvers.newton.schedule import CORRECTION_OF_LIKELIHOOD, HEADROOM, ROW_NORM_BINS
from tailguard.solvers.newton.state import Fit, Geometry, unknown_noise
from tailguard.solvers.newton.whitening import StepShortening, first_fit, noise_level, whiten

# The search for a row limit begins and ends at these quantiles of row norms. It continues while the
# noise is below this share of a second moment. All by trial.
BULK_LEVEL, TAIL_LEVEL, MOMENT_NOISE = 0.4, 0.995, 0.05
# The correction by contributions needs this curvature at the mean, times n * mu, per coefficient.
# With 8, noise moved log-rates of motorcycle claims by one; with 11 to 18, corrected fits were
# better (pulsars, crashes).
EVENTS_FOR_CORRECTION = 10.0


def start(session: FitSession, units: Units, scales: ColumnScales) -> Fit:
    """Release second moments of bounded rows, and return the first fit.

    Columns whose scale was not detected are left out: their coefficients stay zero.
    """
    problem, shares, residual = session.problem, session.shares, session.problem.link.residual
    size, n_features = problem.size, problem.n_features
    session.share_out()
    is_read = np.append(scales.detected[:n_features].astype(np.float64), np.ones(1 + residual))
    # The constant is read even without an intercept, since its moments are the mean row.
    with_constant = replace(units, intercept=True)
    view = View(session.loss, with_constant, np.diag(is_read), residual, shares.bound)
    moments, noise_std = second_moments(session, view)
    used = np.flatnonzero(is_read[:size])
    level = noise_level(noise_std, used.size)
    whitening = whiten(moments[np.ix_(used, used)], level, curved=not residual)
    matrix, diagonal = np.zeros((size, used.size)), np.zeros(size)
    matrix[used], diagonal[used] = whitening.matrix, whitening.diagonal
    weights = first_fit(matrix, moments[:size, -1], noise_std) if residual else np.zeros(size)
    far_target = near_target = 0.0
    if problem.link.log:
        far_target = float(scales.far_size[n_features]) / units.target_scale
        near_target = float(scales.near_size[n_features]) / units.target_scale
    geometry = Geometry(
        BalancedLogistic() if shares.balanced else session.loss,
        units,
        replace(whitening, matrix=matrix, diagonal=diagonal),
        mean_row=moments[:size, n_features],
        far_size=scales.far_size[:n_features],
        without_baseline=scales.without_baseline[:n_features],
        bound=shares.bound,
        ridge=problem.ridge,
        far_target=far_target,
        near_target=near_target,
        weight_unit=session.plan.problem.n_rows / problem.n_rows,
    )
    clipping = Clipping.unknown(geometry.loss.slope_bound())
    fit = Fit(geometry, clipping, StepShortening.none(used.size), weights, unknown_noise(used.size))
    if not problem.intercept:
        fit = _without_constant(session, fit, noise_std)
    return fit if residual else _started_at_constant(session, fit)


def second_moments(session: FitSession, view: View) -> tuple[FloatArray, float]:
    """Release second moments of rows cut at a released norm; return them and their noise."""
    n_rows, n_features = session.problem.n_rows, session.problem.n_features
    lengths = WhitenedHistogram(view, "length", ROW_NORM_BINS)
    counts, noise_std = session.histograms(lengths, None, session.stage("row norms"))
    distribution = NoisyDistribution.of(counts, ROW_NORM_BINS, noise_std)
    stage, width = session.stage("second moments"), view.width
    limit = distribution.quantile(BULK_LEVEL)
    for edge in map(float, distribution.edges[distribution.edges > limit]):
        query = SecondMoments(view, edge, edge)
        noise = noise_level(query.noise_std(n_rows, n_features, stage.mu), width)
        moment = distribution.mean(np.minimum(distribution.points, edge) ** 2) / width
        if noise > MOMENT_NOISE * moment or edge > distribution.quantile(TAIL_LEVEL):
            break
        limit = edge
    query = SecondMoments(view, limit, limit)
    noise_std = query.noise_std(n_rows, n_features, stage.mu)
    return session.ask(query, None, stage), noise_std


def _without_constant(session: FitSession, fit: Fit, noise_std: float) -> Fit:
    """Store the mean row's length for residuals, or start a log link at the typical target."""
    geometry, link = fit.geometry, session.problem.link
    mean = geometry.matrix.T @ geometry.mean_row
    square = float(mean @ mean)
    shift = max(0.0, square - noise_std**2 / 2.0 * float((geometry.matrix**2).sum()))
    if link.residual:
        return replace(fit, geometry=replace(geometry, shift=shift))
    if not link.log or not shift > 0.0:
        return fit
    typical = geometry.units.offset_center  # the score of the typical target
    if session.problem.has_offset:
        typical = math.log(mean_target(session, geometry.units, session.stage("constant")))
    return replace(fit, weights=geometry.matrix @ (mean * typical * shift / square))


def _started_at_constant(session: FitSession, fit: Fit) -> Fit:
    """Start a likelihood at its best constant, and bound its curvature."""
    link, sample = session.problem.link, session.shares.sample
    loss, mean = session.loss, 1.0
    if session.problem.intercept:
        mean = mean_target(session, fit.geometry.units, session.stage("constant"))
    largest = loss.curvature_bound()
    if link.log:
        largest = float(loss.expected_curvature(math.log(HEADROOM * mean)))
    geometry = replace(fit.geometry, largest_curvature=largest, mean_target=mean)
    if not session.problem.intercept:
        return replace(fit, geometry=geometry)
    fit = replace(fit, geometry=geometry, weights=weights_at_mean(fit.weights, mean, link))
    events = float(loss.expected_curvature(fit.weights[-1])) * session.problem.n_rows
    enough = events * session.plan.total_mu >= EVENTS_FOR_CORRECTION * session.problem.size
    if session.plans("contribution rounds") and not enough:
        session.dropped = frozenset(CORRECTION_OF_LIKELIHOOD)
        fit = fit.noted("events are rare: the rounds got what a correction was planned for")
    event_rate = min(mean, 1.0) if link.log else mean * (1.0 - mean) / largest
    counted_sample = event_rate * sample / SAMPLE_FOR_EVENTS
    if not sample or sample_suffices(session.problem, counted_sample, session.plan.total_mu):
        return fit
    session.sample_dropped = True
    return fit.noted("events are rare: all records were read where a sample was planned")
