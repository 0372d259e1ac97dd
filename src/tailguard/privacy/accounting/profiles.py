"""Privacy profiles, delta as a function of epsilon, and loss distributions made from them.

A profile is a bound delta(e), e >= 0, that holds for both directions of every pair of neighbours.
It extends to negative e. Take its values on a grid, and connect them by a curve that is piecewise
linear in exp(e): this is the profile of a discrete pair of distributions that dominates the
mechanism. Dominating pairs may be composed adaptively.

Reference
---------
Zhu, Dong and Wang 2022, Theorem 10 (composition of dominating pairs); Doroshenko, Ghazi, Kamath,
Kumar and Manurangsi 2022, Algorithm 1 (connecting the dots).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import erfcx, log_ndtr

from tailguard.array_types import FloatArray
from tailguard.privacy.accounting.gaussian import epsilon_of

if TYPE_CHECKING:  # it takes a while to load
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

# The largest delta beyond a profile's end; it is charged as an infinite loss.
TAIL = 1e-20
# If losses span less, their exponentials are different floats: exp(-745) is zero in floats.
LARGEST_SPAN = 700.0


@dataclass(frozen=True)
class Profile:
    """delta(e) for e >= 0, up to an end that losses almost never exceed.

    Attributes
    ----------
    delta
        The bound, on an increasing array of epsilons.
    end
        An epsilon at which the bound is below 1e-20, or has stopped falling.
    straight
        Whether the curve is straight in exp(e) up to its end, so that it needs no grid there.
    """

    delta: Callable[[FloatArray], FloatArray]
    end: float
    straight: bool = False


def gaussian_profile(mu: float) -> Profile:
    """Profile of a ``mu``-GDP release."""

    def delta(e: FloatArray) -> FloatArray:
        """Evaluate Balle and Wang 2018, Theorem 8, with phi(a) for exp(e) phi(b)."""
        a, b = mu / 2.0 - e / mu, -mu / 2.0 - e / mu
        second = np.exp(-a * a / 2.0) * erfcx(-b / math.sqrt(2.0)) / 2.0
        return np.maximum(np.exp(log_ndtr(a)) - second, 0.0)

    return Profile(delta, epsilon_of(mu, TAIL))


def laplace_profile(epsilon: float) -> Profile:
    """Profile of Laplace noise: l1 sensitivity over scale."""
    return Profile(lambda e: -np.expm1(np.minimum(e - epsilon, 0.0) / 2.0), epsilon)


def pure_profile(epsilon: float, failure: float = 0.0) -> Profile:
    """Profile of randomised response, (exp(epsilon) - exp(e)) / (exp(epsilon) + 1).

    With the probability ``failure`` it reveals everything; otherwise it is pure (Kairouz, Oh and
    Viswanath 2015, Theorem 3.4).
    """

    def delta(e: FloatArray) -> FloatArray:
        pure = -np.expm1(np.minimum(e - epsilon, 0.0)) / (1.0 + math.exp(-epsilon))
        return failure + (1.0 - failure) * pure

    return Profile(delta, epsilon, straight=True)


def bounded_range_profile(eta: float) -> Profile:
    """Profile of the worst pair: (exp(eta/2) - exp(e/2))^2 / (exp(eta) - 1), Dong et al. 2020."""

    def delta(e: FloatArray) -> FloatArray:
        missing = -np.expm1(np.minimum(e - eta, 0.0) / 2.0)
        return missing**2 / -math.expm1(-eta)

    return Profile(delta, eta)


def zcdp_profile(rho: float) -> Profile:
    """Profile of a release that is only known to be ``rho``-zCDP."""
    # The bound falls to TAIL at or before rho + 2 sqrt(rho log(1 / TAIL)).
    end = rho + 2.0 * math.sqrt(-rho * math.log(TAIL))
    return Profile(lambda e: convexified(e, _zcdp(rho, e)), end)


def loss_distribution(profile: Profile, step: float) -> "PrivacyLossDistribution":
    """Return a discrete loss distribution on multiples of ``step`` that dominates a profile.

    *Guarantee.* Its delta is at least the profile's at every epsilon, and equal on the grid.

    *Reference.* Doroshenko et al. 2022, Algorithm 1.
    """
    from dp_accounting.pld import pld_pmf  # noqa: PLC0415 (it takes a while to load)
    from dp_accounting.pld.privacy_loss_distribution import (  # noqa: PLC0415
        PrivacyLossDistribution,
    )

    last = math.ceil(profile.end / step)
    cells = np.arange(max(last - 1, 0) if profile.straight else 0, last + 1)
    e: FloatArray = step * cells.astype(np.float64)
    delta = np.clip(profile.delta(e), 0.0, 1.0)
    # The other direction of the pair: delta(-e) = 1 - exp(-e) + exp(-e) delta(e).
    mirrored = cells > 0
    negative = -np.expm1(-e[mirrored]) + np.exp(-e[mirrored]) * delta[mirrored]
    values = np.concatenate((negative[::-1], delta))
    # Rounding must not make the curve rise: raise the values before a rise, which keeps a bound.
    values = np.maximum.accumulate(values[::-1])[::-1]
    if profile.straight:
        grid = np.concatenate((-cells[mirrored][::-1], cells))
        losses = pld_pmf.create_pmf_pessimistic_connect_dots(step, grid, values)
    else:
        losses = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(step, -last, last, values)
    return PrivacyLossDistribution(losses)


def _zcdp(rho: float, e: FloatArray) -> FloatArray:
    """Bound delta by the best of 400 orders (Canonne, Kamath and Steinke 2020, Proposition 12)."""
    # The best order is near e / (2 rho) + 1/2, so this range of (order - 1) covers every e.
    widest = max(2.0, 2.0 * math.sqrt(-math.log(TAIL) / rho))
    best = np.zeros_like(e)
    for excess in np.geomspace(1e-3, widest, 400):
        constant = -(1.0 + excess) * math.log1p(1.0 / excess) - math.log(excess)
        np.minimum(best, excess * ((1.0 + excess) * rho - e) + constant, out=best)
    return np.exp(best)


def convexified(e: FloatArray, delta: FloatArray) -> FloatArray:
    """Return the greatest convex function of exp(e) that is nowhere above the given values.

    The true profile is convex in exp(e), so it stays below the result. If ``e`` spans
    ``LARGEST_SPAN`` or more, the values are returned unchanged.
    """
    if e[-1] - e[0] >= LARGEST_SPAN:
        return delta
    corners: list[int] = []
    for i in range(e.size):
        while len(corners) > 1 and not _turns_up(e, delta, corners[-2], corners[-1], i):
            corners.pop()
        corners.append(i)
    x = np.exp(e - e[-1])
    return np.asarray(np.interp(x, x[corners], delta[corners]), dtype=np.float64)


def mirrored_hull(e: FloatArray, delta: FloatArray) -> FloatArray:
    """Return the convex hull of a bound for both directions of pairs, over negative e too.

    At ``-e`` such a bound is ``1 - exp(-e) + exp(-e) delta(e)``. A profile is convex across zero,
    so values at negative e can lower those at positive e.
    """
    above = e > 0.0
    mirrored = -np.expm1(-e[above]) + np.exp(-e[above]) * delta[above]
    sides = np.concatenate([-e[above][::-1], e])
    return convexified(sides, np.concatenate([mirrored[::-1], delta]))[np.count_nonzero(above) :]


def _turns_up(e: FloatArray, delta: FloatArray, i: int, j: int, k: int) -> bool:
    """Whether the middle of three points lies below the line through the other two."""
    # In units of exp(e[k]), so that losses far apart do not overflow.
    rise, run = delta[j] - delta[i], math.exp(e[j] - e[k]) * -math.expm1(e[i] - e[j])
    return bool(rise * -math.expm1(e[i] - e[k]) < (delta[k] - delta[i]) * run)
