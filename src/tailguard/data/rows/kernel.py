"""What a kernel is."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError
from tailguard.data.rows.block import RecordBlock
from tailguard.data.rows.chunks import CHUNK_ROWS

# Far above what a calibrated lattice needs, far below where int64 or float64 would lose a unit.
LARGEST_UNITS = 2.0**51


Together: TypeAlias = Literal["none", "some", "all"]
"""Which records are read together: none, each adding what it does whatever the others are; some, by
their places, in pairs, groups or chunks that must stay; or all at once."""


class Kernel(ABC):
    """Public parameters of a statistic that adds up over records.

    ``sum_block`` is total: no record makes it raise, warn or overflow. A kernel that does not say
    what it reads ``together`` cannot be made: where rows have no order, those that it reads would
    be whichever lie side by side.
    """

    reads_cells: ClassVar[bool] = False
    """Whether it reads marks of cells in the place of the numbers that cells are read as."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of released coordinates."""

    @property
    @abstractmethod
    def together(self) -> Together:
        """Which records are read together; of ``"none"`` the sum is one over any order and cut."""

    @abstractmethod
    def sum_block(self, block: RecordBlock) -> IntArray:
        """Lattice sum over the chunks of one block."""


def own_vectors(kernel: Any, *names: str) -> None:
    """Keep what a frozen kernel has by these names as float64 vectors of finite numbers."""
    for name in names:
        values = np.ascontiguousarray(getattr(kernel, name), dtype=np.float64)
        if values.ndim != 1 or not np.isfinite(values).all():
            raise InputError(f"{name} must be a vector of finite numbers.")
        object.__setattr__(kernel, name, values)


def round_to_lattice(chunk_sum: FloatArray, grid: float) -> IntArray:
    """Round the float sum of one chunk to whole steps of ``grid``."""
    units = np.rint(chunk_sum / grid)
    return np.minimum(np.maximum(units, -LARGEST_UNITS), LARGEST_UNITS).astype(np.int64)


def rounded_alone(shares: FloatArray, grid: float) -> IntArray:
    """Round what each record adds to whole steps of ``grid``, then add: exact, in any order.

    There is a row a record, of one chunk at most: so few whole numbers, of at most ``2**44``
    together, stay below ``2**53``, and no float is rounded on the way.
    """
    total: IntArray = np.rint(shares / grid).sum(axis=0).astype(np.int64)
    return total


def chunks_of(block: RecordBlock) -> list[RecordBlock]:
    """Cut a block into its chunks."""
    starts = range(0, block.n_rows, CHUNK_ROWS)
    return [block.rows(start, start + CHUNK_ROWS) for start in starts]
