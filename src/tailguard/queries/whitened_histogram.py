"""A histogram of lengths of whitened rows, of residuals or of slopes, to choose clip levels.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); Andrew, Thakkar, McMahan and
Ramaswamy 2021, Section 2 (clip levels from private quantiles).
"""

import math
from dataclasses import dataclass, field

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import check_choice
from tailguard.data.rows.base import RecordBlock, counted, round_to_lattice
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import GaussianQuery, count_sensitivity, sum_sensitivity
from tailguard.queries.bins import Bins
from tailguard.queries.view import View, Weighting

__all__ = ["Bins", "WhitenedHistogram"]


@dataclass(frozen=True, eq=False)
class WhitenedHistogram(GaussianQuery):
    """How many records, each counted by its weight, have their length, residual or slope in a bin.

    The state is the vector of weights of the standardised coordinates; None if neither residuals
    nor slopes are used.

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
    takes_weights = True
    takes_persons = True

    def __post_init__(self) -> None:
        check_choice("what", self.what, ("length", "residual", "slope"))

    @property
    def name(self) -> str:
        """The release's name in the books."""
        return f"histogram of {self.what}s"

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of the histogram; plain counts are exact integers."""
        move = math.sqrt(2.0)  # how far one record moves the vector
        if self.weighting.kind == "one":
            return count_sensitivity(move, self.bins.count, n_rows)
        return sum_sensitivity(1.0, self.bins.count, n_rows, move=move)

    def read_state(self, state: FloatArray | None) -> FloatArray:
        """Return the weights of the standardised coordinates."""
        return self.view.weights(state, rows_alone=not self._reads_scores)

    @property
    def _reads_scores(self) -> bool:
        """Whether the query uses scores."""
        return self.what != "length" or self.weighting.needs_scores

    def sum_block(self, block: RecordBlock, state: FloatArray, grid: float) -> IntArray:
        """Count on the lattice; exactly for weights of 0 or 1, if the grid is one over an integer.

        The residual is the score minus the standardised target.
        """
        total = np.zeros(self.bins.count, dtype=np.int64)
        lengths = self.what == "length" or self.weighting.kind == "beyond"
        scores = self._reads_scores
        for seen in self.view.read(block, state, lengths=lengths, scores=scores):
            value = seen.length
            if self.what == "residual":
                value = seen.score - seen.target
            elif self.what == "slope":
                value = self.view.slope(seen, math.inf)
            weight = self.weighting.of(self.view, seen)
            bins = self.bins.index(value)
            if self.weighting.kind == "one" and seen.weight is not None:
                total += counted(bins, self.bins.count, grid, weight)
                continue
            if block.alone:  # each record is rounded by itself, so counts are integers
                weight = np.rint(weight / grid)
            counts = np.bincount(bins, weight, self.bins.count).astype(np.float64)
            total += round_to_lattice(counts, 1.0 if block.alone else grid)
        return total

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"bins": self.bins.count, "weights": self.weighting.kind}
