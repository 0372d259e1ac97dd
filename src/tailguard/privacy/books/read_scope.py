"""Where a release read: one block of a block map, or every block of it once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tailguard.checks import InputError, check_choice, check_integer
from tailguard.privacy.books.blocks import DISJOINT, SHUFFLED
from tailguard.privacy.events import Composed, Event, Parallel


@dataclass(frozen=True)
class ReadScope:
    """Blocks of one map.

    Attributes
    ----------
    block_map
        The map's name.
    blocks
        The blocks that were read, each by itself.
    n_blocks
        How many blocks the map has; 0 where that was not written down.
    shuffled
        Whether the map is a secret partition, made for one pass.
    outer
        Map and block that the map cuts, or None for all records.
    """

    block_map: str
    blocks: tuple[int, ...]
    n_blocks: int = 0
    shuffled: bool = False
    outer: tuple[str, int] | None = None

    def around(self, event: Event) -> Event:
        """Return the event as it happens to the blocks, each by itself."""
        events = tuple(Parallel(self.block_map, block, event) for block in self.blocks)
        return self.within(events[0] if len(events) == 1 else Composed(events))

    def within(self, event: Event) -> Event:
        """Return an event of the whole map as one of the block that the map cuts."""
        return event if self.outer is None else Parallel(*self.outer, event)


def read_scope(
    block_map: str | None, block: int | None, parameters: Mapping[str, Any]
) -> ReadScope | None:
    """Read the place of a release; None where it read all records.

    A release that names a map and no block read every block of it, once, with noise for each.
    """
    if block_map is None:
        if block is not None:
            raise InputError("block needs a block_map.")
        return None
    n_blocks = check_integer("map_blocks", parameters.get("map_blocks", 0), minimum=0)
    if block is None and not n_blocks:
        raise InputError("block_map needs a block, or the number map_blocks of all of them.")
    order = check_choice("map_order", parameters.get("map_order", DISJOINT), (DISJOINT, SHUFFLED))
    outer = parameters.get("outer_map")
    return ReadScope(
        block_map,
        tuple(range(n_blocks)) if block is None else (block,),
        n_blocks,
        shuffled=order == SHUFFLED,
        outer=None if outer is None else (outer, parameters["outer_block"]),
    )
