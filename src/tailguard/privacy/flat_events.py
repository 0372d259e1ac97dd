"""A flat form of event trees: how often each leaf happens, and to which records.

Composition does not depend on the order of events, so this is all that an accountant needs. Before
a release, the books compare flat events too: does the plan cover what would be spent?
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from tailguard.checks import InputError, shown
from tailguard.privacy.events import Composed, Event, Gaussian, Nothing, Parallel, Repeated
from tailguard.privacy.roots import ROUNDING


@dataclass(frozen=True)
class FlatEvents:
    """How often each leaf happens: to all records, and to the records of one block only.

    Attributes
    ----------
    leaves
        How often each leaf happens to all records.
    blocks
        For each block map and each of its blocks: what else happens to the records of that block.
    """

    leaves: Mapping[Event, int] = field(default_factory=dict)
    blocks: Mapping[str, Mapping[int, "FlatEvents"]] = field(default_factory=dict)

    @classmethod
    def total(cls, many: Iterable["FlatEvents"]) -> "FlatEvents":
        """Add up flat events: all of them happen, one after the other."""
        leaves: dict[Event, int] = {}
        blocks: dict[str, dict[int, FlatEvents]] = {}
        for each in many:
            for leaf, times in each.leaves.items():
                leaves[leaf] = leaves.get(leaf, 0) + times
            for name, parts in each.blocks.items():
                own = blocks.setdefault(name, {})
                for block, part in parts.items():
                    own[block] = cls.total((own[block], part)) if block in own else part
        return cls(leaves, blocks)

    def times(self, times: int) -> "FlatEvents":
        """Return the flat events of ``times`` repetitions."""
        blocks = {
            name: {block: part.times(times) for block, part in parts.items()}
            for name, parts in self.blocks.items()
        }
        return FlatEvents({leaf: times * count for leaf, count in self.leaves.items()}, blocks)

    @property
    def event(self) -> Event:
        """All leaves as one event."""
        leaves = [leaf if n == 1 else Repeated(leaf, n) for leaf, n in self.leaves.items()]
        blocks = [
            Parallel(name, block, part.event)
            for name, parts in self.blocks.items()
            for block, part in parts.items()
        ]
        return Composed((*leaves, *blocks))

    def split(self) -> tuple["FlatEvents", "FlatEvents"]:
        """Split into a Gaussian part and all others; a map that is not all Gaussian stays whole."""
        return self._part(gaussian=True), self._part(gaussian=False)

    def _part(self, *, gaussian: bool) -> "FlatEvents":
        leaves = self.leaves.items()
        return FlatEvents(
            {leaf: times for leaf, times in leaves if isinstance(leaf, Gaussian) is gaussian},
            {name: part for name, part in self.blocks.items() if (name in self._mixed) != gaussian},
        )

    @cached_property
    def kinds(self) -> frozenset[type[Event]]:
        """The types of all leaves, at any depth."""
        return frozenset(map(type, self.every_leaf()))

    def every_leaf(self) -> Iterator[Event]:
        """Yield all leaves, at any depth."""
        yield from self.leaves
        for parts in self.blocks.values():
            for part in parts.values():
                yield from part.every_leaf()

    def add_up(self, price: Callable[[Any], Fraction]) -> Fraction:
        """Add up an additive price exactly, with the maximum over the blocks of each block map.

        A replaced record stays in its slot, so it meets the events of one block of a map; later
        blocks see it only through earlier outputs (McSherry 2009, Theorem 4, made adaptive).
        """
        everywhere = (times * price(leaf) for leaf, times in self.leaves.items())
        maxima = (
            max(part.add_up(price) for part in parts.values()) for parts in self.blocks.values()
        )
        return sum((*everywhere, *maxima), start=Fraction(0))

    def covers(self, other: "FlatEvents") -> bool:
        """Whether ``other`` costs at most as much as this, whatever the accountant.

        Gaussian leaves are compared by their total mu, whichever records they read, since a release
        on a block costs as much as one on all records at the same mu. All other leaves are compared
        one by one, from the largest down. Maps with such leaves are compared block by block: any
        block of the same map may cover a block, because only the maximum counts.
        """
        mixed = self._mixed | other._mixed
        if other._squared_mu(mixed) > self._squared_mu(mixed) * (1.0 + ROUNDING):
            return False
        for leaf in other.leaves:
            if not isinstance(leaf, Gaussian):
                # The tolerance, as for mu, is half of the amount by which budgets are rounded down.
                family, size = _family_and_size(leaf)
                n_planned = _count_as_large(self.leaves, family, size * (1.0 - ROUNDING))
                if n_planned < _count_as_large(other.leaves, family, size):
                    return False
        for name in mixed:
            planned = self.blocks.get(name, {}).values()
            for part in other.blocks.get(name, {}).values():
                if not any(each.covers(part) for each in planned):
                    return False
        return True

    @cached_property
    def _mixed(self) -> frozenset[str]:
        """The maps with leaves that are not Gaussian."""
        mixed = set()
        for name, parts in self.blocks.items():
            if any(part.kinds - {Gaussian} for part in parts.values()):
                mixed.add(name)
        return frozenset(mixed)

    def _squared_mu(self, mixed: frozenset[str] = frozenset()) -> float:
        """Add up the squares of mu of Gaussian leaves outside of the mixed maps."""
        total = 0.0
        for leaf, times in self.leaves.items():
            if isinstance(leaf, Gaussian):
                total += times * leaf.mu**2
        for name, parts in self.blocks.items():
            if name not in mixed:
                total += max([part._squared_mu() for part in parts.values()])
        return total


def flatten(event: Event) -> FlatEvents:
    """Return the flat form of an event; an event that is no composition is a leaf."""
    match event:
        case Nothing():
            return FlatEvents()
        case Repeated():
            return flatten(event.event).times(event.times)
        case Composed():
            return FlatEvents.total(map(flatten, event.events))
        case Parallel():
            return FlatEvents(blocks={event.block_map: {event.block: flatten(event.event)}})
        case Event():
            return FlatEvents({event: 1})
    raise InputError(f"event must hold privacy events; got {shown(event)}.")


def _family_and_size(leaf: Event) -> tuple[tuple[Any, ...], float]:
    """Split a leaf: fields that must be equal, and the first one, which may not be larger."""
    size, *rest = astuple(leaf) or (0.0,)
    return (type(leaf), *rest), size


def _count_as_large(leaves: Mapping[Event, int], family: tuple[Any, ...], size: float) -> int:
    """Count the leaves of a family that are at least as large."""
    ranked = ((_family_and_size(leaf), times) for leaf, times in leaves.items())
    return sum(times for (kind, leaf_size), times in ranked if kind == family and leaf_size >= size)
