"""Risks of linear scores with their gradients, and their minimisers over a set: never private.

Reference
---------
O'Donoghue and Candes 2015 (restarts of accelerated descent).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.losses.base import Loss
from tailguard.sets.base import ConstraintSet

MOST_STEPS = 3000  # several times as many as any of the sets needed
LEAST_MOVE = 1e-9  # relative; the risk then has far more correct digits than are shown
OPTIMUM = "training optimum, no privacy"  # a curve: its test loss need not be the least
ZERO = "zero weights"  # a curve: an answer that needs no record
LEAST_STEP, SLACK = 1e-12, 1e-15  # below which rounding decides the comparison of risks


@dataclass(frozen=True, eq=False)
class Objective:
    """A function of the weights and its gradient."""

    value: Callable[[FloatArray], float]
    gradient: Callable[[FloatArray], FloatArray]

    @classmethod
    def of_records(
        cls, loss: Loss, X: FloatArray, y: FloatArray, penalty: float = 0.0
    ) -> "Objective":
        """Mean loss plus ``penalty / 2`` times the squared length of the weights."""

        def gradient(w: FloatArray) -> FloatArray:
            slopes = np.asarray(loss.slope(X @ w, y), dtype=np.float64)
            return np.asarray(X.T @ slopes / len(y) + penalty * w)

        return cls(
            lambda w: float(np.mean(loss.value(X @ w, y)) + penalty / 2.0 * (w @ w)), gradient
        )


def minimise_over(objective: Objective, constraint: ConstraintSet, size: int) -> FloatArray:
    """Accelerated projected descent with backtracking and restarts."""
    point = ahead = np.asarray(constraint.project(np.zeros(size)), dtype=np.float64)
    momentum, step = 1.0, 1.0
    for _ in range(MOST_STEPS):
        value, gradient = objective.value(ahead), objective.gradient(ahead)
        while True:
            new = np.asarray(constraint.project(ahead - step * gradient), dtype=np.float64)
            move = new - ahead
            bound = value + gradient @ move + move @ move / (2.0 * step)
            if objective.value(new) <= bound + SLACK * abs(value) or step < LEAST_STEP:
                break
            step /= 2.0
        if (ahead - new) @ (new - point) > 0.0:  # momentum points uphill: start it again
            momentum, ahead = 1.0, point
            if np.array_equal(new, point):
                break
            point = new if objective.value(new) <= objective.value(point) else point
            ahead = point
            continue
        grown = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = new + (momentum - 1.0) / grown * (new - point)
        settled = np.linalg.norm(new - point) <= LEAST_MOVE * max(1.0, float(np.linalg.norm(new)))
        point, momentum = new, grown
        if settled:
            break
    return point
