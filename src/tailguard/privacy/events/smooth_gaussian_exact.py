"""Exact divergences of Gaussian noise on a smooth scale, one pair of normal laws at a time.

Neighbours show ``N(0, I)`` and ``N(a, e^(2u) I)`` in units of the first one's noise, or the other
way round, with ``|u| <= smoothness`` and ``|a| <= shift * min(1, e^u)``. Where ``u`` is not zero
the privacy loss is a quadratic in the noise, so that it exceeds epsilon inside or outside a ball,
whose chances are those of noncentral chi-square laws. Hence ``delta`` of each pair is exact.

That the farthest centre is the worst is proved: ``delta = 1 - integral of min(p, e^epsilon q)``,
and level sets of both densities are balls, which share less the farther apart they lie. That the
largest change of scale is the worst one is *not* proved; changes in between are evaluated, on a
grid. So what rests on this is certified numerically and no more.

Reference
---------
Nissim, Raskhodnikova and Smith 2007 (the noise); Anderson 1955 (shifted balls); Balle and Wang
2018, Theorem 8 (equal scales).
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import log_ndtr, ndtr
from scipy.stats import ncx2

from tailguard.array_types import FloatArray

# Changes of the scale that are evaluated, in parts of the largest; in both directions, and none.
PARTS = np.linspace(0.125, 1.0, 8)
# Relative error that is granted to the chi-square laws, and their largest noncentrality. Against
# sums of 100 digits, with 1 to 1000 degrees of freedom and chances down to 1e-33, they err by 5e-12
# at a noncentrality of 1e5, 4e-11 at 1e6 and 8e-10 at 9e6; beyond, the loss of digits in what they
# are asked for counts as well.
ACCURACY, LARGEST_NONCENTRALITY = 1e-8, 1e7
# Where they were compared with quadrature.
LARGEST_EPSILON, LARGEST_SIZE, LARGEST_SMOOTHNESS, LARGEST_SHIFT = 20.0, 1000, 2.0, 20.0


def exact_delta_of_smooth_gaussian(
    smoothness: float, shift: float, size: int, epsilon: float
) -> float:
    """Evaluate delta of ``size`` numbers with Gaussian noise on a smooth scale.

    *Guarantee.* Above the delta of every pair that is evaluated; the worst of all is not proved to
    be among them.

    *Edge cases.* Beyond the range in which it was checked it is 1, which promises nothing; so it is
    where the shift exceeds the smoothness some 800 times.

    *Reference.* The module's head.
    """
    if (
        max(epsilon / LARGEST_EPSILON, size / LARGEST_SIZE) > 1.0
        or max(smoothness / LARGEST_SMOOTHNESS, shift / LARGEST_SHIFT) > 1.0
    ):
        return 1.0
    with np.errstate(all="ignore"):
        wider = _rescaled(smoothness * PARTS, shift, size, epsilon, ncx2.cdf)
        narrower = _rescaled(-smoothness * PARTS, shift, size, epsilon, ncx2.sf)
    worst = float(np.max([*wider, *narrower, _exact_shift_delta(shift, epsilon)]))
    return worst if worst <= 1.0 else 1.0  # not a number promises nothing either


def _exact_shift_delta(shift: float, epsilon: float) -> float:
    """Delta of a shift alone."""
    first = float(ndtr(shift / 2.0 - epsilon / shift))
    second = math.exp(epsilon + float(log_ndtr(-shift / 2.0 - epsilon / shift)))
    return first * (1.0 + ACCURACY) - second


def _rescaled(
    log_scales: FloatArray, shift: float, size: int, epsilon: float, law: Callable[..., FloatArray]
) -> FloatArray:
    """Delta of the largest shift beside each change of scale.

    The loss exceeds epsilon inside a ball if the other law is wider, and outside one if narrower;
    ``law`` is the chi-square one of falling there.
    """
    variance = np.exp(2.0 * log_scales)
    distance = shift * np.minimum(1.0, np.exp(log_scales))
    # loss = size u + (|z - a|^2 / variance - |z|^2) / 2, completed to a square around the centre.
    curvature = np.expm1(-2.0 * log_scales)
    center = distance / variance / curvature
    constant = size * log_scales + (distance**2 / variance - curvature * center**2) / 2.0
    radius = np.maximum(2.0 * (epsilon - constant) / curvature, 0.0)
    far, near = center**2, (center - distance) ** 2 / variance
    first, second = law(radius, size, far), law(radius / variance, size, near)
    delta = first * (1.0 + ACCURACY) - math.exp(epsilon) * second
    return np.where(np.maximum(far, near) <= LARGEST_NONCENTRALITY, delta, 1.0)
