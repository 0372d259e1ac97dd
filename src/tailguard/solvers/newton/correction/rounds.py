"""Rounds of the correction: damped Newton steps on the mean of cut contributions.

Reference
---------
Polyak and Juditsky 1992 (the average of half steps is as good as the best of them).
"""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.gate.stage import Stage
from tailguard.queries.clip_levels import ContributionLevels
from tailguard.solvers.newton.correction.curvature import Curvature, loss_view
from tailguard.solvers.newton.correction.metric import Metric
from tailguard.solvers.newton.newton import SETTLED, FitSession
from tailguard.solvers.newton.schedule import CORRECTION_PARTS
from tailguard.solvers.newton.state import Fit
from tailguard.solvers.newton.whitening import StepShortening
from tailguard.solvers.session import usable

# The expected clipping bias along a typical direction, as a part of the mean length that the level
# cuts off, times the root of the number of directions.
TYPICAL_BIAS = 0.35
STEP = 0.5  # part of a Newton step; the average of half steps is as good as that of full steps
# The squared error of a Newton step, except for the error of the released curvature, as a share of
# the squared distance from its start to the average.
MISS = 0.1
# The fit is corrected, and has intervals, only if the rounds converged and rows have at most this
# second moment beyond their cut, per coordinate.
MOST_BEYOND_CUT = 2.0


@dataclass(frozen=True, eq=False)
class Rounds:
    """The result of the rounds of the correction.

    ``T`` is the matrix of the metric, by which contributions are multiplied before they are cut.

    Attributes
    ----------
    curvature, metric, level
        The released curvature; the metric in which contributions are cut, and the level.
    inverse
        The inverse of the curvature, reduced where the rounds shortened their steps.
    start, mean
        Whitened weights before the rounds, and their average.
    increments, increment_noise
        Mean parts of contributions by level, and their noise.
    noise, start_distance
        The noise of the averaged gradient times ``T``, including the sampling error if a sample
        was read; and the distance of the starts of rounds from the average, in the metric of the
        curvature.
    noise_along
        The noise of the average along a typical direction, in the metric of the curvature.
    last_ratio, most_ratio
        The squared length of the last gradients over that of their noise, and its largest value if
        the rounds converged: if noise and sampling error together explain the length.
    step
        The average minus the average start of the averaged rounds.
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
    start_distance: float
    noise_along: float
    last_ratio: float
    most_ratio: float
    step: FloatArray

    @property
    def gain(self) -> FloatArray:
        """The matrix that maps a gradient times ``T`` to a step of whitened weights."""
        return np.asarray(self.inverse @ np.linalg.inv(self.metric.matrix).T)

    @property
    def remaining(self) -> float:
        """The squared distance to the optimum that remains, in the metric of the curvature."""
        share = self.curvature.second.noise_std**2 / 2.0 + 0.02 * MISS
        remains = 0.25 * max(0.0, self.last_ratio - 2.0) * self.noise_along**2
        return self.start_distance**2 * share + remains

    @property
    def settled(self) -> bool:
        """Whether the last gradients were near zero and rows were not cut too low."""
        converged = self.last_ratio <= self.most_ratio
        return converged and self.curvature.lost() <= MOST_BEYOND_CUT


def run_rounds(
    session: FitSession, fit: Fit, curvature: Curvature, metric: Metric, stage: Stage
) -> Rounds:
    """Take damped Newton steps on cut contributions, and average them.

    If the curvature varies with the fit, the parts of steps fall like the weights of a running
    average. With constant parts, noise would move single rounds to points where the curvature
    differs. Otherwise the parts are halves. If the table is so large that there are few rounds, a
    step that noise does not explain is taken in full.
    """
    geometry, n_rows = fit.geometry, session.n_rows(stage)
    level = _level(metric, n_rows, stage.total_mu)
    levels = tuple(fraction * level for fraction in CORRECTION_PARTS)
    whitening = geometry.matrix @ metric.matrix
    view = loss_view(session, fit).through(whitening)
    query = ContributionLevels(view, levels)
    metric_inverse = np.linalg.inv(metric.matrix)
    root = np.linalg.cholesky(curvature.inverse)  # in its coordinates the curvature is one
    inverse_root = np.linalg.inv(root)
    gain = root.T @ metric_inverse.T
    basis = np.linalg.qr(inverse_root @ curvature.resolved_directions)[0]
    projection = basis @ basis.T
    typical, worst = math.sqrt(float((gain**2).sum()) / len(gain)), float(np.linalg.norm(gain, 2))
    position = start = fit.whitened
    shortening = StepShortening(np.eye(len(position)))
    starts, arrivals, increments, ratios = [], [], [], []
    varies = session.loss.link.curved or session.loss.bounds_slopes
    has_sample = session.shares.sample > 0
    stds = session.noise_of(query, stage)
    noise = float(np.linalg.norm(stds))
    for _ in range(stage.times):
        state = usable(geometry.matrix @ position)
        increment = session.ask(query, state, stage)
        gradient = gain @ increment.sum(axis=0) + root.T @ (curvature.ridge @ position)
        gradient = projection @ gradient
        shortening = shortening.after(inverse_root @ position, gradient, noise * worst)
        starts.append(position)
        increments.append(increment)
        ratios.append(float(gradient @ gradient) / (len(position) * (noise * typical) ** 2))
        arrivals.append(position - root @ (shortening.matrix @ gradient))
        in_full = has_sample and ratios[-1] > SETTLED
        fraction = 1.0 / (1.0 + 2.0 * len(arrivals)) if varies else 1.0 if in_full else STEP
        position = position + fraction * (arrivals[-1] - position)
    typical_noise = noise * typical
    miss = curvature.second.noise_std**2 * len(position) / 2.0 + MISS
    shares, mean, start_distance = _average(
        inverse_root, starts, arrivals, len(position) * typical_noise**2, miss
    )
    spread = float(np.linalg.norm(shares))
    # The mean variance of contributions times T is one; this is the error of a sample.
    sampling_std = math.sqrt(1.0 / n_rows - 1.0 / session.problem.n_rows)
    inverse = root @ shortening.matrix @ root.T
    return Rounds(
        curvature, metric, level, (inverse + inverse.T) / 2.0, start, mean,
        np.mean(increments, axis=0), stds / math.sqrt(stage.times),
        math.hypot(noise * spread, sampling_std), start_distance, typical_noise * spread,
        float(np.mean((ratios[1:] or ratios)[-3:])),
        SETTLED * (1.0 + 1.0 / (session.problem.n_rows * noise**2)),
        mean - shares @ np.array(starts),
    )  # fmt: skip


def _level(metric: Metric, n_rows: int, mu: float) -> float:
    """Return the level with the least estimated error along a typical direction.

    The level applies to contributions times ``T``. The error is the noise and a share of the mean
    length that the level cuts off.
    """
    width, tail = len(metric.last), metric.tail
    candidates = tail.levels()
    share = TYPICAL_BIAS / math.sqrt(width)
    bias = share * np.array([tail.beyond(level) for level in candidates])
    errors = (2.0 * candidates / (n_rows * mu)) ** 2 + bias**2
    return float(candidates[int(np.argmin(errors))]) * metric.scale


def _average(
    inverse_root: FloatArray, starts: list[FloatArray], arrivals: list[FloatArray],
    noise: float, miss: float,
) -> tuple[FloatArray, FloatArray, float]:  # fmt: skip
    """Average arrivals by inverse squared errors; return shares, mean and start distance."""
    ends = np.array(arrivals)
    mean = ends.mean(axis=0)
    for _ in range(3):
        distances = (((np.array(starts) - mean) @ inverse_root.T) ** 2).sum(axis=1)
        shares = 1.0 / (noise + miss * distances)
        shares /= shares.sum()
        mean = shares @ ends
    distances = (((np.array(starts) - mean) @ inverse_root.T) ** 2).sum(axis=1)
    return shares, mean, math.sqrt(float(shares**2 @ distances))
