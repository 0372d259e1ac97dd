"""Sums of what several linear scores lose more, or less, than a first one, record by record."""

from dataclasses import dataclass

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError, check_positive
from tailguard.data.rows.base import Kernel, RecordBlock, Together, round_to_lattice, rounded_alone
from tailguard.losses.base import Loss
from tailguard.queries.kernels.steady import steady
from tailguard.queries.kernels.whitened import WhitenedChunk, WhitenedRows


@dataclass(frozen=True, eq=False, kw_only=True)
class LossDifferenceSum(Kernel):
    """Lattice sums of ``clip((loss of a candidate - loss of the first) / limit, -1, 1)``.

    Attributes
    ----------
    loss
        Whose values are compared.
    candidates
        How the score of each is read: records in units, and weights.

    Guarantee
    ---------
    One record adds at most 1 to each sum, in magnitude, for every input. Void records add nothing,
    and neither does one whose losses differ by no number.
    """

    loss: Loss
    candidates: tuple[WhitenedRows, ...]
    limit: float
    grid: float

    def __post_init__(self) -> None:
        check_positive("limit", self.limit)
        check_positive("grid", self.grid)
        if len(self.candidates) < 2:
            raise InputError("candidates must be at least two.")

    @property
    def size(self) -> int:
        """Number of sums: one per candidate after the first."""
        return len(self.candidates) - 1

    @property
    def together(self) -> Together:
        """Each record adds to the sum by itself."""
        return "none"

    @steady
    def sum_block(self, block: RecordBlock) -> IntArray:
        """Add up the differences of one block."""
        total = np.zeros(self.size, dtype=np.int64)
        read = (rows.read(block, lengths=False) for rows in self.candidates)
        for first, *others in zip(*read, strict=True):
            base = self._loss(first)
            shares = np.array([(self._loss(chunk) - base) / self.limit for chunk in others])
            shares = np.where(first.void | np.isnan(shares), 0.0, np.clip(shares, -1.0, 1.0))
            if block.alone:
                total += rounded_alone(shares.T, self.grid)
            else:
                total += round_to_lattice(shares.sum(axis=1), self.grid)
        return total

    def _loss(self, chunk: WhitenedChunk) -> FloatArray:
        return self.loss.value(chunk.score, chunk.target)
