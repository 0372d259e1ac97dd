"""The books of one run that a ledger is charged for."""

from collections.abc import Callable
from typing import Any

from tailguard.checks import warn_before_spending
from tailguard.privacy.books import MemoryBooks
from tailguard.privacy.books.entries import LedgerEntry
from tailguard.privacy.events import Event


class LedgerRun(MemoryBooks):
    """The books of one run, whose reservation is on the disk before the run begins.

    Examples
    --------
    >>> from tailguard.ledger import Ledger
    >>> from tailguard.privacy.events import Gaussian
    >>> ledger = Ledger("budget.sqlite", "claims", epsilon=4.0, delta=1e-5)
    >>> run = ledger.opened("3f")
    >>> run.reserve(Gaussian(0.25), coordinates=3)
    >>> run.settle()
    >>> [line.kind for line in ledger.lines()]
    ['created', 'reserved', 'settled']
    """

    def __init__(
        self,
        charge: Callable[[Event, str, int], LedgerEntry],
        write_settled: Callable[[str, dict[str, Any]], None],
        key: str,
    ) -> None:
        super().__init__()
        self._charge, self._write_settled, self._first_key = charge, write_settled, key
        self._entries: tuple[LedgerEntry, ...] = ()

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Where the run was charged."""
        return self._entries

    def reserve(self, event: Event, *, coordinates: int = 0) -> None:
        """Charge the ledger, and only then reserve."""
        with self._lock:
            self._check_open()
            count = len(self._entries)
            key = f"{self._first_key} ({count + 1})" if count else self._first_key
            self._entries = (*self._entries, self._charge(event, key, coordinates))
            super().reserve(event, coordinates=coordinates)

    def settle(self, *, stopped_early: bool = False) -> None:
        """Write down what was released; where that fails, the charge stands as it would anyway."""
        super().settle()
        told = [release.to_dict() for release in self.releases]
        for entry in self._entries:
            try:
                self._write_settled(entry.key, {"releases": told})
            except Exception as error:  # all is released by now: a fit is not lost for a line
                warn_before_spending(f"{entry.describe()} stays unsettled: {error}")
            told = []  # with the first entry, once
