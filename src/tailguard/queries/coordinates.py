"""Entries of records' gradients, each bounded by itself, and their sums by groups.

A group is a run of records in their order, and sizes of groups differ by at most one. Group ``g``
of ``n_groups`` begins with record ``g * n_rows // n_groups`` and ends before the first record of
group ``g + 1``. A lattice step of a group's sum is ``grid`` times the size of the group, so the
integers are group means in steps of ``grid``. Floats are added within one chunk and group, and
integers across chunks. So no bit depends on how the records are cut into blocks. Each row of a
person is multiplied by its share, then rounded by itself.

So replacing one record moves only one group. Before rounding to ``grid``, each coordinate of the
group's mean moves by at most ``2 * limit + summation_slack(limit)`` over the size of the group.
Every bound maps a finite number to a number of magnitude at most ``limit``, by comparisons alone:
no rounding can push a contribution above ``limit``.

Reference
---------
Kamath, Liu and Zhang 2022, Algorithms 3 (clamp) and 4 (soft); Tao, Wu, Cheng and Wang 2022,
Algorithm 3 (truncation to zero); Wang, Xiao, Devadas and Xu 2020, Algorithm 4.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError, check_choice, check_positive, shown
from tailguard.data.rows.base import (
    CHUNK_ROWS,
    RecordBlock,
    chunks_of,
    round_to_lattice,
    rounded_alone,
)
from tailguard.losses.base import Loss
from tailguard.queries.gather import placed
from tailguard.queries.soft_truncation import (
    fast_form,
    fast_soft_truncation,
    soft_limit,
    soft_truncation,
)
from tailguard.queries.units import LARGEST_FEATURE, Units


@dataclass(frozen=True)
class CoordinateBound:
    """The bound on one entry of a gradient.

    ``"clamped"`` cuts the entry to magnitude ``scale``. ``"truncated"`` sets it to zero if its
    magnitude exceeds ``scale``. ``"soft"`` maps it to ``scale * psi(entry / scale)``, with the
    smoothed truncation of :mod:`tailguard.queries.soft_truncation`.

    Guarantee
    ---------
    No result exceeds ``limit`` in magnitude, as floats, whatever the entry.
    """

    kind: Literal["clamped", "truncated", "soft"]
    scale: float
    smoothing: float = 1.0

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, ("clamped", "truncated", "soft"))
        # Within this range the scale and its inverse are normal floats.
        if not 1e-250 <= check_positive("scale", self.scale) <= 1e250:
            raise InputError(
                f"scale must be a number from 1e-250 to 1e250; got {shown(self.scale)}."
            )
        if self.kind == "soft":
            fast_form(self.smoothing)

    @property
    def limit(self) -> float:
        """The largest magnitude of a result."""
        return self.scale * (soft_limit(self.smoothing) if self.kind == "soft" else 1.0)

    def apply(self, values: FloatArray) -> FloatArray:
        """Bound each value, for plans that compute the bias of the bound."""
        if self.kind == "clamped":
            return np.clip(values, -self.scale, self.scale)
        if self.kind == "truncated":
            return np.where(np.abs(values) <= self.scale, values, 0.0)
        return self.scale * soft_truncation(values / self.scale, self.smoothing)

    def apply_fast(self, values: FloatArray) -> FloatArray:
        """Bound each value as loops over records do; a soft bound takes a fast compiled form."""
        if self.kind != "soft":
            return self.apply(values)
        softened: FloatArray = fast_soft_truncation(values * (1.0 / self.scale), self.smoothing)
        return softened * self.scale


def score_gradients(
    loss: Loss | None,
    units: Units,
    weights: FloatArray,
    block: RecordBlock,
    feature_limit: float = LARGEST_FEATURE,
) -> Iterator[FloatArray]:
    """Yield the gradients of each chunk of records: finite for any input, zero for void records.

    Standardised features are cut to magnitude ``feature_limit``, in scores and in gradients. If a
    slope or an entry of a row overflows in a finite record, it counts as 1e150. A slope that
    is not a number counts as zero.
    """
    for scored in units.score(block, weights, feature_limit=feature_limit):
        slope = (
            np.ones(len(scored.rows)) if loss is None else loss.slope(scored.score, scored.target)
        )
        slope = np.where(np.isnan(slope) | scored.void, 0.0, slope)
        # Cut like a feature, so that the product of both is finite.
        yield np.clip(slope, -LARGEST_FEATURE, LARGEST_FEATURE)[:, None] * scored.rows


def placed_gradients(
    loss: Loss | None, units: Units, block: RecordBlock, weights: FloatArray, n_rows: int
) -> IntArray:
    """Write the gradients of a block into the matrix of all records, which a query then sorts.

    Entries are cut to 1e150, so that no difference or sum of them overflows. The gradients of a
    person's rows are multiplied by their shares and added one by one, in the person's own order.
    """
    gradients = np.concatenate([*score_gradients(loss, units, weights, block)])
    gradients = np.clip(gradients, -LARGEST_FEATURE, LARGEST_FEATURE)
    if block.person is None:
        return placed(gradients, block, n_rows)
    assert block.weight is not None
    columns = (gradients * block.weight[:, None]).T
    sums = np.stack([np.bincount(block.person, column, n_rows) for column in columns], axis=1)
    return np.ascontiguousarray(sums).view(np.int64).ravel()


def bounded_group_sums(
    loss: Loss | None,
    units: Units,
    bound: CoordinateBound,
    weights: FloatArray,
    block: RecordBlock,
    *,
    n_rows: int,
    n_groups: int,
    grid: float,
    feature_limit: float = LARGEST_FEATURE,
) -> IntArray:
    """Add up the bounded gradients of a block on the lattice, with one row per group."""
    totals = np.zeros((n_groups, units.size), dtype=np.int64)
    edges = [group * n_rows // n_groups for group in range(n_groups + 1)]
    # Rows that are rounded alone need no chunks: the person of a row, if any, decides its group.
    if block.alone and (n_groups == 1 or block.person is not None):
        for chunk in chunks_of(block):
            (gradients,) = score_gradients(loss, units, weights, chunk, feature_limit)
            values = bound.apply_fast(gradients)
            if chunk.weight is not None:
                values *= chunk.weight[:, None]
            places = np.zeros(chunk.n_rows) if chunk.person is None else chunk.person
            ends = np.searchsorted(places, edges)
            for group in np.flatnonzero(np.diff(ends)).tolist():
                in_group = values[ends[group] : ends[group + 1]]
                totals[group] += rounded_alone(in_group, grid * (edges[group + 1] - edges[group]))
        return totals
    first = block.place
    if first % CHUNK_ROWS or first + block.n_rows > n_rows:
        raise InputError(
            f"n_rows must cover every block, and a block begins with a chunk; got {n_rows} rows "
            f"for a block of records {first} to {first + block.n_rows}."
        )
    start = 0
    # Each round adds the records up to the end of a chunk or of a group.
    while start < block.n_rows:
        group = ((first + start + 1) * n_groups - 1) // n_rows
        opening, closing = edges[group], edges[group + 1]
        chunk_end = (start // CHUNK_ROWS + 1) * CHUNK_ROWS
        end, step = min(block.n_rows, chunk_end, closing - first), grid * (closing - opening)
        part = block.rows(start, end)
        for gradients in score_gradients(loss, units, weights, part, feature_limit):
            values = bound.apply_fast(gradients)
            totals[group] += round_to_lattice(values.sum(axis=0), step)
        start = end
    return totals
