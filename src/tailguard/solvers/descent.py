"""Projected noisy gradient descent: the loop, its average and its predicted noise.

Reference
---------
Zhao et al. 2024, Algorithm 1 and Lemma 3 (projected descent over a private mean of gradients);
Bassily, Smith and Thakurta 2014, Algorithm 1 (the same with an average of the iterates).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailguard.gate import Gate
from tailguard.queries.base import Query
from tailguard.sets.base import ConstraintSet

__all__ = ["Schedule", "averaging_weights", "descend", "predicted_noise_std"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Schedule:
    """A fixed step plan; nothing in it depends on records.

    Attributes
    ----------
    n_steps
        The number of gradient releases.
    step_size
        The constant step.
    mu
        The share of each release.
    iterate
        ``"last"``, ``"average"`` over all points, or ``"tail"``: over the second half.

    Examples
    --------
    >>> Schedule(n_steps=10, step_size=0.1, mu=0.05, iterate="tail").n_steps
    10
    """

    n_steps: int
    step_size: float
    mu: float
    iterate: str


def averaging_weights(schedule: Schedule) -> FloatArray:
    """Weights of the points ``w_1 .. w_T`` in the answer; they sum to 1.

    Examples
    --------
    >>> averaging_weights(Schedule(4, 0.1, 0.1, "tail")).tolist()
    [0.0, 0.0, 0.5, 0.5]
    """
    weights = np.zeros(schedule.n_steps)
    first = {"last": -1, "tail": schedule.n_steps // 2, "average": 0}[schedule.iterate]
    weights[first:] = 1.0
    total: float = weights.sum()
    return np.asarray(weights / total)


def descend(
    gate: Gate,
    query: Query,
    schedule: Schedule,
    *,
    start: FloatArray,
    constraint: ConstraintSet,
) -> tuple[FloatArray, FloatArray]:
    """Run the step plan; return the answer and the released points, one a row.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> from tailguard.gate import Gate
    >>> from tailguard.privacy.events import Gaussian, Repeated
    >>> from tailguard.queries.clipped_gradient import MeanClippedGradient
    >>> from tailguard.queries.units import Units
    >>> gate = Gate.over(np.eye(4), np.ones(4), guarantee=tg.GDP(2.0), random_state=0)
    >>> gate.reserve(Repeated(Gaussian(1.0), 3))
    >>> query = MeanClippedGradient(tg.losses.Squared(), Units.raw(4, intercept=False), 1.0, 1.0)
    >>> answer, points = descend(
    ...     gate, query, Schedule(3, 0.5, 1.0, "last"), start=np.zeros(4),
    ...     constraint=tg.sets.L2Ball(1.0),
    ... )
    >>> points.shape
    (3, 4)
    """
    point = constraint.project(start)
    points = np.empty((schedule.n_steps, start.size))
    for step in range(schedule.n_steps):
        gradient = gate.ask(query, point, mu=schedule.mu)
        point = constraint.project(point - schedule.step_size * gradient)
        points[step] = point
    return constraint.project(averaging_weights(schedule) @ points), points


def predicted_noise_std(schedule: Schedule, gradient_noise_std: float, curvature: float) -> float:
    """Return the standard deviation per coordinate that the gradients' noise gives the answer.

    Exact for a quadratic with that curvature in every direction and no active constraint: a draw
    at step ``s`` enters point ``t >= s`` as ``step_size * (1 - step_size * curvature)^(t - s)``.

    Examples
    --------
    >>> predicted_noise_std(Schedule(1, 0.5, 1.0, "last"), gradient_noise_std=2.0, curvature=1.0)
    1.0
    """
    decay = 1.0 - schedule.step_size * curvature
    effect = 0.0
    total = 0.0
    for weight in averaging_weights(schedule)[::-1]:
        effect = weight + decay * effect
        total += effect**2
    return schedule.step_size * gradient_noise_std * float(np.sqrt(total))
