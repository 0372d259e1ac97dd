"""What a kernel is given: a block of consecutive records."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailguard.array_types import Features, FloatArray, IntArray
from tailguard.checks import InputError


@dataclass(frozen=True, eq=False)
class RecordBlock:
    """Consecutive records; the first one's number is a multiple of ``CHUNK_ROWS``.

    Records without an order have no numbers: a sum rounds each of them to the lattice by itself, by
    steps that do not depend on where in the block it lies. So it is the same however they are cut.

    A record with any non-finite entry is VOID: it contributes zero to every sum and is counted
    nowhere. Targets that a loss does not understand were set to NaN before.

    Attributes
    ----------
    features
        Matrix of shape ``(m, d)``, C-contiguous, float32 or float64.
    target, offset
        Vectors of length ``m``, or None.
    first
        Number of the first record in the whole dataset; None for records without an order.
    """

    features: Features
    target: FloatArray | None = None
    offset: FloatArray | None = None
    first: int | None = 0

    @property
    def alone(self) -> bool:
        """Whether each record is rounded to the lattice by itself."""
        return self.first is None

    @property
    def place(self) -> int:
        """Number of the first record, for kernels that sum by groups of records."""
        if self.first is None:
            raise InputError("records without an order have no places.")
        return self.first

    @property
    def n_rows(self) -> int:
        """Number of records in the block."""
        return len(self.features)

    def vector(self, name: str) -> FloatArray:
        """Return the target or offset; zeros, which take no memory, where there is none."""
        values: FloatArray | None = getattr(self, name)
        return np.broadcast_to(0.0, self.n_rows) if values is None else values

    def void(self) -> NDArray[np.bool_]:
        """Return which records hold a non-finite entry."""
        finite = np.isfinite(self.features).all(axis=1)
        return ~(finite & np.isfinite(self.vector("target")) & np.isfinite(self.vector("offset")))

    def check_features(self, n_features: int) -> None:
        """Refuse another number of features than there are centres."""
        if self.features.shape[1] != n_features:
            raise InputError(
                f"center must have one entry per feature; got {n_features} for "
                f"{self.features.shape[1]} features."
            )

    def rows(self, start: int, stop: int) -> "RecordBlock":
        """Return records ``start`` to ``stop`` of this block, without copying."""
        places = slice(start, stop)
        first = None if self.first is None else self.first + start
        return RecordBlock(self.features[places], *vectors_at(self, places), first)

    def at(self, places: IntArray, first: int | None = 0) -> "RecordBlock":
        """Return a copy of the records at these places, in this order."""
        # To take rows is nearly twice as fast as to index by them, and gives the same.
        return RecordBlock(self.features.take(places, axis=0), *vectors_at(self, places), first)


def vectors_at(
    records: Any, places: slice | IntArray
) -> tuple[FloatArray | None, FloatArray | None]:
    """Return the targets and offsets of the records at these places, or None for either."""
    vectors = (records.target, records.offset)
    target, offset = (None if values is None else values[places] for values in vectors)
    return target, offset
