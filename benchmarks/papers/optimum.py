"""Risks of linear scores with their gradients, and their minimisers over a set: never private."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

MOST_STEPS = 3000
LEAST_MOVE = 1e-9  # relative; a risk is then known to far more digits than are shown


@dataclass(frozen=True, eq=False)
class Objective:
    """A function of the weights and its gradient."""

    value: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]

    @classmethod
    def quadratic(cls, truth, penalty):
        """Half the mean squared error of standard normal rows, less that of the truth."""
        return cls(
            lambda w: 0.5 * np.sum((w - truth) ** 2) + penalty / 2 * (w @ w),
            lambda w: w - truth + penalty * w,
        )

    @classmethod
    def of_records(cls, loss, X, y, penalty):
        """Mean loss and ridge; a fractional label is a chance."""
        return cls(
            lambda w: float(np.mean(loss.value(X @ w, y)) + penalty / 2 * (w @ w)),
            lambda w: X.T @ loss.slope(X @ w, y) / len(y) + penalty * w,
        )


def minimise_over(objective, constraint, size):
    """Accelerated projected descent with backtracking and restarts (O'Donoghue and Candes 2015)."""
    point = ahead = constraint.project(np.zeros(size))
    momentum, step = 1.0, 1.0
    for _ in range(MOST_STEPS):
        level, slope = objective.value(ahead), objective.gradient(ahead)
        while True:
            new = constraint.project(ahead - step * slope)
            move = new - ahead
            bound = level + slope @ move + move @ move / (2 * step)
            if objective.value(new) <= bound + 1e-15 * abs(level) or step < 1e-12:
                break
            step /= 2
        if (ahead - new) @ (new - point) > 0:  # momentum points uphill: start it again
            momentum, ahead = 1.0, point
            if np.array_equal(new, point):
                break
            point = new if objective.value(new) <= objective.value(point) else point
            ahead = point
            continue
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / grown * (new - point)
        settled = np.linalg.norm(new - point) <= LEAST_MOVE * max(1.0, np.linalg.norm(new))
        point, momentum = new, grown
        if settled:
            break
    return point
