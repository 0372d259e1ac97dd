"""The last correction for squared and log-link losses: the mean, and the slope of the fitted score.

Clipping mostly takes from two directions: a constant (skewed residuals) and the fitted score
(spread that grows with the mean). Two coordinates carry little noise, so residuals can be clipped
far higher there than in all directions, and the level grows with ``n * mu``.

Reference
---------
Cox 1958 (recalibration by intercept and slope); Stein 1981 for the choice of level.
"""

import itertools

import numpy as np

from tailguard.queries.score_ladder import ScoreLadder
from tailguard.solvers.whitened.fit import Fit
from tailguard.solvers.whitened.ladder import Reading, levels_up_to, shares_of
from tailguard.solvers.whitened.levels import LEANING, top_level
from tailguard.solvers.whitened.moments import shrunk
from tailguard.solvers.whitened.shares import LADDER_LEVELS

__all__ = ["calibrate"]

ROW_LIMIT = 1.5  # the typical length of a constant and a standardised score is sqrt(2)
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
    kept = fit.slopes.curvature(levels[best]) / max(fit.slopes.curvature(first), 1e-12)
    curvature = fit.clip.curvature * max(kept, 0.1)
    way = -total * shrunk(total, 2.0 * float(variances[: best + 1].sum())) / curvature
    if fit.curved:
        way *= min(1.0, LONGEST / max(float(np.linalg.norm(way)), 1e-300))
    fit.weights = fit.weights + fit.view.whitening @ (basis @ way)
    variance = noise[: best + 1] @ noise[: best + 1]
    variance += fit.slopes.gap(0.0, levels[best]) / fit.n_rows
    # What even this level may take from the mean is an error of unknown sign.
    errors_left = np.array([LEANING * fit.slopes.lost(levels[best]) * fit.slopes.skewed, 0.0])
    fit.calibrated = basis * (np.sqrt(float(variance) + errors_left**2) / curvature)
    fit.notes.append(f"mean and fitted score were calibrated at {levels[best]:.3g} target scales")
