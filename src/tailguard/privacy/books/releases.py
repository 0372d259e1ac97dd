"""Lines of the books: releases, the numbers that determine their costs, and their joint cost.

A release reads all records, one block of a block map, or every block of the map once. Taken
separately, a release on a block costs what its own noise implies, and over the blocks of one map
the largest cost counts. This holds for every partition that does not depend on values. If the
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

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

from tailguard.checks import InputError, check_choice, check_integer, check_positive, shown
from tailguard.privacy.arsinh import ARSINH_BASIS, arsinh_event
from tailguard.privacy.books.blocks import DISJOINT, SHUFFLED
from tailguard.privacy.calibration import peeling_event
from tailguard.privacy.events import (
    Composed,
    Event,
    Gaussian,
    Laplace,
    Parallel,
    Repeated,
    Sampled,
    Selected,
    Shuffled,
)
from tailguard.privacy.flat_events import FlatEvents, flatten
from tailguard.privacy.smooth_gaussian import smooth_gaussian_event


@dataclass(frozen=True)
class ReadScope:
    """The blocks of one map that a release reads.

    Attributes
    ----------
    block_map
        The map's name.
    blocks
        The blocks that were read, each separately.
    n_blocks
        The number of blocks of the map; 0 if it was not recorded.
    shuffled
        Whether the map is a secret partition that was drawn for one pass.
    outer
        The map and block that this map divides, or None if it divides all records.
    """

    block_map: str
    blocks: tuple[int, ...]
    n_blocks: int = 0
    shuffled: bool = False
    outer: tuple[str, int] | None = None

    def around(self, event: Event) -> Event:
        """Return an event of one block as an event of each of the blocks."""
        events = tuple(Parallel(self.block_map, block, event) for block in self.blocks)
        return self.within(events[0] if len(events) == 1 else Composed(events))

    def within(self, event: Event) -> Event:
        """Return an event of the whole map as an event of the outer block, if there is one."""
        return event if self.outer is None else Parallel(*self.outer, event)


COSTS: Mapping[str, tuple[str, Callable[["Release"], Event]]] = {
    "gaussian": ("l2", lambda r: Gaussian(r.ratio)),
    "laplace": ("l1", lambda r: Laplace(_laplace_ratio(r))),
    "sampled-gaussian": ("l2", lambda r: Sampled(r.ratio, _sample_rate(r))),
    "selected-gaussian": ("l2", lambda r: Selected(r.ratio, *_number_of_tries(r))),
    "peeled-gaussian": ("linf", lambda r: _peeling_cost(r, r.ratio)),
    "peeled-laplace": ("linf", lambda r: _peeling_cost(r, _laplace_ratio(r))),
    "arsinh-normal": ("linf", lambda r: arsinh_event(r.parameters)),
    "smooth-gaussian": ("l2", lambda r: smooth_gaussian_event(r.parameters)),
}
"""Mechanism -> the norm of its sensitivity, and the function that returns its cost."""

# Mechanisms whose noise scale depends on the records: sensitivity and noise are not public.
SMOOTH = ("arsinh-normal", "smooth-gaussian")

# The remark on a release of the mechanism "selected-gaussian".
SELECTED = (
    "{name}: sensitivity over noise is that of everything in one try, model and score; of other "
    "tries nothing was released, nor how many there were, but how long the search took may tell"
)


@dataclass(frozen=True)
class Release:
    """A release, with every number that determines its cost.

    Attributes
    ----------
    name
        What was released, in plain words.
    kind
        The class of the query.
    mechanism
        ``"gaussian"``, ``"laplace"``, ``"sampled-gaussian"`` on a fresh secret sample of the
        records, ``"selected-gaussian"`` for the best of a secret number of tries,
        ``"peeled-gaussian"`` or ``"peeled-laplace"`` for the largest entries of a vector, or noise
        on a smooth scale: ``"arsinh-normal"`` or ``"smooth-gaussian"``.
    norm
        The norm of the sensitivity: ``"l2"`` for Gaussian noise, ``"l1"`` for Laplace noise, and
        ``"linf"``, entry by entry, for peeling and arsinh-normal noise.
    sensitivity
        The charged sensitivity, with rounding and summation error; None for noise on a smooth
        scale, which is never released.
    noise_std
        Standard deviation of the noise on each coordinate, in the same units; None for noise on a
        smooth scale, for which the parameters determine the cost.
    times
        The number of equal releases, made one after the other.
    block_map, block
        The block of records that was read, or None for all records. A map without a block means
        that every block was read, each with its own noise.
    parameters
        Plain numbers and words from which the sensitivity can be recomputed. For a block they have
        ``map_blocks``, the number of blocks of the map, and ``map_order``: ``"shuffled"`` for a
        secret partition, whose pass :mod:`tailguard.privacy.books.releases` prices as a
        whole. For a sample, ``sample_rows`` of ``of_rows`` records were drawn without replacement.
        For a selection they have the ``law`` of the number of tries and its mean, ``mean_tries``;
        sensitivity over noise is then that of one whole try.
    stage
        The name of the stage of the plan, or an empty text.

    Examples
    --------
    >>> Release("slope", "Mean", "gaussian", "l2", sensitivity=2.0, noise_std=8.0).event()
    Gaussian(mu=0.25)
    """

    name: str
    kind: str
    mechanism: str
    norm: str
    sensitivity: float | None
    noise_std: float | None
    times: int = 1
    block_map: str | None = None
    block: int | None = None
    parameters: Mapping[str, float | int | str] = field(default_factory=dict)
    stage: str = ""

    def __post_init__(self) -> None:
        check_choice("mechanism", self.mechanism, COSTS)
        check_choice("norm", self.norm, (COSTS[self.mechanism][0],))
        if self.mechanism in SMOOTH:
            check_choice(
                "sensitivity, noise_std", (self.sensitivity, self.noise_std), ((None, None),)
            )
        else:
            check_positive("sensitivity", self.sensitivity)
            check_positive("noise_std", self.noise_std)
        check_integer("times", self.times, minimum=1)
        if not isinstance(self.parameters, Mapping) or {*map(type, self.parameters)} - {str}:
            raise InputError(
                f"parameters must map names to numbers and words; got {shown(self.parameters)}."
            )
        object.__setattr__(self, "parameters", dict(self.parameters))
        _ = self.read_scope  # refuses an invalid scope

    @cached_property
    def read_scope(self) -> ReadScope | None:
        """The blocks that were read, or None for all records.

        If a release names a map but no block, every block was read once, with separate noise.
        """
        if self.block_map is None:
            if self.block is not None:
                raise InputError("block needs a block_map.")
            return None
        facts: Mapping[str, Any] = self.parameters
        n_blocks = check_integer("map_blocks", facts.get("map_blocks", 0), minimum=0)
        if self.block is None and not n_blocks:
            raise InputError("block_map needs a block, or the number map_blocks of all of them.")
        order = check_choice("map_order", facts.get("map_order", DISJOINT), (DISJOINT, SHUFFLED))
        blocks = tuple(range(n_blocks)) if self.block is None else (self.block,)
        name = facts.get("outer_map")
        outer = None if name is None else (name, facts["outer_block"])
        return ReadScope(self.block_map, blocks, n_blocks, order == SHUFFLED, outer)

    @property
    def ratio(self) -> float:
        """The sensitivity divided by the standard deviation of the noise, if both are public."""
        assert self.sensitivity is not None
        assert self.noise_std is not None
        return self.sensitivity / self.noise_std

    def repeats(self, other: "Release") -> bool:
        """Whether this is the same release, apart from ``times``."""
        return _all_but_times(self) == _all_but_times(other)

    def event(self) -> Event:
        """Recompute the privacy event of this release alone, from its numbers."""
        event = COSTS[self.mechanism][1](self)
        event = event if self.read_scope is None else self.read_scope.around(event)
        return event if self.times == 1 else Repeated(event, self.times)

    def remark(self) -> str | None:
        """Return a sentence that readers need besides the numbers, or None."""
        if self.mechanism == "selected-gaussian":
            return SELECTED.format(name=self.name)
        if self.mechanism not in SMOOTH:
            return None
        numbers = {name: self.parameters.get(name) for name in ("smoothness", "shift")}
        calibration = str(self.parameters.get("calibration"))
        # The scales of noise as printed are not smooth.
        scale = "scale" if calibration == "printed" else "smooth scale"
        return (
            f"{self.name}{self._blocks()}: the noise follows a {scale} of the records, which is "
            f"never shown (smoothness {numbers['smoothness']:.6g}, shift {numbers['shift']:.6g}); "
            f"its cost is {ARSINH_BASIS[calibration]}"
        )

    def _blocks(self) -> str:
        """Describe the blocks of records that the query used, if the release names any."""
        if "layout" not in self.parameters:
            return ""
        facts = {name: self.parameters.get(name) for name in ("n_blocks", "layout", "overlap")}
        return " (on {n_blocks} {layout} blocks, a record in at most {overlap})".format(**facts)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data; ``Release(**data)`` reads it back."""
        return asdict(self)


_all_but_times = attrgetter(*[each.name for each in fields(Release) if each.name != "times"])


def _laplace_ratio(release: Release) -> float:
    """Return sensitivity over scale: the scale b of Laplace noise is its deviation / sqrt(2)."""
    return release.ratio * math.sqrt(2.0)


def _sample_rate(release: Release) -> float:
    """Return the share of the records that was sampled."""
    of_rows = check_integer("of_rows", release.parameters.get("of_rows"), minimum=1)
    sample_rows = release.parameters.get("sample_rows")
    return check_integer("sample_rows", sample_rows, minimum=1, maximum=of_rows) / of_rows


def _number_of_tries(release: Release) -> tuple[float, str]:
    """Return the expected number of tries and its law."""
    mean = check_positive("mean_tries", release.parameters.get("mean_tries"))
    return mean, str(release.parameters.get("law"))


def _peeling_cost(release: Release, ratio: float) -> Event:
    """Return the cost of a peeling from the numbers of released entries in the parameters."""
    counts = [release.parameters.get(name) for name in ("n_selected", "n_free")]
    n_selected, n_free = (check_integer("n_selected, n_free", n, minimum=0) for n in counts)
    return peeling_event(release.mechanism, ratio, n_selected, n_free)


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
