"""What losses and rows are like where a typical record has coordinates of about 1.

Nothing here looks at a record. The constants were chosen on simulated Gaussian, correlated and
log-normal designs.

Reference
---------
Stein 1981, Lemma 1 (a mean curvature from slopes); Nesterov 2004, Theorem 2.1.14 (steps of one over
the curvature do not overshoot).
"""

import math

import numpy as np
from scipy.special import ndtri

from tailguard.array_types import FloatArray
from tailguard.losses.base import Loss

ROW_LIMIT_PER_COORDINATE = math.sqrt(3.0)  # a row of unit-scale coordinates has norm sqrt(size)
CURVATURE_SPREAD = 4.0  # the step allows for this many times the typical curvature
LOG_LINK_CURVATURE = 2.0  # exp(score) averages 1 in private units; room for twice that
NORMAL_POINTS = 20_000


def centre_fraction(loss: Loss) -> float:
    """Quantile of the residuals at which the mean slope is zero: 1/2 unless slopes lean."""
    below, above = loss.slope(np.array([-1e9, 1e9]), np.zeros(2))
    return float(round(-below / (above - below), 12))


def leans(loss: Loss) -> bool:
    """Whether slopes balance elsewhere than in the middle of residuals, as those of a quantile."""
    return centre_fraction(loss) != 0.5


def typical_scores(loss: Loss) -> tuple[FloatArray, FloatArray]:
    """Return equally likely standard normal numbers, and the same around the loss's own centre.

    In place of a quadrature: slopes may jump.
    """
    centre = float(ndtri(centre_fraction(loss))) if loss.link.residual else 0.0
    points: FloatArray = ndtri((np.arange(NORMAL_POINTS) + 0.5) / NORMAL_POINTS)
    return points, centre + points


def typical_curvature(loss: Loss) -> float:
    """Mean second derivative at a typical record in private units.

    For a standard normal residual (or score) ``r`` around the loss's own centre ``z``,
    ``E phi''(z + r) = E r phi'(z + r)`` (Stein 1981, Lemma 1); a log link has curvature 1 where the
    mean is 1.
    """
    if loss.link.log:
        return 1.0
    points, scores = typical_scores(loss)
    slopes = loss.slope(scores, np.full(scores.size, 0.0 if loss.link.residual else 0.5))
    return float(np.mean(points * slopes))


def step_curvature(loss: Loss, typical: float) -> float:
    """Curvature that the step size allows for, per squared row norm."""
    if loss.link.log:
        return LOG_LINK_CURVATURE * typical
    return min(loss.curvature_bound(), CURVATURE_SPREAD * typical)
