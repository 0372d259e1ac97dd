"""Exact counts of records at or below thresholds, several columns in one pass."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tailguard.array_types import Features, FloatArray, IntArray
from tailguard.checks import InputError, check_integer
from tailguard.data.rows.base import Kernel, RecordBlock, Together
from tailguard.machine_code import builds_loop, compiled
from tailguard.queries.kernels.steady import steady

LARGEST_FLOAT = sys.float_info.max


@dataclass(frozen=True, eq=False, kw_only=True)
class BelowCount(Kernel):
    """Per entry of ``columns``, how many records lie at or below its threshold, times a multiplier.

    Columns ``0 .. d-1`` are the features, ``d`` is the target, ``d + 1`` the offset. With
    ``paired``, the absolute differences of records ``(2i, 2i + 1)`` are counted instead.

    Guarantee
    ---------
    One record moves each count by at most ``multiplier``.

    Edge cases
    ----------
    A void record is counted nowhere, nor is a pair with a void member or a last record without a
    partner. A difference that overflows is infinite: it counts below an infinite threshold only.
    """

    thresholds: ArrayLike
    columns: Sequence[int]
    paired: bool
    multiplier: int

    def __post_init__(self) -> None:
        thresholds = np.array(self.thresholds, dtype=np.float64)
        columns = np.array(self.columns, dtype=np.int64)
        if columns.ndim != 1 or thresholds.shape != columns.shape:
            raise InputError(
                "thresholds must have one entry per column; got shapes "
                f"{thresholds.shape} and {columns.shape}."
            )
        if np.isnan(thresholds).any():
            raise InputError("thresholds must be numbers; got nan.")
        check_integer("multiplier", self.multiplier, minimum=1)
        object.__setattr__(self, "thresholds", thresholds)
        object.__setattr__(self, "columns", columns)

    @property
    def size(self) -> int:
        """Number of counts."""
        return len(self.columns)

    @property
    def together(self) -> Together:
        """Two records where pairs are counted, else none."""
        return "some" if self.paired else "none"

    @steady
    def sum_block(self, block: RecordBlock) -> IntArray:
        """Count the records of one block."""
        n_features = block.features.shape[1]
        vectors = [np.zeros(0) if v is None else v for v in (block.target, block.offset)]
        present = {*range(n_features), *(n_features + k for k in (0, 1) if vectors[k].size)}
        if not present.issuperset(np.asarray(self.columns).tolist()):
            raise InputError(
                f"columns must be among the {n_features} features, the target "
                f"({n_features}) and the offset ({n_features + 1}) where there are such; got "
                f"{list(self.columns)}."
            )
        counts = np.zeros(self.size, dtype=np.int64)
        _compiled_counts(block.features.dtype)(
            block.features, *vectors, self.columns, self.thresholds, self.paired, counts
        )
        return counts * self.multiplier


@builds_loop
def _compiled_counts(dtype: np.dtype[Any]) -> Callable[..., None]:
    from numba import types  # noqa: PLC0415 (Numba takes a while to load)

    from tailguard.queries.kernels.tile import stored_types  # noqa: PLC0415

    matrix, vector = stored_types(dtype)
    signature = types.void(
        *(matrix, vector, vector, types.int64[::1], types.float64[::1], types.boolean),
        types.int64[::1],
    )
    return compiled(_count_columns, signature, nogil=True, error_model="numpy")


def _count_columns(
    features: Features,
    targets: FloatArray,
    offsets: FloatArray,
    columns: IntArray,
    thresholds: FloatArray,
    paired: bool,
    counts: IntArray,
) -> None:
    """Take the same steps whatever a record holds, so that time does not tell of it."""
    n_features = features.shape[1]
    step = 2 if paired else 1
    row = np.zeros(n_features + 2)
    for i in range(0, len(features) - step + 1, step):
        odd = 0
        for k in range(i, i + step):
            for j in range(n_features):
                odd |= not abs(features[k, j]) <= LARGEST_FLOAT
            odd |= targets.size > 0 and not abs(targets[k]) <= LARGEST_FLOAT
            odd |= offsets.size > 0 and not abs(offsets[k]) <= LARGEST_FLOAT
        last = i + step - 1
        if paired:
            for j in range(n_features):
                row[j] = abs(float(features[i, j]) - features[last, j])
            if targets.size > 0:
                row[n_features] = abs(targets[i] - targets[last])
            if offsets.size > 0:
                row[n_features + 1] = abs(offsets[i] - offsets[last])
        else:
            for j in range(n_features):
                row[j] = features[i, j]
            if targets.size > 0:
                row[n_features] = targets[i]
            if offsets.size > 0:
                row[n_features + 1] = offsets[i]
        used = 1 if odd == 0 else 0
        for c in range(columns.size):
            counts[c] += used * (row[columns[c]] <= thresholds[c])
