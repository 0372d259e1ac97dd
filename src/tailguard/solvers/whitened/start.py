"""From released units to a first fit: row norms, second moments, whitening, a constant.

Reference
---------
Wang 2018, Algorithm 2 (regression from noised second moments); McCullagh and Nelder 1989, Section
2.2 (the constant fit of a generalised linear model).
"""

import math
from dataclasses import replace

import numpy as np

from tailguard.array_types import BoolArray, FloatArray
from tailguard.losses.balanced_logistic import BalancedLogistic
from tailguard.plans.problem import Problem
from tailguard.plans.stage import Stage
from tailguard.queries.clipped_scores import ClippedScores
from tailguard.queries.second_moments import SecondMoments
from tailguard.queries.units import Units
from tailguard.queries.view import View
from tailguard.queries.whitened_histogram import WhitenedHistogram
from tailguard.scaling.noisy_distribution import NoisyDistribution
from tailguard.scaling.units import UNITS
from tailguard.solvers.limits import centre_fraction
from tailguard.solvers.session import BudgetSession
from tailguard.solvers.whitened.allocation import SAMPLE_FOR_EVENTS, enough
from tailguard.solvers.whitened.clipping import RowNormDistribution
from tailguard.solvers.whitened.schedule import ROW_NORM_BINS, SLOPE_BINS, Shares
from tailguard.solvers.whitened.state import Fit
from tailguard.solvers.whitened.whitening import first_fit, noise_level, whiten

__all__ = ["best_constant", "fit_constant_only", "initialise", "keep_constant_only"]


BULK_LEVEL, TAIL_LEVEL, LARGEST_RATIO = (
    0.4,
    0.995,
    16.0,
)  # quantiles of row norms; a multiple of the first
MOMENT_NOISE = 0.05  # rows are bounded higher while noise stays below this share of a second moment
SIGNIFICANT = 4.0  # how far a target has to stand out before its quantile is believed
ZERO_MEAN_SCORE = -50.0  # a score at which every likelihood expects nothing
COUNT_SLOPE_LIMIT = 4.0  # limit of a count's slope for the first mean, in units of the target
# A mean is taken to be at least so many standard deviations of its noise: more where steps follow.
LEAST_FIRST_MEAN, LEAST_LAST_MEAN = 2.0, 0.5
HEADROOM = 4.0  # curvatures of a log link are told apart up to this many times the first mean


def initialise(
    session: BudgetSession,
    problem: Problem,
    shares: Shares,
    units: Units,
    detected: BoolArray,
) -> Fit:
    """Release second moments of bounded rows and start from what they tell.

    Columns whose scale was not seen are left out: their coefficient stays zero.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_run
    >>> from tailguard.scaling.units import find_units
    >>> from tailguard.solvers.problem_columns import columns_of
    >>> session, problem, shares = example_run(tg.losses.Squared())
    >>> fit = initialise(session, problem, shares, *find_units(session, columns_of(problem)))
    >>> fit.view.whitening.shape, bool(fit.weights[0] > 0.0 > fit.weights[1])
    ((3, 3), True)
    """
    residual = problem.link.residual
    size, d = problem.size, problem.n_features
    alive = np.concatenate([detected[:d], np.ones(1 + residual)]).astype(np.float64)
    later = (stage.total_mu**2 for stage in session.plan.stages if stage.name not in UNITS)
    unspent_mu = session.left(reserve=math.sqrt(sum(later)))
    # The constant is measured also where it is no coefficient: it tells the mean row.
    view = View(
        problem.scored, replace(units, intercept=True), np.diag(alive), residual, shares.bound
    )
    moments, noise_std = _moments(session, problem, view)
    used = np.flatnonzero(alive[:size])
    whitening = np.zeros((size, used.size))
    level = noise_level(noise_std, used.size)
    whitened = whiten(moments[np.ix_(used, used)], level, curved=not residual)
    whitening[used] = whitened.matrix
    weights = np.zeros(size)
    if residual:
        weights = first_fit(whitening, moments[:size, -1], noise_std)
    view = View(problem.scored, units, whitening, bound=shares.bound)
    mean_row, variance_inflation = moments[:size, d], whitened.variance_inflation(level)
    fit = Fit(
        session,
        problem,
        shares,
        view,
        weights,
        mean_row,
        whitened.effective_dim,
        variance_inflation,
    )
    fit.reallocate(unspent_mu)
    if not problem.intercept:
        _without_constant(fit, noise_std)
    if not residual:
        _start_at_constant(fit)
    if shares.balanced:
        fit.view = replace(view, loss=BalancedLogistic())
    return fit


def _moments(session: BudgetSession, problem: Problem, view: View) -> tuple[FloatArray, float]:
    """Release second moments of rows bounded by a released norm; return their noise, too."""
    lengths = WhitenedHistogram(view, "length", ROW_NORM_BINS)
    counts, noise_std = session.histograms(lengths, None, session.plan.stage("row norms"))
    distribution = NoisyDistribution.of(counts, ROW_NORM_BINS, noise_std)
    stage, width = session.plan.stage("second moments"), view.width
    limit = distribution.quantile(BULK_LEVEL)
    for edge in map(float, distribution.edges[distribution.edges > limit]):
        query = SecondMoments(view, edge, edge)
        noise = noise_level(query.noise_std(problem.n_rows, problem.n_features, stage.mu), width)
        moment = distribution.mean(np.minimum(distribution.points, edge) ** 2) / width
        if noise > MOMENT_NOISE * moment or edge > min(
            distribution.quantile(TAIL_LEVEL), LARGEST_RATIO * limit
        ):
            break
        limit = edge
    query = SecondMoments(view, limit, limit)
    noise_std = query.noise_std(problem.n_rows, problem.n_features, stage.mu)
    return session.ask(query, None, stage), noise_std


def _without_constant(fit: Fit, noise_std: float) -> None:
    """Tell how far rows lie from zero; start a log link where they reach the target's scale."""
    whitening = fit.view.whitening
    mean = whitening.T @ fit.mean_row
    square = float(mean @ mean)
    shift = max(0.0, square - noise_std**2 / 2.0 * float((whitening**2).sum()))
    if not fit.link.curved:
        fit.shift = shift
    elif fit.link.log and shift > 0.0:
        fit.weights = whitening @ (mean * _typical_score(fit) * shift / square)


def _typical_score(fit: Fit) -> float:
    """Return what scores beside the offsets have to be for the typical target."""
    if not fit.problem.has_offset:
        return fit.view.units.offset_center
    mean, _, exposed = _means(fit, fit.stage("constant"), LEAST_FIRST_MEAN)
    return math.log(mean / exposed)


def _start_at_constant(fit: Fit) -> None:
    """Start a likelihood at its best constant, and bound curvatures by what that tells."""
    fit.largest_curvature = HEADROOM if fit.link.log else 0.25
    if not fit.problem.intercept:
        return
    mean = _best_constant(fit, fit.stage("constant"), LEAST_FIRST_MEAN)
    if fit.link.log:
        fit.largest_curvature = HEADROOM * mean
    told = min(mean, 1.0) if fit.link.log else 4.0 * mean * (1.0 - mean)
    events = told * fit.shares.sample / SAMPLE_FOR_EVENTS
    if fit.shares.sample and not enough(fit.problem, events, fit.session.plan.total_mu):
        fit.session.sample_dropped = True
        fit.notes.append("events are rare: all records were read where a sample was planned")


def keep_constant_only(fit: Fit) -> bool:
    """Leave all but the constant out, whose rows have length one; say whether there is one.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> fit = example_fit(tg.losses.Squared())
    >>> keep_constant_only(fit), fit.view.width, fit.weights
    (True, 1, array([0., 0., 0.]))
    """
    if fit.problem.intercept:
        fit.view = fit.view.through(np.eye(fit.view.height)[:, -1:])
        fit.effective_dim, fit.variance_inflation = 1.0, np.ones(1)
        one = np.ones(1)
        fit.rows = RowNormDistribution(
            NoisyDistribution(one, one, 1.0, math.inf, np.array([0.0, 1.0])), 1.0
        )
    fit.notes.append("row norms could not be told from noise: only a constant is fitted")
    fit.weights = np.zeros(fit.view.height)
    return fit.problem.intercept


def fit_constant_only(fit: Fit) -> None:
    """Take nothing but a constant where no round came about.

    A likelihood's is asked for once more, with all that is left; of other losses it is the target's
    centre.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> fit = example_fit(tg.losses.Squared())
    >>> fit_constant_only(fit)
    >>> fit.weights, fit.notes
    (array([0., 0., 0.]), ['residuals could not be told from noise: the fit is a constant'])
    """
    if not fit.link.curved and not fit.iterates:
        fit.weights = np.zeros(fit.view.height)
        fit.notes.append("residuals could not be told from noise: the fit is a constant")
        level = centre_fraction(fit.loss)
        if level != 0.5 and fit.problem.intercept:
            _quantile(fit, level)
    if fit.link.curved and fit.problem.intercept and not fit.iterates:
        fit.view = replace(fit.view, loss=fit.problem.scored)
        best_constant(fit)
        fit.notes.append(
            "row norms could not be told from noise: the fit is a constant, released once more"
        )


def best_constant(fit: Fit) -> None:
    """Take the best constant of a likelihood, with all that is left of the budget.

    Examples
    --------
    >>> import tailguard as tg
    >>> y = (np.arange(1000) < 800) * 1.0
    >>> model = tg.LogisticRegression(guarantee=tg.GDP(0.01), random_state=0)
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     model = model.fit(np.ones((1000, 2)), y)  # only a constant
    >>> bool(model.intercept_ > 0.5)
    True
    """
    questions = 2 if fit.link.log and fit.problem.has_offset else 1
    stage = replace(fit.stage("constant"), mu=fit.session.rest(questions).mu)
    _best_constant(fit, stage, LEAST_LAST_MEAN)


def _quantile(fit: Fit, level: float) -> None:
    """Ask residuals of the target's centre for its quantile, with all that is left."""
    query = WhitenedHistogram(fit.view, "residual", SLOPE_BINS)
    counts, noise_std = fit.session.histograms(query, fit.weights, fit.session.rest())
    distribution = NoisyDistribution.of(counts, SLOPE_BINS, noise_std)
    if distribution.significance > SIGNIFICANT:
        fit.weights[-1] = -distribution.quantile(1.0 - level)


def _best_constant(fit: Fit, stage: Stage, least: float) -> float:
    """Start at the mean target, or at ``least`` of its noise standard deviations."""
    mean, noise, exposed = _means(fit, stage, least)
    if fit.link.log:
        mean = mean / exposed
        fit.weights[-1] = math.log(mean)
    else:
        noise = min(noise, 0.5)
        mean = min(max(mean, noise), 1.0 - noise)
        fit.weights[-1] = math.log(mean / (1.0 - mean))
    return mean


def _means(fit: Fit, stage: Stage, least: float) -> tuple[float, float, float]:
    """Ask for the mean target and, with offsets, the mean exposure; return noise between them.

    A count's mean is ``least`` of its noise standard deviations at least.
    """
    size = fit.n_features + 1
    last = np.eye(size)[:, -1:]
    view = replace(fit.view, units=replace(fit.view.units, intercept=True), whitening=last)
    query = ClippedScores(view, 1.0, (COUNT_SLOPE_LIMIT if fit.link.log else 1.0,))
    noise = least * float(query.noise_std(fit.n_rows, fit.n_features, stage.mu)[0])
    mean, exposed = (
        -float(fit.session.ask(query, ZERO_MEAN_SCORE * last[:, 0], stage)[0, 0]),
        1.0,
    )
    if fit.link.log:
        if fit.problem.has_offset:
            exposed = float(fit.session.ask(query, np.zeros(size), stage)[0, 0]) + mean
        mean = max(mean, noise, 1e-12)
    return mean, noise, max(exposed, 0.1)
