"""What a query is: records to a lattice vector whose move under one replaced record is stated.

A query is calibrated from public numbers before any record is read, answers with integers on the
calibrated lattice, and turns the noised numbers into the answer without seeing records again. The
sensitivity is stated for *every* input: NaN, infinities and values near the float limits included.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Definition 3 (sensitivity).
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tailguard.checks import InputError
from tailguard.noise.lattice import gaussian_calibration
from tailguard.privacy.calibration import Calibration, Sensitivity
from tailguard.rows.base import Rows

__all__ = ["FloatArray", "GaussianQuery", "IntArray", "Query"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Query(Protocol):
    """Records to a vector with a stated sensitivity.

    Examples
    --------
    >>> from tailguard.queries.counts import CountBelow
    >>> query: Query = CountBelow(columns=(0, 1))
    >>> query.sensitivity(n_rows=100, n_features=2).ideal ** 2
    2.0000000000000004
    """

    @property
    def name(self) -> str:
        """The release's name in the books."""
        ...

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far replacing one record moves the vector; no record is needed."""
        ...

    def calibrate(self, n_rows: int, n_features: int, mu: float) -> Calibration:
        """Choose lattice and noise so that the release spends at most ``mu``."""
        ...

    def calibrate_pure(self, n_rows: int, n_features: int, epsilon: float) -> Calibration:
        """Choose lattice and Laplace noise so that the release is ``epsilon``-DP, or refuse."""
        ...

    def answer(self, rows: Rows, state: Any, calibration: Calibration) -> IntArray:
        """Read the records once and return integers on the calibrated lattice."""
        ...

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Turn the noised vector into the answer; never sees records."""
        ...

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers that a reader of the books needs to recompute the sensitivity."""
        ...


class GaussianQuery:
    """Base of queries that are released with Gaussian noise on the lattice.

    Examples
    --------
    >>> from tailguard.queries.counts import CountBelow
    >>> isinstance(CountBelow(columns=(0,)), GaussianQuery)
    True
    """

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far replacing one record moves the vector; every query says its own."""
        raise TypeError(f"{type(self).__name__} must state its sensitivity.")

    def calibrate(self, n_rows: int, n_features: int, mu: float) -> Calibration:
        """Choose lattice and noise so that the release spends at most ``mu``."""
        return gaussian_calibration(self.sensitivity(n_rows, n_features), mu)

    def calibrate_pure(self, n_rows: int, n_features: int, epsilon: float) -> Calibration:
        """Refuse; a query with a pure form says its own."""
        raise InputError(
            f"epsilon needs a query with a pure form, such as the coordinate-wise means; "
            f"{type(self).__name__} has none: ask with mu."
        )

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Return the noised vector as it is."""
        return noised
