"""How far one record can move a statistic, and the noise that hides the move.

Plain records that queries fill in, mechanisms read and certificates print. Everything here is
worked out from public numbers; no record is ever read.
"""

import math
from dataclasses import dataclass
from typing import Literal

SMALLEST_SHARE = 2.0**-24
"""Gaussian mu of a release, over the root of its size, that every lattice calibration grants.

Below it, rounding to the lattice may cost more than the statistic. Plans refuse such a release, so
that no run stops where budget is already reserved.
"""

LARGEST_SHARE, LARGEST_RECORDS_SHARE = 2.0**17, 2.0**44
"""Gaussian mu of a release, and mu times records, that every sum and count fits a lattice with.

Beyond either the noise is finer than chunk sums are exact. Plans refuse such a release, too.
"""

Norm = Literal["l1", "l2", "linf"]


@dataclass(frozen=True)
class Sensitivity:
    """How far replacing one record can move a released vector, in the units of the vector.

    Attributes
    ----------
    norm
        The norm in which the move is measured.
    ideal
        The supremum over all neighbours in real arithmetic.
    computed
        The supremum for the statistic as floats compute it, summation error included. It is never
        below ``ideal``.
    size
        The number of coordinates released.
    largest_partial
        A bound on the magnitude of a coordinate of one chunk's sum, before rounding to the lattice.
    largest_total
        A bound on the magnitude of a coordinate of the whole vector.
    integer
        Whether the vector consists of exact integers, so that rounding to the lattice is exact.

    Examples
    --------
    >>> Sensitivity("l2", ideal=2.0, computed=2.0, size=3, largest_partial=1e3, largest_total=1e6)
    Sensitivity(norm='l2', ideal=2.0, computed=2.0, size=3, largest_partial=1000.0, \
largest_total=1000000.0, integer=False)
    """

    norm: Norm
    ideal: float
    computed: float
    size: int
    largest_partial: float
    largest_total: float
    integer: bool = False


@dataclass(frozen=True)
class Calibration:
    """The lattice and the noise of one release, fixed before any record is read.

    The released vector is ``grid * (lattice + noise)`` with integers ``lattice`` and ``noise``.

    Attributes
    ----------
    sensitivity
        What the query stated.
    mechanism
        The mechanism's name in the registry, such as ``"gaussian"`` or ``"laplace"``.
    grid
        The width of one lattice step, in the units of the vector.
    lattice_scale
        The noise parameter in lattice steps: the standard deviation of the discrete Gaussian, or
        the scale of the discrete Laplace distribution.
    levels
        How many table draws make up one discrete Gaussian; 0 for Laplace.
    charged
        The sensitivity that the books record: ``computed`` plus the rounding to the lattice.
    share
        What the release spends: ``mu`` for Gaussian noise, ``epsilon`` for Laplace noise. It is
        ``charged`` over the noise scale, and never above what was asked for.

    Examples
    --------
    >>> s = Sensitivity("l2", ideal=2.0, computed=2.0, size=1, largest_partial=9, largest_total=9)
    >>> c = Calibration(s, "gaussian", 1e-6, 2e6, 3, 2.0, 1.0)
    >>> c.noise_std
    2.0
    """

    sensitivity: Sensitivity
    mechanism: str
    grid: float
    lattice_scale: float
    levels: int
    charged: float
    share: float

    @property
    def norm(self) -> Norm:
        """The norm of the sensitivity."""
        return self.sensitivity.norm

    @property
    def size(self) -> int:
        """The number of coordinates released."""
        return self.sensitivity.size

    @property
    def log2_scale(self) -> int:
        """The logarithm of the scale of Laplace noise in lattice steps, a power of two."""
        return int(math.log2(self.lattice_scale))

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers for the books beside those of the query: none."""
        return {}

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise on each coordinate, in the units of the vector."""
        spread = self.grid * self.lattice_scale
        return spread if self.mechanism.endswith("gaussian") else spread * 2.0**0.5
