"""Mechanisms: integers on a lattice in, noised integers out, and the event that it cost.

``make_mechanism`` knows each by its name; a name in a table below buys the contract tests.

Reference
---------
Canonne, Kamath and Steinke 2020, Theorem 4 (discrete Gaussian); Ghosh, Roughgarden and
Sundararajan 2012 (discrete Laplace).
"""

from typing import Any, Protocol

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import check_choice
from tailguard.noise.discrete_gaussian import coordinate_distance
from tailguard.noise.lattice import (
    ANSWER_LIMIT,
    check_calibrated,
    gaussian_calibration,
    laplace_calibration,
    lattice_noise,
)
from tailguard.noise.peeling import Peeling
from tailguard.noise.smooth import SMOOTH_NOISE, SmoothMechanism
from tailguard.noise.sources import Source
from tailguard.privacy import events
from tailguard.privacy.accounting.distance import EXACT, Distance
from tailguard.privacy.calibration import PEELINGS, Calibration, Sensitivity


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


def _add(lattice: IntArray, noise: IntArray) -> IntArray:
    """Add exactly: both terms leave room in int64, and noise saturates beyond the last clip."""
    answer = np.clip(lattice, -ANSWER_LIMIT, ANSWER_LIMIT)
    noised: IntArray = np.clip(answer + noise, -ANSWER_LIMIT, ANSWER_LIMIT)
    return noised


MECHANISMS = {"gaussian": GaussianMechanism(), "laplace": LaplaceMechanism()}
"""Mechanisms that noise every coordinate, by name."""

PEELING_MECHANISMS = {name: Peeling(name) for name in PEELINGS}
"""Mechanisms that choose entries and noise no others."""

SMOOTH_MECHANISMS = {name: SmoothMechanism(name) for name in SMOOTH_NOISE}
"""Mechanisms that take an answer together with the scale of its noise."""

ALL_MECHANISMS: dict[str, Any] = {**MECHANISMS, **PEELING_MECHANISMS, **SMOOTH_MECHANISMS}


def make_mechanism(name: str) -> Mechanism:
    """Return the mechanism called ``name``."""
    if name not in ALL_MECHANISMS:
        check_choice("mechanism", name, ALL_MECHANISMS)
    mechanism: Mechanism = ALL_MECHANISMS[name]
    return mechanism
