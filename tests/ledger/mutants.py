"""Stores that are wrong on purpose, which the tests of processes must catch."""

import time

from tailguard.ledger.lines import Line
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
