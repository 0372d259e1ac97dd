"""Public limits for descent in private units: how far rows and slopes may reach, and the steps.

In private units a typical record has coordinates and residuals of about 1. The rules below turn
that, the sizes and the budget into numbers; they never look at a record, so they cost nothing. The
constants were chosen on simulated Gaussian, correlated and log-normal designs.

Reference
---------
Zhao et al. 2024, Theorem 4 (the clip level grows with ``n * mu``, so that clipping bias vanishes);
Nesterov 2004, Theorem 2.1.14 (steps of one over the curvature do not overshoot).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from tailguard.losses.base import Loss
from tailguard.plans.problem import Problem
from tailguard.solvers.descent import Schedule, averaging_weights, predicted_noise_std

__all__ = ["DescentLimits", "centre_fraction", "choose_limits", "typical_curvature"]

ROW_LIMIT_PER_COORDINATE = math.sqrt(3.0)  # a row of unit-scale coordinates has norm sqrt(size)
STEP_COUNTS = (25, 40, 60, 90, 130, 190, 280, 400)  # the plan picks one
SLOW_CURVATURE = 0.4  # correlated columns: the share of the typical curvature that still counts
SMALLEST_RESIDUAL_LIMIT, LARGEST_RESIDUAL_LIMIT = 2.0, 20.0
LARGEST_COUNT_LIMIT = 4.0  # counts in units of a typical one
NOISE_SHARE = 0.05  # the residual limit that keeps the noise at a few per cent of a unit
CURVATURE_SPREAD = 4.0  # the step allows for this many times the typical curvature
LOG_LINK_CURVATURE = 2.0  # exp(score) averages 1 in private units; room for twice that
NORMAL_POINTS = 20_000


@dataclass(frozen=True)
class DescentLimits:
    """Public numbers of a descent.

    Examples
    --------
    >>> DescentLimits(n_steps=40, step_size=0.1, row_limit=3.0, slope_limit=2.0).n_steps
    40
    """

    n_steps: int
    step_size: float
    row_limit: float
    slope_limit: float


def centre_fraction(loss: Loss) -> float:
    """Quantile of the residuals at which the mean slope is zero: 1/2 unless slopes lean.

    Examples
    --------
    >>> import tailguard as tg
    >>> centre_fraction(tg.losses.Squared()), centre_fraction(tg.losses.Quantile(level=0.9))
    (0.5, 0.9)
    """
    below, above = loss.slope(np.array([-1e9, 1e9]), np.zeros(2))
    return float(round(-below / (above - below), 12))


def typical_curvature(loss: Loss) -> float:
    """Mean second derivative at a typical record in private units.

    For a standard normal residual (or score) ``r`` around the loss's own centre ``z``,
    ``E phi''(z + r) = E r phi'(z + r)`` (Stein 1981, Lemma 1); a log link has curvature 1 where the
    mean is 1.

    Examples
    --------
    >>> import tailguard as tg
    >>> round(typical_curvature(tg.losses.Squared()), 3)
    1.0
    """
    if loss.link.log:
        return 1.0
    residual = loss.link.residual
    centre = float(ndtri(centre_fraction(loss))) if residual else 0.0
    # Equally likely points rather than a quadrature: slopes may jump.
    points = ndtri((np.arange(NORMAL_POINTS) + 0.5) / NORMAL_POINTS)
    slopes = loss.slope(centre + points, np.full(NORMAL_POINTS, 0.0 if residual else 0.5))
    return float(np.mean(points * slopes))


def choose_limits(
    problem: Problem,
    mu: float,
    *,
    iterate: str,
    n_steps: int | None,
    row_limit: float | None,
    slope_limit: float | None,
) -> DescentLimits:
    """Fill in what the user left open; among step counts, the one of least predicted error.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), n_rows=100_000, n_features=10, intercept=True)
    >>> open_to_choice = {"n_steps": None, "row_limit": None, "slope_limit": None}
    >>> choose_limits(problem, 0.2, iterate="tail", **open_to_choice).n_steps
    400
    """
    row_limit = row_limit or ROW_LIMIT_PER_COORDINATE * math.sqrt(problem.size)
    candidates = [
        _limits(problem, mu, count, row_limit, slope_limit)
        for count in (STEP_COUNTS if n_steps is None else (n_steps,))
    ]
    return min(candidates, key=lambda limits: predicted_error(problem, mu, iterate, limits))


def _limits(
    problem: Problem, mu: float, n_steps: int, row_limit: float, slope_limit: float | None
) -> DescentLimits:
    loss = problem.scored
    assert loss is not None
    typical = typical_curvature(loss)
    if slope_limit is None:
        reach = NOISE_SHARE * problem.n_rows * mu / math.sqrt(n_steps * problem.size)
        reach = min(max(reach, SMALLEST_RESIDUAL_LIMIT), LARGEST_RESIDUAL_LIMIT)
        slope_limit = slope_limit_at(loss, reach, typical)
    step_size = 1.0 / (step_curvature(loss, typical) * row_limit**2)
    return DescentLimits(n_steps, step_size, row_limit, slope_limit)


def predicted_error(problem: Problem, mu: float, iterate: str, limits: DescentLimits) -> float:
    """Squared error of the weights that a step plan leaves, from public numbers.

    What is left of a start one unit away where curvature is low, plus the noise of all weights.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), n_rows=10_000, n_features=10)
    >>> few, many = (DescentLimits(n, 0.05, 5.0, 2.0) for n in (1, 100))
    >>> predicted_error(problem, 1.0, "last", few) > predicted_error(problem, 1.0, "last", many)
    True
    """
    assert problem.scored is not None
    curvature = typical_curvature(problem.scored)
    schedule = Schedule(limits.n_steps, limits.step_size, iterate)
    share = mu / math.sqrt(limits.n_steps)
    decay = 1.0 - limits.step_size * curvature * SLOW_CURVATURE
    left = float(averaging_weights(schedule) @ decay ** np.arange(1, limits.n_steps + 1))
    gradient_noise = 2.0 * limits.slope_limit * limits.row_limit / (problem.n_rows * share)
    noise = predicted_noise_std(schedule, gradient_noise, curvature)
    return left**2 + problem.size * noise**2


def step_curvature(loss: Loss, typical: float) -> float:
    """Curvature that the step size allows for, per squared row norm.

    Examples
    --------
    >>> import tailguard as tg
    >>> step_curvature(tg.losses.Logistic(), typical=0.2)
    0.25
    """
    if loss.link.log:
        return LOG_LINK_CURVATURE * typical
    return min(loss.curvature_bound(), CURVATURE_SPREAD * typical)


def slope_limit_at(loss: Loss, reach: float, typical: float) -> float:
    """Slope of a residual of ``reach``, pulled in while the curvature there is out of proportion.

    Examples
    --------
    >>> import tailguard as tg
    >>> slope_limit_at(tg.losses.Squared(), reach=5.0, typical=1.0)
    5.0
    """
    if math.isfinite(loss.slope_bound()):
        return loss.slope_bound()
    if loss.link.log:
        return min(reach, LARGEST_COUNT_LIMIT)
    residuals = np.linspace(1.0, reach, 1000)
    slopes = loss.slope(residuals, np.zeros_like(residuals))
    curvatures = np.gradient(slopes, residuals)
    allowed = curvatures <= CURVATURE_SPREAD * typical * (1.0 + 1e-6)
    return float(np.abs(slopes[allowed]).max(initial=abs(float(slopes[0]))))
