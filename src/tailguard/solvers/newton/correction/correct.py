"""The last correction: move the fit to the zero of the mean contribution, with high cuts.

The curvature of a likelihood varies with the fit, so it is released again after the early rounds.

Reference
---------
Lindley and Smith 1972 (Bayes estimates that combine two normal estimates of one vector); Armstrong,
Kolesar and Plagborg-Moller 2022 (intervals about such estimates hold on average over coefficients);
Huber 1967 (sandwich variance); Armstrong and Kolesar 2020 (intervals that count the bias); Stein
1956, James and Stein 1961 (shrinkage of a release).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.solvers.newton.correction.curvature import (
    release_curvature,
    release_curvature_again,
)
from tailguard.solvers.newton.correction.estimate import Estimate
from tailguard.solvers.newton.correction.metric import (
    likely_metric,
    release_metric,
)
from tailguard.solvers.newton.correction.rounds import TYPICAL_BIAS, Rounds, run_rounds
from tailguard.solvers.newton.newton import FitSession
from tailguard.solvers.newton.schedule import CORRECTION_PARTS
from tailguard.solvers.newton.state import Fit
from tailguard.solvers.session import usable

# Intervals add this many standard deviations to the squared distance that estimates how far off the
# rounds are. With one, 87 and 88 % of the intervals held the truth on two of seven real tables of
# counts.
CAUTION = 2.0
# The mean of contributions beyond the last level, relative to their mean length, as a multiple of
# the same ratio below that level.
ALIGNED = 2.0
# A coefficient is not estimated if a larger share of its variance lies along raised directions,
# whose curvature noise hides, or along vague ones, which hardly stand out (``Curvature.shares``).
# Along raised ones the variance is larger than it looks (docs/trials.md).
RAISED, VAGUE = 0.15, 0.5


@dataclass(frozen=True, eq=False)
class TailBias:
    """The mean of contributions beyond the last level, judged by their mean between the levels.

    Attributes
    ----------
    beyond, between
        The mean length beyond the last level, and between the first and the last level.
    above, variance
        The mean part of contributions between those levels, and its noise along any direction.
    prior
        The expected square of this mean part along a typical direction.
    """

    beyond: float
    between: float
    above: FloatArray
    variance: float
    prior: float

    @classmethod
    def of(cls, rounds: Rounds) -> "TailBias":
        """Return the bias that the increments of the rounds show."""
        tail, scale, width = rounds.metric.tail, rounds.metric.scale, len(rounds.mean)
        level = rounds.level / scale
        between = (tail.seen_beyond(CORRECTION_PARTS[0] * level) - tail.seen_beyond(level)) * scale
        above = rounds.increments[1:].sum(axis=0)
        variance = float((rounds.increment_noise[1:] ** 2).sum())
        observed = float(above @ above) / width - variance * (1.0 + math.sqrt(2.0 / width))
        prior = max(TYPICAL_BIAS**2 / width * between**2, observed)
        return cls(tail.beyond(level) * scale, between, above, variance, prior)

    def along(self, directions: FloatArray) -> FloatArray:
        """Return the squared ratio of the possible mean to ``beyond``, along each direction."""
        kept = self.prior / max(self.prior + self.variance, 1e-300)
        from_release = (ALIGNED * kept * (directions @ self.above)) ** 2
        return np.asarray(
            (self.prior * (1.0 - kept) + from_release) / max(self.between, 1e-300) ** 2
        )


@dataclass(frozen=True, eq=False)
class Blend:
    """Whitened weights between those of a fit and the corrected ones, by Bayes' rule.

    The clip levels of a fit minimise the error of predictions, so the fit has less noise than the
    corrected weights, but a clipping bias. The distance between both, less the part from noise,
    estimates the size of this bias. Clipping biases directions most in which contributions vary
    most, so the bias is assumed to have their covariance.

    Attributes
    ----------
    weights, noise
        The weights, and a matrix that maps independent standard noise to their privacy noise.
    gained
        Second moments of the errors of corrected weights that these weights do not have.
    """

    weights: FloatArray
    noise: FloatArray
    gained: FloatArray

    @classmethod
    def typical(cls, fit: Fit, rounds: Rounds, tail_bias: TailBias) -> "Blend":
        """Blend for predictions, with the clipping bias of the level along a typical direction.

        That of squares and amounts is left out: it is the most that noise may hide, as intervals
        need, and predictions of these are better without it (docs/trials.md).
        """
        root, loss = rounds.curvature.root, fit.geometry.loss
        gain = root.T @ rounds.gain
        if not loss.link.curved or (loss.link.log and not loss.canonical):
            return cls._of(fit, rounds, np.zeros_like(root))
        typical = float(tail_bias.along(np.eye(len(root))).mean()) * tail_bias.beyond**2
        return cls._of(fit, rounds, typical * gain @ gain.T)

    @classmethod
    def cautious(cls, fit: Fit, rounds: Rounds, estimate: Estimate) -> "Blend":
        """Blend for intervals, with the estimated clipping bias of each corrected weight."""
        bias = rounds.curvature.root.T @ fit.geometry.inverse @ estimate.bias
        return cls._of(fit, rounds, bias @ bias.T, CAUTION)

    @classmethod
    def _of(cls, fit: Fit, rounds: Rounds, others: FloatArray, caution: float = 0.0) -> "Blend":
        """Blend by the errors of the corrected weights, in coordinates of curvature one.

        These errors are ``others``, noise (including that of the curvature), and incomplete
        convergence. ``caution`` adds standard deviations to the squared distance between the fit
        and the corrected weights: those of a distance that comes from known errors alone.
        """
        root = rounds.curvature.root
        gain, noise = root.T @ rounds.gain, rounds.curvature.inflation * rounds.noise
        covariance = gain @ gain.T  # of contributions, but for its size
        others = others + noise**2 * covariance
        others += rounds.remaining * root.T @ rounds.inverse @ root
        fit_noise, distance = root.T @ fit.noise, root.T @ (rounds.mean - rounds.start)
        fit_covariance, identity = fit_noise @ fit_noise.T, np.eye(len(distance))
        known = fit_covariance + others
        known_std = math.sqrt(2.0 * float((known**2).sum()))
        squared_distance = float(distance @ distance) + caution * known_std
        bias = max(0.0, squared_distance - float(np.trace(known))) / float(np.trace(covariance))
        prior = fit_covariance + bias * covariance
        weight = np.linalg.solve(prior + others, prior).T
        blended_noise = np.hstack([(identity - weight) @ fit_noise, noise * weight @ gain])
        back = np.linalg.inv(root.T)
        return cls(
            weights=rounds.start + np.linalg.solve(root.T, weight @ distance),
            noise=np.asarray(np.linalg.solve(root.T, blended_noise)),
            gained=back @ (identity - weight) @ others @ back.T,
        )

    def estimate(self, fit: Fit, corrected: Estimate) -> Estimate:
        """Return these weights and their errors, computed from those of ``corrected``."""
        matrix = fit.geometry.matrix
        noise, whole = matrix @ self.noise, corrected.whole() - matrix @ self.gained @ matrix.T
        return replace(
            corrected,
            weights=matrix @ self.weights,
            noise=noise,
            covariance=whole - noise @ noise.T,
            bias=np.zeros_like(corrected.bias),
        )


def correct(session: FitSession, fit: Fit) -> Fit:
    """Correct a fit if the plan has a correction, and attach the estimate with its errors."""
    if "contribution rounds" not in session.stages or not fit.iterates:
        return fit
    curvature = release_curvature(session, fit)
    if session.loss.link.curved:
        with session.by_record():
            metric = likely_metric(session, fit, curvature)
            early = session.stages["early contribution rounds"]
            rounds = run_rounds(session, fit, curvature, metric, early)
        fit = _blended(fit, rounds, TailBias.of(rounds))
    curvature = release_curvature_again(session, fit, curvature)
    with session.by_record():
        metric = release_metric(session, fit, curvature)
        late = session.stages["contribution rounds"]
        rounds = run_rounds(session, fit, curvature, metric, late)
        tail_bias = TailBias.of(rounds)
        estimate = _estimated(session, fit, rounds, tail_bias)
    if session.loss.link.log and session.loss.canonical:  # counts
        estimate = Blend.cautious(fit, rounds, estimate).estimate(fit, estimate)
    return replace(_blended(fit, rounds, tail_bias), estimate=estimate)


def _estimated(session: FitSession, fit: Fit, rounds: Rounds, tail_bias: TailBias) -> Estimate:
    """Return corrected weights and the errors of noise, sampling, clipping, convergence."""
    geometry, curvature, metric = fit.geometry, rounds.curvature, rounds.metric
    gain, constant = geometry.matrix @ rounds.gain, geometry.inverse[:, -1]
    lengths = np.linalg.norm(gain, axis=1)
    directions = gain / np.maximum(lengths, 1e-300)[:, None]
    sampling = gain @ metric.covariance() @ gain.T / session.problem.n_rows
    raised, vague = curvature.shares(geometry.matrix)
    possible_bias = np.sqrt(np.minimum(tail_bias.along(directions), 1.0)) * tail_bias.beyond
    return Estimate(
        weights=geometry.matrix @ rounds.mean,
        noise=curvature.inflation * rounds.noise * gain,
        covariance=curvature.inflation**2 * sampling
        + rounds.remaining * geometry.matrix @ rounds.inverse @ geometry.matrix.T,
        bias=curvature.inflation * possible_bias[:, None] * gain,
        unresolved=(raised > RAISED) | (vague > VAGUE),
        settled=rounds.settled,
        step=geometry.matrix @ rounds.step,
        from_curvature=session.loss.link.curved * (geometry.matrix @ (rounds.mean - rounds.start)),
        mean_curvature=float(constant @ curvature.matrix @ constant),
    )


def _blended(fit: Fit, rounds: Rounds, tail_bias: TailBias) -> Fit:
    """Return the fit at the blend, or the fit unchanged if the rounds did not settle."""
    if not rounds.settled:
        return fit
    blend = Blend.typical(fit, rounds, tail_bias)
    return replace(fit, weights=usable(fit.geometry.matrix @ blend.weights), noise=blend.noise)
