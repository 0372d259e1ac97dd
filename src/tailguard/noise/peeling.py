"""Peeling on the lattice: the places of the largest magnitudes, and their noised values.

The vector consists of integers, none of which moves by more than ``charged / grid`` when one record
is replaced; nor then does a magnitude. Choosing and noising have the same scale. Everything is
exact integer arithmetic, or an order of real keys that is certain: see
:mod:`tailguard.noise.gumbel_race` for one form and ``select_by_laplace`` for the other.

Reference
---------
Tao, Wu, Cheng and Wang 2022, Algorithm 4; Cai, Wang and Zhang 2021, Algorithm 2. The paper's noise
is 3.4 to 6.4 times what its guarantee needs.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError, check_choice, check_integer, shown
from tailguard.noise.discrete_gaussian import coordinate_distance
from tailguard.noise.discrete_laplace import discrete_laplace
from tailguard.noise.gumbel_race import PAIR_VARIATION, gumbel_top
from tailguard.noise.lattice import gaussian_calibration, laplace_calibration
from tailguard.noise.mechanisms import ANSWER_LIMIT, check_calibrated, lattice_noise
from tailguard.noise.sources import Source
from tailguard.privacy.accounting.distance import EXACT, Distance
from tailguard.privacy.events import Event, peeling
from tailguard.privacy.events.calibration import Calibration, Sensitivity


@dataclass(frozen=True)
class PeelingCalibration(Calibration):
    """The lattice and the noise of one peeling; its sensitivity is in the linf norm.

    Attributes
    ----------
    n_selected
        How many entries are chosen by their magnitude.
    n_free
        How many of the last entries are released without being chosen.
    """

    n_selected: int = 1
    n_free: int = 0

    def parameters(self) -> dict[str, float | int | str]:
        """Return what the cost follows from, beside sensitivity and noise."""
        return {"n_selected": self.n_selected, "n_free": self.n_free}

    @property
    def ratio(self) -> float:
        """How many noise scales one entry may move."""
        return self.charged / (self.grid * self.lattice_scale)


class _Peeling(ABC):
    """What both forms share: the calibration, the price, and the two steps of a release."""

    name: ClassVar[str]

    def calibrate(
        self, sensitivity: Sensitivity, share: float, *, n_selected: int = 1, n_free: int = 0
    ) -> PeelingCalibration:
        """Choose lattice and noise so that a release spends at most ``share``."""
        check_choice("sensitivity.norm", sensitivity.norm, ("linf",))
        check_integer("n_free", n_free, minimum=0, maximum=sensitivity.size)
        check_integer("n_selected", n_selected, minimum=0, maximum=sensitivity.size - n_free)
        factor = peeling.share_factor(self.name, n_selected, n_free)
        each = self._of_one(replace(sensitivity, size=1), share / factor)
        return PeelingCalibration(
            sensitivity=sensitivity,
            mechanism=self.name,
            grid=each.grid,
            lattice_scale=each.lattice_scale,
            levels=each.levels,
            charged=each.charged,
            share=each.share * factor,
            n_selected=n_selected,
            n_free=n_free,
        )

    @abstractmethod
    def _of_one(self, entry: Sensitivity, share: float) -> Calibration:
        """Calibrate the noise of one entry, which every norm measures alike."""

    def event(self, calibration: Calibration) -> Event:
        """Return what one release of this calibration costs."""
        known = _known(calibration, self.name)
        return peeling.peeling_event(self.name, known.ratio, known.n_selected, known.n_free)

    def release(self, lattice: IntArray, calibration: Calibration, source: Source) -> IntArray:
        """Return noised values at the chosen and the free places, zero elsewhere."""
        known = _known(calibration, self.name)
        check_calibrated(lattice, known, self.name)
        size = lattice.size
        answer = np.clip(lattice, -ANSWER_LIMIT, ANSWER_LIMIT)
        selectable = size - known.n_free
        places = np.arange(selectable, size)
        if known.n_selected:
            chosen = self._select(np.abs(answer[:selectable]), known, source)
            places = np.concatenate((chosen, places))
        released = np.zeros(size, dtype=np.int64)
        noised = answer[places] + self._noise(places.size, known, source)
        released[places] = np.clip(noised, -ANSWER_LIMIT, ANSWER_LIMIT)
        return released

    @abstractmethod
    def _select(
        self, magnitudes: IntArray, calibration: PeelingCalibration, source: Source
    ) -> IntArray:
        """Choose ``n_selected`` places."""

    def _noise(self, count: int, calibration: PeelingCalibration, source: Source) -> IntArray:
        """Draw the noise of the values."""
        return lattice_noise(count, calibration, source)


class PeeledGaussian(_Peeling):
    """Peeling by exponential mechanisms, exactly, with discrete Gaussian noise on the values.

    Guarantee
    ---------
    ``share**2 / 2``-zCDP for replace-one neighbours whose lattice vectors differ by at most
    ``charged / grid`` in every entry, up to ``distance``; the event says more.

    Edge cases
    ----------
    Equal magnitudes are chosen between at random, as the exponential mechanism does. A chosen value
    may be noised to zero.

    Reference
    ---------
    Durfee and Rogers 2019, Lemma 4.2; Cesar and Rogers 2021, Lemma 3.

    Examples
    --------
    >>> from tailguard.noise.sources import make_source
    >>> vector = Sensitivity("linf", 2.0, 2.0, 4, largest_partial=1e6, largest_total=1e6)
    >>> mechanism = PeeledGaussian()
    >>> calibration = mechanism.calibrate(vector, 1.0, n_selected=2)
    >>> answer = np.rint(np.array([0.0, -1e6, 5e5, 0.0]) / calibration.grid).astype(np.int64)
    >>> mechanism.release(answer, calibration, make_source(None)).nonzero()[0]
    array([1, 2])
    """

    name = "peeled-gaussian"

    def _of_one(self, entry: Sensitivity, share: float) -> Calibration:
        return gaussian_calibration(replace(entry, norm="l2"), share)

    def distance(self, calibration: Calibration) -> Distance:
        """Return how far each value's noise is off, and the undecided pairs of keys."""
        known = _known(calibration, self.name)
        values = coordinate_distance(known.levels).times(known.n_selected + known.n_free)
        return values + Distance(variation=known.sensitivity.size**2 * PAIR_VARIATION)

    def _select(
        self, magnitudes: IntArray, calibration: PeelingCalibration, source: Source
    ) -> IntArray:
        return gumbel_top(magnitudes, calibration.n_selected, calibration.lattice_scale, source)


class PeeledLaplace(_Peeling):
    """Peeling by noisy maxima, with discrete Laplace noise throughout.

    Guarantee
    ---------
    ``share``-DP, with no delta at all, for replace-one neighbours whose lattice vectors differ by
    at most ``charged / grid`` in every entry: the sampler is exact.

    Edge cases
    ----------
    Of equal noised magnitudes the earlier is chosen. A chosen value may be noised to zero.

    Reference
    ---------
    Tao, Wu, Cheng and Wang 2022, Algorithm 4; Dwork and Roth 2014, Claim 3.9 (report noisy max;
    magnitudes move either way, so that a choice costs twice as much as there).

    Examples
    --------
    >>> from tailguard.noise.sources import make_source
    >>> vector = Sensitivity("linf", 2.0, 2.0, 4, largest_partial=1e6, largest_total=1e6)
    >>> mechanism = PeeledLaplace()
    >>> calibration = mechanism.calibrate(vector, 1.0, n_selected=2)
    >>> answer = np.rint(np.array([0.0, -1e6, 5e5, 0.0]) / calibration.grid).astype(np.int64)
    >>> mechanism.release(answer, calibration, make_source(None)).nonzero()[0]
    array([1, 2])
    """

    name = "peeled-laplace"

    def _of_one(self, entry: Sensitivity, share: float) -> Calibration:
        return laplace_calibration(replace(entry, norm="l1"), share)

    def distance(self, calibration: Calibration) -> Distance:
        """Return none: the sampler is exact."""
        _known(calibration, self.name)
        return EXACT

    def _select(
        self, magnitudes: IntArray, calibration: PeelingCalibration, source: Source
    ) -> IntArray:
        return select_by_laplace(magnitudes, calibration.n_selected, calibration.log2_scale, source)


def select_by_laplace(
    magnitudes: IntArray, count: int, log2_scale: int, source: Source
) -> IntArray:
    """Return the places of ``count`` noisy maxima, one after the other with fresh noise.

    A round costs ``2 m / scale`` in pure DP if magnitudes move by ``m``: given all other noise, a
    place wins if its own noise reaches a whole number; a neighbour raises that by at most ``2 m``,
    and the discrete Laplace tail falls by at most ``exp(-2 m / scale)`` over that distance.
    """
    left = np.arange(magnitudes.size)
    chosen = []
    for _ in range(count):
        noised = magnitudes[left] + discrete_laplace(left.size, log2_scale, source)
        best = int(np.argmax(noised))  # the earliest of equals
        chosen.append(int(left[best]))
        left = np.delete(left, best)
    return np.array(sorted(chosen), dtype=np.int64)


def _known(calibration: Calibration, name: str) -> PeelingCalibration:
    """Return a calibration of this mechanism, refusing that of another."""
    check_choice("calibration.mechanism", calibration.mechanism, (name,))
    if not isinstance(calibration, PeelingCalibration):
        raise InputError(f"calibration must be one of a peeling; got {shown(calibration)}.")
    return calibration
