"""Discrete noise on a lattice: how much a statistic needs, with rounding charged, and its release.

Real statistics
    Neighbours differ in one record, hence in one chunk; let a and b be the sums of that chunk. A
    sum is rounded as ``rint(a / grid)`` in float64. If ``|a / grid| <= 2**44``, the division errs
    by at most ``2**44 * 2**-53 = 2**-9``, and ``rint`` by at most 1/2. So a lattice coordinate
    moves by at most ``|a - b| / grid + 2 * (1/2 + 2**-9) = |a - b| / grid + 1 + 2**-8``. Chunks are
    added as integers, without error. By the triangle inequality the lattice vector moves by at most
    ``computed / grid + size_term``, with ``size_term`` the norm of ``size`` coordinates of ``1 +
    2**-8``. In the units of the statistic that is ``charged = computed + grid * size_term``. With
    ``grid = noise_scale / lattice_scale`` the share is ``computed / noise_scale + size_term /
    lattice_scale``, which is solved for the noise scale.

Records of several rows
    Each of the ``roundings`` rows of a person is rounded separately, in the way that the sum of a
    chunk is rounded. The lattice sums of two persons differ by at most ``|a - b| / grid`` plus the
    roundings of all rows, which are ``roundings`` times ``size_term``.

Integer statistics
    The lattice step is ``1 / multiplier`` with a whole multiplier, so rounding is exact and the
    charge is the ideal sensitivity. The multiplier is the largest one within the share.

The sampler fixes the noise parameter in lattice steps. A statistic that is too large for the finest
lattice (more than ``2**61`` steps in total) gets a coarser lattice.

Reference
---------
Canonne, Kamath and Steinke 2020, Theorem 4 (discrete Gaussian); Ghosh, Roughgarden and
Sundararajan 2012 (discrete Laplace); Casacuberta, Shoemate, Vadhan and Wagaman 2022 on why
summation and rounding must be charged.
"""

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError, check_choice, check_positive
from tailguard.noise.discrete_gaussian import coordinate_distance, discrete_gaussian, lattice_std
from tailguard.noise.discrete_laplace import NOISE_LIMIT, discrete_laplace
from tailguard.noise.sources import Source
from tailguard.privacy import events
from tailguard.privacy.accounting.total_cost import EXACT, Distance
from tailguard.privacy.calibration import Calibration, Sensitivity

LARGEST_PARTIAL = 2.0**44
LARGEST_TOTAL = 2.0**61
# Statistics lie within LARGEST_TOTAL, so clipping answers at this limit changes no answer. It keeps
# additions exact even if a kernel breaks its bound.
ANSWER_LIMIT = NOISE_LIMIT // 2
_ROUNDING = 1 + 2.0**-8
# More than all roundings of the few float operations below, and too small to matter.
_OUTWARD = 1 + 2.0**-40


# Table levels and noise parameter in lattice steps, the finest lattice first. Three levels are only
# for a mu in the thousands, which no (epsilon, delta) promise has: with three levels a thousand
# draws are 1e-6 from a rounded Gaussian, and with four 1e-9.
_LATTICES = {
    "gaussian": tuple((levels, lattice_std(levels)) for levels in (5, 4, 3)),
    "laplace": tuple((0, 2.0**doublings) for doublings in (26, 21, 16)),
}


def lattice_calibration(mechanism: str, sensitivity: Sensitivity, share: float) -> Calibration:
    """Compute lattice and noise of a release that spends at most ``share``, a mu or an epsilon.

    Guarantee
    ---------
    Discrete noise of this calibration makes a ``"gaussian"`` release ``share``-GDP and a
    ``"laplace"`` release ``share``-DP, pure, and the calibration's ``share`` is at most the given
    one. The rounding of chunk sums is charged; the module's docstring has the proof.

    Edge cases
    ----------
    InputError if the statistic is too large for every lattice, or the share too small for the
    number of coordinates. The error depends on public numbers only.

    Reference
    ---------
    Dong, Roth and Su 2022, Theorem 2.7 (a Gaussian mechanism is GDP); Dwork, McSherry, Nissim and
    Smith 2006, Proposition 1 (the Laplace mechanism).
    """
    norm, unit = ("l2", "mu") if mechanism == "gaussian" else ("l1", "epsilon")
    check_positive(unit, share)
    if sensitivity.norm != norm:
        raise InputError(f"sensitivity must be in the {norm} norm; got {sensitivity.norm}.")
    norm_of_ones = math.sqrt(sensitivity.size) if norm == "l2" else sensitivity.size
    size_term = _ROUNDING * sensitivity.roundings * norm_of_ones
    return Calibration(sensitivity, mechanism, *_finest(sensitivity, mechanism, share, size_term))


def with_roundings(calibration: Calibration, roundings: int, share: float) -> Calibration:
    """Return the calibration for records that are rounded ``roundings`` times to the lattice."""
    before = calibration.sensitivity
    if before.integer or roundings == before.roundings:
        return calibration
    return lattice_calibration(calibration.mechanism, replace(before, roundings=roundings), share)


# A plan and its run need the same numbers. A calibration itself is not cached: whoever changed its
# attributes would change the noise of other runs.
@lru_cache(maxsize=1024)
def _finest(
    sensitivity: Sensitivity, mechanism: str, share: float, size_term: float
) -> tuple[float, float, int, float, float]:
    """Return grid, scale and levels of the lattice, the charged sensitivity, and what it spends."""
    # Within this range every float below is a normal number.
    if not 1e-250 <= sensitivity.ideal <= sensitivity.computed <= 1e250:
        raise InputError(
            "sensitivity must lie between 1e-250 and 1e250, the computed one not below the ideal; "
            f"got ideal {sensitivity.ideal!r} and computed {sensitivity.computed!r}."
        )
    for levels, scale in _LATTICES[mechanism]:
        if sensitivity.integer:
            grid, charged = _integer_grid(sensitivity, scale, share)
        else:
            grid, charged = _real_grid(sensitivity, scale, share, size_term)
        if _fits(sensitivity, grid):
            return grid, scale, levels, charged, charged / (grid * scale)
    raise InputError(
        "n_rows must be small enough that sums stay exact: a total of up to "
        f"{sensitivity.largest_total:.3g} does not fit the lattice at a share of {share:.3g}; use "
        "fewer rows or a smaller share of the budget."
    )


def _fits(sensitivity: Sensitivity, grid: float) -> bool:
    """Whether chunk sums divide accurately and totals stay far from the ends of int64."""
    return (
        sensitivity.largest_partial <= LARGEST_PARTIAL * grid
        and sensitivity.largest_total <= LARGEST_TOTAL * grid
    )


def _integer_grid(sensitivity: Sensitivity, scale: float, share: float) -> tuple[float, float]:
    """Return ``1 / multiplier`` and the ideal sensitivity; nothing is rounded."""
    multiplier = round(share * scale / sensitivity.ideal)
    # Computed as ``share`` is reported: calibrating to a reported share gives the same lattice.
    if multiplier and sensitivity.ideal / (1 / multiplier * scale) > share:
        multiplier -= 1
    if multiplier < 1:
        raise _too_small(sensitivity, share)
    return 1 / multiplier, sensitivity.ideal


def _real_grid(
    sensitivity: Sensitivity, scale: float, share: float, size_term: float
) -> tuple[float, float]:
    """Solve ``computed / noise_scale + size_term / scale = share``, rounding outward."""
    rest = share - size_term / scale
    # Beyond one half the rounding would cost more than the statistic.
    if rest < share / 2:
        raise _too_small(sensitivity, share)
    grid = sensitivity.computed / rest * _OUTWARD / scale
    # Raised by a few units in the last place, so that the float is never below the exact sum.
    return grid, (sensitivity.computed + grid * size_term) * (1 + 2.0**-48)


def _too_small(sensitivity: Sensitivity, share: float) -> InputError:
    return InputError(
        f"the share of the budget must be larger for {sensitivity.size} coordinates at once: at "
        f"{share:.3g} rounding to the lattice would cost more than the statistic itself."
    )


def lattice_noise(size: int, calibration: Calibration, source: Source) -> IntArray:
    """Draw the noise of a calibration for ``size`` coordinates, in lattice steps."""
    if calibration.mechanism.endswith("gaussian"):
        return discrete_gaussian(size, calibration.levels, source)
    return discrete_laplace(size, calibration.log2_scale, source)


def check_calibrated(lattice: IntArray, calibration: Calibration, name: str) -> None:
    """Refuse a calibration of another mechanism, and a vector of another type or length."""
    check_choice("calibration.mechanism", calibration.mechanism, (name,))
    size = calibration.sensitivity.size
    if lattice.dtype != np.int64 or lattice.shape != (size,):
        raise InputError(
            f"lattice must be an int64 vector of {size} coordinates; got {lattice.dtype} of shape "
            f"{lattice.shape}."
        )


class LatticeMechanism:
    """Discrete noise on every coordinate: ``"gaussian"`` or ``"laplace"``.

    Guarantee
    ---------
    Let the lattice vectors of replace-one neighbours differ by at most ``charged / grid``. If this
    holds in the l2 norm, Gaussian noise is ``share``-GDP, up to ``distance``. If it holds in the l1
    norm, Laplace noise is ``share``-DP, without any delta, as its sampler is exact.

    Edge cases
    ----------
    Integers are added exactly. Answer and release are always clipped at 2**61 lattice steps, which
    no calibrated statistic exceeds.

    Reference
    ---------
    Dong, Roth and Su 2022, Theorem 2.7; Canonne, Kamath and Steinke 2020, Theorem 4 (Gaussian);
    Ghosh, Roughgarden and Sundararajan 2012; Dwork, McSherry, Nissim and Smith 2006, Proposition 1
    (Laplace).

    Examples
    --------
    >>> from tailguard.noise.sources import make_source
    >>> count = Sensitivity("l2", 1.0, 1.0, 1, 1024.0, largest_total=1e6, integer=True)
    >>> mechanism = LatticeMechanism("gaussian")
    >>> calibration = mechanism.calibrate(count, 0.5)
    >>> noised = mechanism.release(np.zeros(1, dtype=np.int64), calibration, make_source(None))
    >>> bool(abs(noised[0] * calibration.grid) < 30)  # fifteen standard deviations
    True
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def calibrate(self, sensitivity: Sensitivity, share: float) -> Calibration:
        """Choose lattice and noise for a release that spends at most ``share``, a mu or epsilon."""
        return lattice_calibration(self.name, sensitivity, share)

    def event(self, calibration: Calibration) -> events.Event:
        """Return what one release of this calibration costs."""
        check_choice("calibration.mechanism", calibration.mechanism, (self.name,))
        return (events.Gaussian if self.name == "gaussian" else events.Laplace)(calibration.share)

    def release(self, lattice: IntArray, calibration: Calibration, source: Source) -> IntArray:
        """Return ``lattice`` with fresh noise on every coordinate, as a new array."""
        check_calibrated(lattice, calibration, self.name)
        # The sum is exact: both terms leave room in int64, and noise is clipped far below overflow.
        answer = np.clip(lattice, -ANSWER_LIMIT, ANSWER_LIMIT)
        noised: IntArray = answer + lattice_noise(lattice.size, calibration, source)
        return noised.clip(-ANSWER_LIMIT, ANSWER_LIMIT)

    def distance(self, calibration: Calibration) -> Distance:
        """Return how far the sampled noise of all coordinates is from the event's ideal noise."""
        if self.name == "laplace":
            return EXACT
        return coordinate_distance(calibration.levels).times(calibration.sensitivity.size)
