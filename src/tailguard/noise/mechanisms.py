"""Mechanisms: each adds noise to integers on a lattice and states the event that a release costs.

``ALL_MECHANISMS`` lists them by name. The contract tests run for every name in the tables below.

Reference
---------
Canonne, Kamath and Steinke 2020, Theorem 4 (discrete Gaussian); Ghosh, Roughgarden and
Sundararajan 2012 (discrete Laplace).
"""

from typing import TypeAlias

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
        calibrate = gaussian_calibration if self.name == "gaussian" else laplace_calibration
        return calibrate(sensitivity, share)

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


MECHANISMS = {name: LatticeMechanism(name) for name in ("gaussian", "laplace")}
"""Mechanisms that add noise to every coordinate, by name."""

PEELING_MECHANISMS = {name: Peeling(name) for name in PEELINGS}
"""Mechanisms that choose some entries and release their noised values, by name."""

SMOOTH_MECHANISMS = {name: SmoothMechanism(name) for name in SMOOTH_NOISE}
"""Mechanisms whose noise has a secret scale, which comes with the answer, by name."""

Mechanism: TypeAlias = LatticeMechanism | Peeling | SmoothMechanism
"""States the event of a calibration, draws the noise, and bounds how inexact the draw is."""

ALL_MECHANISMS: dict[str, Mechanism] = {**MECHANISMS, **PEELING_MECHANISMS, **SMOOTH_MECHANISMS}
"""Every mechanism, by its name in calibrations."""
