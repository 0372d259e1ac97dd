"""The public facts of a partition of the records: its name, and the sizes of its blocks.

The assignment of records to blocks never leaves the gate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import overload

from tailguard.checks import InputError, check_integer

# How a map divides the records: the joint cost of its answers depends on it.
DISJOINT, SHUFFLED = "disjoint", "shuffled"


@dataclass(frozen=True)
class Blocks(Sequence["Block"]):
    """The blocks of one partition.

    Attributes
    ----------
    name
        The partition's own name: the ``block_map`` of events and releases.
    sizes
        The number of records of each block.
    amplified
        Whether shuffling amplifies the privacy of the answers: a secret partition into blocks of
        equal size, with one query to each block.
    within
        The block of another partition that is divided here, or None for all records.
    """

    name: str
    sizes: tuple[int, ...]
    amplified: bool = False
    within: "Block | None" = None

    def __len__(self) -> int:
        return len(self.sizes)

    @overload
    def __getitem__(self, index: int) -> "Block": ...

    @overload
    def __getitem__(self, index: slice) -> "tuple[Block, ...]": ...

    def __getitem__(self, index: int | slice) -> "Block | tuple[Block, ...]":
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        return Block(self, range(len(self))[index])

    def facts(self) -> dict[str, float | int | str]:
        """Return the public facts that books need besides the names of map and block."""
        facts: dict[str, float | int | str] = {
            "map_blocks": len(self),
            "map_order": SHUFFLED if self.amplified else DISJOINT,
        }
        if self.within is not None:
            facts |= {"outer_map": self.within.block_map, "outer_block": self.within.index}
        return facts


@dataclass(frozen=True)
class Block:
    """One block of a partition, which is passed to the gate.

    Attributes
    ----------
    blocks
        The partition.
    index
        The number of the block, counted from 0.
    """

    blocks: Blocks
    index: int

    @property
    def block_map(self) -> str:
        """The name of the partition."""
        return self.blocks.name

    @property
    def n_rows(self) -> int:
        """The number of records of the block."""
        return self.blocks.sizes[self.index]


def block_sizes(
    n_rows: int, n_blocks: int | None, sizes: Sequence[int] | None, *, equal: bool
) -> tuple[int, ...]:
    """Return the sizes of ``n_blocks`` blocks, which differ by at most one, or the given sizes.

    If they must be ``equal``, the remaining records are in no block.
    """
    if (n_blocks is None) == (sizes is None):
        raise InputError("partition needs n_blocks or sizes, one of the two.")
    if sizes is None:
        count = check_integer("n_blocks", n_blocks, minimum=1, maximum=n_rows)
        size_floor = n_rows // count
        ends = [
            size_floor * index if equal else index * n_rows // count for index in range(count + 1)
        ]
        return tuple(end - start for start, end in pairwise(ends))
    given_sizes = tuple(check_integer("sizes", size, minimum=1) for size in sizes)
    if not given_sizes or sum(given_sizes) > n_rows:
        raise InputError(f"sizes must add up to 1 to {n_rows} records; got {sum(given_sizes)}.")
    if equal and len(set(given_sizes)) > 1:
        raise InputError("sizes must be equal where equal_sizes or amplified is True.")
    return given_sizes
