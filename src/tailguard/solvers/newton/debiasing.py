"""The last correction of unbounded slopes, along what clipping takes most from.

These are a constant (skewed residuals) and the fitted score (spread that grows with the mean). So
few coordinates carry little noise, so that residuals can be clipped far higher there than in all
directions, and the level grows with ``n * mu``.

Reference
---------
Cox 1958 (recalibration by intercept and slope); Efron and Morris 1973 (empirical Bayes).
"""

import math
from dataclasses import replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.queries.level_gradients import LevelGradients
from tailguard.solvers.newton.clipping import top_level
from tailguard.solvers.newton.fit_session import FitSession
from tailguard.solvers.newton.state import Fit
from tailguard.solvers.session import usable

ROW_LIMIT = 1.5  # the typical length of a constant and a standardised score is sqrt(2)
# Of what clipping may take from the mean slope, the parts expected along the constant and along the
# fitted score. What fits lose with these is in docs/trials.md#rules-taken-out.
EXPECTED = (1.0, 1.0 / 3.0)


def debias(session: FitSession, fit: Fit) -> Fit:
    """Move the fit in two directions towards where gradients clipped far higher average zero.

    Before it is asked for, what is wrong along each is expected to be as large as the noise of the
    rounds and what their cut may have missed; or as large as it then turns out to be. It stays
    where it is if that was not planned.
    """
    slopes, geometry, limit = fit.clipping.slopes, fit.geometry, fit.clipping.slope_limit
    if not (session.plans("debiasing") and slopes.seen and fit.iterates):
        return fit
    n_rows, basis = session.problem.n_rows, directions(fit)
    stage, width = session.stage("debiasing"), basis.shape[1]
    level = max(top_level(slopes, ROW_LIMIT, width, n_rows, stage.mu), limit)
    query = LevelGradients(geometry.view.through(geometry.matrix @ basis), ROW_LIMIT, (level,))
    gradient = session.ask(query, fit.weights, stage)[0]
    # Whitened rows have second moments of one at most: no step is too long.
    curved = geometry.loss.link.curved
    rise = fit.clipping.whole_curvature if curved else slopes.curvature(math.inf)
    rise = max(rise, 1e-300)
    noise_std = float(query.noise_std(n_rows, session.problem.n_features, stage.mu)[0]) / rise
    pull = basis.T @ fit.pull
    damping = np.linalg.inv(np.eye(width) + pull @ basis)  # by the ridge
    wrong = damping @ (gradient / rise + pull @ fit.whitened)
    covariance = noise_std**2 * damping @ damping.T
    own, expected = basis.T @ fit.noise, np.array(EXPECTED[:width]) / rise
    prior = (own**2).sum(axis=1) + (expected * slopes.missed(limit)) ** 2
    prior = np.diag(np.maximum(prior, wrong**2 - np.diag(covariance)))
    part = prior @ np.linalg.inv(prior + covariance)
    part /= max(1.0, float(np.linalg.norm(part @ wrong)) * curved)  # Newton's map is local there
    weights = usable(fit.weights - geometry.matrix @ (basis @ part @ wrong))
    beyond = np.diag(expected * slopes.missed(level))
    noise = [fit.noise - basis @ part @ own, basis @ part @ (noise_std * damping)]
    moved = replace(fit, weights=weights, noise=np.hstack([*noise, basis @ part @ beyond]))
    which = "mean and fitted score were" if width > 1 else "the mean was"
    return moved.noted(f"{which} debiased, with residuals clipped at {level:.3g} target scales")


def directions(fit: Fit) -> FloatArray:
    """Return an orthonormal basis: of the constant, or the mean row, and of the fitted score.

    The first alone for a likelihood whose curvature was not released.
    """
    geometry = fit.geometry
    constant, mean_row = geometry.inverse[:, -1], geometry.matrix.T @ geometry.mean_row
    first = constant if geometry.units.intercept else mean_row
    told = geometry.curvature_released or not geometry.loss.link.curved
    basis, _ = np.linalg.qr(np.column_stack([first, fit.whitened] if told else [first]))
    return np.asarray(basis)
