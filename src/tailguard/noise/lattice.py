"""How much lattice noise a statistic needs, with the rounding to the lattice charged exactly.

Real statistics
    Neighbours differ in one record, hence in one chunk; let its sums be a and b. Each is rounded
    as ``rint(a / grid)`` in float64. While ``|a / grid| <= 2**44`` the division errs by at most
    ``2**44 * 2**-53 = 2**-9``, and ``rint`` by at most 1/2. So a lattice coordinate moves by at
    most ``|a - b| / grid + 2 * (1/2 + 2**-9) = |a - b| / grid + 1 + 2**-8``. Chunks are added as
    integers, without error. By the triangle inequality the lattice vector moves by at most
    ``computed / grid + size_term``, with ``size_term`` the norm of ``size`` coordinates of
    ``1 + 2**-8``. In the units of the statistic that is ``charged = computed + grid * size_term``.
    With ``grid = noise_scale / lattice_scale`` the share is ``computed / noise_scale +
    size_term / lattice_scale``, which is solved for the noise scale.

Integer statistics
    The lattice is ``1 / multiplier`` with a whole multiplier, so rounding is exact and the charge
    is the ideal sensitivity. The largest multiplier within the share is taken.

The noise parameter in lattice steps is fixed by the sampler; a statistic too large for it (more
than ``2**61`` steps in total) falls back to a coarser lattice.

Reference
---------
Canonne, Kamath and Steinke 2020, Theorem 4 (discrete Gaussian); Ghosh, Roughgarden and
Sundararajan 2012 (discrete Laplace); Casacuberta, Shoemate, Vadhan and Wagaman 2022 on why
summation and rounding must be charged.
"""

import math
from dataclasses import dataclass
from typing import Literal

from tailguard.checks import InputError, check_positive
from tailguard.noise.discrete_gaussian import lattice_std
from tailguard.privacy.events.calibration import Calibration, Sensitivity

LARGEST_PARTIAL = 2.0**44
LARGEST_TOTAL = 2.0**61
_ROUNDING = 1 + 2.0**-8
# More than all roundings of the few float operations here, and less than anybody notices.
_OUTWARD = 1 + 2.0**-40


@dataclass(frozen=True)
class _Lattice:
    """One sampler setting: its table levels and its noise parameter in lattice steps."""

    levels: int
    scale: float


# Finest first. Three levels serve budgets of mu in the thousands, which no (epsilon, delta) promise
# has: a thousand draws are 1e-6 off a rounded Gaussian there, and 1e-9 at four levels.
_GAUSSIAN_LATTICES = tuple(_Lattice(levels, lattice_std(levels)) for levels in (5, 4, 3))
_LAPLACE_LATTICES = tuple(_Lattice(0, 2.0**doublings) for doublings in (26, 21, 16))


def gaussian_calibration(sensitivity: Sensitivity, mu: float) -> Calibration:
    """Work out lattice and noise of a Gaussian release that spends at most ``mu``.

    Guarantee
    ---------
    Discrete Gaussian noise of this calibration makes the release ``share``-GDP, and ``share`` is
    at most ``mu``. The rounding of chunk sums is charged; the module's docstring has the proof.

    Edge cases
    ----------
    A statistic too large for every lattice, or a share too small for the number of coordinates, is
    an InputError that depends on public numbers only.

    Reference
    ---------
    Dong, Roth and Su 2022, Theorem 2.7 (a Gaussian mechanism is GDP).
    """
    size_term = _ROUNDING * math.sqrt(sensitivity.size)
    return _calibrate(sensitivity, "gaussian", check_positive("mu", mu), size_term)


def laplace_calibration(sensitivity: Sensitivity, epsilon: float) -> Calibration:
    """Work out lattice and noise of a Laplace release that spends at most ``epsilon``.

    Guarantee
    ---------
    Discrete Laplace noise of this calibration makes the release ``share``-DP, pure, and ``share``
    is at most ``epsilon``. The rounding of chunk sums is charged as for Gaussian noise.

    Edge cases
    ----------
    As for :func:`gaussian_calibration`.

    Reference
    ---------
    Dwork, McSherry, Nissim and Smith 2006, Proposition 1 (the Laplace mechanism).
    """
    size_term = _ROUNDING * sensitivity.size
    return _calibrate(sensitivity, "laplace", check_positive("epsilon", epsilon), size_term)


def _calibrate(
    sensitivity: Sensitivity,
    mechanism: Literal["gaussian", "laplace"],
    share: float,
    size_term: float,
) -> Calibration:
    """Take the finest lattice on which the statistic fits."""
    gaussian = mechanism == "gaussian"
    _check_sensitivity(sensitivity, "l2" if gaussian else "l1")
    for lattice in _GAUSSIAN_LATTICES if gaussian else _LAPLACE_LATTICES:
        if sensitivity.integer:
            grid, charged = _integer_grid(sensitivity, lattice, share)
        else:
            grid, charged = _real_grid(sensitivity, lattice, share, size_term)
        if _fits(sensitivity, grid):
            return Calibration(
                sensitivity=sensitivity,
                mechanism=mechanism,
                grid=grid,
                lattice_scale=lattice.scale,
                levels=lattice.levels,
                charged=charged,
                share=_share(charged, grid, lattice),
            )
    raise InputError(
        "n_rows must be small enough that sums stay exact: a total of up to "
        f"{sensitivity.largest_total:.3g} does not fit the lattice at a share of {share:.3g}; use "
        "fewer rows or a smaller share of the budget."
    )


def _integer_grid(sensitivity: Sensitivity, lattice: _Lattice, share: float) -> tuple[float, float]:
    """Return ``1 / multiplier`` and the ideal sensitivity; nothing is rounded."""
    multiplier = round(share * lattice.scale / sensitivity.ideal)
    # Compared as it is reported, so that calibrating to a reported share gives the same lattice.
    if multiplier and _share(sensitivity.ideal, 1 / multiplier, lattice) > share:
        multiplier -= 1
    if multiplier < 1:
        raise _too_small(sensitivity, share)
    return 1 / multiplier, sensitivity.ideal


def _share(charged: float, grid: float, lattice: _Lattice) -> float:
    """Return what a release spends."""
    return charged / (grid * lattice.scale)


def _real_grid(
    sensitivity: Sensitivity, lattice: _Lattice, share: float, size_term: float
) -> tuple[float, float]:
    """Solve ``computed / noise_scale + size_term / lattice_scale = share``, rounding outward."""
    left = share - size_term / lattice.scale
    # Beyond one half the rounding would cost more than the statistic.
    if left < share / 2:
        raise _too_small(sensitivity, share)
    grid = sensitivity.computed / left * _OUTWARD / lattice.scale
    # A few units in the last place above the sum, so that its float value never falls short.
    return grid, (sensitivity.computed + grid * size_term) * (1 + 2.0**-48)


def _fits(sensitivity: Sensitivity, grid: float) -> bool:
    """Whether chunk sums divide accurately and totals stay far from the ends of int64."""
    return (
        sensitivity.largest_partial <= LARGEST_PARTIAL * grid
        and sensitivity.largest_total <= LARGEST_TOTAL * grid
    )


def _check_sensitivity(sensitivity: Sensitivity, norm: str) -> None:
    """Refuse what a query cannot mean; the range keeps every float here normal."""
    if sensitivity.norm != norm:
        raise InputError(f"sensitivity must be in the {norm} norm; got {sensitivity.norm}.")
    if not 1e-250 <= sensitivity.ideal <= sensitivity.computed <= 1e250:
        raise InputError(
            "sensitivity must lie between 1e-250 and 1e250, the computed one not below the ideal; "
            f"got ideal {sensitivity.ideal!r} and computed {sensitivity.computed!r}."
        )


def _too_small(sensitivity: Sensitivity, share: float) -> InputError:
    return InputError(
        f"the share of the budget must be larger for {sensitivity.size} coordinates at once: at "
        f"{share:.3g} rounding to the lattice would cost more than the statistic itself."
    )
