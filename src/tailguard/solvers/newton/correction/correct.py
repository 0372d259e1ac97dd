"""The last correction: move the fit to where contributions, cut only far out, average zero.

The curvature of a likelihood varies with the fit, so it is released again after the early rounds.

Reference
---------
Lindley and Smith 1972 (Bayes estimates that combine two normal estimates of one vector).
"""

from dataclasses import replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.solvers.newton.correction.errors import Lean, estimated
from tailguard.solvers.newton.correction.released import (
    likely_metric,
    release_curvature,
    release_curvature_again,
    release_metric,
)
from tailguard.solvers.newton.correction.rounds import SETTLED, Rounds, run_rounds
from tailguard.solvers.newton.fit_session import FitSession
from tailguard.solvers.newton.state import Fit
from tailguard.solvers.session import usable

# The correction is skipped if rows beyond their cut have more second moment per coordinate.
MOST_LOST = 0.8


def correct(session: FitSession, fit: Fit) -> Fit:
    """Correct a fit if that was planned, and attach the estimate of its error."""
    if not session.plans("contribution rounds") or not fit.iterates:
        return fit
    early, late = session.stage("early contribution rounds"), session.stage("contribution rounds")
    curvature, stages = release_curvature(session, fit), [early, late]
    if session.loss.link.curved:
        with session.by_record():
            metric = likely_metric(session, fit, curvature)
            rounds = run_rounds(session, fit, curvature, metric, [early])
        weights, noise = _believed(fit, rounds, Lean.of(rounds))
        fit, stages = replace(fit, weights=weights, noise=noise), [late]
    curvature = release_curvature_again(session, fit, curvature)
    with session.by_record():
        metric = release_metric(session, fit, curvature)
        rounds = run_rounds(session, fit, curvature, metric, stages)
        lean = Lean.of(rounds)
        estimate = estimated(session, fit, rounds, lean)
    weights, noise = _believed(fit, rounds, lean)
    return replace(fit, weights=weights, noise=noise, estimate=estimate)


def _believed(fit: Fit, rounds: Rounds, lean: Lean) -> tuple[FloatArray, FloatArray]:
    """Return the posterior mean of fit and corrected weights, and its noise.

    The distance between the two estimates the error of the fit beyond its noise. If the rounds did
    not settle, the fit stays.
    """
    geometry, curvature = fit.geometry, rounds.curvature
    if rounds.late > SETTLED or curvature.lost() > MOST_LOST:
        return fit.weights, fit.noise
    root = np.linalg.cholesky(curvature.matrix)
    own, through = root.T @ fit.noise, root.T @ rounds.gain
    typical = float(lean.along(np.eye(len(root))).mean()) * lean.beyond**2
    others = (rounds.noise**2 + typical) * through @ through.T
    others += rounds.undone * root.T @ rounds.inverse @ root
    moved = root.T @ (rounds.mean - rounds.start)
    before = own @ own.T
    wrong = max(0.0, float(moved @ moved) - float(np.trace(before + others))) / len(moved)
    prior = before + wrong * np.eye(len(moved))
    part = np.linalg.solve(prior + others, prior).T
    whitened = rounds.start + np.linalg.solve(root.T, part @ moved)
    kept = np.hstack([(np.eye(len(part)) - part) @ own, rounds.noise * part @ through])
    return usable(geometry.matrix @ whitened), np.asarray(np.linalg.solve(root.T, kept))
