"""Sums by groups of gradients whose every entry is bounded by itself, in one pass.

Losses that Numba does not know have their pass in plain NumPy, which is slower, the reference that
the compiled one is tested against, and evaluates the soft truncation to full precision.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError, check_choice, check_integer, check_positive, shown
from tailguard.data.rows.base import (
    CHUNK_ROWS,
    Kernel,
    RecordBlock,
    Together,
    chunks_of,
    round_to_lattice,
    rounded_alone,
)
from tailguard.queries.kernels.clipped_gradient import ScoreModel
from tailguard.queries.kernels.numpy_twin import (
    LARGEST_FEATURE,
    bounded_slopes,
    known,
    standardised,
)
from tailguard.queries.kernels.soft_truncation import fast_form, soft_limit, soft_truncation
from tailguard.queries.kernels.steady import steady

BOUND_KINDS = ("clamped", "truncated", "soft")
# Beyond these a scale or its inverse leaves the range of normal numbers.
SMALLEST_SCALE, LARGEST_SCALE = 1e-250, 1e250
LARGEST_SLOPE = LARGEST_FEATURE
"""Larger slopes count as this, as larger features do, so that their product is finite."""


@dataclass(frozen=True)
class CoordinateBound:
    """What is done to one entry.

    ``"clamped"`` cuts it at ``scale``; ``"truncated"`` makes zero of what exceeds ``scale``;
    ``"soft"`` is ``scale * psi(entry / scale)`` with the smoothed truncation of
    :mod:`tailguard.queries.kernels.soft_truncation`.

    Guarantee
    ---------
    No result exceeds ``limit`` in magnitude, as floats, whatever the entry.
    """

    kind: Literal["clamped", "truncated", "soft"]
    scale: float
    smoothing: float = 1.0

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, BOUND_KINDS)
        if not SMALLEST_SCALE <= check_positive("scale", self.scale) <= LARGEST_SCALE:
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
        """Return what is made of each value; for plans, which work out the bias of a bound."""
        if self.kind == "clamped":
            return np.clip(values, -self.scale, self.scale)
        if self.kind == "truncated":
            return np.where(np.abs(values) <= self.scale, values, 0.0)
        softened: FloatArray = self.scale * soft_truncation(values / self.scale, self.smoothing)
        return softened

    def numbers(self) -> FloatArray:
        """Return the public numbers that the compiled loops read, in their order."""
        form = fast_form(self.smoothing if self.kind == "soft" else 1.0)
        return np.array([self.limit, self.scale, 1.0 / self.scale, *form])


@dataclass(frozen=True, eq=False, kw_only=True)
class BoundedCoordinateSum(ScoreModel, Kernel):
    """Lattice sums over each group of records of ``bound(slope * row)``, entry by entry.

    Group ``g`` consists of the records ``g * n_rows // n_groups`` up to the same for ``g + 1``:
    runs of the order that records come in, of sizes that differ by one at most. A whole step of a
    group's sum is ``grid`` times the size of the group, so that the integers are group means in
    steps of ``grid``.

    Guarantee
    ---------
    Replacing one record moves one group only, and each of its coordinates by at most
    ``2 * bound.limit + summation_slack(bound.limit)`` over the size of the group, before rounding
    to ``grid``. The float sums run within one chunk and group; integers are added across chunks, so
    that no bit depends on how the records are cut into blocks.

    Edge cases
    ----------
    A void record contributes zero. A finite one whose row or slope overflows counts with 1e150 in
    its place; a slope that is not a number counts as zero.

    Reference
    ---------
    Kamath, Liu and Zhang 2022, Algorithms 3 and 4; Tao, Wu, Cheng and Wang 2022, Algorithm 3;
    Wang, Xiao, Devadas and Xu 2020, Algorithm 4.
    """

    bound: CoordinateBound
    n_rows: int
    n_groups: int
    grid: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.row_limit != math.inf:
            raise InputError(f"row_limit must be infinite here; got {shown(self.row_limit)}.")
        check_integer("n_rows", self.n_rows, minimum=1)
        check_integer("n_groups", self.n_groups, minimum=1, maximum=self.n_rows)
        check_positive("grid", self.grid)

    @property
    def size(self) -> int:
        """Number of integers: one per group and weight, group by group."""
        return self.n_groups * self.weights.size

    @property
    def together(self) -> Together:
        """Records of a group where there are several groups, else none."""
        return "some" if self.n_groups > 1 else "none"

    @steady
    def sum_block(self, block: RecordBlock) -> IntArray:
        """Add up the bounded gradients of one block."""
        block.check_features(self.center.size)
        # Of records that are all one group no places are needed.
        first = 0 if block.alone and self.n_groups == 1 else block.place
        if first % CHUNK_ROWS or first + block.n_rows > self.n_rows:
            raise InputError(
                f"n_rows must cover every block, and blocks start with a chunk; got {self.n_rows} "
                f"rows for a block of records {first} to {first + block.n_rows}."
            )
        arguments = self.arguments(block, math.inf)
        if arguments is None:
            return bounded_coordinate_sum(self, block)
        from tailguard.queries.kernels.grouped import sum_groups  # noqa: PLC0415 (Numba takes a while to load)

        *start, limits = arguments
        limits = limits._replace(slope_limit=min(limits.slope_limit, LARGEST_SLOPE))
        totals = np.zeros((self.n_groups, self.weights.size), dtype=np.int64)
        sum_groups(block.features.dtype)(
            *start,
            limits,
            BOUND_KINDS.index(self.bound.kind),
            self.bound.numbers(),
            *(first, self.n_rows, self.n_groups, self.grid, block.alone),
            totals,
        )
        return totals.ravel()


@np.errstate(all="ignore")
def bounded_coordinate_sum(kernel: BoundedCoordinateSum, block: RecordBlock) -> IntArray:
    """Lattice sums by groups of the bounded gradients of a block."""
    totals = np.zeros((kernel.n_groups, kernel.weights.size), dtype=np.int64)
    if block.alone:
        for chunk in chunks_of(block):
            values = kernel.bound.apply(score_gradients(kernel, chunk))
            totals[0] += rounded_alone(values, kernel.grid * kernel.n_rows)
        return totals.ravel()
    start = 0
    while start < block.n_rows:
        group = ((block.place + start + 1) * kernel.n_groups - 1) // kernel.n_rows
        opening, closing = (k * kernel.n_rows // kernel.n_groups for k in (group, group + 1))
        chunk_end = (start // CHUNK_ROWS + 1) * CHUNK_ROWS
        end = min(block.n_rows, chunk_end, closing - block.place)
        values = kernel.bound.apply(score_gradients(kernel, block.rows(start, end)))
        totals[group] += round_to_lattice(values.sum(axis=0), kernel.grid * (closing - opening))
        start = end
    return totals.ravel()


@np.errstate(all="ignore")
def score_gradients(model: Any, records: RecordBlock) -> FloatArray:
    """Return the gradient of every record, finite whatever it holds; zeros where void."""
    void = records.void()
    rows = standardised(model, records, void)
    target, offset = known(model, records)
    # Row by row, unlike BLAS: nothing about one record may change a bit of another's score.
    score = np.einsum("ij,j->i", rows, model.weights) + offset
    slope = bounded_slopes(model, score, target, min(model.slope_limit, LARGEST_SLOPE))
    return np.where(void[:, None], 0.0, slope[:, None] * rows)
