"""The (epsilon, delta) cost of Gaussian noise whose scale depends on the records.

The scale S is smooth (:mod:`tailguard.privacy.arsinh`): between neighbours it changes by a factor
of at most ``exp(smoothness)``. The answer is a vector that moves by at most S in l2 norm. The
release is the answer plus ``S / shift`` times standard normal noise. Renyi divergences of high
order between normal laws of different variances are infinite, so there is no zCDP and no Gaussian
DP. Four calibrations choose smoothness and shift.

Delta is bounded through a third law, with the centre of one neighbour and the scale of the other:
``delta(e1 + e2) <= delta1(e1) + exp(e1) delta2(e2)``. Both halves have closed forms. The shift is
at most ``shift`` standard deviations of either law. The best test for a change of scale is the
length of the noise, whose square is chi-square. In both, the likelihood ratio is monotone, so the
largest change is the worst one. ``"tight"`` and ``"published"`` use this bound.

``"printed"`` marks noise as a paper prints it, on a scale that is not smooth: no finite cost holds.

``"numerical"`` uses the exact delta of pairs of normal laws, which is smaller. Neighbours release
``N(0, I)`` and ``N(a, e^(2u) I)`` in units of the first one's noise, or the other way round, with
``|u| <= smoothness`` and ``|a| <= shift * min(1, e^u)``. If ``u`` is not zero, the privacy loss is
quadratic in the noise, so it exceeds epsilon inside or outside a ball. The probability of a ball
follows from a noncentral chi-square law. Hence ``delta`` of each pair is exact.

The farthest centre is the worst. Proof: ``delta = 1 - integral of min(p, e^epsilon q)``, and level
sets of both densities are balls, which overlap less the farther apart they lie. It is *not* proved
that the largest change of scale is the worst one; smaller changes are evaluated on a grid. So this
calibration is only certified numerically.

Reference
---------
Nissim, Raskhodnikova and Smith 2007 (the method); Wang, Xiao, Devadas and Xu 2020, Algorithm 1
(the constants of ``"published"``: ``smoothness = epsilon / (4 (d + L))`` and
``shift = epsilon / (5 sqrt(2 L))``, with ``L = log(2 / delta)``); Balle and Wang 2018, Theorem 8
(the shift); Anderson 1955 (shifted balls).
"""

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr

from tailguard.array_types import FloatArray
from tailguard.checks import (
    InputError,
    check_choice,
    check_integer,
    check_open_unit,
    check_positive,
)
from tailguard.privacy.arsinh import ARSINH_BASIS, PROVED
from tailguard.privacy.events import Approximate, Event, Unbounded
from tailguard.privacy.roots import crossing, down, step_until, up

# The first half's share of epsilon in the bound; every split is valid, and the best one is used.
SPLITS = np.linspace(0.0, 1.0, 401)
# Allowance for the cancellation of two closed forms, relative to the first; against 50 digits they
# err by 1e-13.
CANCELLATION = 1e-12
# A calibration uses so much less of epsilon, relatively, that its recomputed cost stays within it.
CALIBRATION_MARGIN = 1e-6


def delta_of_smooth_gaussian(smoothness: float, shift: float, size: int, epsilon: float) -> float:
    """Bound delta of ``size`` numbers with Gaussian noise on a smooth scale.

    *Guarantee.* Never below the truth, for every epsilon.

    *Reference.* The proof in the module's head.
    """
    first, second = epsilon * SPLITS, epsilon * SPLITS[::-1]
    with np.errstate(over="ignore", invalid="ignore"):
        bounds = (  # the shift first, or the change of scale first
            _shift_delta(shift, first) + np.exp(first) * _widened(smoothness, size, second),
            _widened(smoothness, size, first) + np.exp(first) * _shift_delta(shift, second),
        )
    # Where exp(epsilon) overflows no bound is proved.
    return min(1.0, up(float(np.nan_to_num(bounds, nan=1.0).min())))


def _shift_delta(mu: float, epsilon: FloatArray) -> FloatArray:
    """Delta of a shift by ``mu`` standard deviations."""
    first = ndtr(mu / 2.0 - epsilon / mu)
    return _difference(first, np.exp(epsilon + log_ndtr(-mu / 2.0 - epsilon / mu)))


def _widened(smoothness: float, size: int, epsilon: FloatArray) -> FloatArray:
    """Delta of a change of the scale by ``exp(smoothness)``: of wider or narrower, the larger one.

    The tests of a squared length compare it with ``far`` or ``near``, in units of the narrower law.
    """
    from scipy import stats  # noqa: PLC0415 (it takes a while to load)

    lost, narrow = -math.expm1(-2.0 * smoothness), math.exp(-2.0 * smoothness)
    far = 2.0 * (epsilon + size * smoothness) / lost
    near = np.maximum(2.0 * (size * smoothness - epsilon) / lost, 0.0)
    growth = np.exp(epsilon)
    return np.maximum(
        _difference(stats.chi2.sf(far * narrow, size), growth * stats.chi2.sf(far, size)),
        _difference(stats.chi2.cdf(near, size), growth * stats.chi2.cdf(near * narrow, size)),
    )


def _difference(first: FloatArray, second: FloatArray) -> FloatArray:
    """Subtract, rounding up."""
    return np.maximum(first - second, 0.0) + CANCELLATION * first


@lru_cache(typed=True)  # typed: True must be refused, even after 1.0 was cached
def smooth_gaussian_constants(
    epsilon: float, delta: float, size: int, calibration: str = "tight"
) -> tuple[float, float]:
    """Return smoothness and shift for an (epsilon, delta)-DP release of ``size`` numbers.

    ``"published"`` returns the constants of the paper. The others multiply both by one factor:
    ``"tight"`` by the largest that the bound allows, ``"numerical"`` by the largest that the exact
    pairs allow.

    *Guarantee.* ``delta_of_smooth_gaussian(*constants, size, epsilon) <= delta`` for ``"tight"``;
    the exact delta is certified, and not proved, for ``"numerical"``; what ``"published"`` costs is
    recomputed, and is less than epsilon.

    *Edge cases.* ``"numerical"`` is refused beyond the range in which it is certified.

    *Reference.* Nissim, Raskhodnikova and Smith 2007.
    """
    check_choice("calibration", calibration, PROVED)
    nats = math.log(2.0 / check_open_unit("delta", delta))
    smoothness = check_positive("epsilon", epsilon) / (4.0 * (size + nats))
    shift = epsilon / (5.0 * math.sqrt(2.0 * nats))
    if calibration == "published":
        return smoothness, shift
    if calibration == "numerical" and not (epsilon <= LARGEST_EPSILON and size <= LARGEST_SIZE):
        raise InputError(
            f"calibration='numerical' must have an epsilon of at most {LARGEST_EPSILON:g} and at "
            f"most {LARGEST_SIZE} numbers, where it is certified; got {epsilon:g} and {size}."
        )
    bound, epsilon = _bound(calibration), epsilon * (1.0 - CALIBRATION_MARGIN)

    def delta_at(factor: float) -> float:
        return bound(factor * smoothness, factor * shift, size, epsilon)

    root = crossing(lambda c: math.log(max(delta_at(c), 1e-300) / delta), 1.0, rtol=1e-10)
    factor = step_until(lambda c: delta_at(c) <= delta, down(root), 1.0 - 1e-9)
    return factor * smoothness, factor * shift


def _bound(calibration: str) -> Callable[[float, float, int, float], float]:
    """Return the function that bounds delta."""
    exact = calibration == "numerical"
    return exact_delta_of_smooth_gaussian if exact else delta_of_smooth_gaussian


def smooth_gaussian_event(parameters: Mapping[str, Any]) -> Event:
    """Recompute the cost of a release from its public parameters: the smallest known epsilon."""
    calibration = check_choice("calibration", str(parameters.get("calibration")), ARSINH_BASIS)
    smoothness = check_positive("smoothness", parameters.get("smoothness"))
    shift = check_positive("shift", parameters.get("shift"))
    size = check_integer("coordinates", parameters.get("coordinates"), minimum=1)
    delta = check_open_unit("delta", parameters.get("delta"))
    if calibration == "printed":
        return Unbounded()
    bound = _bound(calibration)
    return Approximate(_smallest_epsilon(bound, smoothness, shift, size, delta), delta)


@lru_cache(typed=True)  # typed: True must be refused, even after 1.0 was cached
def _smallest_epsilon(
    bound: Callable[[float, float, int, float], float],
    smoothness: float,
    shift: float,
    size: int,
    delta: float,
) -> float:
    """Find epsilon by a search over its reciprocal, in which delta increases."""

    def delta_at(inverse: float) -> float:
        return bound(smoothness, shift, size, 1.0 / inverse)

    # Start at the largest certified epsilon, which the bracket must not exceed.
    guess = 1.0 / LARGEST_EPSILON
    root = crossing(lambda x: math.log(max(delta_at(x), 1e-300) / delta), guess, rtol=1e-10)
    if root == 0.0:
        raise InputError(
            "smoothness, shift and coordinates must be in the range in which their calibration is "
            f"certified; got {smoothness:g}, {shift:g} and {size}."
        )
    return 1.0 / step_until(lambda x: delta_at(x) <= delta, down(root), 1.0 - 1e-9)


# Changes of the scale that are evaluated, as parts of the largest, in both directions.
PARTS = np.linspace(0.125, 1.0, 8)
# Assumed relative error of the chi-square laws, and their largest noncentrality. Against sums of
# 100 digits, with 1 to 1000 degrees of freedom and probabilities down to 1e-33, they err by 5e-12
# at a noncentrality of 1e5, 4e-11 at 1e6 and 8e-10 at 9e6; beyond, the loss of digits in their
# arguments matters as well.
ACCURACY, LARGEST_NONCENTRALITY = 1e-8, 1e7
# The range in which they were compared with quadrature.
LARGEST_EPSILON, LARGEST_SIZE, LARGEST_SMOOTHNESS, LARGEST_SHIFT = 20.0, 1000, 2.0, 20.0


def exact_delta_of_smooth_gaussian(
    smoothness: float, shift: float, size: int, epsilon: float
) -> float:
    """Evaluate delta of ``size`` numbers with Gaussian noise on a smooth scale.

    *Guarantee.* Above the delta of every pair that is evaluated; the worst of all is not proved to
    be among them.

    *Edge cases.* It is 1, which promises nothing, beyond the range in which it was checked. So it
    is if the shift exceeds the smoothness some 800 times, by ``LARGEST_NONCENTRALITY``.

    *Reference.* The module's head.
    """
    if (
        max(epsilon / LARGEST_EPSILON, size / LARGEST_SIZE) > 1.0
        or max(smoothness / LARGEST_SMOOTHNESS, shift / LARGEST_SHIFT) > 1.0
    ):
        return 1.0
    from scipy import stats  # noqa: PLC0415 (it takes a while to load)

    with np.errstate(all="ignore"):
        wider = _rescaled(smoothness * PARTS, shift, size, epsilon, stats.ncx2.cdf)
        narrower = _rescaled(-smoothness * PARTS, shift, size, epsilon, stats.ncx2.sf)
    worst = float(np.max([*wider, *narrower, _exact_shift_delta(shift, epsilon)]))
    return worst if worst <= 1.0 else 1.0  # NaN becomes 1 as well


def _exact_shift_delta(shift: float, epsilon: float) -> float:
    """Delta of a shift alone."""
    first = float(ndtr(shift / 2.0 - epsilon / shift))
    second = math.exp(epsilon + float(log_ndtr(-shift / 2.0 - epsilon / shift)))
    return first * (1.0 + ACCURACY) - second


def _rescaled(
    log_scales: FloatArray, shift: float, size: int, epsilon: float, law: Callable[..., FloatArray]
) -> FloatArray:
    """Delta of the largest shift together with each change of scale.

    The loss exceeds epsilon inside a ball if the other law is wider, and outside one if narrower;
    ``law`` is the chi-square probability of that region.
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
