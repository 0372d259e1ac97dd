"""Histograms of the cells of columns between released edges, and counts of readable cells.

The edges are the state: one rising vector per column, or per group and column. So one query serves
for the first, coarse histogram of a column, for each finer one where a quantile may lie, and for a
histogram between public edges. A cell without a number does not affect the other cells of its
record.

*Sensitivity.* Without groups a record adds ``(e_j, 1)`` in each of ``k`` columns, the bin of its
cell and one readable cell, or zero where the cell cannot be read. Two such vectors differ by
``sqrt(2)`` at most: if both cells can be read, the last entry is the same; if one cannot, only one
bin and the last entry differ. So the count of readable cells costs nothing, and all columns
together move by at most ``sqrt(2 k)`` in l2 norm and ``2 k`` in l1 norm.

With groups a replaced record may move to another group. Without the count of readable cells it
takes one from a bin and adds one to another, again ``sqrt(2)`` per column. With the count it would
move by 2, so groups have no such count. ``h`` histograms of equal cost have together the
sensitivity of a tree of ``h`` levels, ``sqrt(2 h k)``.

*Weights and persons.* All that a row adds is multiplied by one whole number of steps: its weight in
[0, 1] times its share of its person, rounded down. So a record adds a point of the convex hull of
zero and what rows add, in all groups together, and the hull is no wider.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); Hay, Rastogi, Miklau and Suciu
2010, Section 4 (counts of several resolutions, made consistent by least squares). Chen and Asau
1974, "On generating random variates from an empirical distribution" (a table before a search).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailguard.array_types import Features, FloatArray, IntArray
from tailguard.checks import InputError
from tailguard.data.rows.base import RecordBlock, chunks_of, whole_steps
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import SumQuery, count_sensitivity
from tailguard.queries.level_tables import Indicators, codes_of, n_codes
from tailguard.queries.loop import compiled_loop
from tailguard.queries.units import Units

CELLS_AT_ONCE = 128
"""Cells of a column that a loop reads at once: those of 20 columns fit in the nearest cache."""
MOST_COMPARED = 64
"""Up to this many edges, each cell is compared to all; beyond, bisection is faster (measured)."""
MANTISSA_BITS = 52  # of a float64; 12 bits above them hold its sign and exponent


@dataclass(frozen=True)
class ValueHistograms(SumQuery):
    """Per group and column, how many cells lie in each bin.

    The state is a matrix of edges, with a row for each column of the first group, then for each of
    the next group, and so on; each row rises. A cell at an edge belongs to the bin below it. The
    answer has one row per row of edges: the counts of ``n_edges + 1`` bins, and without groups the
    count of readable cells.

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
    ``2 * k`` in l1 norm, with ``k`` columns and any number of groups. Counts are exact, or weights
    in whole steps: nothing is charged for rounding.

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

    @classmethod
    def worst_pair(cls, units: Units) -> dict[str, Any]:
        """Return two columns, and a record that moves from the first to the last bin of both."""
        state = np.array([[-1.0, 0.0, 1.0], [-2.0, -1.0, 3.0]])
        ends = {"old": (-1e300, -9.0, 0.0, 0.0), "new": (1e300, 9.0, 0.0, 0.0)}
        return {"label": "two", "query": cls((0, 1), 3), "state": state, **ends}

    @property
    def n_rows_of_edges(self) -> int:
        """How many rows of edges the state has: one per group and column."""
        return n_codes(self.by) * len(self.columns)

    @property
    def width(self) -> int:
        """How many counts a row has."""
        return self.n_edges + 1 + (not self.by)

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of all counts together."""
        size = self.n_rows_of_edges * self.width
        return count_sensitivity(math.sqrt(2 * len(self.columns)), size, n_rows)

    def pure_sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far the counts move in l1 norm."""
        size = self.n_rows_of_edges * self.width
        return count_sensitivity(2.0 * len(self.columns), size, n_rows, norm="l1")

    def read_state(self, state: FloatArray) -> FloatArray:
        """Return the edges; refuse rows that do not rise."""
        edges = np.array(state, dtype=np.float64)
        if edges.shape != (self.n_rows_of_edges, self.n_edges) or np.isnan(edges).any():
            raise InputError(
                f"edges must be numbers, {self.n_rows_of_edges} rows of {self.n_edges}; got shape "
                f"{edges.shape}."
            )
        if (edges[:, 1:] < edges[:, :-1]).any():
            raise InputError("edges must not fall within a row.")
        return edges

    def sum_block(self, block: RecordBlock, state: FloatArray, grid: float) -> IntArray:
        """Count exactly, in lattice steps of one over a whole number.

        Every cell takes the same steps, and unreadable cells are counted in a bin that is
        dropped: so the time does not reveal how many there are.
        """
        columns, features = np.array(self.columns, dtype=np.int64), block.features
        tile = np.empty((len(columns), CELLS_AT_ONCE))
        if self.by or self.n_edges > MOST_COMPARED or block.weight is not None:
            starts, n_searched = _starts(state)
            padded = np.full((len(state), self.n_edges + n_searched), np.inf)
            padded[:, : self.n_edges] = state
            search = _search(features.dtype)
            counts = np.zeros((len(state), self.n_edges + 2), dtype=np.int64)
            for chunk in chunks_of(block):
                group = codes_of(chunk.features, self.by) * len(columns)
                steps = whole_steps(chunk.weight, chunk.n_rows, grid)
                search(
                    *(chunk.features, columns, group, steps, padded, starts, n_searched),
                    *(tile, counts),
                )
            bins = counts[:, :-1]
        else:
            above = np.zeros((len(state), self.n_edges + 1), dtype=np.int64)
            _count_above(features.dtype)(features, columns, state, tile, above)
            bins = -np.diff(above, append=0) * round(1.0 / grid)
        readable = bins.sum(axis=1, keepdims=True)
        return np.hstack([bins, readable])[:, : self.width].ravel()

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Return one row of counts per row of edges."""
        return np.reshape(noised, (self.n_rows_of_edges, self.width))

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        groups = n_codes(self.by)
        return {"columns": len(self.columns), "bins": self.n_edges + 1, "groups": groups}


@compiled_loop("features", "in places", "in matrix", "matrix", "counts")
def _count_above(
    features: Features, columns: IntArray, edges: FloatArray, tile: FloatArray, counts: IntArray
) -> None:
    """Add up the readable cells of each column, then those above each of its edges."""
    for first in range(0, len(features), tile.shape[1]):
        last = min(first + tile.shape[1], len(features))
        tile[:, last - first :] = np.nan
        for i in range(first, last):
            for j in range(columns.size):
                cell = features[i, columns[j]]
                tile[j, i - first] = cell if cell - cell == 0.0 else np.nan
        for j in range(columns.size):
            readable = 0
            for i in range(tile.shape[1]):
                readable += tile[j, i] == tile[j, i]
            counts[j, 0] += readable
            for k in range(edges.shape[1]):
                above = 0
                for i in range(tile.shape[1]):
                    above += tile[j, i] > edges[j, k]
                counts[j, k + 1] += above


def _starts(edges: FloatArray) -> tuple[IntArray, int]:
    """Return where the search for a cell starts, and how many edges it covers.

    The first is a table (Chen and Asau 1974). An octave is the set of numbers with the same sign
    and exponent; for each, the table has the number of edges below it. A search then covers only
    the edges within the octave. Their number is the same for all cells: the most that an octave
    has, rounded up to one less than a power of two. If rows of edges differ, all starts are zero
    and all edges are searched.
    """
    octaves = np.arange(2**12, dtype=np.uint64) << np.uint64(MANTISSA_BITS)
    ends = np.array([octaves, octaves + np.uint64(2**MANTISSA_BITS - 1)]).view(np.float64)
    ends = np.where(np.isnan(ends), -np.inf, np.sort(ends, axis=0))
    least, most = np.searchsorted(edges[0], ends)
    if (edges != edges[0]).any():
        least, most = np.zeros_like(least), np.full_like(most, edges.shape[1])
    return least, 2 ** int((most - least).max()).bit_length() - 1


@compiled_loop(
    *("features", "in places", "in places", "in places", "in matrix", "in places", "int64"),
    *("matrix", "counts"),
)
def _search(
    features: Features,
    columns: IntArray,
    group: IntArray,
    steps: IntArray,
    edges: FloatArray,
    starts: IntArray,
    n_searched: int,
    tile: FloatArray,
    counts: IntArray,
) -> None:
    """Find by bisection how many edges of its row lie below each cell; add its steps to that bin.

    The search begins at the start of the cell's octave and covers the next ``n_searched`` edges,
    one less than a power of two; rows of edges end in infinities. Edges are read in one loop and
    compared in another: a single loop would be compiled to jumps, whose time reveals cells.
    """
    below, compared = np.zeros(tile.shape[1], np.int64), np.zeros(tile.shape[1])
    for first in range(0, len(features), tile.shape[1]):
        last = min(first + tile.shape[1], len(features))
        for j in range(columns.size):
            for i in range(first, last):
                tile[j, i - first] = features[i, columns[j]]
        for j in range(columns.size):
            octaves = tile[j].view(np.uint64)
            for i in range(last - first):
                below[i] = starts[octaves[i] >> np.uint64(MANTISSA_BITS)]
            step = (n_searched + 1) // 2
            while step > 0:
                for i in range(last - first):
                    compared[i] = edges[group[first + i] + j, below[i] + step - 1]
                for i in range(compared.size):
                    below[i] += step * (compared[i] < tile[j, i])
                step //= 2
            for i in range(compared.size):  # cells that are not finite get the last bin
                compared[i] = tile[j, i] - tile[j, i]  # 0, or NaN if not finite
                below[i] += (counts.shape[1] - 1 - below[i]) * (compared[i] != compared[i])
            for i in range(last - first):
                counts[group[first + i] + j, below[i]] += steps[first + i]
