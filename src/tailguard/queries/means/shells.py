"""The clipped mean at several radii for the price of the largest.

A row clipped at radius ``R_K`` is the sum of its parts in the shells between the radii
``R_1 < ... < R_K``. Each shell of width ``w`` is released in units of ``sqrt(w)``. One row's parts,
as one vector, then have norm at most ``sqrt(w_1 + ... + w_K) = sqrt(R_K)``, so that noise of
standard deviation ``2 sqrt(R_K) / mu`` on each number is enough. Adding up the first ``k`` shells
gives the sum clipped at ``R_k`` with variance ``4 R_K / mu^2`` times ``w_1 + ... + w_k``, that is

    ``noise std at R_k = 2 sqrt(R_k R_K) / mu``.

At the largest radius this is exactly the noise of a release of that radius alone; smaller ones come
with it for nothing, less noisy, and which of them to use may be decided from what was released.

Reference
---------
Zhao et al. 2024, Algorithm 2 (the clipped mean); the decomposition is this library's.
"""

from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.data.rows.base import Rows
from tailguard.privacy.calibration import Calibration, Sensitivity
from tailguard.queries.base import GaussianQuery
from tailguard.queries.clipped_gradient import clipped_sum_sensitivity
from tailguard.queries.kernels.norms import ShellSum
from tailguard.queries.units import Units


@dataclass(frozen=True)
class ClippedShells(GaussianQuery):
    """Means of the rows' parts in the shells between ``radii``; the state is not used.

    Attributes
    ----------
    units
        The coordinate system in which rows are read.
    radii
        Where the shells end, in increasing order.

    Guarantee
    ---------
    Replacing any record by any other moves the released sums, each in units of the root of its
    shell's width, by at most ``2 * sqrt(radii[-1])`` in l2 norm, plus the charged rounding, under
    replace-one neighbours.

    Edge cases
    ----------
    A record with a non-finite value contributes zero and stays counted.

    Examples
    --------
    >>> query = ClippedShells(Units.raw(2, intercept=False), radii=(1.0, 4.0))
    >>> query.sensitivity(n_rows=1000, n_features=2).ideal
    4.0
    """

    units: Units
    radii: tuple[float, ...]

    name = "clipped mean by shells"
    places = "none"

    @property
    def root_widths(self) -> FloatArray:
        """Roots of the widths of the shells, the units of their release."""
        return np.sqrt(np.diff(self.radii, prepend=0.0))

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of the sums of all shells together."""
        size = len(self.radii) * self.units.size
        return clipped_sum_sensitivity(float(np.sqrt(self.radii[-1])), size, n_rows)

    def answer(self, rows: Rows, state: FloatArray, calibration: Calibration) -> IntArray:
        """Sum the parts of all rows on the lattice."""
        kernel = ShellSum(
            center=self.units.center,
            inverse_scale=1.0 / self.units.scale,
            radii=np.array(self.radii),
            limits=self.root_widths,
            grid=calibration.grid,
        )
        return rows.reduce(kernel)

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Return the mean part of a row in each shell, one shell a row."""
        shells: FloatArray = noised.reshape(len(self.radii), -1) * self.root_widths[:, None]
        return shells / n_rows

    def noise_stds(self, n_rows: int, mu: float) -> FloatArray:
        """Return the deviation of the noise on each number of each shell, after ``finish``."""
        calibration = self.calibrate(n_rows, self.units.size, mu)
        return self.root_widths * (calibration.noise_std / n_rows)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {
            "largest_radius": self.radii[-1],
            "shells": len(self.radii),
            "coordinates": self.units.size,
        }
