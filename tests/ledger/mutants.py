"""Stores and books that are wrong on purpose, which the tests of processes must catch."""

import time

from tailguard.ledger.lines import Line
from tailguard.ledger.run import LedgerRun
from tailguard.ledger.store import Store


class UnlockedStore(Store):
    """Decides before it takes the lock, as a check in front of a transaction does."""

    def append(self, ledger, decide):
        decided = decide(self.lines(ledger))
        if isinstance(decided, Line):
            return decided
        time.sleep(0.005)  # so that the others come in between, also on one core
        with self._connected() as connection, self._locked(connection):
            return self._write(connection, self._read(connection, ledger), ledger, decided)


class LateStore(Store):
    """Tells of a line before it is on the disk."""

    def append(self, ledger, decide):
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            lines = self._read(connection, ledger)
            decided = decide(lines)
            if isinstance(decided, Line):
                return decided
            return self._write(connection, lines, ledger, decided)  # closed without a commit


class OpenRun(LedgerRun):
    """Writes down what it released, and closes its books only then."""

    def settle(self, *, stopped_early=False):
        releases = self.releases
        time.sleep(0.02)  # so that other threads come in between, also on one core
        self._write_settled(self._entries, releases, stopped_early)
        self._settled = True
