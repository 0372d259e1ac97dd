"""Mechanisms: integers on a lattice in, noised integers out, and the event that it cost.

Reference
---------
Canonne, Kamath and Steinke 2020, Theorem 4 (discrete Gaussian); Ghosh, Roughgarden and
Sundararajan 2012 (discrete Laplace).
"""

from typing import Protocol

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError, check_choice
from tailguard.noise.discrete_gaussian import coordinate_distance, discrete_gaussian
from tailguard.noise.discrete_laplace import NOISE_LIMIT, discrete_laplace
from tailguard.noise.lattice import gaussian_calibration, laplace_calibration
from tailguard.noise.sources import Source
from tailguard.privacy import events
from tailguard.privacy.accounting.distance import EXACT, Distance
from tailguard.privacy.events.calibration import Calibration, Sensitivity

# Statistics lie within (lattice.LARGEST_TOTAL), so clipping answers here changes nothing that is
# promised; it keeps additions exact even for a kernel that broke its promise.
ANSWER_LIMIT = NOISE_LIMIT // 2


class Mechanism(Protocol):
    """What a gate needs of noise: a calibration, its price, and the draw."""

    @property
    def name(self) -> str:
        """The name in the registry, and in every calibration made for the mechanism."""
        ...

    def calibrate(self, sensitivity: Sensitivity, share: float) -> Calibration:
        """Choose lattice and noise so that a release spends at most ``share``."""
        ...

    def event(self, calibration: Calibration) -> events.Event:
        """Return what one release of this calibration costs."""
        ...

    def release(self, lattice: IntArray, calibration: Calibration, source: Source) -> IntArray:
        """Return ``lattice`` with fresh noise on every coordinate, as a new array."""
        ...

    def distance(self, calibration: Calibration) -> Distance:
        """Return how far the sampler is from the distribution that the event is about."""
        ...


class GaussianMechanism:
    """Discrete Gaussian noise: mu-GDP in the l2 norm.

    Guarantee
    ---------
    ``share``-GDP for replace-one neighbours whose lattice vectors differ by at most
    ``charged / grid`` in the l2 norm, up to ``distance``.

    Edge cases
    ----------
    Integers are added exactly. Beyond 2**61 lattice steps, where no calibrated statistic lies,
    answer and release are clipped, whatever the records are.

    Reference
    ---------
    Dong, Roth and Su 2022, Theorem 2.7; Canonne, Kamath and Steinke 2020, Theorem 4.

    Examples
    --------
    >>> from tailguard.noise.sources import make_source
    >>> count = Sensitivity("l2", 1.0, 1.0, 1, 1024.0, largest_total=1e6, integer=True)
    >>> mechanism = GaussianMechanism()
    >>> calibration = mechanism.calibrate(count, 0.5)
    >>> noised = mechanism.release(np.zeros(1, dtype=np.int64), calibration, make_source(None))
    >>> bool(abs(noised[0] * calibration.grid) < 30)  # fifteen standard deviations
    True
    """

    name = "gaussian"

    def calibrate(self, sensitivity: Sensitivity, share: float) -> Calibration:
        """Choose lattice and noise so that a release spends at most ``share`` in mu."""
        return gaussian_calibration(sensitivity, share)

    def event(self, calibration: Calibration) -> events.Event:
        """Return what one release of this calibration costs."""
        check_choice("calibration.mechanism", calibration.mechanism, (self.name,))
        return events.Gaussian(mu=calibration.share)

    def release(self, lattice: IntArray, calibration: Calibration, source: Source) -> IntArray:
        """Return ``lattice`` with fresh noise on every coordinate, as a new array."""
        check_calibrated(lattice, calibration, self.name)
        return _add(lattice, lattice_noise(lattice.size, calibration, source))

    def distance(self, calibration: Calibration) -> Distance:
        """Return how far the draws of all coordinates are from rounded Gaussians."""
        return coordinate_distance(calibration.levels).times(calibration.sensitivity.size)


class LaplaceMechanism:
    """Discrete Laplace noise: pure epsilon-DP in the l1 norm.

    Guarantee
    ---------
    ``share``-DP, with no delta at all, for replace-one neighbours whose lattice vectors differ by
    at most ``charged / grid`` in the l1 norm: the sampler is exact.

    Edge cases
    ----------
    As for :class:`GaussianMechanism`.

    Reference
    ---------
    Ghosh, Roughgarden and Sundararajan 2012; Dwork, McSherry, Nissim and Smith 2006, Proposition 1.

    Examples
    --------
    >>> from tailguard.noise.sources import make_source
    >>> count = Sensitivity("l1", 1.0, 1.0, 1, 1024.0, largest_total=1e6, integer=True)
    >>> mechanism = LaplaceMechanism()
    >>> calibration = mechanism.calibrate(count, 0.5)
    >>> noised = mechanism.release(np.zeros(1, dtype=np.int64), calibration, make_source(None))
    >>> bool(abs(noised[0] * calibration.grid) < 100)  # fifty times the scale
    True
    """

    name = "laplace"

    def calibrate(self, sensitivity: Sensitivity, share: float) -> Calibration:
        """Choose lattice and noise so that a release spends at most ``share`` in epsilon."""
        return laplace_calibration(sensitivity, share)

    def event(self, calibration: Calibration) -> events.Event:
        """Return what one release of this calibration costs."""
        check_choice("calibration.mechanism", calibration.mechanism, (self.name,))
        return events.Laplace(epsilon=calibration.share)

    def release(self, lattice: IntArray, calibration: Calibration, source: Source) -> IntArray:
        """Return ``lattice`` with fresh noise on every coordinate, as a new array."""
        check_calibrated(lattice, calibration, self.name)
        return _add(lattice, lattice_noise(lattice.size, calibration, source))

    def distance(self, calibration: Calibration) -> Distance:
        """Return none: the sampler is exact."""
        return EXACT


def lattice_noise(size: int, calibration: Calibration, source: Source) -> IntArray:
    """Draw the noise of a calibration, in lattice steps, for so many coordinates."""
    if calibration.mechanism.endswith("gaussian"):
        return discrete_gaussian(size, calibration.levels, source)
    return discrete_laplace(size, calibration.log2_scale, source)


def check_calibrated(lattice: IntArray, calibration: Calibration, name: str) -> None:
    """Refuse a calibration of another mechanism, and what is not the calibrated vector."""
    check_choice("calibration.mechanism", calibration.mechanism, (name,))
    size = calibration.sensitivity.size
    if lattice.dtype != np.int64 or lattice.shape != (size,):
        raise InputError(
            f"lattice must be an int64 vector of {size} coordinates; got {lattice.dtype} of shape "
            f"{lattice.shape}."
        )


def _add(lattice: IntArray, noise: IntArray) -> IntArray:
    """Add exactly: both terms leave room in int64, and noise saturates beyond the last clip."""
    answer = np.clip(lattice, -ANSWER_LIMIT, ANSWER_LIMIT)
    noised: IntArray = np.clip(answer + noise, -ANSWER_LIMIT, ANSWER_LIMIT)
    return noised
