"""Looking at rows and slopes through histograms, and at the curvature, between Newton steps.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); Ganesh, Haghifam, Steinke and
Thakurta 2023, Section 3 (a floor under the noised curvature).
"""

import math

import numpy as np

from tailguard.queries.second_moments import SecondMoments, Weighting
from tailguard.queries.whitened_histogram import WhitenedHistogram
from tailguard.solvers.whitened.fit import Fit
from tailguard.solvers.whitened.law import Law
from tailguard.solvers.whitened.levels import RowLaw, SlopeLaw, choose_clip
from tailguard.solvers.whitened.moments import noise_level, whiten
from tailguard.solvers.whitened.shares import LENGTH_BINS, SLOPE_BINS

__all__ = ["bend", "choose", "look_at_rows", "look_at_slopes"]

REACH = 0.5  # half the step of the slope's rise in a curvature weight, in scores
CAP = 2.0  # rows count in the curvature up to this many times the row limit
BEND_NOISE = 0.3  # a curvature noisier than this share of the present one is not released
SEEN = 4.0  # a histogram whose bulk stands out less tells nothing


def weighting(fit: Fit) -> Weighting:
    """Return how records count: by curvature where it varies.

    Examples
    --------
    >>> Weighting().kind
    'one'
    """
    if not fit.curved:
        return Weighting()
    limit = 1.0 if fit.clip is None else fit.clip.slope_limit
    bound = fit.largest_curvature
    return Weighting(kind="curvature", slope_limit=max(limit, bound), reach=REACH, bound=bound)


def look_at_rows(fit: Fit) -> bool:
    """Release row lengths and keep their law; say whether anything stood out of the noise.

    Examples
    --------
    >>> look_at_rows.__name__
    'look_at_rows'
    """
    mu = fit.mu("lengths")
    query = WhitenedHistogram(fit.view, "length", LENGTH_BINS, weighting(fit))
    counts = fit.purse.ask(query, fit.weights if fit.curved else None, mu)
    law = Law.of(counts, LENGTH_BINS, math.sqrt(2.0) / mu)
    if law.seen > SEEN:
        weight = fit.largest_curvature * law.total / fit.n_rows if fit.curved else 1.0
        fit.rows = RowLaw(law, fit.view.width, weight, fit.cap)
    return law.seen > SEEN


def look_at_slopes(fit: Fit) -> bool:
    """Release residuals, or slopes where these are no function of residuals; keep their law.

    Examples
    --------
    >>> look_at_slopes.__name__
    'look_at_slopes'
    """
    if not fit.has("slopes"):
        return True
    mu = fit.mu("slopes")
    query = WhitenedHistogram(fit.view, "slope" if fit.curved else "residual", SLOPE_BINS)
    law = Law.of(fit.purse.ask(query, fit.weights, mu), SLOPE_BINS, math.sqrt(2.0) / mu)
    if law.seen > SEEN:
        fit.slopes = SlopeLaw(None if fit.curved else fit.loss, law)
    return law.seen > SEEN


def choose(fit: Fit) -> None:
    """Choose clip levels for all rounds together.

    Examples
    --------
    >>> choose.__name__
    'choose'
    """
    assert fit.rows is not None
    shift = fit.shift
    if fit.curved and fit.slopes is not None:
        # A log link: what clipping takes from the mean is lost to the intercept first.
        shift = 1.0 / fit.rows.weight if fit.bent else 1.0
    fit.clip = choose_clip(
        fit.rows,
        fit.slopes or SlopeLaw.bounded(),
        n_rows=fit.n_rows,
        mu=fit.rounds_mu(0),
        floor=fit.floor,
        shift=shift,
    )


def bend(fit: Fit) -> bool:
    """Release the curvature at the present fit and whiten by it; skip it where noise forbids.

    The largest row limit whose noise, from public numbers, stays small against the released
    curvature is taken.

    Examples
    --------
    >>> bend.__name__
    'bend'
    """
    assert fit.clip is not None
    assert fit.rows is not None
    mu, weights = fit.mu("curvature"), weighting(fit)
    for limit in map(float, fit.rows.limits[fit.rows.limits <= fit.clip.row_limit][::-1]):
        query = SecondMoments(fit.view, limit, CAP * limit, weights)
        noise_std = query.noise_std(fit.n_rows, fit.n_features, mu) * fit.largest_curvature
        level = noise_level(noise_std, fit.view.width)
        if level <= BEND_NOISE * fit.rows.curvature(limit):
            break
    else:
        return False
    moments = fit.purse.ask(query, fit.weights, mu) * fit.largest_curvature
    matrix = whiten(moments, level).matrix
    fit.view = fit.view.through(fit.view.whitening @ matrix)
    fit.bent, fit.cap = True, CAP * limit * float(np.sqrt((matrix**2).sum() / fit.view.width))
    return True
