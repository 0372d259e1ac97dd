"""Diagnostics between Newton steps: histograms of rows and slopes, and the curvature.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); Ganesh, Haghifam, Steinke and
Thakurta 2023, Section 3 (a floor under the noised curvature).
"""

import math
from dataclasses import replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.losses.base import Loss
from tailguard.queries.second_moments import SecondMoments, Weighting
from tailguard.queries.whitened_histogram import WhitenedHistogram
from tailguard.scaling.location_scale_fit import fit_location_scale
from tailguard.scaling.noisy_distribution import NoisyDistribution
from tailguard.solvers.whitened.bound_choice import CHOICE, CHOICE_PHASE, choose_bound
from tailguard.solvers.whitened.clipping import (
    NORMAL_SPREAD,
    SMALLEST_SPREAD,
    RowNormDistribution,
    SlopeDistribution,
    choose_clip,
)
from tailguard.solvers.whitened.schedule import ROW_NORM_BINS, SLOPE_BINS
from tailguard.solvers.whitened.state import Fit
from tailguard.solvers.whitened.whitening import noise_level, whiten

__all__ = [
    "ROW_CAP",
    "choose_clip_levels",
    "curvature_weighting",
    "release_residuals",
    "release_row_norms",
    "start_phase",
    "update_curvature",
]


HALF_STEP = 0.5  # half the step of the slope's rise in a curvature weight, in scores
RESIDUAL_HALF_STEP = 0.25  # the same for a residual, in half interquartile ranges
ROW_CAP = 2.0  # rows count in the curvature up to this many times the row limit
CURVATURE_NOISE = 0.3  # a curvature noisier than this share of the present one is not released
SIGNIFICANT = 4.0  # a histogram whose bulk stands out less tells nothing
# Noise of a bin, as share of all records, above which residuals are read as a fitted curve, and the
# share of them that it has to hold. Noise makes a fitted curve anywhere: what lies many target
# scales off, or spreads so far, has to stand out more.
COARSE, MOST = 0.025, 0.5
FEW_HISTOGRAMS = 2  # that are planned where noise may be so coarse
LIKELY, SURE = 16.0, 6.0
SMOOTHED = 0.5  # part of a quantile's window, in units of residuals, that is kept


def curvature_weighting(fit: Fit) -> Weighting:
    """Return how records count by the curvature of their clipped slope.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> curvature_weighting(example_fit(tg.losses.Logistic()))
    Weighting(kind='curvature', slope_limit=1.0, half_step=0.5, bound=0.25)
    """
    limit = 1.0 if fit.clip is None else fit.clip.slope_limit
    if fit.link.curved:
        half_step, bound = HALF_STEP, fit.largest_curvature
        limit = max(limit, bound)
    else:
        assert fit.slopes is not None
        half_step = max(RESIDUAL_HALF_STEP * fit.slopes.spread, 1e-9)
        bound = min(fit.loss.curvature_bound(), limit / half_step)
    return Weighting(kind="curvature", slope_limit=limit, half_step=half_step, bound=bound)


def release_row_norms(fit: Fit) -> bool:
    """Release row lengths and keep their distribution; say whether anything stood out of the noise.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> fit = example_fit(tg.losses.Squared())
    >>> release_row_norms(fit), 1.0 < fit.rows.distribution.quantile(0.5) < 2.0
    (True, True)
    """
    stage = fit.stage("whitened row norms")
    # At its first constant the curvature of a log link is the same at all records, which then count
    # in full.
    constant = fit.problem.intercept and not fit.problem.has_offset
    alike = fit.link.log and constant and not fit.iterates
    weighted = (fit.link.curved and not alike) or fit.curvature_released
    weights = curvature_weighting(fit) if weighted else Weighting()
    query = WhitenedHistogram(fit.curvature_view, "length", ROW_NORM_BINS, weights)
    state = fit.weights if weighted else None
    counts, noise_std = fit.session.histograms(query, state, stage)
    distribution = NoisyDistribution.of(counts, ROW_NORM_BINS, noise_std)
    if distribution.significance > SIGNIFICANT:
        weight = 1.0
        if alike:
            weight = math.exp(float(fit.weights[-1]))
        elif fit.link.curved:
            weight = fit.largest_curvature * distribution.total / fit.n_rows
        fit.rows = RowNormDistribution(distribution, fit.effective_dim, weight, fit.cap)
    return distribution.significance > SIGNIFICANT


def release_residuals(fit: Fit) -> bool:
    """Release the distribution of residuals, or of slopes where these depend on more.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> fit = example_fit(tg.losses.Squared())
    >>> release_residuals(fit), fit.slopes.skewed
    (True, True)
    """
    if not fit.has("slopes"):
        return True
    stage = fit.current_stage("slopes")
    bins = replace(SLOPE_BINS, unit=_residual_unit(fit))
    query = WhitenedHistogram(fit.view, "slope" if fit.link.curved else "residual", bins)
    counts, noise_std = fit.session.histograms(query, fit.weights, stage)
    unbounded = not fit.link.curved and fit.loss.slope_bound() == np.inf
    few = unbounded and len(fit.shares.diagnostic_phases) <= FEW_HISTOGRAMS
    distribution = (
        _coarse_distribution(fit, counts, noise_std)
        if few
        else NoisyDistribution.of(counts, bins, noise_std)
    )
    center = distribution.quantile(0.5) if unbounded and fit.problem.intercept else 0.0
    if few and distribution.significance > SIGNIFICANT:
        distribution = distribution.shifted_by(-center)
        if not fit.iterates:
            _start_at_center(fit, distribution, center)
        center = 0.0
    loss = fit.loss if fit.link.curved else _smoothed(fit, distribution)
    slopes = SlopeDistribution(None if fit.link.curved else loss, distribution, center)
    # Slopes may all be too small for floats.
    detected = distribution.significance > SIGNIFICANT and slopes.limits.size > 0
    # Rounds come nearer to the fit: residuals that seem larger after some than before are noise.
    wider = few and fit.slopes is not None and slopes.spread > fit.slopes.spread
    if detected and not wider:
        fit.slopes, fit.view = slopes, replace(fit.view, loss=loss)
    return detected


def _residual_unit(fit: Fit) -> float:
    """Return the unit of residuals: where slopes are bounded, that of the last histogram.

    Bins are as narrow as a quarter of the target's scale about zero, and columns may explain more.
    """
    if fit.slopes is None or not fit.slopes.is_bounded:
        return 1.0
    return min(1.0, max(fit.slopes.spread / NORMAL_SPREAD, SMALLEST_SPREAD))


def _smoothed(fit: Fit, distribution: NoisyDistribution) -> Loss:
    """Return the loss; that of a quantile is smoothed over a share of residuals, not of targets.

    Where columns explain most of the target that window would hold most residuals, and what is
    fitted would be no quantile.
    """
    loss = fit.problem.scored
    assert loss is not None
    spread = SlopeDistribution(None, distribution).spread / NORMAL_SPREAD
    return loss.narrowed(SMOOTHED * min(1.0, max(spread, SMALLEST_SPREAD)))


def _coarse_distribution(fit: Fit, counts: FloatArray, noise_std: float) -> NoisyDistribution:
    """Read residuals as a fitted curve where the noise of a bin hides their distribution."""
    if noise_std <= COARSE * fit.n_rows:
        return NoisyDistribution.of(counts, SLOPE_BINS, noise_std)
    fitted = fit_location_scale(counts, SLOPE_BINS, fit.n_rows, noise_std)
    likely = max(abs(fitted.location), fitted.scale) < LIKELY
    detected = fitted.share > MOST and fitted.significance > (SIGNIFICANT if likely else SURE)
    return replace(fitted.distribution(), significance=fitted.significance if detected else 0.0)


def _start_at_center(fit: Fit, distribution: NoisyDistribution, center: float) -> None:
    """Start in the middle of the residuals, where that is clearly elsewhere.

    A target whose place was not seen lies some of its scales off, as far as rounds may not go.
    ``distribution`` is that of residuals about their middle.
    """
    if abs(center) > SlopeDistribution(None, distribution).spread:
        fit.weights = fit.weights - center * np.eye(fit.view.height)[-1]
        fit.constant_moved = True


def start_phase(fit: Fit, phase: int) -> bool:
    """Start a phase: release what is planned, choose clip levels; say whether that was possible.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> fit = example_fit(tg.losses.Logistic())
    >>> start_phase(fit, phase=0), fit.clip.slope_limit
    (True, 1.0)
    """
    fit.phase = phase
    if fit.iterates:
        fit.average_iterates()
    if phase == CHOICE_PHASE and fit.iterates and fit.has(CHOICE):
        choose_bound(fit)
    if phase in fit.shares.curvature_phases:
        update_curvature(fit)
    if phase in fit.shares.diagnostic_phases:
        if fit.link.curved:  # weighted lengths move with the fit
            release_row_norms(fit)
        release_residuals(fit)
    if fit.rows is None or (fit.slopes is None and fit.has("slopes")):
        return False
    choose_clip_levels(fit)
    return True


def choose_clip_levels(fit: Fit) -> None:
    """Choose clip levels for all rounds that were planned to read what those of this phase do.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> fit = example_fit(tg.losses.Squared(), phase=0)
    >>> fit.clip = None
    >>> choose_clip_levels(fit)
    >>> 0.5 < fit.clip.slope_limit < 3.0
    True
    """
    assert fit.rows is not None
    shift = fit.shift
    if fit.link.curved and fit.slopes is not None:
        # A log link: what clipping takes from the mean is lost to the intercept first.
        shift = 1.0 / fit.rows.weight if fit.curvature_released else 1.0
    fit.clip = choose_clip(
        fit.rows,
        fit.slopes or SlopeDistribution.bounded(fit.loss.slope_bound()),
        n_rows=fit.session.n_rows(*fit.rounds([fit.phase])),
        mu=fit.rounds_mu(),
        shift=shift,
        unbiased=fit.has("debiasing"),
    )


def update_curvature(fit: Fit) -> bool:
    """Release the curvature at the present fit and whiten by it; skip it where noise forbids.

    The largest row limit whose noise, from public numbers, stays small against the released
    curvature is taken.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> fit = example_fit(tg.losses.Logistic(), phase=0)
    >>> update_curvature(fit), fit.curvature_released
    (True, True)
    """
    choose_clip_levels(
        fit
    )  # the first round that reads all records clips higher than those before it
    assert fit.clip is not None
    assert fit.rows is not None
    stage, weights = fit.stage("curvature"), curvature_weighting(fit)
    for limit in map(float, fit.rows.limits[fit.rows.limits <= fit.clip.row_limit][::-1]):
        query = SecondMoments(fit.curvature_view, limit, ROW_CAP * limit, weights)
        noise_std = query.noise_std(fit.n_rows, fit.n_features, stage.mu) * weights.bound
        level = noise_level(noise_std, fit.view.width)
        if level <= CURVATURE_NOISE * fit.rows.curvature(limit):
            break
    else:
        return False
    moments = fit.session.ask(query, fit.weights, stage) * weights.bound
    whitened = whiten(moments, level, curved=True)
    matrix, fit.effective_dim = whitened.matrix, whitened.effective_dim
    fit.variance_inflation = whitened.variance_inflation(level)
    fit.view = fit.view.through(fit.view.whitening @ matrix)
    fit.curvature_released, fit.cap = (
        True,
        ROW_CAP * limit * float(np.sqrt((matrix**2).sum() / fit.view.width)),
    )
    return True
