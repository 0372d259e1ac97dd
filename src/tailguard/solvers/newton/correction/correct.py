"""The last correction: move the fit to the zero of the mean of contributions, cut only far out.

The curvature of a likelihood varies with the fit, so it is released again after the early rounds.

Reference
---------
Lindley and Smith 1972 (Bayes estimates that combine two normal estimates of one vector); Armstrong,
Kolesar and Plagborg-Moller 2022 (intervals about such estimates hold on average over coefficients);
Huber 1967 (sandwich variance); Armstrong and Kolesar 2020 (intervals that count the bias); Stein
1956, James and Stein 1961 (shrinkage of what was released).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.queries.second_moments import SecondMoments, Weighting
from tailguard.solvers.newton.correction.released import (
    TYPICAL_BIAS,
    contributions,
    likely_metric,
    release_curvature,
    release_curvature_again,
    release_metric,
)
from tailguard.solvers.newton.correction.rounds import SETTLED, Rounds, run_rounds
from tailguard.solvers.newton.fit_session import FitSession
from tailguard.solvers.newton.newton import prior_share
from tailguard.solvers.newton.schedule import CORRECTION_PARTS
from tailguard.solvers.newton.state import Estimate, Fit
from tailguard.solvers.session import usable

# The correction is skipped if rows beyond their cut have more second moment per coordinate.
MOST_LOST = 0.8
# Standard deviations that intervals add to the estimated squared error of the rounds. With one,
# intervals of two of seven real tables of counts held 87 and 88 %.
CAUTION = 2.0
ALIGNED = 2.0  # contributions beyond the last level lean this many times as much as those below
POINTING = 0.3  # part of the mean beyond the last level that has the direction of far contributions
# Shares of a coefficient's variance along raised and vague directions above which it is not
# estimated.
RAISED, VAGUE = 0.3, 0.5


@dataclass(frozen=True, eq=False)
class Lean:
    """How contributions lean beyond the last level, judged by how they lean between the levels.

    Attributes
    ----------
    beyond, between
        Mean length beyond the last level, and between the first and the last.
    above, variance
        Mean part of contributions between those levels, and its noise along any direction.
    prior
        The expected square of that part along a typical direction.
    """

    beyond: float
    between: float
    above: FloatArray
    variance: float
    prior: float

    @classmethod
    def of(cls, rounds: Rounds) -> "Lean":
        """Return the lean that the increments of rounds show."""
        tail, scale, width = rounds.metric.tail, rounds.metric.scale, len(rounds.mean)
        level = rounds.level / scale
        between = (tail.seen_beyond(CORRECTION_PARTS[0] * level) - tail.seen_beyond(level)) * scale
        above = rounds.increments[1:].sum(axis=0)
        variance = float((rounds.increment_noise[1:] ** 2).sum())
        pooled = float(above @ above) / width - variance * (1.0 + math.sqrt(2.0 / width))
        prior = max(TYPICAL_BIAS**2 / width * between**2, pooled)
        return cls(tail.beyond(level) * scale, between, above, variance, prior)

    def along(self, directions: FloatArray) -> FloatArray:
        """Return the squared share of the length beyond that may lean along each direction."""
        believed = self.prior / max(self.prior + self.variance, 1e-300)
        seen = (ALIGNED * believed * (directions @ self.above)) ** 2
        return np.asarray((self.prior * (1.0 - believed) + seen) / max(self.between, 1e-300) ** 2)


def correct(session: FitSession, fit: Fit) -> Fit:
    """Correct a fit if the plan has a correction, and attach the estimate with its errors."""
    if not session.plans("contribution rounds") or not fit.iterates:
        return fit
    early, late = session.stage("early contribution rounds"), session.stage("contribution rounds")
    curvature, stages = release_curvature(session, fit), [early, late]
    if session.loss.link.curved:
        with session.by_record():
            metric = likely_metric(session, fit, curvature)
            rounds = run_rounds(session, fit, curvature, metric, [early])
        fit, stages = _blended(session, fit, rounds, Lean.of(rounds)), [late]
    curvature = release_curvature_again(session, fit, curvature)
    with session.by_record():
        metric = release_metric(session, fit, curvature)
        rounds = run_rounds(session, fit, curvature, metric, stages)
        lean = Lean.of(rounds)
        estimate = _estimated(session, fit, rounds, lean)
    if session.loss.link.log and session.loss.canonical:  # counts
        estimate = Blend.cautious(fit, rounds, estimate).estimate(fit, estimate)
    return replace(_blended(session, fit, rounds, lean), estimate=estimate)


def _estimated(session: FitSession, fit: Fit, rounds: Rounds, lean: Lean) -> Estimate:
    """Return corrected weights and their errors: noise, sampling, clipping, convergence."""
    geometry, curvature, metric = fit.geometry, rounds.curvature, rounds.metric
    through = geometry.matrix @ rounds.gain
    lengths = np.linalg.norm(through, axis=1)
    directions = through / np.maximum(lengths, 1e-300)[:, None]
    sampling = through @ metric.covariance() @ through.T / session.problem.n_rows
    raised, vague = curvature.shares(geometry.matrix)
    pointing = POINTING**2 * _far_shares(session, fit, rounds, directions)
    reach = np.sqrt(np.minimum(np.maximum(lean.along(directions), pointing), 1.0)) * lean.beyond
    return Estimate(
        weights=geometry.matrix @ rounds.mean,
        noise=curvature.inflation * rounds.noise * through,
        covariance=curvature.inflation**2 * sampling
        + rounds.undone * geometry.matrix @ rounds.inverse @ geometry.matrix.T,
        bias=curvature.inflation * reach[:, None] * through,
        unresolved=(raised > RAISED) | (vague > VAGUE),
        settled=rounds.settled,
        step=geometry.matrix @ rounds.step,
    )


def _far_shares(
    session: FitSession, fit: Fit, rounds: Rounds, directions: FloatArray
) -> FloatArray:
    """Return the share of far contributions along each direction."""
    geometry, width = fit.geometry, directions.shape[1]
    stage, limit = session.stage("far contributions"), CORRECTION_PARTS[1] * rounds.level
    view = contributions(session, fit).through(geometry.matrix @ rounds.metric.matrix)
    query = SecondMoments(view, limit, limit, Weighting(kind="beyond", bound=limit))
    state = usable(geometry.matrix @ rounds.mean)
    moments = session.ask(query, state, stage) / limit**2
    problem = session.problem
    noise_std = query.noise_std(problem.n_rows, problem.n_features, stage.mu) / limit**2
    alike = max(float(np.trace(moments)), noise_std * math.sqrt(width)) / width
    apart = moments - alike * np.eye(width)
    size, variance = float((apart**2).sum()), noise_std**2 * (width * (width + 1) / 2.0 - 1.0)
    kept = max(0.0, 1.0 - variance / max(size, 1e-300))
    shares = (alike * np.eye(width) + kept * apart) / (alike * width)
    along = np.einsum("ij,jk,ik->i", directions, shares, directions)
    return np.asarray(np.clip(along, 0.5 / width, 1.0))


def _blended(session: FitSession, fit: Fit, rounds: Rounds, lean: Lean) -> Fit:
    """Return the fit at the blend, or the fit unchanged if the rounds did not converge.

    With a log link the noise of scores makes the means of far rows many times too large. The
    released curvature shows its size, and scores are shrunk by their prior.
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
    """Whitened weights between those of a fit and the corrected ones, by Bayes' rule.

    The clip levels of a fit minimise the error of predictions: it has less noise, but a clipping
    bias. The distance between the two, less the part from noise, estimates this bias.

    Attributes
    ----------
    weights, noise
        The weights; a matrix that maps independent standard noise to their privacy noise.
    gained
        Second moments of errors that corrected weights have and these weights do not have.
    """

    weights: FloatArray
    noise: FloatArray
    gained: FloatArray

    @classmethod
    def typical(cls, session: FitSession, fit: Fit, rounds: Rounds, lean: Lean) -> "Blend":
        """Blend for predictions: the clipping bias of the level is that of a typical direction.

        Sampling moves the corrected weights more than the fit, whose residuals are cut lower. The
        difference counts equally along all directions.
        """
        root, through = _root_and_gain(rounds)
        typical = float(lean.along(np.eye(len(root))).mean()) * lean.beyond**2
        others = typical * through @ through.T
        if fit.geometry.loss.link.residual and fit.clipping.slopes.seen:
            sampling = float(np.trace(through @ rounds.metric.covariance() @ through.T))
            sampling /= len(root) * session.plan.problem.n_rows
            clipping, alike = fit.clipping, session.problem.n_rows * session.evenness
            square = clipping.rows.variance(clipping.row_limit) / clipping.rows.width
            of_one = square * clipping.slopes.variance(clipping.slope_limit)
            more = sampling - of_one / max(clipping.curvature, 1e-12) ** 2 / alike
            others += max(0.0, more) * np.eye(len(root))
        return cls._of(fit, rounds, others)

    @classmethod
    def cautious(cls, fit: Fit, rounds: Rounds, estimate: Estimate) -> "Blend":
        """Blend for intervals: by the estimated error of the corrected weights."""
        root, _ = _root_and_gain(rounds)
        bias = root.T @ fit.geometry.inverse @ estimate.bias
        return cls._of(fit, rounds, bias @ bias.T, CAUTION)

    @classmethod
    def _of(cls, fit: Fit, rounds: Rounds, others: FloatArray, caution: float = 0.0) -> "Blend":
        """Blend by the errors of the corrected weights, where the curvature is one.

        These errors are ``others``, noise, including that of the curvature, and incomplete
        convergence. ``caution`` standard deviations are added to the squared distance between both
        weights: those of a distance that comes from known errors alone.
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
        """Return these weights and their errors, from those of the corrected weights."""
        matrix = fit.geometry.matrix
        noise, whole = matrix @ self.noise, corrected.whole() - matrix @ self.gained @ matrix.T
        return replace(
            corrected,
            weights=matrix @ self.weights,
            noise=noise,
            covariance=whole - noise @ noise.T,
            bias=np.zeros_like(corrected.bias),
        )


def _root_and_gain(rounds: Rounds) -> tuple[FloatArray, FloatArray]:
    """Return the Cholesky root of the curvature, and the gain of a gradient in its coordinates."""
    root = np.asarray(np.linalg.cholesky(rounds.curvature.matrix))
    return root, root.T @ rounds.gain
