"""The cost of arsinh-normal noise on a scale that depends on the records.

A scale S is t-smooth if it is at least the local sensitivity and differs between neighbours by a
factor of at most ``exp(t)``. The release is the answer plus ``S / shift`` times ``Z = sinh(Y)``,
with a standard normal Y. So the releases of two neighbours differ as ``Z`` and ``exp(t') Z + s'``
do, with ``|t'| <= smoothness`` and ``|s'| <= shift`` in units of the smaller scale. Both limits are
public; S is never released. Such a release is zCDP; it is neither pure nor Gaussian DP.

``"tight"`` and ``"published"``
    ``sqrt(2 rho) = 1.1425 shift + min(1.858 (exp(t) - 1), sqrt(t (t + 3)))`` with
    ``t = smoothness``: proved, as follows.
``"numerical"``
    ``2 rho = 0.75 shift**2 + 1.14 smoothness**2``, for both up to 2. This is not proved, but was
    evaluated on a grid of smoothnesses, shifts and Renyi orders: no divergence there exceeds 0.998
    of the bound. The constants lie 0.4 and 0.3 % above the suprema for a shift alone and for a
    change of scale alone.
``"printed"``
    Marks noise as a paper prints it, on a scale that is not smooth: no finite cost holds.

*Proof.* Roots of rho add up along a chain of laws, so a shift and a change of scale may be bounded
separately. *Shift.* With ``z = sinh(y)`` the slope of the log-density in z is at most
``max (y + tanh y) / cosh y < 1.1425``, so a shift by s is 1.1425 s-DP, hence
``(1.1425 s)**2 / 2``-zCDP. *Scale.* ``sqrt(t (t + 3))`` is Bun and Steinke's. For the other bound,
let L be the privacy loss as a function of the standard normal y. If its slope is at most K, then
``log E exp(a (L - E L)) <= a**2 K**2 / 2`` for all a, as for every such function of a normal
number. At a = -1 the left side is ``E L``, because ``E exp(-L) = 1``; so the divergence of order a
is at most ``E L + (a - 1) K**2 / 2 <= a K**2 / 2``. Here ``L' = coth(y) (g(y_t) - g(y))``, where
``g(y) = y tanh y + tanh(y)**2`` and ``sinh(y_u) = exp(-u) sinh(y)``. So L' is minus the integral
over u, from 0 to t, of ``g'(y_u) tanh(y_u) / tanh(y)``. Now ``max |g'| < 1.858``, and the quotient
of the tanh is at most 1 for positive u and at most ``exp(|u|)`` for negative u. So
``K <= 1.858 (exp(t) - 1)``.

Reference
---------
Nissim, Raskhodnikova and Smith 2007 (smooth sensitivity); Bun and Steinke 2019 (arsinh-normal
noise; their Proposition 5, as Wang, Xiao, Devadas and Xu 2020 cite it), here with sigma = 1;
Bun and Steinke 2016 (chains and pure DP); Boucheron, Lugosi and Massart 2013, Theorem 5.5
(functions of normal numbers).
"""

import math
from collections.abc import Mapping
from typing import Any

from tailguard.checks import (
    InputError,
    check_choice,
    check_integer,
    check_open_unit,
    check_positive,
)
from tailguard.privacy.events import Event, Unbounded, ZeroConcentrated
from tailguard.privacy.roots import down, up

ARSINH_BASIS: Mapping[str, str] = {
    "tight": "proved in real arithmetic",
    "published": "proved in real arithmetic",
    "numerical": "numerically certified in real arithmetic, not proved",
    "printed": "infinite: the scale is not smooth and nothing is promised",
}
"""What supports the cost that each calibration states."""
PROVED = ("tight", "numerical", "published")
"""Calibrations of known cost, which queries may have."""

# The numerical bound was evaluated for smoothness and shift up to this.
LARGEST_CERTIFIED = 2.0
SHIFT_COST, SMOOTHNESS_COST = 0.75, 1.14
# The largest slopes of the proof: 1.14241... and 1.85725...
SHIFT_SLOPE, SCALE_SLOPE = 1.1425, 1.858


def arsinh_rho(smoothness: float, shift: float, calibration: str = "tight") -> float:
    """Cost in zCDP of one number with arsinh-normal noise on a smooth scale.

    *Guarantee.* ``"tight"`` and ``"published"`` are proved; ``"numerical"`` is certified on a grid,
    for smoothness and shift up to 2.

    *Reference.* The proof in the module's head; Bun and Steinke 2019.
    """
    check_positive("smoothness", smoothness)
    check_positive("shift", shift)
    if calibration == "numerical":
        if max(smoothness, shift) > LARGEST_CERTIFIED:
            raise InputError(
                f"smoothness and shift must be at most {LARGEST_CERTIFIED:g}, where the numerical "
                f"calibration is certified; got {smoothness:.3g} and {shift:.3g}."
            )
        return up((SHIFT_COST * shift**2 + SMOOTHNESS_COST * smoothness**2) / 2.0)
    check_choice("calibration", calibration, ("tight", "published", "numerical"))
    return up((SHIFT_SLOPE * shift + _cost_of(smoothness)) ** 2 / 2.0)


def arsinh_smoothness(rho: float, share: float, calibration: str = "tight") -> float:
    """Largest smoothness that takes ``share`` of a budget of ``rho`` for one number.

    ``share`` is a share of the quantity that adds up: ``sqrt(2 rho)`` if proved, ``rho`` if
    numerical.

    *Reference.* That of :func:`arsinh_rho`, inverted.
    """
    check_positive("rho", rho)
    check_open_unit("smoothness_share", share)
    if calibration == "numerical":
        return min(LARGEST_CERTIFIED, math.sqrt(2.0 * rho * share / SMOOTHNESS_COST))
    spent = share * math.sqrt(2.0 * rho)
    # The root of t (t + 3) = spent^2, written without cancellation.
    by_root = 2.0 * spent**2 / (3.0 + math.sqrt(9.0 + 4.0 * spent**2))
    return max(math.log1p(spent / SCALE_SLOPE), by_root)


def arsinh_shift(rho: float, smoothness: float, calibration: str = "tight") -> float:
    """Largest shift that a budget of ``rho`` for one number allows beside a smoothness.

    *Guarantee.* ``arsinh_rho(smoothness, shift, calibration) <= rho``.

    *Edge cases.* 0 or less if the smoothness takes the whole budget.

    *Reference.* That of :func:`arsinh_rho`, inverted.
    """
    rho = down(down(check_positive("rho", rho)))
    if calibration == "numerical":
        rest = max(2.0 * rho - SMOOTHNESS_COST * smoothness**2, 0.0)
        return min(LARGEST_CERTIFIED, math.sqrt(rest / SHIFT_COST))
    return (math.sqrt(2.0 * rho) - _cost_of(smoothness)) / SHIFT_SLOPE


def _cost_of(smoothness: float) -> float:
    """Return ``sqrt(2 rho)`` for a change of scale alone."""
    by_slope = SCALE_SLOPE * math.expm1(min(smoothness, 700.0))  # no overflow
    return min(by_slope, math.sqrt(smoothness * (smoothness + 3.0)))


def arsinh_event(parameters: Mapping[str, Any]) -> Event:
    """Recompute the cost of a release from its public parameters.

    Each coordinate has its own scale, and the costs of coordinates add up.
    """
    calibration = check_choice("calibration", str(parameters.get("calibration")), ARSINH_BASIS)
    n_numbers = check_integer("coordinates", parameters.get("coordinates"), minimum=1)
    if calibration == "printed":
        return Unbounded()
    rho = arsinh_rho(
        check_positive("smoothness", parameters.get("smoothness")),
        check_positive("shift", parameters.get("shift")),
        calibration,
    )
    return ZeroConcentrated(n_numbers * rho)
