"""Looking at rows and slopes through histograms, and at the curvature, between Newton steps.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); Ganesh, Haghifam, Steinke and
Thakurta 2023, Section 3 (a floor under the noised curvature).
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tailguard.losses.base import Loss
from tailguard.queries.score_ladder import ScoreLadder
from tailguard.queries.second_moments import SecondMoments, Weighting
from tailguard.queries.whitened_histogram import WhitenedHistogram
from tailguard.solvers.whitened.bells import bell_of
from tailguard.solvers.whitened.fit import Fit
from tailguard.solvers.whitened.law import Law
from tailguard.solvers.whitened.leaning import Leaning
from tailguard.solvers.whitened.levels import RowLaw, SlopeLaw, choose_clip
from tailguard.solvers.whitened.moments import noise_level, whiten
from tailguard.solvers.whitened.stages import CORRECTION, LENGTH_BINS, SLOPE_BINS, rounds_of

__all__ = [
    "CAP",
    "bend",
    "choose",
    "look_at_leaning",
    "look_at_rows",
    "look_at_slopes",
    "prepare",
    "weighting",
]

FloatArray = NDArray[np.float64]

REACH = 0.5  # half the step of the slope's rise in a curvature weight, in scores
NEAR = 0.25  # the same for a residual, in half interquartile ranges
CAP = 2.0  # rows count in the curvature up to this many times the row limit
BEND_NOISE = 0.3  # a curvature noisier than this share of the present one is not released
LEANING_PHASE = 2  # before which the leaning of residuals is released, after any curvature
SEEN = 4.0  # a histogram whose bulk stands out less tells nothing
# Noise of a bin, as share of all records, above which residuals are read as a bell, and the share
# of them that it has to hold. Noise makes a bell anywhere: what lies many target scales off, or
# spreads so far, has to stand out more.
COARSE, MOST = 0.025, 0.5
FEW_LOOKS = 2  # that are planned where noise may be so coarse
LIKELY, SURE = 16.0, 6.0
NORMAL_SPREAD = 0.6745  # of residuals as large as the target: half a normal interquartile range
NARROWEST = 1e-6  # part of the target's scale that is told from zero
SMOOTHED = 0.5  # part of a quantile's window, in units of residuals, that is kept


def weighting(fit: Fit) -> Weighting:
    """Return how records count by the curvature of their clipped slope.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> weighting(example_fit(tg.losses.Logistic()))
    Weighting(kind='curvature', slope_limit=1.0, reach=0.5, bound=0.25)
    """
    limit = 1.0 if fit.clip is None else fit.clip.slope_limit
    if fit.curved:
        reach, bound = REACH, fit.largest_curvature
        limit = max(limit, bound)
    else:
        assert fit.slopes is not None
        reach = max(NEAR * fit.slopes.spread, 1e-9)
        bound = min(fit.loss.curvature_bound(), limit / reach)
    return Weighting(kind="curvature", slope_limit=limit, reach=reach, bound=bound)


def look_at_rows(fit: Fit) -> bool:
    """Release row lengths and keep their law; say whether anything stood out of the noise.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> fit = example_fit(tg.losses.Squared())
    >>> look_at_rows(fit), 1.0 < fit.rows.law.quantile(0.5) < 2.0
    (True, True)
    """
    mu = fit.mu("lengths")
    # At its first constant a log link bends alike at all records, which then count in full.
    constant = fit.problem.intercept and not fit.problem.has_offset
    alike = fit.log_link and constant and not fit.arrivals
    weighted = (fit.curved and not alike) or fit.bent
    weights = weighting(fit) if weighted else Weighting()
    query = WhitenedHistogram(fit.bending, "length", LENGTH_BINS, weights)
    state = fit.weights if weighted else None
    counts, noise_std = fit.purse.histograms(query, state, mu, "lengths")
    law = Law.of(counts, LENGTH_BINS, noise_std)
    if law.seen > SEEN:
        weight = 1.0
        if alike:
            weight = math.exp(float(fit.weights[-1]))
        elif fit.curved:
            weight = fit.largest_curvature * law.total / fit.n_rows
        fit.rows = RowLaw(law, fit.effective, weight, fit.cap)
    return law.seen > SEEN


def look_at_slopes(fit: Fit) -> bool:
    """Release residuals, or slopes where these are no function of residuals; keep their law.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> fit = example_fit(tg.losses.Squared())
    >>> look_at_slopes(fit), fit.slopes.skewed
    (True, True)
    """
    if not fit.has("slopes"):
        return True
    stage = fit.now("slopes")
    bins = replace(SLOPE_BINS, unit=_unit(fit))
    query = WhitenedHistogram(fit.view, "slope" if fit.curved else "residual", bins)
    counts, noise_std = fit.purse.histograms(query, fit.weights, fit.mu(stage), stage)
    unbounded = not fit.curved and fit.loss.slope_bound() == np.inf
    few = unbounded and len(fit.shares.look) <= FEW_LOOKS
    law = _coarse_law(fit, counts, noise_std) if few else Law.of(counts, bins, noise_std)
    center = law.quantile(0.5) if unbounded and fit.problem.intercept else 0.0
    if few and law.seen > SEEN:
        law = law.moved(-center)
        if not fit.arrivals:
            _start_amid(fit, law, center)
        center = 0.0
    loss = fit.loss if fit.curved else _smoothed(fit, law)
    slopes = SlopeLaw(None if fit.curved else loss, law, center)
    told = law.seen > SEEN and slopes.limits.size > 0  # slopes may all be too small for floats
    # Rounds come nearer to the fit: residuals that seem larger after some than before are noise.
    wider = few and fit.slopes is not None and slopes.spread > fit.slopes.spread
    if told and not wider:
        fit.slopes, fit.view = slopes, replace(fit.view, loss=loss)
    return told


def _unit(fit: Fit) -> float:
    """Return in what residuals are counted: where slopes are bounded, what the last look told.

    Bins are as narrow as a quarter of the target's scale about zero, and columns may explain more.
    """
    if fit.slopes is None or not fit.slopes.levels_off:
        return 1.0
    return min(1.0, max(fit.slopes.spread / NORMAL_SPREAD, NARROWEST))


def _smoothed(fit: Fit, law: Law) -> Loss:
    """Return the loss; that of a quantile is smoothed over a share of residuals, not of targets.

    Where columns explain most of the target that window would hold most residuals, and what is
    fitted would be no quantile.
    """
    loss = fit.problem.scored
    assert loss is not None
    narrowed: Callable[[float], Loss] | None = getattr(loss, "narrowed", None)
    if narrowed is None:
        return loss
    spread = SlopeLaw(None, law).spread / NORMAL_SPREAD
    return narrowed(SMOOTHED * min(1.0, max(spread, NARROWEST)))


def _coarse_law(fit: Fit, counts: FloatArray, noise_std: float) -> Law:
    """Read residuals as a bell where the noise of a bin hides their law."""
    if noise_std <= COARSE * fit.n_rows:
        return Law.of(counts, SLOPE_BINS, noise_std)
    bell = bell_of(counts, SLOPE_BINS, fit.n_rows, noise_std)
    likely = max(abs(bell.center), bell.spread) < LIKELY
    told = bell.share > MOST and bell.seen > (SEEN if likely else SURE)
    return replace(bell.law(), seen=bell.seen if told else 0.0)


def _start_amid(fit: Fit, law: Law, center: float) -> None:
    """Start in the middle of the residuals, where that is clearly elsewhere.

    A target whose place was not seen lies some of its scales off, as far as rounds may not go.
    ``law`` is that of residuals about their middle.
    """
    if abs(center) > SlopeLaw(None, law).spread:
        fit.weights = fit.weights - center * np.eye(fit.view.height)[-1]
        fit.moved = True


def prepare(fit: Fit, phase: int) -> bool:
    """Begin a phase: look anew as planned and choose clip levels; say whether anything was seen.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> fit = example_fit(tg.losses.Logistic())
    >>> prepare(fit, phase=0), fit.clip.slope_limit
    (True, 1.0)
    """
    fit.phase = phase
    if fit.arrivals:
        fit.settle()
    bent = bend(fit) if phase in fit.shares.bend else False
    looks = phase in fit.shares.look
    # Weighted lengths move with the fit, others with the whitening alone.
    if looks if fit.curved else bent:
        look_at_rows(fit)
    if looks:
        look_at_slopes(fit)
    if fit.rows is None or (fit.slopes is None and fit.has("slopes")):
        return False
    choose(fit)
    if phase >= LEANING_PHASE and fit.has("leaning"):
        _decide(fit)
    return True


def _decide(fit: Fit) -> None:
    """Give up what would correct clipping, or not, by the last look; what was asked for is gone."""
    assert fit.slopes is not None
    asked = fit.leaning is not None
    if fit.shares.spare and not fit.slopes.skewed:
        fit.spared = CORRECTION[1:] if asked else CORRECTION
    else:
        fit.spared = ()
        if not asked:
            look_at_leaning(fit)
    choose(fit)


def look_at_leaning(fit: Fit) -> None:
    """Release along which rows residuals are large.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> fit = example_fit(tg.losses.Squared(), phase=0)
    >>> look_at_leaning(fit)
    >>> fit.leaning.mean.shape, fit.leaning.noise_std < 0.01
    ((3,), True)
    """
    assert fit.clip is not None
    assert fit.slopes is not None
    limit, mu = fit.clip.slope_limit, fit.mu("leaning")
    query = ScoreLadder(fit.view, fit.clip.row_limit, (limit,), magnitudes=True)
    mean = fit.purse.ask(query, fit.weights, mu, "leaning")[0]
    noise_std = float(query.noise_std(fit.n_rows, fit.n_features, mu)[0])
    typical = max(fit.slopes.size(limit), 1e-300)
    fit.leaning = Leaning(mean / typical, noise_std / typical)


def choose(fit: Fit) -> None:
    """Choose clip levels for all rounds that were planned to read what those of this phase do.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> fit = example_fit(tg.losses.Squared(), phase=0)
    >>> fit.clip = None
    >>> choose(fit)
    >>> 0.5 < fit.clip.slope_limit < 3.0
    True
    """
    assert fit.rows is not None
    shift, leaning = fit.shift, 0.0
    if fit.curved and fit.slopes is not None:
        # A log link: what clipping takes from the mean is lost to the intercept first.
        shift = 1.0 / fit.rows.weight if fit.bent else 1.0
    if fit.leaning is not None:
        leaning = fit.leaning.expected_beside(fit.calibration_basis())
    fit.clip = choose_clip(
        fit.rows,
        fit.slopes or SlopeLaw.bounded(fit.loss.slope_bound()),
        n_rows=fit.purse.n_rows(rounds_of(fit.phase)),
        mu=fit.rounds_mu(),
        shift=shift,
        leaning=leaning,
    )


def bend(fit: Fit) -> bool:
    """Release the curvature at the present fit and whiten by it; skip it where noise forbids.

    It varies with the score, or with the row where long rows come with large residuals: then a
    residual within its limit is rare along these rows, and a step that does not know is too short.

    The largest row limit whose noise, from public numbers, stays small against the released
    curvature is taken.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> fit = example_fit(tg.losses.Logistic(), phase=0)
    >>> bend(fit), fit.bent
    (True, True)
    """
    choose(fit)  # the first round that reads all records clips higher than those before it
    assert fit.clip is not None
    assert fit.rows is not None
    mu, weights = fit.mu("curvature"), weighting(fit)
    kept = 1.0 if fit.slopes is None or fit.curved else fit.slopes.curvature(fit.clip.slope_limit)
    for limit in map(float, fit.rows.limits[fit.rows.limits <= fit.clip.row_limit][::-1]):
        query = SecondMoments(fit.bending, limit, CAP * limit, weights)
        noise_std = query.noise_std(fit.n_rows, fit.n_features, mu) * weights.bound
        level = noise_level(noise_std, fit.view.width)
        if level <= BEND_NOISE * kept * fit.rows.curvature(limit):
            break
    else:
        return False
    moments = fit.purse.ask(query, fit.weights, mu, "curvature") * weights.bound
    whitened = whiten(moments, level, curved=fit.curved)
    matrix, fit.effective = whitened.matrix, whitened.effective
    fit.stretch = whitened.stretch(level)
    fit.view = fit.view.through(fit.view.whitening @ matrix)
    fit.bent, fit.cap = True, CAP * limit * float(np.sqrt((matrix**2).sum() / fit.view.width))
    return True
