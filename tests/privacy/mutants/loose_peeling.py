"""Peelings whose choices, or whose values, have less noise than their calibration states."""

import dataclasses

import numpy as np

from tailguard.noise.peeling import Peeling


def _with_scale(calibration, factor):
    return dataclasses.replace(calibration, lattice_scale=calibration.lattice_scale / factor)


class LooseGaussianChoice(Peeling):
    """Chooses with noise 1.5 times too small."""

    def __init__(self):
        super().__init__("peeled-gaussian")

    def _select(self, magnitudes, calibration, source):
        return super()._select(magnitudes, _with_scale(calibration, 1.5), source)


class LooseLaplaceChoice(Peeling):
    """Chooses with noise four times too small."""

    def __init__(self):
        super().__init__("peeled-laplace")

    def _select(self, magnitudes, calibration, source):
        return super()._select(magnitudes, _with_scale(calibration, 4), source)


class LooseGaussianValue(Peeling):
    """Halves the noise of the values."""

    def __init__(self):
        super().__init__("peeled-gaussian")

    def release(self, lattice, calibration, source):
        released = super().release(lattice, calibration, source)
        return np.where(released != 0, lattice + (released - lattice) // 2, 0)
