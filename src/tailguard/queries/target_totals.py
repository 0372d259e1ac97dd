"""Add up targets and exposures of usable records, and count these records at no further cost.

A usable record adds a point ``(u, sqrt(3))``: its target, cut to a range and mapped to
``u`` in [-1, 1], and a constant. A void record adds ``(0, 0)``. Two usable records differ by at
most 2, and a usable record differs from a void one by at most ``sqrt(1 + 3) = 2`` as well. So the
count adds nothing to the sensitivity of the first sum. With exposures a record adds
``(u, v, sqrt(6))``: two usable ones differ by at most ``sqrt(4 + 4)``, and a usable and a void one
by at most ``sqrt(1 + 1 + 6)``.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.1 (sums of bounded vectors); Dong, Roth and Su
2022, Theorem 2.7 (Gaussian mechanism).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import check_finite, check_positive
from tailguard.data.rows.base import RecordBlock, chunks_of, rounded_sum
from tailguard.losses.base import bounded_exponent
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import SumQuery, sum_sensitivity
from tailguard.queries.units import Units

COUNTED = 1.732
"""What a usable record counts for each sum: below ``sqrt(3)``, by more than floats err."""


@dataclass(frozen=True)
class TargetTotals(SumQuery):
    """Sums of the targets, and of the exposures, of usable records, and the number of these.

    Attributes
    ----------
    limit
        Targets are cut to [0, ``limit``].
    log_exposure_limit
        The logarithm at which exposures are cut; None without exposures.

    Guarantee
    ---------
    A usable record adds ``k`` numbers in [-1, 1], with ``k`` 1 or 2, and ``COUNTED * sqrt(k)``.
    Since ``1 + COUNTED**2 < 4``, replacing a record moves the vector by at most ``2 * sqrt(k)``,
    plus the charged rounding. Targets at both ends of the range, with exposures at the same ends,
    attain the bound. A weight in [0, 1] multiplies the whole contribution.

    Edge cases
    ----------
    A void record contributes zero. Infinite and negative targets are cut.

    Examples
    --------
    >>> TargetTotals(limit=4.0).sensitivity(n_rows=100, n_features=3).ideal
    2.0
    """

    limit: float
    log_exposure_limit: float | None = None

    name = "targets of usable records"

    @classmethod
    def worst_pair(cls, units: Units) -> dict[str, Any]:
        """Return two records at the ends of the range."""
        ends = {"old": (0.0, 0.0, 0.0, 0.0), "new": (0.0, 0.0, 0.0, 9.0)}
        return {"label": "ends", "query": cls(4.0), "state": None, **ends}

    @property
    def _n_sums(self) -> int:
        return 1 if self.log_exposure_limit is None else 2

    @property
    def _counted(self) -> float:
        """What a usable record adds to the last number."""
        return COUNTED * math.sqrt(self._n_sums)

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of all sums together."""
        longest = 2.0 * math.sqrt(self._n_sums)
        return sum_sensitivity(longest, self._n_sums + 1, n_rows, move=longest)

    def read_state(self, state: Any) -> None:
        """Check the limits; there is no state."""
        check_positive("limit", self.limit)
        if self.log_exposure_limit is not None:
            check_finite("log_exposure_limit", self.log_exposure_limit)

    def sum_block(self, block: RecordBlock, state: Any, grid: float) -> IntArray:
        """Add up on the lattice, chunk by chunk."""
        total = np.zeros(self._n_sums + 1, dtype=np.int64)
        for chunk in chunks_of(block):
            void = chunk.void()
            parts = np.full((chunk.n_rows, total.size), self._counted)
            parts[:, 0] = _signed(chunk.vector("target") / self.limit)
            if self.log_exposure_limit is not None:
                above = chunk.vector("offset") - self.log_exposure_limit
                parts[:, 1] = _signed(np.exp(bounded_exponent(np.minimum(above, 0.0))))
            if chunk.weight is not None:
                parts *= chunk.weight[:, None]
            parts[void] = 0.0
            total += rounded_sum(parts, grid, alone=chunk.alone)
        return total

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Return the sums of ``u``, in [-1, 1] for a record, and the count, over ``n_rows``."""
        return np.append(noised[:-1], noised[-1] / self._counted) / n_rows

    def noise_std(self, n_rows: int, n_features: int, mu: float) -> float:
        """Return the noise of each sum over ``n_rows``; public numbers only."""
        return self.calibrate(n_rows, n_features, mu).noise_std / n_rows

    @staticmethod
    def means(answer: FloatArray, noise_std: float) -> FloatArray:
        """Return the mean of each value over usable records, as a part of its limit.

        There are at most as many usable records as records, and not fewer than the noise. With
        weights the number of records is the released total weight, which may be too small as well.
        """
        usable = min(max(float(answer[-1]), noise_std), 1.0)
        means: FloatArray = 0.5 + 0.5 * np.clip(answer[:-1] / usable, -1.0, 1.0)
        return means

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"sums": self._n_sums, "counted": self._counted}


def _signed(part: FloatArray) -> FloatArray:
    """Map parts of a limit, cut to [0, 1], to [-1, 1]."""
    signed: FloatArray = 2.0 * np.minimum(np.maximum(part, 0.0), 1.0) - 1.0
    return signed
