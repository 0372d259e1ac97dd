"""The last correction for squared and log-link losses: the mean, and the slope of the fitted score.

Clipping mostly takes from two directions: a constant (skewed residuals) and the fitted score
(spread that grows with the mean). Two coordinates carry little noise, so residuals can be clipped
far higher there than in all directions, and the level grows with ``n * mu``.

Reference
---------
Cox 1958 (recalibration by intercept and slope); Stein 1981 for the choice of level.
"""

import itertools
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tailguard.queries.score_ladder import ScoreLadder
from tailguard.queries.second_moments import SecondMoments
from tailguard.queries.view import View
from tailguard.solvers.whitened.fit import Fit
from tailguard.solvers.whitened.ladder import Reading, levels_up_to, shares_of
from tailguard.solvers.whitened.levels import top_level
from tailguard.solvers.whitened.looking import CAP, weighting
from tailguard.solvers.whitened.moments import noise_level, shrunk
from tailguard.solvers.whitened.purse import usable
from tailguard.solvers.whitened.stages import LADDER_LEVELS
from tailguard.solvers.whitened.variance import clipped_variance, squared_bias

__all__ = ["calibrate"]

FloatArray = NDArray[np.float64]

ROW_LIMIT = 1.5  # the typical length of a constant and a standardised score is sqrt(2)
# Evidence against the fit counts beyond this many times its variance; symmetric residuals are not
# biased by clipping, and in few dimensions the correction is noisier than the fit (training family:
# T04, T16), so more is asked for there.
SURE, SURER = 1.0, 3.0
FLATTEST = 0.1  # share of the curvature of all directions that these two have at least
LONGEST = 1.0  # a correction of a log link goes no further


def calibrate(fit: Fit) -> None:
    """Move the fit in two directions to where scores clipped far higher average zero.

    Examples
    --------
    >>> calibrate.__name__
    'calibrate'
    """
    assert fit.clip is not None
    assert fit.slopes is not None
    basis = fit.calibration_basis()
    mu, first = fit.mu("calibration"), fit.clip.slope_limit
    top = top_level(fit.slopes, ROW_LIMIT, basis.shape[1], fit.n_rows, mu)
    levels = levels_up_to(first, top, LADDER_LEVELS)
    view = fit.view.through(fit.view.whitening @ basis)
    query = ScoreLadder(view, ROW_LIMIT, levels, shares_of(levels))
    scores = fit.purse.ask(query, fit.weights, mu)
    noise = query.noise_std(fit.n_rows, fit.n_features, mu)
    edges = (0.0, *levels)
    gaps = np.array([fit.slopes.gap(*pair) for pair in itertools.pairwise(edges)])
    variances = noise**2 + gaps / fit.n_rows
    biases = Reading(scores[1:], variances[1:]).squared_biases(skewed=fit.slopes.skewed)
    errors = [2.0 * variances[: k + 1].sum() + biases[k] for k in range(len(levels))]
    best = int(np.argmin(errors))
    total = scores[: best + 1].sum(axis=0)
    curvature = _curvature(fit, view, levels[best])
    sure = SURE if fit.slopes.skewed else SURER
    kept = shrunk(total, sure * 2.0 * float(variances[: best + 1].sum()))
    way = -np.linalg.solve(curvature, total * kept)
    if fit.curved:
        way *= min(1.0, LONGEST / max(float(np.linalg.norm(way)), 1e-300))
    fit.weights = usable(fit.weights + fit.view.whitening @ (basis @ way))
    variance = float(noise[: best + 1] @ noise[: best + 1])
    variance += clipped_variance(fit.slopes, levels[best]) / fit.n_rows
    above = scores[best + 1 :].sum(axis=0), float(variances[best + 1 :].sum())
    left = squared_bias(fit.slopes, levels[best], levels[-1], *above)
    fit.calibrated = basis * (np.sqrt(variance + left) / np.diag(curvature))
    fit.notes.append(f"mean and fitted score were calibrated at {levels[best]:.3g} target scales")


def _curvature(fit: Fit, view: View, level: float) -> FloatArray:
    """Release the curvature in the two directions; raise what noise leaves of it."""
    assert fit.clip is not None
    weights = replace(weighting(fit), slope_limit=level)
    query = SecondMoments(view, ROW_LIMIT, CAP * ROW_LIMIT, weights)
    mu = fit.mu("calibration curvature")
    noise = query.noise_std(fit.n_rows, fit.n_features, mu) * weights.bound
    released = fit.purse.ask(query, fit.weights, mu) * weights.bound
    values, vectors = np.linalg.eigh(released)
    least = max(noise_level(noise, view.width), FLATTEST * fit.clip.curvature)
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)
