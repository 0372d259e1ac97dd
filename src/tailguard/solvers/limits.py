"""Typical slopes and curvatures of losses, if a typical record has coordinates of about 1.

No function here reads a record. The constants were chosen on simulated Gaussian, Student-t,
correlated and log-normal designs.

Each step of hard thresholding reads a block of ``m = n_rows / n_steps`` records, and adds noise of
scale ``2 * threshold / (ratio * m)`` in gradient units. To be chosen, entries must exceed the
largest noise of all entries, about ``log d`` scales. The theorem's threshold balances the bias
against one scale, so it does not recover the support. In private units a typical entry of a
gradient is about 1, and clipping biases the mean by about ``1 / threshold**2`` for tails with three
moments. So the threshold here balances this bias against the largest noise, and the number of steps
balances both against the remaining distance.

Reference
---------
Stein 1981, Lemma 1 (a mean curvature from slopes); Nesterov 2004, Theorem 2.1.14 (steps of one over
the curvature do not overshoot); Tao, Wu, Cheng and Wang 2022, Algorithm 5 and Theorem 10, whose
threshold this replaces.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from tailguard.array_types import FloatArray
from tailguard.checks import require
from tailguard.gate.plan import Problem
from tailguard.losses.base import Loss

NORMAL_POINTS = 20_000  # means over these points are within 5e-3 of integrals (measured)


def centre_fraction(loss: Loss) -> float:
    """Return the level of the residual quantile at which the mean slope is zero; usually 1/2."""
    below, above = loss.slope(np.array([-1e9, 1e9]), np.zeros(2))
    return float(round(-below / (above - below), 12))


def is_asymmetric(loss: Loss) -> bool:
    """Whether ``centre_fraction`` is not 1/2, as for a quantile loss."""
    return centre_fraction(loss) != 0.5


def typical_scores(loss: Loss) -> tuple[FloatArray, FloatArray]:
    """Return equally likely standard normal numbers, and the same about the centre of the loss.

    Means over these numbers replace a quadrature, since slopes may jump.
    """
    centre = float(ndtri(centre_fraction(loss))) if loss.link.residual else 0.0
    points: FloatArray = ndtri((np.arange(NORMAL_POINTS) + 0.5) / NORMAL_POINTS)
    return points, centre + points


def typical_curvature(loss: Loss) -> float:
    """Return the mean second derivative at a typical record in private units.

    For a standard normal residual (or score) ``r`` about the centre ``z`` of the loss,
    ``E phi''(z + r) = E r phi'(z + r)`` (Stein 1981, Lemma 1); a log link has curvature 1 where the
    mean is 1.
    """
    if loss.link.log:
        return 1.0
    points, scores = typical_scores(loss)
    slopes = loss.slope(scores, np.full(scores.size, 0.0 if loss.link.residual else 0.5))
    return float(np.mean(points * slopes))


STEP_COUNTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)  # the plan chooses one of them
FEWEST_BLOCK_ROWS = 50
STEP = 0.6  # over the typical curvature: heavy-tailed columns have variances up to 3 here
REMAINING = 0.4  # share of the distance that remains after one step
# Features are cut at this many times the size at which a typical slope reaches the threshold.
FEATURES_CUT = 3.0
SMALLEST_THRESHOLD, LARGEST_THRESHOLD = 1.0, 30.0  # in typical slopes
TINIEST = 1e-30  # if curvature is smaller, a step overflows
EULER = 0.5772156649  # the mean of the largest of d Gumbel variables is log d plus this


@dataclass(frozen=True)
class SparseLimits:
    """Public numbers of a sparse descent, in its own units.

    Attributes
    ----------
    n_steps, threshold, step_size
        As the parameters of ``HardThresholding``.
    largest_noise
        The expected largest noise among all entries of a step.
    feature_limit
        The magnitude to which features are cut, in private units.
    """

    n_steps: int
    threshold: float
    step_size: float
    largest_noise: float
    feature_limit: float


def typical_slope(loss: Loss) -> float:
    """Return the root mean square of the slope, for a standard normal residual or score."""
    _, scores = typical_scores(loss)
    return float(np.sqrt(np.mean(loss.slope(scores, np.zeros(scores.size)) ** 2)))


def choose_sparse_limits(
    problem: Problem,
    ratio: float,
    n_nonzero: int,
    *,
    n_steps: int | None = None,
    threshold: float | None = None,
    step_size: float | None = None,
) -> SparseLimits:
    """Choose limits that the user did not state, and the number of steps with the least error.

    ``ratio`` is the sensitivity of an entry over the scale of its noise. The budget determines it.
    """
    loss = problem.scored
    assert loss is not None
    with np.errstate(all="ignore"):
        slope, curvature = typical_slope(loss), typical_curvature(loss)
    require(
        0.0 < slope < math.inf and TINIEST < curvature < math.inf,
        "solver 'hard-thresholding' needs a loss with curvature near a standard normal residual; "
        f"{loss} is too flat or too steep there.",
    )
    step_size = step_size or STEP / curvature
    largest_in_scales = max(math.log(problem.n_features) + EULER, math.sqrt(n_nonzero))
    max_steps = max(1, problem.n_rows // FEWEST_BLOCK_ROWS)
    counts = (
        [count for count in STEP_COUNTS if count <= max_steps] if n_steps is None else [n_steps]
    )
    candidates = []
    for count in counts:
        # The ratio of the largest noise to the threshold, in gradient units.
        noise = 2.0 * largest_in_scales * count / (problem.n_rows * ratio)
        multiple = (2.0 / noise) ** (1.0 / 3.0)
        multiple = min(max(multiple, SMALLEST_THRESHOLD), LARGEST_THRESHOLD)
        clip = threshold or multiple * slope
        error = (slope / clip) ** 2 + noise * clip / slope
        cut = FEATURES_CUT * clip / slope
        limits = SparseLimits(count, clip, step_size, step_size * noise * clip, cut)
        candidates.append((REMAINING**count + error, limits))
    return min(candidates, key=lambda candidate: candidate[0])[1]
