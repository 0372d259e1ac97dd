"""A mechanism that adds half the noise that its calibration states."""

from tailguard.noise.mechanisms import LatticeMechanism


class HalvedNoise(LatticeMechanism):
    """Draws correctly, then halves the noise."""

    def release(self, lattice, calibration, source):
        return (super().release(lattice, calibration, source) + lattice) // 2
