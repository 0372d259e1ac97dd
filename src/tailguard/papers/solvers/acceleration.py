"""Accelerated stochastic descent, and the number of steps with the least predicted risk.

Reference
---------
Ghadimi and Lan 2012, Algorithm 1 and Proposition 9; Xu et al. 2025, Algorithm 6.
"""

import math
from collections.abc import Callable

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.papers.solvers.gradient_facts import GradientFacts
from tailguard.sets.base import ConstraintSet

STEPS_PER_OCTAVE = 4  # candidates for the number of steps


def accelerate(
    gradient: Callable[[int, FloatArray], FloatArray],
    n_steps: int,
    step_parameter: float,
    *,
    start: FloatArray,
    constraint: ConstraintSet,
    lag: int = 1,
) -> FloatArray:
    """Return the averaged points of the descent, one per row; the last one is the answer.

    With ``a = 2 / (t + lag)`` and ``e = 4 eta / (t (t + 1))``, the gradient ``g`` is taken at
    ``(1 - a) v + a w``, ``w`` moves to the projection of ``w - (a / e) g`` and the average ``v``
    to ``a w + (1 - a) v``. Algorithm 6 has lag 1, and its momentum starts at 1; Algorithm 7 prints
    lag 2.
    """
    point = average = constraint.project(start)
    averages = np.empty((n_steps, start.size))
    for step in range(n_steps):
        share = 2.0 / (step + 1.0 + lag)
        between = (1.0 - share) * average + share * point
        step_size = (step + 1.0) / (2.0 * step_parameter) * ((step + 2.0) / (step + 1.0 + lag))
        point = constraint.project(point - step_size * gradient(step, between))
        average = share * point + (1.0 - share) * average
        averages[step] = average
    return averages


def step_parameter(
    n_steps: int, *, gradient_error: float, smoothness: float, diameter: float
) -> float:
    """Return ``eta = max(2 smoothness, error sqrt(2 T (T+1) (T+2) / 3) / diameter)``."""
    spread = math.sqrt(2.0 * n_steps * (n_steps + 1.0) * (n_steps + 2.0) / 3.0)
    return max(2.0 * smoothness, gradient_error * spread / diameter)


def best_step_count(
    facts: GradientFacts,
    *,
    n_rows: int,
    mu: float,
    smoothness: float,
    diameter: float,
    clip_norm: float | None,
) -> int:
    """Choose the number of steps with the least predicted risk; each batch may spend ``mu``.

    The risk is
    ``b D^2 / T^2 + D (2 C sqrt(d T) / (n mu) + r / sqrt(n)) + D r^q / ((q - 1) C^(q - 1))``.
    """
    octaves = math.floor(STEPS_PER_OCTAVE * math.log2(n_rows))
    candidates: set[int] = {round(2.0 ** (i / STEPS_PER_OCTAVE)) for i in range(octaves + 1)}

    def risk(n_steps: int) -> float:
        clip = clip_norm or clip_norm_for(facts, n_rows, n_steps, mu)
        noise = 2.0 * clip * math.sqrt(facts.size * n_steps) / (n_rows * mu)
        bias = facts.scale**facts.order / ((facts.order - 1.0) * clip ** (facts.order - 1.0))
        error = noise + (bias if clip < facts.largest else 0.0)
        return smoothness * (diameter / n_steps) ** 2 + diameter * error

    return min(sorted(candidates), key=risk)


def clip_norm_for(facts: GradientFacts, n_rows: int, n_steps: int, mu: float) -> float:
    """Return the clip level that balances its bias with the noise of the batches."""
    return facts.clip_norm(n_rows, mu, factor=2.0 * math.sqrt(n_steps))
