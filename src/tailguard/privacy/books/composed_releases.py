"""The joint cost of releases, lowered by the shuffle of a secret partition where that is proved.

Taken separately, a release on a block costs what its own noise implies, and over the blocks of one
map the largest cost counts. This holds for every partition that does not depend on values. If the
partition was also uniformly random, secret, fresh, and of blocks of equal size, the releases of one
pass over the blocks are a shuffle: given all other records, a uniform bijection sent the record
that differs and its rivals to the blocks. So together they cost one ``Shuffled`` event with one
unit per block, which is never more.

A pass reads every block at most once. The next block and question may depend on earlier answers:
the content of an unread block is still uniform among the remaining records. There may be other
releases between the answers of a pass: interleaved releases cost no more than successive ones. If a
list reads a block twice, it is priced without the shuffle.

Two gates may use one name for two different partitions, while books that outlive a gate take the
maximum over the blocks of a map. So a gate writes its own prefix, a *namespace*, before the names
of its maps.

Reference
---------
Feldman, McMillan and Talwar 2021 (shuffles of randomisers that depend on earlier answers);
McSherry 2009, Theorem 4 (disjoint blocks); Vadhan and Zhang 2023 (interleaved mechanisms).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tailguard.privacy.books.releases import Release
from tailguard.privacy.events import Composed, Event, Parallel, Repeated, Shuffled
from tailguard.privacy.flat_events import FlatEvents, flatten


def pass_event(releases: Sequence[Release]) -> Event:
    """Return the cost of the releases on the blocks of one secret partition, in any order.

    If every block was read at most once, this is the cost of one shuffle; otherwise each release is
    priced separately.
    """
    scope = releases[0].read_scope
    if scope is None or not _is_one_pass(releases):
        return Composed(tuple(release.event() for release in releases))
    return scope.within(Shuffled(max(release.ratio for release in releases), scope.n_blocks))


def _is_one_pass(releases: Sequence[Release]) -> bool:
    """Whether this is one pass of Gaussian releases over one map."""
    scopes = [release.read_scope for release in releases]
    maps = {(p.block_map, p.n_blocks, p.shuffled, p.outer) for p in scopes if p is not None}
    blocks_read = [block for scope in scopes if scope is not None for block in scope.blocks]
    ((_, n_blocks, shuffled, _), *others) = maps
    return (
        not others
        and shuffled
        and len(set(blocks_read)) == len(blocks_read)
        and set(blocks_read) <= set(range(n_blocks))
        and all(r.times == 1 and r.mechanism == "gaussian" for r in releases)
    )


@dataclass(frozen=True)
class ComposedReleases:
    """All releases: those that are priced separately, and passes over secret partitions.

    Attributes
    ----------
    separate
        The cost of the releases that are priced separately.
    passes
        The releases on each secret partition.
    pass_costs
        The cost of each of these passes.
    """

    separate: FlatEvents = field(default_factory=FlatEvents)
    passes: Mapping[str, tuple[Release, ...]] = field(default_factory=dict)
    pass_costs: Mapping[str, FlatEvents] = field(default_factory=dict)

    def plus(self, release: Release) -> "ComposedReleases":
        """Return all releases with one more."""
        scope = release.read_scope
        if scope is None or not scope.shuffled:
            separate = FlatEvents.total((self.separate, flatten(release.event())))
            return replace(self, separate=separate)
        releases_of_pass = (*self.passes.get(scope.block_map, ()), release)
        return ComposedReleases(
            self.separate,
            {**self.passes, scope.block_map: releases_of_pass},
            {**self.pass_costs, scope.block_map: flatten(pass_event(releases_of_pass))},
        )

    @property
    def flat_events(self) -> FlatEvents:
        """All releases as flat events."""
        costs = self.pass_costs.values()
        return FlatEvents.total((self.separate, *costs)) if costs else self.separate


def spent_event(releases: Iterable[Release]) -> Event:
    """Return the joint cost of the releases, as one event."""
    separate: list[Event] = []
    passes: dict[str, list[Release]] = {}
    for release in releases:
        scope = release.read_scope
        if scope is None or not scope.shuffled:
            separate.append(release.event())
        else:
            passes.setdefault(scope.block_map, []).append(release)
    return Composed((*separate, *map(pass_event, passes.values())))


def covers(planned: Event, releases: Iterable[Release]) -> bool:
    """Whether the planned event covers all releases, as the books require."""
    return flatten(planned).covers(flatten(spent_event(releases)))


def namespaced_event(event: Event, namespace: str) -> Event:
    """Return the event with ``namespace`` before the names of its block maps."""
    match event:
        case Repeated():
            return Repeated(namespaced_event(event.event, namespace), event.times)
        case Composed():
            return Composed(tuple(namespaced_event(each, namespace) for each in event.events))
        case Parallel():
            inner = namespaced_event(event.event, namespace)
            return Parallel(f"{namespace}/{event.block_map}", event.block, inner)
    return event


def namespaced_release(release: Release, namespace: str) -> Release:
    """Return the release with ``namespace`` before the names of its block maps."""
    if release.block_map is None:
        return release
    parameters = dict(release.parameters)
    if "outer_map" in parameters:
        parameters["outer_map"] = f"{namespace}/{parameters['outer_map']}"
    return replace(release, block_map=f"{namespace}/{release.block_map}", parameters=parameters)
