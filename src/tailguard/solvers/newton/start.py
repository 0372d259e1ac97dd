"""The start of a fit, from released units, and of each phase of rounds.

A fit starts with row norms, second moments, whitening and a constant. A phase starts with its
planned releases of curvature, lengths of rows and residuals, and with the choice of clip levels.

Reference
---------
Wang 2018, Algorithm 2 (regression from noised second moments); Dwork, McSherry, Nissim and Smith
2006, Section 3.2 (histograms); Ganesh, Haghifam, Steinke and Thakurta 2023, Section 3 (a floor
under the noised curvature).
"""

import math
from dataclasses import replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.losses.balanced_logistic import BalancedLogistic
from tailguard.queries.histograms import WhitenedHistogram
from tailguard.queries.second_moments import SecondMoments, Weighting
from tailguard.queries.units import Units
from tailguard.queries.view import View
from tailguard.scaling.columns import ColumnScales
from tailguard.scaling.noisy_distribution import NoisyDistribution
from tailguard.solvers.newton.allocation import (
    MOSTLY_NOISE,
    SAMPLE_FOR_EVENTS,
    sample_suffices,
)
from tailguard.solvers.newton.choices import choose_bound
from tailguard.solvers.newton.clipping import (
    SIGNIFICANT,
    Clipping,
    RowNormDistribution,
    SlopeDistribution,
    choose_clip,
)
from tailguard.solvers.newton.constant import mean_target, weights_at_mean
from tailguard.solvers.newton.newton import FitSession, averaged
from tailguard.solvers.newton.schedule import (
    CORRECTION_OF_LIKELIHOOD,
    HALFWAY,
    HEADROOM,
    ROW_NORM_BINS,
    SLOPE_BINS,
)
from tailguard.solvers.newton.state import Fit, Geometry, unknown_noise
from tailguard.solvers.newton.whitening import StepShortening, first_fit, noise_level, whiten

# The search for a row limit begins and ends at these quantiles of row norms. It continues while the
# noise is below this share of a second moment. All by trial.
BULK_LEVEL, TAIL_LEVEL, MOMENT_NOISE = 0.4, 0.995, 0.05
# The correction by contributions needs this curvature at the mean, times n * mu, per coefficient:
# the first number for counts, the second for outcomes, the third for a log link with exposures or
# weights. With 8, noise moved log-rates of motorcycle claims by one. With 10, fits of rare outcomes
# lost .1 to .4 of the constant's excess (pulsars, page_blocks). With exposures and 17, corrected
# fits of car claims lost .46 of it, others .18 (benchmarks/bench_exposures.py). A mean that noise
# hides counts as twice its noise.
EVENTS_FOR_CORRECTION, OUTCOMES_FOR_CORRECTION, EVENTS_BESIDE = 10.0, 15.0, 20.0


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
        without_baseline=scales.without_baseline[:n_features],
        bound=shares.bound,
        ridge=problem.ridge,
        far_target=far_target,
        near_target=near_target,
        weight_unit=session.plan.problem.n_rows / problem.n_rows,
    )
    rows = RowNormDistribution.of_ones(0.0)  # until histograms are released
    clipping = Clipping(rows, SlopeDistribution.of_likelihood(geometry.loss.slope_bound()))
    newton_steps, noise = StepShortening(np.eye(used.size)), unknown_noise(used.size)
    fit = Fit(geometry, clipping, newton_steps, weights, noise)
    if not problem.intercept:
        fit = _without_constant(session, fit, noise_std)
    return fit if residual else _started_at_constant(session, fit)


def second_moments(session: FitSession, view: View) -> tuple[FloatArray, float]:
    """Release second moments of rows cut at a released norm; return them and their noise."""
    lengths = WhitenedHistogram(view, "length", ROW_NORM_BINS)
    counts, noise_std = session.histograms(lengths, None, session.stages["row norms"])
    distribution = NoisyDistribution.of(counts, ROW_NORM_BINS, noise_std)
    stage, width = session.stages["second moments"], view.width
    limit = distribution.quantile(BULK_LEVEL)
    for edge in map(float, distribution.edges[distribution.edges > limit]):
        query = SecondMoments(view, edge, edge)
        noise = noise_level(session.noise_of(query, stage), width)
        moment = distribution.mean(np.minimum(distribution.points, edge) ** 2) / width
        if noise > MOMENT_NOISE * moment or edge > distribution.quantile(TAIL_LEVEL):
            break
        limit = edge
    query = SecondMoments(view, limit, limit)
    return session.ask(query, None, stage), session.noise_of(query, stage)


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
        mean_count, exposure = mean_target(session, geometry.units, session.stages["constant"])
        typical = math.log(mean_count / exposure)
    return replace(fit, weights=geometry.matrix @ (mean * typical * shift / square))


def _started_at_constant(session: FitSession, fit: Fit) -> Fit:
    """Start a likelihood at its best constant, and bound its curvature."""
    link, sample = session.problem.link, session.shares.sample
    loss, mean, units = session.loss, 1.0, fit.geometry.units
    if session.problem.intercept:
        mean, exposure = mean_target(session, units, session.stages["constant"])
        units = replace(units, offset_center=units.offset_center + math.log(exposure))
    largest = loss.curvature_bound()
    if link.log:
        largest = float(loss.expected_curvature(math.log(HEADROOM * mean)))
    geometry = replace(fit.geometry, units=units, largest_curvature=largest, mean_target=mean)
    fit = _without_correction_of_few(session, replace(fit, geometry=geometry))
    if not session.problem.intercept:
        return fit
    fit = replace(fit, weights=weights_at_mean(fit.weights, mean, link))
    event_rate = min(mean, 1.0) if link.log else mean * (1.0 - mean) / largest
    counted_sample = event_rate * sample / SAMPLE_FOR_EVENTS
    if not sample or sample_suffices(session.problem, counted_sample, session.plan.total_mu):
        return fit
    session.sample_dropped = True
    return fit.noted("events are rare: all records were read where a sample was planned")


def _without_correction_of_few(session: FitSession, fit: Fit) -> Fit:
    """Drop the planned correction if events are rare, or if the weights of records are small."""
    problem, geometry = session.problem, fit.geometry
    if "contribution rounds" not in session.stages:
        return fit
    # If records have weights, the number of rows is their total weight now.
    light = problem.has_weights and problem.n_rows * session.plan.total_mu < MOSTLY_NOISE
    beside = problem.has_offset or problem.has_weights
    each = EVENTS_BESIDE if beside else EVENTS_FOR_CORRECTION
    needed = (each if problem.link.log else OUTCOMES_FOR_CORRECTION) * problem.size
    rare = False
    if problem.intercept:
        score = weights_at_mean(fit.weights, geometry.mean_target, problem.link)[-1]
        events = float(session.loss.expected_curvature(score)) * problem.n_rows
        rare = events * session.plan.total_mu < needed
    if not (light or rare):
        return fit
    session.drop(CORRECTION_OF_LIKELIHOOD)
    why = "the total weight is small" if light else "events are rare"
    return fit.noted(f"{why}: the rounds got what a correction was planned for")


HALF_STEP = 0.5  # half the step of the numerical derivative of slopes in curvatures, in scores
RESIDUAL_HALF_STEP = 0.25  # the same for a residual, in half interquartile ranges
# For the curvature, rows are cut at the first number times the row limit. It is not released if its
# noise exceeds the second number times the present curvature. Both were chosen by trial.
ROW_CAP, CURVATURE_NOISE = 2.0, 0.3
SMOOTHED = 0.5  # factor of the window of a quantile loss, in scales of residuals


def start_phase(session: FitSession, fit: Fit, phase: int) -> Fit | None:
    """Start a phase: make its releases and choose clip levels; None if noise hides them."""
    if session.problem.link.residual and not fit.clipping.rows.seen:
        return None
    fit = replace(fit, phase=phase, shortening=replace(fit.shortening, last=None))
    if fit.iterates:
        fit = averaged(fit)
        if phase == HALFWAY and "choice of bounds" in session.stages:
            fit = choose_bound(session, fit)
    if phase in session.shares.curvature_phases:
        fit = update_curvature(session, fit)
    if phase in session.shares.diagnostic_phases:
        if (
            session.problem.link.curved
        ):  # lengths are weighted by curvatures, which depend on the fit
            fit = release_row_norms(session, fit)
        if "slopes" in session.stages:
            fit = release_residuals(session, fit)
    seen = fit.clipping.slopes.seen or "slopes" not in session.stages
    return choose_clip_levels(session, fit) if seen and fit.clipping.rows.seen else None


def release_row_norms(session: FitSession, fit: Fit) -> Fit:
    """Release the lengths of whitened rows; use them if they stand out of the noise."""
    problem, link, geometry = session.problem, session.problem.link, fit.geometry
    # At the first constant the curvature of a log link is the same for all records, so each record
    # counts in full.
    same_score_everywhere = problem.intercept and not problem.has_offset and not fit.iterates
    equal_curvature = link.log and same_score_everywhere
    weighted = (link.curved and not equal_curvature) or geometry.curvature_released
    weights = curvature_weighting(session, fit) if weighted else Weighting()
    query = WhitenedHistogram(geometry.view, "length", ROW_NORM_BINS, weights)
    state = fit.weights if weighted else None
    counts, noise_std = session.histograms(query, state, session.stages["whitened row norms"])
    # Weights and their noise differ from phase to phase, the lengths hardly.
    bulk = fit.clipping.rows.distribution.bulk
    distribution = NoisyDistribution.of(counts, ROW_NORM_BINS, noise_std, held=[bulk])
    weight = 1.0
    if equal_curvature:
        weight = float(geometry.loss.expected_curvature(fit.weights[-1]))
    elif link.curved:
        weight = geometry.largest_curvature * distribution.total / problem.n_rows
    rows = RowNormDistribution(distribution, geometry.whitening.effective_dim, weight, geometry.cap)
    return replace(fit, clipping=replace(fit.clipping, rows=rows)) if rows.seen else fit


def release_residuals(session: FitSession, fit: Fit) -> Fit:
    """Release the distribution of residuals, or of slopes if residuals do not determine them."""
    geometry, previous, curved = fit.geometry, fit.clipping.slopes, session.problem.link.curved
    bins = SLOPE_BINS
    if previous.seen and geometry.loss.bounds_slopes:
        # Near zero a bin is a quarter of the target's scale wide, but residuals may be far smaller.
        bins = replace(bins, unit=min(1.0, previous.scale))
    query = WhitenedHistogram(geometry.view, "slope" if curved else "residual", bins)
    early = fit.phase < session.shares.early and "early slopes" in session.stages
    stage = session.stages["early slopes" if early else "slopes"]
    counts, noise_std = session.histograms(query, fit.weights, stage)
    unbounded = not (curved or geometry.loss.bounds_slopes)
    earlier = previous.distribution if unbounded or curved else None
    distribution = NoisyDistribution.of(counts, bins, noise_std, earlier)
    new_fit, weights = fit, fit.weights
    # A single histogram before all rounds is planned if records are few: then rounds move little.
    single = unbounded and not fit.iterates and len(session.shares.diagnostic_phases) == 1
    if single and session.problem.intercept and distribution.significance > SIGNIFICANT:
        center = distribution.quantile(0.5)
        distribution = distribution.shifted_by(-center)
        weights = weights - center * np.eye(weights.size)[-1]
        if abs(center) > SlopeDistribution(None, distribution).spread:
            # If its location was not seen, the target may be farther away than rounds can move.
            new_fit = replace(fit, weights=weights, constant_moved=True)
    loss = geometry.loss
    if not curved:
        # If columns explain most of the target, the window of a quantile loss in units of the
        # target would include most residuals. So the window is in units of residuals.
        scale = SlopeDistribution(None, distribution).scale
        loss = session.loss.narrowed(SMOOTHED * min(1.0, scale))
    slopes = SlopeDistribution(None if curved else loss, distribution)
    power = loss.variance_power if curved else None
    if power is not None and power > 1.0:
        # The first constant, or the rounds so far, make slopes up to this limit average zero.
        slope_limit = abs(float(loss.slope(math.log(geometry.mean_target), HEADROOM)))
        slope_limit = max(slope_limit, fit.clipping.slope_limit) if fit.iterates else slope_limit
        fall = (power - 1.0) / max(fit.clipping.rows.weight, 1e-300)
        slopes = replace(slopes, fall=fall, reach=slope_limit)
    if not slopes.seen:
        return new_fit
    clipping = replace(fit.clipping, slopes=slopes)
    geometry = replace(geometry, loss=loss)
    return replace(new_fit, clipping=clipping, geometry=geometry, residuals_of=weights)


def choose_clip_levels(session: FitSession, fit: Fit) -> Fit:
    """Choose clip levels for all planned rounds that read the same records as this phase."""
    rows, slopes, shift = fit.clipping.rows, fit.clipping.slopes, fit.geometry.shift
    if session.problem.link.curved and slopes.seen:
        # With a log link the clipping bias lies along the constant, whose whitened direction has
        # this squared length.
        shift = 1.0 / rows.weight if fit.geometry.curvature_released else 1.0
    elif session.loss.bounds_slopes:
        shift = 1.0  # cutting them further moves the optimum
    clipping = choose_clip(
        rows,
        slopes,
        n_rows=session.n_rows(session.round(fit.phase)),
        mu=session.rounds_mu(fit.phase),
        evenness=session.evenness,
        shift=shift,
    )
    return replace(fit, clipping=clipping)


def curvature_weighting(session: FitSession, fit: Fit, limit: float = 0.0) -> Weighting:
    """Return the weighting of records by the derivative of their slope.

    Slopes are clipped at ``limit``, or at the limit of the fit if that is larger.
    """
    limit = max(limit, fit.clipping.slope_limit)
    if session.problem.link.curved:
        half_step, bound = HALF_STEP, fit.geometry.largest_curvature
        limit = max(limit, bound)
    else:
        half_step = max(RESIDUAL_HALF_STEP * fit.clipping.slopes.spread, 1e-9)
        bound = min(fit.geometry.loss.curvature_bound(), limit / half_step)
    # Without a canonical link the curvature depends on the target and has no bound.
    expected = session.problem.link.curved and not fit.geometry.loss.canonical
    kind = "expected-curvature" if expected else "curvature"
    return Weighting(kind=kind, slope_limit=limit, half_step=half_step, bound=bound)


def update_curvature(session: FitSession, fit: Fit) -> Fit:
    """Release the curvature at the present fit and whiten by it; skip it if it is too noisy.

    Rows are cut at the largest limit for which the noise, known from public numbers, is small
    against the curvature that the release is to show: that of rows cut at the limit and the cap.
    """
    # The clip levels of this phase cut the curvature, so they are chosen before its release.
    fit = choose_clip_levels(session, fit)
    view, rows = fit.geometry.view, fit.clipping.rows
    stage, weights = session.stages["curvature"], curvature_weighting(session, fit)
    for limit in map(float, rows.limits[rows.limits <= fit.clipping.row_limit][::-1]):
        query = SecondMoments(view, limit, ROW_CAP * limit, weights)
        noise_edge = noise_level(session.noise_of(query, stage) * weights.bound, view.width)
        if noise_edge <= CURVATURE_NOISE * rows.second_moment(limit, query.row_cap):
            break
    else:
        return fit
    moments = session.ask(query, fit.weights, stage) * weights.bound
    whitened = whiten(moments, noise_edge, curved=True)
    cap = ROW_CAP * limit * float(np.sqrt((whitened.matrix**2).sum() / view.width))
    matrix, inverse = fit.geometry.matrix, fit.geometry.inverse
    diagonal = np.einsum("ij,ik,kj->j", inverse, moments, inverse)
    whitened = replace(whitened, matrix=matrix @ whitened.matrix, diagonal=diagonal)
    return fit.through(whitened, cap)
