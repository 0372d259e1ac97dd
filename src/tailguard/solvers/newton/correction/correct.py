"""The last correction: move the fit to where contributions, cut only far out, average zero.

The curvature of a likelihood varies with the fit, so it is released again after the early rounds.

Reference
---------
Lindley and Smith 1972 (Bayes estimates that combine two normal estimates of one vector); Armstrong,
Kolesar and Plagborg-Moller 2022 (intervals about such estimates hold on average over coefficients).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.solvers.newton.clipping import Clipping
from tailguard.solvers.newton.correction.errors import Lean, estimated
from tailguard.solvers.newton.correction.released import (
    likely_metric,
    release_curvature,
    release_curvature_again,
    release_metric,
)
from tailguard.solvers.newton.correction.rounds import SETTLED, Rounds, run_rounds
from tailguard.solvers.newton.fit_session import FitSession
from tailguard.solvers.newton.newton import prior_share
from tailguard.solvers.newton.state import Estimate, Fit
from tailguard.solvers.session import usable

# The correction is skipped if rows beyond their cut have more second moment per coordinate.
MOST_LOST = 0.8
# Standard deviations by which rounds are taken to be farther off than is seen where intervals rest
# on it. With one, intervals of two of seven real tables of counts held 87 and 88 %.
CAUTION = 2.0


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
        fit, stages = _believed(session, fit, rounds, Lean.of(rounds)), [late]
    curvature = release_curvature_again(session, fit, curvature)
    with session.by_record():
        metric = release_metric(session, fit, curvature)
        rounds = run_rounds(session, fit, curvature, metric, stages)
        lean = Lean.of(rounds)
        estimate = estimated(session, fit, rounds, lean)
    if session.loss.link.log and session.loss.canonical:  # counts
        estimate = Blend.cautious(fit, rounds, estimate).estimate(fit, estimate)
    return replace(_believed(session, fit, rounds, lean), estimate=estimate)


def _believed(session: FitSession, fit: Fit, rounds: Rounds, lean: Lean) -> Fit:
    """Return the fit at the blend; where the rounds did not settle, it stays.

    With a log link noise of scores makes the means of far rows many times too large. Its size is
    told anew by the curvature, and scores are believed as far as their prior goes.
    """
    geometry, log = fit.geometry, fit.geometry.loss.link.log
    blend = Blend.typical(session, fit, rounds, lean)
    if rounds.late <= SETTLED and rounds.curvature.lost() <= MOST_LOST:
        whitened, noise = blend.weights, blend.noise
    elif log:
        whitened, noise = fit.whitened, fit.noise
    else:
        return fit
    if log:
        scores = np.linalg.cholesky(rounds.curvature.matrix).T @ noise
        level = geometry.along_constant(whitened)
        whitened = level + prior_share(float((scores**2).sum())) * (whitened - level)
    return replace(fit, weights=usable(geometry.matrix @ whitened), noise=noise)


@dataclass(frozen=True, eq=False)
class Blend:
    """Whitened weights between those of a fit and the corrected ones, by the rule of Bayes.

    A fit was cut for the least error of predictions: it has less noise, but is off by what the cut
    took away. How far that is, beside its noise, is told by how far the two are apart.

    Attributes
    ----------
    weights, noise
        The weights; a matrix whose rows are what independent noise of one moves each by.
    gained
        Second moments of errors that corrected weights have, and these do not.
    """

    weights: FloatArray
    noise: FloatArray
    gained: FloatArray

    @classmethod
    def typical(cls, session: FitSession, fit: Fit, rounds: Rounds, lean: Lean) -> "Blend":
        """Blend for predictions: what the level takes away counts as along a typical direction.

        Sampling moves the corrected weights by more than it moves the fit, whose residuals are cut
        lower. What it does more counts along every direction alike.
        """
        root, through = _root_and_gain(rounds)
        typical = float(lean.along(np.eye(len(root))).mean()) * lean.beyond**2
        others = typical * through @ through.T
        if fit.geometry.loss.link.residual and fit.clipping.slopes.seen:
            sampling = float(np.trace(through @ rounds.metric.covariance() @ through.T))
            sampling /= len(root) * session.plan.problem.n_rows
            alike = session.problem.n_rows * session.evenness
            more = sampling - _variance_of_one(fit.clipping) / alike
            others += max(0.0, more) * np.eye(len(root))
        return cls._of(fit, rounds, others)

    @classmethod
    def cautious(cls, fit: Fit, rounds: Rounds, estimate: Estimate) -> "Blend":
        """Blend for intervals: by what the corrected weights are known to within."""
        root, _ = _root_and_gain(rounds)
        bias = root.T @ fit.geometry.inverse @ estimate.bias
        return cls._of(fit, rounds, bias @ bias.T, CAUTION)

    @classmethod
    def _of(cls, fit: Fit, rounds: Rounds, others: FloatArray, caution: float = 0.0) -> "Blend":
        """Blend by the errors of the corrected weights, where the curvature is one.

        Those are ``others``, noise, with that of the curvature, and the way left. ``caution``
        standard deviations are added to the squared distance between both weights: of what it
        would vary by if both were off by no more than is known.
        """
        root, through = _root_and_gain(rounds)
        noise = rounds.curvature.inflation * rounds.noise
        others = others + noise**2 * through @ through.T
        others += rounds.undone * root.T @ rounds.inverse @ root
        own, moved = root.T @ fit.noise, root.T @ (rounds.mean - rounds.start)
        before, alike = own @ own.T, np.eye(len(moved))
        known = before + others
        apart = float(moved @ moved) + caution * math.sqrt(2.0 * float((known**2).sum()))
        wrong = max(0.0, apart - float(np.trace(known))) / len(moved)
        prior = before + wrong * alike
        part = np.linalg.solve(prior + others, prior).T
        kept = np.hstack([(alike - part) @ own, noise * part @ through])
        back = np.linalg.inv(root.T)
        return cls(
            weights=rounds.start + np.linalg.solve(root.T, part @ moved),
            noise=np.asarray(np.linalg.solve(root.T, kept)),
            gained=back @ (alike - part) @ others @ back.T,
        )

    def estimate(self, fit: Fit, corrected: Estimate) -> Estimate:
        """Return what is known of these weights, by what is known of the corrected ones."""
        matrix = fit.geometry.matrix
        noise, whole = matrix @ self.noise, corrected.whole() - matrix @ self.gained @ matrix.T
        return replace(
            corrected,
            weights=matrix @ self.weights,
            noise=noise,
            covariance=whole - noise @ noise.T,
            bias=np.zeros_like(corrected.bias),
        )


def _variance_of_one(clipping: Clipping) -> float:
    """Return the variance of a fit to one record, a coordinate."""
    rows, slopes = clipping.rows, clipping.slopes
    square = rows.variance(clipping.row_limit) / rows.width
    variance = square * slopes.variance(clipping.slope_limit)
    return variance / max(clipping.curvature, 1e-12) ** 2


def _root_and_gain(rounds: Rounds) -> tuple[FloatArray, FloatArray]:
    """Return the Cholesky root of the curvature, and the gain of a gradient in its coordinates."""
    root = np.asarray(np.linalg.cholesky(rounds.curvature.matrix))
    return root, root.T @ rounds.gain
