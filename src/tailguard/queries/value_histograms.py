"""Histograms of values between released edges, cell by cell, and how many cells can be read.

The edges are the state: one rising vector per column, or per group and column. So one query serves
the first look at a column, each finer look where a quantile may lie, and a histogram between public
edges. A cell that is no number leaves the other cells of its record alone.

*Sensitivity.* Without groups a record adds ``(e_j, 1)`` in each of ``k`` columns, the bin of its
cell and one readable cell, or zero where the cell cannot be read. Two such vectors differ by
``sqrt(2)`` at most: from bin to bin the last entry stays, and from a bin to nothing both entries
go. So the count of readable cells costs nothing more, and all columns together move by at most
``sqrt(2 k)`` in l2 norm and ``2 k`` in l1 norm. With groups a replaced record may leave one and
enter another: without the count it takes one from a bin and adds one to another, ``sqrt(2)`` a
column again; with it that would be 2, so groups have no such count. ``h`` looks at equal prices
have together the sensitivity ``sqrt(2 h k)`` of a tree of ``h`` levels.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); Hay, Rastogi, Miklau and Suciu
2010, Section 4 (counts of several resolutions, made consistent by least squares).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError
from tailguard.data.rows.base import RecordBlock, chunks_of
from tailguard.noise.lattice import laplace_calibration
from tailguard.privacy.calibration import Calibration, Sensitivity
from tailguard.queries.base import GaussianQuery, count_sensitivity
from tailguard.queries.level_tables import Indicators, codes_of, n_codes
from tailguard.queries.loop import compiled_loop
from tailguard.queries.units import Units


@dataclass(frozen=True)
class ValueHistograms(GaussianQuery):
    """Per group and column, how many cells lie in each bin.

    The state is a matrix of edges: rows are the columns of the first group, then those of the next;
    each row rises. A cell at an edge belongs to the bin below it. The answer has one row per row of
    edges: the counts of ``n_edges + 1`` bins, and without groups the count of readable cells.

    Attributes
    ----------
    columns
        The features that are counted.
    n_edges
        How many edges a row has.
    by
        The indicators of each declared column that makes groups; empty for one group.

    Guarantee
    ---------
    Replacing a record by any other moves the counts by at most ``sqrt(2 * k)`` in l2 norm and
    ``2 * k`` in l1 norm, with ``k`` columns and any number of groups. Counts are exact.

    Edge cases
    ----------
    A cell that is not finite is counted nowhere; the other cells of its record are.

    Examples
    --------
    >>> ValueHistograms((0, 1), n_edges=4).sensitivity(n_rows=10, n_features=2).ideal
    2.0
    """

    columns: tuple[int, ...]
    n_edges: int
    by: Indicators = ()

    name = "histograms of cells"
    places = "none"

    @classmethod
    def worst_pair(cls, units: Units) -> dict[str, Any]:
        """Return two columns, and a record that goes from the first to the last bin of both."""
        state = np.array([[-1.0, 0.0, 1.0], [-2.0, -1.0, 3.0]])
        ends = {"old": (-1e300, -9.0, 0.0, 0.0), "new": (1e300, 9.0, 0.0, 0.0)}
        return {"label": "two", "query": cls((0, 1), 3), "state": state, **ends}

    @property
    def n_rows_of_edges(self) -> int:
        """How many rows of edges the state has."""
        return n_codes(self.by) * len(self.columns)

    @property
    def width(self) -> int:
        """How many counts a row has."""
        return self.n_edges + 1 + (not self.by)

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of all counts together."""
        size = self.n_rows_of_edges * self.width
        return count_sensitivity(math.sqrt(2 * len(self.columns)), size, n_rows)

    def calibrate_pure(self, n_rows: int, n_features: int, epsilon: float) -> Calibration:
        """Choose lattice and Laplace noise so that the release is ``epsilon``-DP."""
        size = self.n_rows_of_edges * self.width
        sensitivity = count_sensitivity(2.0 * len(self.columns), size, n_rows, norm="l1")
        return laplace_calibration(sensitivity, epsilon)

    def read_state(self, state: FloatArray) -> FloatArray:
        """Return the edges, padded for a search by halving; refuse rows that do not rise."""
        edges = np.array(state, dtype=np.float64)
        if edges.shape != (self.n_rows_of_edges, self.n_edges) or np.isnan(edges).any():
            raise InputError(
                f"edges must be numbers, {self.n_rows_of_edges} rows of {self.n_edges}; got shape "
                f"{edges.shape}."
            )
        if (edges[:, 1:] < edges[:, :-1]).any():
            raise InputError("edges must not fall within a row.")
        padded = np.full((len(edges), 2 ** self.n_edges.bit_length() - 1), np.inf)
        padded[:, : self.n_edges] = edges
        return padded

    def sum_block(self, block: RecordBlock, state: FloatArray, grid: float) -> IntArray:
        """Count exactly, in lattice steps of one over a whole number.

        What cannot be read is counted in a place that is dropped: time does not tell how much.
        """
        n_columns, total = len(self.columns), self.n_rows_of_edges * self.width
        counts = np.zeros(total + 1, dtype=np.int64)
        for chunk in chunks_of(block):
            group = codes_of(chunk.features, self.by) * n_columns
            for place, column in enumerate(self.columns):
                values = np.ascontiguousarray(chunk.features[:, column], dtype=np.float64)
                rows, readable = group + place, np.isfinite(values)
                cells = np.zeros(len(values), dtype=np.int64)
                _search()(state, rows, values, cells)
                places = np.where(readable, rows * self.width + cells, total)
                counts += np.bincount(places, minlength=total + 1)
                if not self.by:
                    counts[place * self.width + self.n_edges + 1] += np.count_nonzero(readable)
        return counts[:-1] * round(1.0 / grid)

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Return one row of counts per row of edges."""
        return np.reshape(noised, (self.n_rows_of_edges, self.width))

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        groups = n_codes(self.by)
        return {"columns": len(self.columns), "bins": self.n_edges + 1, "groups": groups}


@compiled_loop("in matrix", "in places", "in vector", "places")
def _search(edges: FloatArray, rows: IntArray, values: FloatArray, cells: IntArray) -> None:
    """Find by halving how many edges of its row lie below each value; NaN passes none."""
    step = (edges.shape[1] + 1) // 2
    while step > 0:
        for i in range(values.size):
            cells[i] += step * (edges[rows[i], cells[i] + step - 1] < values[i])
        step //= 2
