"""Privacy events: the costs of releases, as trees of data classes that files can store.

*Rules.* The meaning of an event never changes, and no event is ever removed: the costs in books
that were written years ago must still add up. A new field must be optional. An accountant without a
rule for an event refuses it, at any depth, and never guesses.

Every leaf describes a whole release, for replace-one neighbours with public ``n_rows``. Its
parameter is the sensitivity divided by the noise scale, never a clip norm.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache, partial
from typing import Any, ClassVar, TypeAlias

from tailguard.checks import (
    InputError,
    check_between,
    check_choice,
    check_count,
    check_integer,
    check_open_unit,
    check_positive,
    shown,
)

Plain: TypeAlias = "float | int | str | dict[str, Plain] | list[Plain]"

LAWS = ("geometric", "logarithmic", "poisson")
"""The laws of a number of tries; with each law the number is at least 1."""

LARGEST_MEAN = 1e3
"""More tries than anyone runs. Up to this mean, sums over the laws are short."""


@dataclass(frozen=True)
class Event:
    """Base of all events.

    Examples
    --------
    >>> Gaussian(mu=0.5).to_dict()
    {'kind': 'gaussian', 'mu': 0.5}
    """

    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        """Check every field by its name, since files and callers may supply anything."""
        for field in fields(self):
            value = getattr(self, field.name)
            check = _check_plain if type(value) in (float, int, str) else CHECKS[field.name]
            check(field.name, value)

    def to_dict(self) -> dict[str, Plain]:
        """Return the canonical dictionary: the kind first, then the fields in their order."""
        values = {field.name: _to_plain(getattr(self, field.name)) for field in fields(self)}
        return {"kind": self.kind, **values}


@dataclass(frozen=True)
class Nothing(Event):
    """An event that reads no record and costs nothing.

    Examples
    --------
    >>> Nothing().to_dict()
    {'kind': 'nothing'}
    """

    kind: ClassVar[str] = "nothing"


@dataclass(frozen=True)
class Gaussian(Event):
    """A release that is exactly ``mu``-GDP: l2 sensitivity over the noise's standard deviation.

    Examples
    --------
    >>> Gaussian(mu=1.0)
    Gaussian(mu=1.0)
    """

    mu: float
    kind: ClassVar[str] = "gaussian"


@dataclass(frozen=True)
class Laplace(Event):
    """A release with Laplace noise: l1 sensitivity over the noise's scale.

    Examples
    --------
    >>> Laplace(epsilon=0.1)
    Laplace(epsilon=0.1)
    """

    epsilon: float
    kind: ClassVar[str] = "laplace"


@dataclass(frozen=True)
class Pure(Event):
    """A release that is only known to be ``epsilon``-DP.

    Examples
    --------
    >>> Pure(epsilon=0.1)
    Pure(epsilon=0.1)
    """

    epsilon: float
    kind: ClassVar[str] = "pure"


@dataclass(frozen=True)
class BoundedRange(Event):
    """The exponential mechanism or Gumbel noisy max, whose losses span a range of ``eta``.

    Not for Laplace noisy max nor permute-and-flip: those are ``Pure``.

    Examples
    --------
    >>> BoundedRange(eta=0.3)
    BoundedRange(eta=0.3)
    """

    eta: float
    kind: ClassVar[str] = "bounded_range"


@dataclass(frozen=True)
class ZeroConcentrated(Event):
    """A release that is only known to be ``rho``-zCDP.

    Examples
    --------
    >>> ZeroConcentrated(rho=0.5)
    ZeroConcentrated(rho=0.5)
    """

    rho: float
    kind: ClassVar[str] = "zcdp"


@dataclass(frozen=True)
class Approximate(Event):
    """A release that is only known to be (``epsilon``, ``delta``)-DP.

    Examples
    --------
    >>> Approximate(epsilon=0.1, delta=1e-9)
    Approximate(epsilon=0.1, delta=1e-09)
    """

    epsilon: float
    delta: float
    kind: ClassVar[str] = "approx"


@dataclass(frozen=True)
class Unbounded(Event):
    """A release for which no finite cost holds, in any currency.

    It is only used to reproduce a publication whose noise gives no privacy.

    Examples
    --------
    >>> Unbounded().to_dict()
    {'kind': 'unbounded'}
    """

    kind: ClassVar[str] = "unbounded"


@dataclass(frozen=True)
class Sampled(Event):
    """A Gaussian release on a secret, fresh, uniform sample of the records.

    ``rate`` is the share of records that is drawn. ``mu`` is the cost if every record is drawn: the
    replace-one sensitivity over the noise's standard deviation. ``"fixed-size"`` draws exactly that
    share, without replacement. ``"poisson"`` draws each record independently and keeps the sample's
    size secret. It requires that the presence of a record moves the answer by at most half as much
    as a replacement may (as with clipping at 0).

    Examples
    --------
    >>> Sampled(mu=0.5, rate=0.01)
    Sampled(mu=0.5, rate=0.01, scheme='fixed-size')
    """

    mu: float
    rate: float
    scheme: str = "fixed-size"
    kind: ClassVar[str] = "sampled"


@dataclass(frozen=True)
class Shuffled(Event):
    """``n_units`` Gaussian releases, one per unit, after a secret, fresh, uniform shuffle of units.

    Each is ``mu``-GDP for every two values of its unit's record, with everything else fixed.

    Examples
    --------
    >>> Shuffled(mu=0.5, n_units=1000)
    Shuffled(mu=0.5, n_units=1000)
    """

    mu: float
    n_units: int
    kind: ClassVar[str] = "shuffled"


@dataclass(frozen=True)
class ShuffledPure(Event):
    """Like ``Shuffled``, for releases that are only known to be ``epsilon``-DP each.

    Examples
    --------
    >>> ShuffledPure(epsilon=0.5, n_units=1000)
    ShuffledPure(epsilon=0.5, n_units=1000)
    """

    epsilon: float
    n_units: int
    kind: ClassVar[str] = "shuffled_pure"


@dataclass(frozen=True)
class Selected(Event):
    """The best of a secret, random number of independent tries; all other results stay secret.

    A try is ``mu``-GDP as a whole: its result together with the score by which it is chosen. The
    number of tries has the expectation ``mean_tries`` and follows a ``law``: ``"geometric"``,
    ``"logarithmic"`` or ``"poisson"``. The Poisson law is conditioned on at least 1 try (Liu and
    Talwar 2019; Papernot and Steinke 2022).

    Examples
    --------
    >>> Selected(mu=0.1, mean_tries=10.0)
    Selected(mu=0.1, mean_tries=10.0, law='geometric')
    """

    mu: float
    mean_tries: float
    law: str = "geometric"
    kind: ClassVar[str] = "selected"


@dataclass(frozen=True)
class Repeated(Event):
    """The same event, ``times`` times; later ones may depend on the results of earlier ones.

    Examples
    --------
    >>> Repeated(Gaussian(mu=0.1), times=100).times
    100
    """

    event: Event
    times: int
    kind: ClassVar[str] = "repeated"


@dataclass(frozen=True)
class Composed(Event):
    """Events one after the other; later ones may depend on the results of earlier ones.

    Examples
    --------
    >>> len(Composed((Gaussian(mu=1.0), Laplace(epsilon=0.1))).events)
    2
    """

    events: tuple[Event, ...]
    kind: ClassVar[str] = "composed"

    def __post_init__(self) -> None:
        if not isinstance(self.events, Iterable):
            raise InputError(f"events must be a tuple of events; got {shown(self.events)}.")
        object.__setattr__(self, "events", tuple(self.events))
        for event in self.events:
            check_event("events", event)


@dataclass(frozen=True)
class Parallel(Event):
    """An event that reads the records of one block of a block map only.

    A block map divides the slots 1 to n by a rule that does not read the records, and a replaced
    record stays in its slot. So each record is in one block of a map, and accountants take the
    maximum over the blocks of a map. The costs under different maps add up.

    Examples
    --------
    >>> from tailguard.privacy.accounting.total_cost import total_mu
    >>> halves = [Parallel("halves", block, Gaussian(mu=1.0)) for block in (0, 1)]
    >>> total_mu(Composed(tuple(halves)))
    1.0
    """

    block_map: str
    block: int
    event: Event
    kind: ClassVar[str] = "parallel"


KINDS: dict[str, type[Event]] = {
    event.kind: event
    for event in (
        *(Nothing, Gaussian, Laplace, Pure, BoundedRange, ZeroConcentrated, Approximate),
        *(Unbounded, Sampled, Shuffled, ShuffledPure, Repeated, Composed, Parallel, Selected),
    )
}
"""Every class of events, by its kind: the name in files."""


def check_event(name: str, value: object) -> Event:
    """Return ``value`` if it is an event."""
    if not isinstance(value, Event):
        raise InputError(f"{name} must hold privacy events; got {shown(value)}.")
    return value


def _check_rate(name: str, value: object) -> None:
    if check_positive(name, value) > 1.0:
        raise InputError(f"{name} must be a number above 0 and at most 1; got {shown(value)}.")


def _check_block_map(name: str, value: object) -> None:
    if not isinstance(value, str) or not value:
        raise InputError(f"{name} must be a non-empty name; got {shown(value)}.")


CHECKS: dict[str, Callable[[str, Any], object]] = {
    **dict.fromkeys(("mu", "epsilon", "eta", "rho"), check_positive),
    "delta": check_open_unit,
    "rate": _check_rate,
    "scheme": partial(check_choice, allowed=("fixed-size", "poisson")),
    "mean_tries": partial(check_between, low=1.0, high=LARGEST_MEAN),
    "law": partial(check_choice, allowed=LAWS),
    **dict.fromkeys(("n_units", "times"), check_count),
    "event": check_event,
    "block_map": _check_block_map,
    "block": partial(check_integer, minimum=0),
}
"""The check of an event's field, by the field's name."""


@lru_cache(maxsize=4096, typed=True)
def _check_plain(name: str, value: float | str) -> None:
    """Check a value; cached, since plans build the same events many times."""
    CHECKS[name](name, value)


def event_from_dict(data: Mapping[str, Any]) -> Event:
    """Read an event back from its canonical dictionary; refuse any other dictionary.

    Examples
    --------
    >>> event_from_dict({"kind": "repeated", "event": {"kind": "gaussian", "mu": 0.5}, "times": 4})
    Repeated(event=Gaussian(mu=0.5), times=4)
    """
    if not isinstance(data, Mapping):
        raise InputError(f"an event must be a dictionary; got {shown(data)}.")
    event = KINDS[check_choice("kind", str(data.get("kind")), KINDS)]
    expected = {"kind", *(field.name for field in fields(event))}
    if set(data) != expected:
        raise InputError(
            f"an event of kind {event.kind!r} must have exactly the fields "
            f"{sorted(expected)}; got {sorted(data)}."
        )
    return event(**{name: _from_plain(value) for name, value in data.items() if name != "kind"})


def _to_plain(value: Any) -> Plain:
    """Write a field as plain data."""
    if isinstance(value, Event):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_to_plain(item) for item in value]
    return value


def _from_plain(value: Any) -> Any:
    """Read a field from plain data."""
    if isinstance(value, Mapping):
        return event_from_dict(value)
    if isinstance(value, list):
        return tuple(event_from_dict(item) for item in value)
    return value
