"""The last correction of squared losses: to where contributions cut far out average zero.

Half steps of Newton's method on the mean of cut contributions; their average is the corrected fit.
Coefficients are released with the errors that it still has: noise, sampling, what the level takes
away, and what the noise of the curvature leaves undone.

Reference
---------
Polyak and Juditsky 1992 (half steps whose average is as good as the best of them); Huber 1967
(sandwich variance); Armstrong and Kolesar 2020 (intervals that count the bias); Stein 1956, James
and Stein 1961 (shrinkage of what was released).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.queries.contribution_levels import ContributionLevels
from tailguard.queries.second_moments import SecondMoments, Weighting
from tailguard.solvers.session import usable
from tailguard.solvers.whitened.contributions import (
    TYPICAL_BIAS,
    Curvature,
    Metric,
    choose_level,
    release_curvature,
    release_metric,
)
from tailguard.solvers.whitened.fit_session import FitSession
from tailguard.solvers.whitened.schedule import CORRECTION_PARTS as PARTS
from tailguard.solvers.whitened.state import Estimate, Fit
from tailguard.solvers.whitened.whitening import StepShortening

STEP = 0.5  # part of a Newton step; the average of half steps is as good as full ones
# Share of the squared way to the average by which a Newton step may miss it, beside what the noise
# of the curvature does.
MISS = 0.1
ALIGNED = 2.0  # what lies beyond the last level leans so many times as far as what lies below
# Of what lies beyond the last level: the part that lies along where far contributions point, and
# the least part, over the root of the number of directions.
POINTING, LEAST_BIAS = 0.3, 0.15
# Squared lengths of the last gradients, over those of their noise, up to which the rounds have
# settled; second moment of rows beyond their cut, a coordinate, up to which there are intervals,
# and up to which the correction moves the fit.
SETTLED, MOST_LOST, MOST_LOST_FOR_FIT = 4.0, 2.0, 0.8
# Shares of a coefficient's variance along raised and along vague directions from which on it is not
# estimated.
RAISED, VAGUE = 0.3, 0.5


@dataclass(frozen=True, eq=False)
class Rounds:
    """What the rounds of the correction told.

    Attributes
    ----------
    curvature, metric, level
        How contributions are read and cut.
    inverse
        The inverse curvature as the rounds shortened it.
    start, mean
        Whitened weights before them, and their average.
    increments, increment_noise
        Mean parts of contributions by level, and their noise.
    noise, left
        The noise of the averaged gradient through ``T``, and how far off the average the rounds
        started, in the metric of the curvature.
    noise_along
        The noise of the average along a typical direction, in the metric of the curvature.
    late
        Squared lengths of the last gradients over that of their noise.
    """

    curvature: Curvature
    metric: Metric
    level: float
    inverse: FloatArray
    start: FloatArray
    mean: FloatArray
    increments: FloatArray
    increment_noise: FloatArray
    noise: float
    left: float
    noise_along: float
    late: float

    @property
    def gain(self) -> FloatArray:
        """What moves whitened weights by a gradient through ``T``."""
        return np.asarray(self.inverse @ np.linalg.inv(self.metric.matrix).T)

    @property
    def undone(self) -> float:
        """Squared way that is left, as far as the noise of the curvature leaves it undone."""
        share = self.curvature.second.noise_std**2 / 2.0 + 0.02 * MISS
        remains = 0.25 * max(0.0, self.late - 2.0) * self.noise_along**2
        return self.left**2 * share + remains

    @property
    def settled(self) -> bool:
        """Whether the rounds arrived, and rows were not cut too short."""
        return self.late <= SETTLED and self.curvature.lost() <= MOST_LOST


def correct(session: FitSession, fit: Fit) -> Fit:
    """Correct a fit, if that was planned, and attach what it is known to within."""
    if not session.plans("contribution rounds") or not fit.iterates:
        return fit
    curvature = release_curvature(session, fit)
    metric = release_metric(session, fit, curvature)
    rounds = run_rounds(session, fit, curvature, metric)
    lean = Lean.of(rounds)
    estimate = estimated(session, fit, rounds, lean)
    weights, noise = believed(fit, rounds, lean)
    return replace(fit, weights=weights, noise=noise, estimate=estimate)


def run_rounds(session: FitSession, fit: Fit, curvature: Curvature, metric: Metric) -> Rounds:
    """Go half steps on cut contributions; average those that came after the early ones."""
    geometry, n_rows = fit.geometry, session.problem.n_rows
    early, late = session.stage("early contribution rounds"), session.stage("contribution rounds")
    level = choose_level(session, metric, math.hypot(early.total_mu, late.total_mu))
    levels = tuple(part * level for part in PARTS)
    view = geometry.view.through(geometry.matrix @ metric.matrix)
    query = ContributionLevels(view, levels)
    back = np.linalg.inv(metric.matrix)
    root = np.linalg.cholesky(curvature.inverse)  # in its coordinates the curvature is one
    inverse_root = np.linalg.inv(root)
    gain = root.T @ back.T
    basis = np.linalg.qr(inverse_root @ curvature.resolved_directions)[0]
    known = basis @ basis.T
    typical, worst = math.sqrt(float((gain**2).sum()) / len(gain)), float(np.linalg.norm(gain, 2))
    at = start = fit.whitened
    shortening = StepShortening.none(len(at))
    starts, arrivals, increments, sizes = [], [], [], []
    for stage in [early] * early.times + [late] * late.times:
        state = usable(geometry.matrix @ at)
        increment = session.ask(query, state, stage)
        stds = query.noise_std(n_rows, session.problem.n_features, stage.mu)
        noise = float(np.linalg.norm(stds))
        gradient = known @ (gain @ increment.sum(axis=0))
        shortening = shortening.after(inverse_root @ at, gradient, noise * worst)
        starts.append(at)
        increments.append(increment)
        sizes.append(float(gradient @ gradient) / (len(at) * (noise * typical) ** 2))
        arrivals.append(at - root @ (shortening.matrix @ gradient))
        at = at + STEP * (arrivals[-1] - at)
    count, size = late.times, noise * typical
    miss = curvature.second.noise_std**2 * len(at) / 2.0 + MISS
    shares, mean, left = _average(
        inverse_root, starts[-count:], arrivals[-count:], len(at) * size**2, miss
    )
    spread = float(np.linalg.norm(shares))
    inverse = root @ shortening.matrix @ root.T
    return Rounds(
        curvature, metric, level, (inverse + inverse.T) / 2.0, start, mean,
        np.mean(increments[-count:], axis=0), stds / math.sqrt(count),
        noise * spread, left, size * spread, float(np.mean(sizes[-3:])),
    )  # fmt: skip


def _average(
    inverse_root: FloatArray, starts: list[FloatArray], arrivals: list[FloatArray],
    noise: float, miss: float,
) -> tuple[FloatArray, FloatArray, float]:  # fmt: skip
    """Average arrivals by the inverse of their errors; return shares, mean and way left."""
    ends = np.array(arrivals)
    mean = ends.mean(axis=0)
    for _ in range(3):
        ways = (((np.array(starts) - mean) @ inverse_root.T) ** 2).sum(axis=1)
        shares = 1.0 / (noise + miss * ways)
        shares /= shares.sum()
        mean = shares @ ends
    ways = (((np.array(starts) - mean) @ inverse_root.T) ** 2).sum(axis=1)
    return shares, mean, math.sqrt(float(shares**2 @ ways))


def estimated(session: FitSession, fit: Fit, rounds: Rounds, lean: "Lean") -> Estimate:
    """Work out what the corrected weights are known to within, by weight."""
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
        bias=curvature.inflation * reach * lengths,
        untold=(raised > RAISED) | (vague > VAGUE),
        settled=rounds.settled,
    )


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
        Squared size along a typical direction that is expected of that part.
    """

    beyond: float
    between: float
    above: FloatArray
    variance: float
    prior: float

    @classmethod
    def of(cls, rounds: Rounds) -> "Lean":
        """Judge by the rounds' increments."""
        tail, scale, width = rounds.metric.tail, rounds.metric.scale, len(rounds.mean)
        level = rounds.level / scale
        between = (tail.seen_beyond(PARTS[0] * level) - tail.seen_beyond(level)) * scale
        above = rounds.increments[1:].sum(axis=0)
        variance = float((rounds.increment_noise[1:] ** 2).sum())
        pooled = float(above @ above) / width - variance * (1.0 + math.sqrt(2.0 / width))
        prior = max(TYPICAL_BIAS**2 / width * between**2, pooled)
        return cls(tail.beyond(level) * scale, between, above, variance, prior)

    def along(self, directions: FloatArray) -> FloatArray:
        """Squared share of what lies beyond the last level by which it may lean along each."""
        believed = self.prior / max(self.prior + self.variance, 1e-300)
        seen = self.prior * (1.0 - believed) + (believed * (directions @ self.above)) ** 2
        least = LEAST_BIAS**2 / len(self.above)
        return np.maximum(ALIGNED**2 * seen / max(self.between, 1e-300) ** 2, least)


def _far_shares(
    session: FitSession, fit: Fit, rounds: Rounds, directions: FloatArray
) -> FloatArray:
    """Which share of the far contributions points along each direction."""
    geometry, width = fit.geometry, directions.shape[1]
    stage, limit = session.stage("far contributions"), PARTS[1] * rounds.level
    view = geometry.view.through(geometry.matrix @ rounds.metric.matrix).contributions()
    query = SecondMoments(view, limit, limit, Weighting(kind="beyond", bound=limit))
    state = usable(geometry.matrix @ rounds.mean)
    told = session.ask(query, state, stage) / limit**2
    problem = session.problem
    noise_std = query.noise_std(problem.n_rows, problem.n_features, stage.mu) / limit**2
    alike = max(float(np.trace(told)), noise_std * math.sqrt(width)) / width
    apart = told - alike * np.eye(width)
    size, variance = float((apart**2).sum()), noise_std**2 * (width * (width + 1) / 2.0 - 1.0)
    kept = max(0.0, 1.0 - variance / max(size, 1e-300))
    shares = (alike * np.eye(width) + kept * apart) / (alike * width)
    along = np.einsum("ij,jk,ik->i", directions, shares, directions)
    return np.clip(along, 0.5 / width, 1.0)


def believed(fit: Fit, rounds: Rounds, lean: Lean) -> tuple[FloatArray, FloatArray]:
    """Return weights between those of the fit and the corrected ones, and their noise.

    By the rule of Bayes: how far the fit is off beside its noise is told by how far the two are
    apart. Where the rounds did not settle, the fit stays.
    """
    geometry, curvature = fit.geometry, rounds.curvature
    if rounds.late > SETTLED or curvature.lost() > MOST_LOST_FOR_FIT:
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
