"""What a corrected fit is known to within: noise, sampling, what the level takes away, way left.

Reference
---------
Huber 1967 (sandwich variance); Armstrong and Kolesar 2020 (intervals that count the bias); Stein
1956, James and Stein 1961 (shrinkage of what was released).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.queries.second_moments import SecondMoments, Weighting
from tailguard.solvers.newton.correction.released import TYPICAL_BIAS
from tailguard.solvers.newton.correction.rounds import Rounds
from tailguard.solvers.newton.fit_session import FitSession
from tailguard.solvers.newton.schedule import CORRECTION_PARTS
from tailguard.solvers.newton.state import Estimate, Fit
from tailguard.solvers.session import usable

ALIGNED = 2.0  # what lies beyond the last level leans so many times as far as what lies below
# Of what lies beyond the last level the part that lies along where far contributions point.
POINTING = 0.3
# Shares of a coefficient's variance along raised and along vague directions from which on it is not
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
        between = (tail.seen_beyond(CORRECTION_PARTS[0] * level) - tail.seen_beyond(level)) * scale
        above = rounds.increments[1:].sum(axis=0)
        variance = float((rounds.increment_noise[1:] ** 2).sum())
        pooled = float(above @ above) / width - variance * (1.0 + math.sqrt(2.0 / width))
        prior = max(TYPICAL_BIAS**2 / width * between**2, pooled)
        return cls(tail.beyond(level) * scale, between, above, variance, prior)

    def along(self, directions: FloatArray) -> FloatArray:
        """Squared share of what lies beyond the last level by which it may lean along each."""
        believed = self.prior / max(self.prior + self.variance, 1e-300)
        seen = (ALIGNED * believed * (directions @ self.above)) ** 2
        return np.asarray((self.prior * (1.0 - believed) + seen) / max(self.between, 1e-300) ** 2)


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
        bias=curvature.inflation * reach[:, None] * through,
        untold=(raised > RAISED) | (vague > VAGUE),
        settled=rounds.settled,
    )


def _far_shares(
    session: FitSession, fit: Fit, rounds: Rounds, directions: FloatArray
) -> FloatArray:
    """Which share of the far contributions points along each direction."""
    geometry, width = fit.geometry, directions.shape[1]
    stage, limit = session.stage("far contributions"), CORRECTION_PARTS[1] * rounds.level
    view = replace(geometry.view, loss=session.loss).contributions()
    view = view.through(geometry.matrix @ rounds.metric.matrix)
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
    return np.asarray(np.clip(along, 0.5 / width, 1.0))
