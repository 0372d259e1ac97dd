"""Predict the excess risk of every method on one simple model, to compare methods.

Theorems bound the worst case, each with its own inequalities: such bounds differ by more than the
methods do. The model is a quadratic risk of the same curvature in every direction. Its minimiser is
half a diameter away from the start, and the constraint is never active. On it every method is a
linear recursion: the distance shrinks by a factor, the sampling error common to all steps remains,
and the noise of single steps averages out. The prediction needs only step sizes and the planned
noise. It ignores clipping bias, for all methods alike: the bias vanishes for symmetric tails, and
bounds on it hold for the worst tails.

Each function returns the expected excess risk at this ``curvature``. ``distance`` is the distance
from the start to the minimiser; ``noise`` and ``error`` are norms.

Reference
---------
Polyak and Juditsky 1992 (averages on quadratic risks); Ghadimi and Lan 2012, Algorithm 1; Xu and
others 2025, Algorithm 3.
"""

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.papers.solvers.acceleration import accelerate, step_parameter
from tailguard.sets.whole_space import WholeSpace

# A spread beyond this many distances is that of points anywhere in the set.
LARGEST_SPREAD = 2.0


def released_excess(curvature: float, *, error: float) -> float:
    """Predict for one release of the answer: half of the curvature times the squared error."""
    return curvature / 2.0 * error**2


def descent_excess(
    curvature: float,
    *,
    distance: float,
    n_steps: int,
    step_size: float,
    noise: float,
    error: float,
    last: bool = False,
    fades: bool = False,
) -> float:
    """Predict for descent on gradients with a common ``error`` and fresh ``noise`` at each step.

    The answer is the ``last`` point, or the average. If it ``fades``, step t is divided by the root
    of t. No step is longer than the one that reaches the minimiser at once.
    """
    steps = np.full(n_steps, step_size)
    if fades:
        steps = steps / np.sqrt(np.arange(1.0, n_steps + 1.0))
    steps = np.minimum(steps, 1.0 / curvature)
    weight = 1.0 / n_steps
    reach = 1.0 if last else 0.0  # of a point, on the answer, through the points after it
    variance = 0.0
    for step in steps[::-1]:
        influence = reach if last else reach + weight
        variance += (step * influence) ** 2
        reach = influence * (1.0 - step * curvature)
    common = (1.0 - reach) / curvature * error
    squares = (reach * distance) ** 2 + common**2 + variance * noise**2
    return float(curvature / 2.0 * squares)


def accelerated_excess(
    curvature: float,
    *,
    distance: float,
    smoothness: float,
    passes: tuple[tuple[int, float], ...],
    lag: int = 1,
) -> float:
    """Predict for passes of accelerated descent over batches; each starts where the last ended.

    Each of ``passes`` has a number of steps and the noise of a batch, sampling error included.
    ``lag`` is that of the momentum.
    """
    square, largest = distance**2, (LARGEST_SPREAD * distance) ** 2
    smallest = min(curvature, smoothness)
    for n_steps, noise in passes:
        eta = step_parameter(
            n_steps, gradient_error=noise, smoothness=smoothness, diameter=2.0 * distance
        )
        left, spread = _after_a_pass(n_steps, eta, smallest, lag)
        square = min(left * square + spread * noise**2, largest)
    return curvature / 2.0 * square


def _after_a_pass(n_steps: int, eta: float, curvature: float, lag: int) -> tuple[float, float]:
    """Return the factors by which a pass multiplies the squared distance and the noise variance."""

    def gradient(step: int, point: FloatArray) -> FloatArray:
        found = curvature * point
        found[step] += 1.0
        return found

    start = np.eye(n_steps + 1)[-1]  # the start in one column, a step's noise in each other
    answer = accelerate(gradient, n_steps, eta, start=start, constraint=WholeSpace(), lag=lag)[-1]
    return float(answer[-1] ** 2), float(np.sum(answer[:-1] ** 2))


def localised_excess(
    curvature: float, *, distance: float, pulls: tuple[tuple[float, float, float], ...]
) -> float:
    """Predict for minimisations with a penalty on the distance from the last answer.

    Each of ``pulls`` has the penalty's strength, the noise on the answer and the gradients' error.
    """
    square, largest = distance**2, (LARGEST_SPREAD * distance) ** 2
    for strength, noise, error in pulls:
        both = strength + curvature
        left, shift = strength / both, error / both
        square = min(left**2 * square + shift**2 + noise**2, largest)
    return curvature / 2.0 * square
