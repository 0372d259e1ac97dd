"""The books of one run that is charged to a ledger."""

import re
import warnings
from collections.abc import Callable, Sequence

from tailguard.checks import BudgetWarning, warn_before_spending
from tailguard.ledger.lines import Line
from tailguard.privacy.books import MemoryBooks, Release
from tailguard.privacy.books.books import LedgerEntry
from tailguard.privacy.events import Event, Selected, event_from_dict

NO_CHARGE = re.compile(r"[,;](?: and)? nothing is charged or released")
"""What errors of a ledger say of a charge; it is not true of a run that was charged before."""


class LedgerRun(MemoryBooks):
    """The books of one run; its reservation is on the disk before the run begins."""

    def __init__(
        self,
        charge: Callable[[Event, str, int], LedgerEntry],
        write_settled: Callable[[Sequence[LedgerEntry], Sequence[Release], bool], Line],
        key: str,
    ) -> None:
        super().__init__()
        self._charge, self._write_settled, self._first_key = charge, write_settled, key
        self._entries: tuple[LedgerEntry, ...] = ()
        self._left: Event | None = None

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """The entries of the run's charges."""
        return self._entries

    @property
    def charged(self) -> Event:
        """The event that stays charged: after an early stop it may be less than reserved."""
        return self.reserved if self._left is None else self._left

    def reserve(self, event: Event, *, coordinates: int = 0) -> None:
        """Charge the ledger, and only then reserve."""
        with self._lock:
            self._check_open()
            count = len(self._entries)
            key = f"{self._first_key} ({count + 1})" if count else self._first_key
            self._entries = (*self._entries, self._charge(event, key, coordinates))
            super().reserve(event, coordinates=coordinates)

    def settle(self, *, stopped_early: bool = False) -> None:
        """Close the books, then write all releases to the ledger in one line.

        If writing fails, all charges remain. A search writes nothing once its tries have begun: the
        time at which its line is written would reveal their number.
        """
        with self._lock:
            nothing_to_write = self._settled or not self._entries
            super().settle()
            events = self._spent.flat_events if stopped_early else self._planned
            if nothing_to_write or Selected in events.kinds:
                return
            try:
                line = self._write_settled(self._entries, self.releases, stopped_early)
            except Exception as error:  # results are released: a missing line must not lose them
                _warn_of_unsettled(self._entries[0], error)
                return
            left = line.data().get("charged")
            self._left = None if left is None else event_from_dict(left)


def _warn_of_unsettled(entry: LedgerEntry, error: Exception) -> None:
    """Warn that the end of a run is not written, and never raise: the run was charged."""
    reason = NO_CHARGE.sub("", str(error))
    with warnings.catch_warnings():
        warnings.simplefilter("always", BudgetWarning)
        warn_before_spending(f"{entry.describe()} stays unsettled: {reason}")
