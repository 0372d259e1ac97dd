"""Everything that one gate writes: its own books, a ledger, and a checkpoint of answers."""

import tempfile
from collections.abc import Callable, Mapping
from os import PathLike
from threading import Lock
from typing import Any

from tailguard.array_types import IntArray
from tailguard.checks import BudgetError, ReleaseError, RoomError, check_integer, check_methods
from tailguard.gate.checkpoint import Checkpoint
from tailguard.noise.sources import Source
from tailguard.privacy.accounting.total_cost import COORDINATE_DISTANCE, EXACT, Distance, satisfies
from tailguard.privacy.books import AnyLedger, Books, MemoryBooks, Release, own_copy
from tailguard.privacy.books.books import LedgerEntry
from tailguard.privacy.books.releases import namespaced_event, namespaced_release
from tailguard.privacy.events import Composed, Event
from tailguard.privacy.guarantees import ApproxDP, Guarantee
from tailguard.privacy.unit import ROWS, Unit


class RunBooks:
    """Reserves and records the releases of one gate: in the ledger first, then in memory."""

    def __init__(
        self,
        guarantee: Guarantee,
        source: Source,
        ledger: AnyLedger | None = None,
        checkpoint: str | PathLike[str] | None = None,
        unit: Unit = ROWS,
    ) -> None:
        if ledger is not None:
            needed = ("opened",) if checkpoint is None else ("opened", "resumed")
            check_methods("ledger", ledger, needed, "a tg.Ledger, such as tg.Ledger(path, name)")
        if ledger is not None and not source.private:
            raise BudgetError(
                "random_state must be None when a ledger is given: a simulation is not private "
                "and cannot be charged to a budget."
            )
        if ledger is not None:
            ledger_unit = getattr(ledger, "unit", ROWS.budget)
            if ledger_unit != unit.budget:
                raise BudgetError(
                    f"ledger must count {unit.budget}, as this run does; it counts {ledger_unit}. "
                    "A cost in one has no counterpart in the other, and nothing is charged or "
                    "released: where the ledger counts persons, declare person= and max_rows=, or "
                    "use a ledger of the run's unit."
                )
        self.own = MemoryBooks()
        self.distance = EXACT
        self._guarantee, self._source = guarantee, source
        self._given_ledger, self.path = ledger, checkpoint
        self._lock = Lock()
        self._reserved_coordinates, self._charged_distance = 0, EXACT
        self._released_coordinates = 0
        self._checkpoint: Checkpoint | None = None
        self._namespace = ""
        self._ledger_books: Books | None = None
        self._forfeited = checkpoint is not None  # a run could continue from it
        if ledger is not None and checkpoint is None:
            # A random name of the run keeps its block maps apart from those of other runs.
            self._namespace = f"{int(source.words(1)[0]):016x}"
            self._ledger_books = ledger.opened(self._namespace)

    @property
    def charged(self) -> Event | None:
        """What a ledger still counts after an early stop; None if everything reserved counts.

        Without a ledger nothing can be given back.
        """
        if self._ledger_books is None or self._ledger_books.charged == self._ledger_books.reserved:
            return None
        return self._ledger_books.charged

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """The ledger's entries for the charges of this run."""
        return () if self._ledger_books is None else tuple(self._ledger_books.entries)

    def reserve(
        self, event: Event, coordinates: int, facts: Mapping[str, Any], *, unprotected: bool = False
    ) -> None:
        """Reserve ``event`` for ``coordinates`` numbers; a checkpoint must have the same ``facts``.

        If ``unprotected``, a simulation may reserve more than the guarantee.
        """
        planned = check_integer("coordinates", coordinates, minimum=0)
        event = own_copy(event)
        with self._lock:
            all_coordinates = planned + self._reserved_coordinates
            total = Composed((self.own.reserved, event))
            distance = COORDINATE_DISTANCE.times(all_coordinates)
            if not satisfies(total, self._guarantee, distance=distance):
                if not unprotected:
                    raise BudgetError(
                        f"the plan must cost at most {self._guarantee.describe()}; it costs more."
                    )
                self._drop_protection()
            if self.path is not None:
                self._open_checkpoint({**facts, "reservation": (event, planned)})
            if self._ledger_books is not None:
                charged = namespaced_event(event, self._namespace)
                self._ledger_books.reserve(charged, coordinates=planned)
            self.own.reserve(event)
            self._reserved_coordinates, self._charged_distance = all_coordinates, distance

    def record(self, release: Release, size: int, distance: Distance) -> None:
        """Record a release, or refuse it: in the ledger first, then in the gate's own books."""
        with self._lock:
            if self._released_coordinates + size > self._reserved_coordinates:
                raise BudgetError(
                    f"release {release.name!r} must be among the numbers that were reserved; more "
                    "were released than planned."
                )
            distance += self.distance
            # Other promises are kept up to the distance, and are not charged for it.
            is_charged = isinstance(self._guarantee, ApproxDP) and not self.own.unprotected
            if is_charged and not distance.within(self._charged_distance):
                raise BudgetError(
                    f"release {release.name!r} must be on a finer lattice; its noise is further "
                    "from ideal than was charged."
                )
            if self._ledger_books is not None:
                self.own.check(release)
                self._ledger_books.record(namespaced_release(release, self._namespace))
            self.own.record(release)
            self._released_coordinates += size
            self.distance = distance

    def answered(self, release: Release, question: Any, draw: Callable[[], IntArray]) -> IntArray:
        """Return the answer in the checkpoint; if there is none, draw it and store it there first.

        The release is already in the books.
        """
        if self._checkpoint is None:
            return draw()
        answer = self._checkpoint.recorded(release.to_dict(), question)
        if answer is None:
            answer = draw()
            self._checkpoint.keep(release.to_dict(), answer, question)
        return answer

    def settle(self, *, stopped_early: bool = False) -> None:
        """Close the books; a ledger may give back what an early stop left unspent.

        It gives nothing back after ``forfeit``, or with a checkpoint, since the run could continue
        from there.
        """
        with self._lock:
            self.own.settle()
            if self._checkpoint is not None:
                self._checkpoint.finish()
            if self._ledger_books is not None:
                self._ledger_books.settle(stopped_early=stopped_early and not self._forfeited)

    def forfeit(self) -> None:
        """Keep the whole reserved event charged, however the run ends."""
        with self._lock:
            self._forfeited = True

    def close(self) -> None:
        """Close the checkpoint; remove it if nothing was reserved."""
        if self._checkpoint is not None:
            self._checkpoint.close(begun=self._reserved_coordinates > 0)

    def _drop_protection(self) -> None:
        """Let a simulation, which has no ledger, cost more than the guarantee; mark its books."""
        if self._source.private:
            raise BudgetError(
                "random_state must be given, and no ledger, for this noise as printed: it does not "
                f"keep {self._guarantee.describe()}, so the run is NOT PRIVATE; got no "
                "random_state."
            )
        self.own.unprotected = True

    def _open_checkpoint(self, facts: Mapping[str, Any]) -> None:
        """Begin a new file, or resume a stopped run with its charge in the ledger."""
        if self._checkpoint is not None:
            raise BudgetError("checkpoint must be None where more is reserved on the way.")
        assert self.path is not None
        self._checkpoint = Checkpoint(self.path, self._source)
        self._checkpoint.begin(dict(facts))
        if self._given_ledger is not None:
            self._namespace = self._checkpoint.run
            self._ledger_books = self._checkpoint.opened(self._given_ledger)


def failure(name: str, *, full: bool) -> ReleaseError:
    """Return the error for a failure while reading; ``full``: temporary files filled the disk.

    The length of a file is public, and so is the free space on the disk.
    """
    if full:
        return RoomError(
            f"release {name!r} must be repeated: the disk of temporary files in "
            f"{tempfile.gettempdir()!r}, where rows are put in order, is full; it stays charged, "
            "and nothing of it leaves: name another folder in the variable TMPDIR."
        )
    return ReleaseError(
        f"release {name!r} must be repeated: it failed while records were read, stays charged, "
        "and nothing of it leaves; a file or table must not change during a run; with "
        "random_state=<int>, a simulation, the cause is shown."
    )
