"""One histogram of the lengths of whitened rows or of residuals: what clip levels are chosen from.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); Andrew, Thakkar, McMahan and
Ramaswamy 2021, Section 2 (clip levels from private quantiles).
"""

import math
from dataclasses import dataclass, field

from tailguard.array_types import FloatArray, IntArray
from tailguard.data.rows.base import CHUNK_ROWS, Rows, summation_slack
from tailguard.data.rows.threads import one_blas_thread
from tailguard.privacy.calibration import Calibration, Sensitivity
from tailguard.queries.base import GaussianQuery
from tailguard.queries.kernels.bins import Bins
from tailguard.queries.kernels.whitened_sums import Weighting
from tailguard.queries.kernels.whitened_sums import (
    WhitenedHistogramCount as WhitenedHistogramKernel,
)
from tailguard.queries.view import View

__all__ = ["Bins", "WhitenedHistogram"]


@dataclass(frozen=True, eq=False)
class WhitenedHistogram(GaussianQuery):
    """How many records, counted by weight, have a row length, residual or slope in each bin.

    The state is the vector of weights of the standardised coordinates; None where neither residuals
    nor slopes are looked at.

    Guarantee
    ---------
    A record adds a weight in [0, 1] to one bin. Replacing it changes two bins by at most 1 each, or
    one bin by at most 1: the vector moves by at most ``sqrt(2)``, for every input.

    Edge cases
    ----------
    A record with a non-finite value is counted nowhere.

    Examples
    --------
    >>> from tailguard.queries.units import Units
    >>> view = View.plain(None, Units.raw(2, intercept=False))
    >>> query = WhitenedHistogram(view, "length", Bins("octaves", -10.0, 2.0, 40))
    >>> round(query.sensitivity(1000, 2).ideal, 6)
    1.414214
    """

    view: View
    what: str
    bins: Bins
    weighting: Weighting = field(default_factory=Weighting)

    places = "none"

    @property
    def name(self) -> str:
        """The release's name in the books."""
        return f"histogram of {self.what}s"

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of the histogram; plain counts are exact integers."""
        ideal = math.sqrt(2.0)
        integer = self.weighting.kind == "one"
        return Sensitivity(
            norm="l2",
            ideal=ideal,
            computed=ideal if integer else ideal + summation_slack(1.0),
            size=self.bins.count,
            largest_partial=min(CHUNK_ROWS, n_rows),
            largest_total=n_rows,
            integer=integer,
        )

    def answer(self, rows: Rows, state: FloatArray | None, calibration: Calibration) -> IntArray:
        """Count on the lattice."""
        kernel = WhitenedHistogramKernel(
            rows=self.view.rows(state),
            what=self.what,
            bins=self.bins,
            weighting=self.weighting,
            grid=calibration.grid,
        )
        with one_blas_thread():
            return rows.reduce(kernel)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"bins": self.bins.count, "weights": self.weighting.kind}
