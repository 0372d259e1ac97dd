"""The books: the event reserved before any record is read, and the releases charged against it.

The next query and its price may depend on all earlier answers. The books refuse a release if it and
the earlier ones are not covered by the reserved event (``FlatEvents.covers``). This suffices:
whatever the queries, all answers together cost at most the reserved event, in the sense of
dominating pairs and hence by every accountant.

Proof, by induction on the number of releases, which is at most the number of reserved coordinates.
A leaf is one event of the flattened plan. Let the remaining Gaussian part be worth ``m``, and let
the other remaining leaves of each family be ``l_1 >= l_2 >= ...``. If the next release is Gaussian
at ``a``, then for every answer of it the later releases are dominated by a Gaussian at ``sqrt(m**2
- a**2)`` and these leaves. By adaptive composition of dominating pairs (Zhu, Dong and Wang 2022,
Theorem 10) both together are dominated by the product of the two, and the product of Gaussians at
``a`` and ``sqrt(m**2 - a**2)`` is one at ``m``. If the next release is not Gaussian, let it use up
the smallest leaf of its family that is at least as large. If the leaves covered it and some later
releases, the leaves that remain cover those later releases. For blocks, a record is read only by
the releases of its own block, and the costliest block is counted. So the rule holds for plans that
mix Gaussian, pure and smooth releases. If a leaf is stated only by its Renyi divergences, as zCDP
is, these replace the dominating pairs, order by order (Feldman and Zrnic 2021).

Reference
---------
Rogers, Roth, Ullman and Vadhan 2016 (privacy filters); Smith and Thakurta 2022, and Koskela,
Tobaben and Honkela 2023 (fully adaptive composition of Gaussian differential privacy); Zhu, Dong
and Wang 2022, Theorem 10; Feldman and Zrnic 2021 (the same for Renyi divergences).
"""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from numbers import Integral, Real
from threading import RLock
from typing import Any, Protocol, Self

from tailguard.checks import BudgetError, InputError, check_integer, shown
from tailguard.privacy.books.releases import ComposedReleases, Release
from tailguard.privacy.events import KINDS, Composed, Event, check_event
from tailguard.privacy.flat_events import FlatEvents, flatten


@dataclass(frozen=True)
class LedgerEntry:
    """One line of a ledger: the charge of a run, to which its certificate refers.

    Attributes
    ----------
    ledger
        The name of the data set that was charged.
    position
        The line's number in the ledger of that data set, from 1.
    key
        A text that is unique among the charges.
    digest
        The digest of the line and of all lines before it.

    Examples
    --------
    >>> LedgerEntry("claims-2026", 7, "3f", "9b1d" * 16).describe()
    "entry 7 of 'claims-2026' (9b1d9b1d9b1d9b1d)"
    """

    ledger: str
    position: int
    key: str
    digest: str

    def __post_init__(self) -> None:
        check_integer("position", self.position, minimum=1)
        for name in ("ledger", "key", "digest"):
            if not isinstance(getattr(self, name), str):
                raise InputError(f"{name} must be a text; got {shown(getattr(self, name))}.")

    def describe(self) -> str:
        """Return the entry's name, with the beginning of its digest."""
        return f"entry {self.position} of {self.ledger!r} ({self.digest[:16]})"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data; ``LedgerEntry(**data)`` reads it back."""
        return asdict(self)


class Books(Protocol):
    """Where a gate writes reservations, and each release before it draws the noise.

    Examples
    --------
    >>> books: Books = MemoryBooks()
    """

    @property
    def reserved(self) -> Event:
        """Everything that was reserved; it counts as spent forever."""
        ...

    @property
    def charged(self) -> Event:
        """The final charge: everything that was reserved, or less after an early stop."""
        ...

    @property
    def releases(self) -> Sequence[Release]:
        """Everything that was released, in order."""
        ...

    @property
    def entries(self) -> Sequence[LedgerEntry]:
        """Lines of a durable ledger that state the charge; empty without a ledger."""
        ...

    def reserve(self, event: Event, *, coordinates: int = 0) -> None:
        """Reserve a planned event with ``coordinates`` released numbers."""
        ...

    def settle(self, *, stopped_early: bool = False) -> None:
        """Close the books: later reservations and releases are refused.

        What was reserved stays charged. Only after ``stopped_early`` may a durable ledger give back
        what the run did not spend.
        """
        ...

    def check(self, release: Release) -> None:
        """Raise ``BudgetError`` if the reserved event does not cover the release as well."""
        ...

    def record(self, release: Release) -> None:
        """Check and record a release; call this before drawing its noise."""
        ...


class AnyLedger(Protocol):
    """A budget that runs are charged to: a ``tg.Ledger``, or ``MemoryBooks`` within one process.

    Examples
    --------
    >>> ledger: AnyLedger = MemoryBooks()
    >>> ledger.opened("3f").entries
    ()
    """

    def opened(self, run: str) -> Books:
        """Return the books of one run, under a unique name."""
        ...


class MemoryBooks:
    """Books in memory, without a cap; a ``tg.Ledger`` has a cap and outlives the process.

    *Guarantee.* Everything recorded costs at most what was reserved, whatever the accountant.

    *Edge cases.* A refused release is not recorded. Equal consecutive releases share one line. A
    gate sets ``unprotected`` if a simulation of printed noise costs more than its guarantee; the
    certificate then says so.

    Examples
    --------
    >>> from tailguard.privacy.events import Gaussian, Repeated
    >>> books = MemoryBooks()
    >>> books.reserve(Repeated(Gaussian(mu=0.25), times=2))
    >>> slope = Release("slope", "Mean", "gaussian", "l2", sensitivity=2.0, noise_std=8.0)
    >>> books.record(slope)
    >>> books.record(slope)
    >>> [release.times for release in books.releases]
    [2]
    >>> books.record(slope)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tailguard.checks.BudgetError: release 'slope' must be covered by the reserved budget; ...
    """

    unprotected = False

    def __init__(self, shared: "MemoryBooks | None" = None) -> None:
        self._shared = shared  # books of several runs, in which this run is recorded as well
        self._reserved: tuple[Event, ...] = ()
        self._planned = FlatEvents()
        self._spent = ComposedReleases()
        self._releases: list[Release] = []
        self._lock = RLock()
        self._settled = False
        self._process = os.getpid()

    def __sklearn_clone__(self) -> "MemoryBooks":
        """Return the books themselves, so a copied model is charged to the same budget."""
        return self

    def __copy__(self) -> Self:
        """Return the books themselves: settling a copy would leave these open."""
        return self

    @property
    def reserved(self) -> Event:
        """Everything that was reserved, as a copy, so that no caller can change these books."""
        return own_copy(Composed(self._reserved))

    @property
    def releases(self) -> tuple[Release, ...]:
        """Everything that was released, in order."""
        return tuple(self._releases)

    @property
    def charged(self) -> Event:
        """Everything that was reserved: without a cap nothing can be given back."""
        return self.reserved

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Empty: no durable ledger was charged."""
        return ()

    def opened(self, run: str) -> "MemoryBooks":
        """Return the books of one run, which are written into these books as well."""
        return MemoryBooks(shared=self)

    def settle(self, *, stopped_early: bool = False) -> None:
        """Close the books; what was reserved stays reserved, however the run ended."""
        with self._lock:
            self._check_process()
            self._settled = True

    def reserve(self, event: Event, *, coordinates: int = 0) -> None:
        """Reserve a planned event in addition to earlier ones."""
        with self._lock:
            self._check_open()
            self._planned = FlatEvents.total((self._planned, flatten(event)))
            self._reserved = (*self._reserved, event)
            if self._shared is not None:
                self._shared.reserve(event, coordinates=coordinates)

    def check(self, release: Release) -> None:
        """Raise ``BudgetError`` if the reserved event does not cover the release as well."""
        self._spent_with(release)

    def record(self, release: Release) -> None:
        """Check and record a release in one step; other threads wait."""
        with self._lock:
            self._spent = self._spent_with(release)
            last = self._releases[-1] if self._releases else None
            if last is not None and last.repeats(release):
                self._releases[-1] = replace(last, times=last.times + release.times)
            else:
                self._releases.append(release)
            if self._shared is not None:
                self._shared.record(release)

    def _check_open(self) -> None:
        """Refuse settled books, and books of another process."""
        self._check_process()
        if self._settled:
            raise BudgetError(
                "books must be written before their run is settled; this run is settled, so "
                "nothing more is reserved or released."
            )

    def _check_process(self) -> None:
        """Refuse a copy in a forked process, which could release everything again."""
        if os.getpid() != self._process:
            raise BudgetError(
                "books must be written by the process that opened them, and not by its forks."
            )

    def _spent_with(self, release: Release) -> ComposedReleases:
        """Return everything spent, including the release; raise ``BudgetError`` if not covered."""
        self._check_open()
        spent = self._spent.plus(release)
        if not self._planned.covers(spent.flat_events):
            raise BudgetError(
                f"release {release.name!r} must be covered by the reserved budget; too little "
                "of it is left, and nothing was drawn."
            )
        return spent


class ReadOnlyBooks:
    """A read-only view of books.

    Examples
    --------
    >>> books = MemoryBooks()
    >>> ReadOnlyBooks(books).reserved == books.reserved
    True
    """

    def __init__(self, books: Books) -> None:
        self._books = books

    @property
    def reserved(self) -> Event:
        """Everything that was reserved."""
        return self._books.reserved

    @property
    def releases(self) -> Sequence[Release]:
        """Everything that was released, in order."""
        return self._books.releases


def own_copy(event: Event) -> Event:
    """Return a copy of the event that shares no object with it.

    Only classes of ``tailguard.privacy.events`` are accepted: the cost of others is unknown.

    Examples
    --------
    >>> from tailguard.privacy.events import Gaussian
    >>> given = Gaussian(mu=0.5)
    >>> own_copy(given) == given, own_copy(given) is given
    (True, False)
    """
    kind = type(check_event("event", event))
    if KINDS.get(kind.kind) is not kind:
        raise InputError(
            "event must be of the classes of tailguard.privacy.events, whose costs are known; got "
            f"a {kind.__qualname__}."
        )
    values: dict[str, Any] = {}
    for field in fields(kind):
        value = getattr(event, field.name)
        if isinstance(value, Event):
            value = own_copy(value)
        elif isinstance(value, tuple):
            value = tuple(map(own_copy, value))
        elif isinstance(value, Real):
            value = int(value) if isinstance(value, Integral) else float(value)
        else:
            value = str(value)
        values[field.name] = value
    return kind(**values)
