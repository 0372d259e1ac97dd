"""A histogram of the sizes of rows, or of their entries, in one release.

It shows how heavy the tail is. So a threshold can balance clipping bias against noise.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Example 3 (histograms); Huang, Liang and Yi 2021, Section 3
(a clip level at a private quantile of the norms).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tailguard.array_types import BoolArray, FloatArray, IntArray
from tailguard.checks import InputError, check_choice, require, shown
from tailguard.data.rows.base import RecordBlock, chunks_of, counted
from tailguard.privacy.calibration import Norm, Sensitivity
from tailguard.queries.base import GaussianQuery, Places, count_sensitivity
from tailguard.queries.histograms import count_below, pairs
from tailguard.queries.reading_loops import LARGEST_FEATURE
from tailguard.queries.units import Units


@dataclass(frozen=True)
class CountMagnitudes(GaussianQuery):
    """Number of magnitudes in each cell between ``edges``; the state is not used.

    Attributes
    ----------
    units
        The coordinate system in which rows are read.
    edges
        The upper ends of the cells, in increasing order. An edge belongs to the cell below it.
    of
        ``"norm"``: the norm of each row. ``"entries"``: the ``d`` absolute entries of each row.
        ``"differences"``: the ``d`` absolute entries of the difference of each random pair.

    Guarantee
    ---------
    A record adds at most 1 to the counts, for norms, or ``d`` for entries. Replacing it takes this
    away and adds as much elsewhere. So the counts move by at most ``sqrt(2)`` in l2 norm and 2 in
    l1 norm, times ``d`` for entries. In any order, a record is in at most one pair, so differences
    move as much as entries. Counts are exact integers: nothing is charged for rounding.

    Edge cases
    ----------
    A record with a non-finite value is counted nowhere, nor is a pair with such a member. The
    weight of a pair is the smaller weight of its members.

    Examples
    --------
    >>> query = CountMagnitudes(Units.raw(3, intercept=False), (1.0, 2.0), "entries")
    >>> query.sensitivity(n_rows=10, n_features=3).ideal / 2**0.5
    3.0
    """

    units: Units
    edges: tuple[float, ...]
    of: Literal["norm", "entries", "differences"] = "norm"

    name = "histogram of magnitudes"
    takes_weights = True
    takes_persons = True

    def __post_init__(self) -> None:
        check_choice("of", self.of, ("norm", "entries", "differences"))
        if not self.edges or (np.diff(self.edges, prepend=0.0) <= 0).any():
            raise InputError(f"edges must be positive and increasing; got {shown(self.edges)}.")

    @property
    def per_record(self) -> int:
        """Number of magnitudes per record or pair."""
        return 1 if self.of == "norm" else self.units.size

    @property
    def places(self) -> Places:
        """``"random"`` if records are paired, else ``"none"``."""
        return "random" if self.of == "differences" else "none"

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far the counts move in l2 norm."""
        return self._sensitivity(n_rows, n_features, "l2", math.sqrt(2.0))

    def pure_sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far the counts move in l1 norm."""
        return self._sensitivity(n_rows, n_features, "l1", 2.0)

    def _sensitivity(self, n_rows: int, n_features: int, norm: Norm, move: float) -> Sensitivity:
        """State the sensitivity if one magnitude moves the counts by ``move``."""
        require(
            self.units.center.size == n_features,
            f"units must be those of all {n_features} columns; got units of "
            f"{self.units.center.size} columns.",
        )
        count = self.per_record
        return count_sensitivity(
            move * count, len(self.edges) + 1, n_rows, norm=norm, per_record=count
        )

    def sum_block(self, block: RecordBlock, state: Any, grid: float) -> IntArray:
        """Count records exactly, or their weights in lattice steps.

        Void records are counted in an extra cell, which is dropped. So the running time does not
        depend on them.
        """
        block.check_center(self.units.center.size)
        edges, n_cells = np.array(self.edges, dtype=np.float64), len(self.edges) + 1
        counts, first = np.zeros(n_cells, dtype=np.int64), 0
        weight = block.weight
        if weight is not None and self.of == "differences":
            weight = np.minimum(*pairs(weight))
        for magnitudes, void in self._magnitudes(block):
            cells = count_below(edges, np.fmin(magnitudes, LARGEST_FEATURE))
            cells = np.where(void[:, None], n_cells, cells)
            last = first + len(void)
            weights = None if weight is None else weight[first:last]
            counts += counted(cells, n_cells, grid, weights)
            first = last
        return counts

    def _magnitudes(self, block: RecordBlock) -> Iterator[tuple[FloatArray, BoolArray]]:
        """Yield, per chunk, the magnitudes of records or pairs, and which are void."""
        inverse_scale = 1.0 / self.units.scale
        if self.of == "norm":
            for scored in self.units.score(block):
                yield scored.radius[:, None], scored.void
            return
        for chunk in chunks_of(block):
            rows, void = chunk.features.astype(np.float64), chunk.void()
            if self.of == "entries":
                yield np.abs((rows - self.units.center) * inverse_scale), void
            else:
                differences = np.subtract(*pairs(rows)) * inverse_scale
                yield np.abs(differences), np.logical_or(*pairs(void))

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"cells": len(self.edges) + 1, "per_record": self.per_record, "of": self.of}
