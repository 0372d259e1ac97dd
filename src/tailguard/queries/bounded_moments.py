"""First and second moments of cells that are cut to a range, and products of pairs of columns.

An unreadable cell counts as the centre of its column, which adds zero. The other cells of its
record count as they are.

*Moments.* A cell adds ``q(u) = (u, b u^2)`` with ``u = clip((x - centre) / radius, -1, 1)``, or
zero, which is ``q(0)``. Let ``t = |u - v|`` and ``s = |u + v|``, so ``t + s <= 2``. Then
``|q(u) - q(v)|^2 = t^2 (1 + b^2 s^2) <= t^2 (1 + b^2 (2 - t)^2)``. If
``b^2 <= (2 + t) / (t^2 (2 - t))``, that is at most 4. The right-hand side is smallest at
``t = sqrt(5) - 1``, where its root is 1.665, and ``b = 1.66`` is below this. So the square adds
nothing to the sensitivity.

With groups, ``b = 1``. If a record moves from one group to another, it takes one vector ``q`` away
and adds one elsewhere, each of norm at most ``sqrt(2)``. Within a group the bound above holds. So
the sensitivity is 2 again, for every column. In l1 norm
``t + b t s <= t (1 + b (2 - t)) <= (1 + 2 b)^2 / (4 b)``, which is below 2.812. Between groups
``|u| + u^2 <= 2`` counts twice.

*Products.* The row ``z`` of standardised cells, cut to norm 1, adds ``z z'``. It is packed with
``sqrt(2)`` off the diagonal, so ``|z z' - w w'|^2 = |z|^4 + |w|^4 - 2 (z'w)^2 <= 2``. The same
holds in groups.

*Weights and persons.* The contribution of a row is multiplied by its weight in [0, 1]. The
contribution of a person's row is also multiplied by its share, and rounded by itself. So a record
adds a point of the convex hull of zero and the contributions of single rows, over all groups
together. The hull is no wider than the set of these contributions, so the bounds above hold.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.1 (sums of bounded vectors); Dwork, Talwar,
Thakurta and Zhang 2014, Theorem 1 (second moments of rows of norm at most 1).
"""

import math
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError
from tailguard.data.rows.base import (
    RecordBlock,
    chunks_of,
    round_to_lattice,
    rounded_alone,
    shrink,
)
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import SumQuery, sum_sensitivity
from tailguard.queries.level_tables import Indicators, codes_of, n_codes
from tailguard.queries.units import Units

ColumnUnits = tuple[FloatArray, FloatArray]
"""Centres and radii: one row per group, one entry per column."""

SQUARE_WEIGHT = 1.66
"""The weight of squares relative to values, without groups."""
# How far one cell moves the sums: in l2 norm; in l1 norm, where ``(1 + 2 b)^2 / (4 b)`` is 2.81103
# for the weight above (computed); and in l1 norm with groups.
MOVE, MOVE_L1, MOVE_L1_OF_GROUPS = 2.0, 2.812, 4.0


@dataclass(frozen=True)
class BoundedMoments(SumQuery):
    """Per group and column, sums of cut cells and of their squares, in units of the radius.

    The state is ``(centre, radius)``, two matrices with a row per group and an entry per column.

    Attributes
    ----------
    columns
        The features whose cells are added up.
    by
        The indicators of each declared column that defines groups; empty for one group.

    Guarantee
    ---------
    Replacing a record by any other moves the sums by at most ``2 * sqrt(k)`` in l2 norm, with ``k``
    columns and any number of groups, plus the charged rounding.

    Edge cases
    ----------
    A cell that is not finite adds zero; the other cells of its record count.

    Examples
    --------
    >>> BoundedMoments((0, 1, 2, 3)).sensitivity(n_rows=10, n_features=4).ideal
    4.0
    """

    columns: tuple[int, ...]
    by: Indicators = ()

    name = "first and second moments of cells"

    @classmethod
    def worst_pair(cls, units: Units) -> dict[str, Any]:
        """Return two columns, and a record that moves both from one end to near the other."""
        state = np.array([[0.5, -1.0]]), np.array([[2.0, 1e-3]])
        ends = {"old": (1e300, 9.0, 0.0, 0.0), "new": (-0.1, -1.0003, 0.0, 0.0)}
        return {"label": "two", "query": cls((0, 1)), "state": state, **ends}

    @property
    def weight(self) -> float:
        """The weight of squares relative to values."""
        return 1.0 if self.by else SQUARE_WEIGHT

    @property
    def size(self) -> int:
        """Number of sums."""
        return 2 * n_codes(self.by) * len(self.columns)

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of all sums together."""
        n_columns = len(self.columns)
        longest = math.hypot(1.0, self.weight) * math.sqrt(n_columns)
        return sum_sensitivity(longest, self.size, n_rows, move=MOVE * math.sqrt(n_columns))

    def pure_sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State how far the sums move in l1 norm."""
        n_columns, move = len(self.columns), MOVE_L1_OF_GROUPS if self.by else MOVE_L1
        longest = 3.0 * n_columns  # a cell adds at most 1 + SQUARE_WEIGHT = 2.66 in l1 norm
        return sum_sensitivity(longest, self.size, n_rows, move=move * n_columns, norm="l1")

    def read_state(self, state: ColumnUnits) -> ColumnUnits:
        """Return centres and radii; refuse anything but one number per group and column."""
        return _read_units(state, (n_codes(self.by), len(self.columns)))

    def sum_block(self, block: RecordBlock, state: ColumnUnits, grid: float) -> IntArray:
        """Add up on the lattice, chunk by chunk."""
        n_columns, total = len(self.columns), np.zeros(self.size, dtype=np.int64)
        for chunk in chunks_of(block):
            group = codes_of(chunk.features, self.by)
            cut = _standardised(chunk, self.columns, state[0][group], state[1][group])
            terms = np.stack([cut, self.weight * (cut * cut)], axis=2)
            if chunk.weight is not None:
                terms *= chunk.weight[:, None, None]
            terms = np.rint(terms / grid) if block.alone else terms
            first = (group[:, None] * n_columns + np.arange(n_columns))[:, :, None] * 2
            places = (first + np.arange(2)).ravel()
            sums = np.bincount(places, weights=terms.ravel(), minlength=self.size).astype(
                np.float64
            )
            total += sums.astype(np.int64) if block.alone else round_to_lattice(sums, grid)
        return total

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Return the two sums of each group and column."""
        return np.reshape(noised, (n_codes(self.by), len(self.columns), 2)) / (1.0, self.weight)

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"columns": len(self.columns), "groups": n_codes(self.by)}


@dataclass(frozen=True)
class CellProducts(SumQuery):
    """Sums of products of standardised cells of all pairs of columns, rows cut to norm 1.

    The state is ``(centre, radius)``, two matrices of one row. The answer is a symmetric matrix.

    Attributes
    ----------
    columns
        The features whose cells are multiplied.

    Guarantee
    ---------
    Replacing a record by any other moves the packed sums by at most ``sqrt(2)`` in l2 norm, plus
    the charged rounding. With one column the bound is 1, but ``sqrt(2)`` is charged.

    Edge cases
    ----------
    A cell that is not finite counts as its centre; the other cells of its record count.

    Examples
    --------
    >>> CellProducts((0, 1)).sensitivity(n_rows=10, n_features=2).ideal ** 2
    2.0000000000000004
    """

    columns: tuple[int, ...]

    name = "products of pairs of cells"

    @classmethod
    def worst_pair(cls, units: Units) -> dict[str, Any]:
        """Return two columns, and a record that moves far out from one axis to the other."""
        ends = {"old": (1e300, 0.0, 0.0, 0.0), "new": (0.0, 1e9, 0.0, 0.0)}
        state = np.zeros((1, 2)), np.array([[2.0, 1e-3]])
        return {"label": "axes", "query": cls((0, 1)), "state": state, **ends}

    @property
    def size(self) -> int:
        """Number of sums: the entries of the upper triangle."""
        return len(self.columns) * (len(self.columns) + 1) // 2

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of all sums together."""
        return sum_sensitivity(1.0, self.size, n_rows, move=math.sqrt(2.0))

    def read_state(self, state: ColumnUnits) -> ColumnUnits:
        """Return centres and radii; refuse anything but one number per column."""
        return _read_units(state, (1, len(self.columns)))

    def sum_block(self, block: RecordBlock, state: ColumnUnits, grid: float) -> IntArray:
        """Add up on the lattice, chunk by chunk."""
        first, second = np.triu_indices(len(self.columns))
        packing = np.where(first == second, 1.0, math.sqrt(2.0))
        total = np.zeros(self.size, dtype=np.int64)
        for chunk in chunks_of(block):
            cut = _standardised(chunk, self.columns, *state)
            # Column by column: NumPy would add the squares of a single row in another order.
            norms = np.sqrt(reduce(np.add, (cut * cut).T))
            cut *= (shrink(self.size) / np.maximum(norms, 1.0))[:, np.newaxis]
            weighted = cut if chunk.weight is None else cut * chunk.weight[:, None]
            if block.alone:
                total += rounded_alone(weighted[:, first] * cut[:, second] * packing, grid)
            else:
                total += round_to_lattice((weighted.T @ cut)[first, second] * packing, grid)
        return total

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Return the symmetric matrix of sums."""
        n_columns = len(self.columns)
        first, second = np.triu_indices(n_columns)
        sums = np.zeros((n_columns, n_columns))
        sums[first, second] = noised / np.where(first == second, 1.0, math.sqrt(2.0))
        return np.triu(sums) + np.triu(sums, 1).T

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"columns": len(self.columns)}


def _read_units(state: ColumnUnits, shape: tuple[int, int]) -> ColumnUnits:
    """Return centres and radii; refuse matrices of another shape, and invalid numbers."""
    center, radius = (np.array(part, dtype=np.float64) for part in state)
    for name, numbers in (("centre", center), ("radius", radius)):
        if numbers.shape != shape or not np.isfinite(numbers).all():
            raise InputError(f"{name} must have one finite number per group and column.")
    if not (radius > 0.0).all():
        raise InputError("radius must be above 0.")
    return center, radius


def _standardised(
    chunk: RecordBlock, columns: tuple[int, ...], center: FloatArray, radius: FloatArray
) -> FloatArray:
    """Return distances from the centre over the radius, cut to [-1, 1]; zero if unreadable.

    The loop reads a subnormal radius as zero; zero over zero counts as zero.
    """
    cells = np.asarray(chunk.features[:, columns], dtype=np.float64)
    cut = np.clip((cells - center) / radius, -1.0, 1.0)
    return np.where(np.isfinite(cells) & ~np.isnan(cut), cut, 0.0)
