"""Lines in an SQLite file: one writer at a time, and each line on the disk before it is told.

``BEGIN IMMEDIATE`` takes the one write lock before anything is read, so that what is decided on the
lines holds when the new one is written. Commits are fully synchronous: the log is flushed to the
disk, as far as operating system and disk tell the truth about it, before a commit returns. No
connection outlives a call, so that a ledger can be copied, pickled and forked.

Reference
---------
SQLite, "Write-Ahead Logging", and "PRAGMA synchronous" and "PRAGMA fullfsync" (macOS, where a plain
flush stops at the disk's cache).
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import get_ident
from typing import TypeAlias
from urllib.parse import quote

from tailguard.checks import BudgetError
from tailguard.ledger.lines import FIELDS, SETTLED, Draft, Line
from tailguard.ledger.storage import (
    DRAFT,
    PATIENCE,
    check_local,
    check_one_name,
    flush_folder,
    one_sentence,
)

APPLICATION = 0x7467_6C64
"""SQLite's mark of whose file it is: the letters tgld."""
VERSION = 1
"""Of the tables; a change of meaning takes a new number."""

TABLES = f"""
PRAGMA journal_mode = WAL;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE lines (
    ledger TEXT NOT NULL, position INTEGER NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL,
    time TEXT NOT NULL, content TEXT NOT NULL, previous TEXT NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (ledger, position)
);
CREATE UNIQUE INDEX keys ON lines (ledger, kind, key);
CREATE TRIGGER no_change BEFORE UPDATE ON lines BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER no_removal BEFORE DELETE ON lines BEGIN SELECT RAISE(ABORT, 'append only'); END;
"""
DURABLE = (
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",
    "PRAGMA checkpoint_fullfsync = ON",
    "PRAGMA trusted_schema = OFF",
)

KNOWN: dict[tuple[str, str], tuple[list[tuple[object, ...]], tuple[Line, ...]]] = {}
"""Of a file and a data set: rows as they were read last, and their lines. All rows are read each
time, and where one is not as it was all are new lines; else no digest is worked out again."""
MOST_KNOWN = 8  # data sets of a process; a line takes about a kilobyte

Decision: TypeAlias = Callable[[tuple[Line, ...]], Draft | Line]
"""What to write after the lines that there are; or one of them, where nothing is to be written."""


class Store:
    """A file of lines, of one or several data sets.

    Examples
    --------
    >>> store = Store("budget.sqlite")
    >>> store.create()
    >>> store.append("claims", lambda lines: Draft("created", "", {})).position
    1
    >>> store.names()
    ('claims',)
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def exists(self) -> bool:
        """Whether there is a file."""
        return os.path.exists(self.path)

    def create(self) -> None:
        """Make the file, whole at once; whoever comes second finds the first one's."""
        check_local(self.path)
        draft = f"{self.path}.{os.getpid()}-{get_ident()}{DRAFT}"
        with one_sentence(self.path):
            Path(draft).unlink(missing_ok=True)  # of a process of that number that was killed
            try:
                with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
                    connection.executescript(TABLES)
                with open(draft, "rb+") as file:
                    os.fsync(file.fileno())
                os.link(draft, self.path)
                flush_folder(self.path)
            except FileExistsError:
                pass
            finally:
                Path(draft).unlink(missing_ok=True)

    def append(self, ledger: str, decide: Decision) -> Line:
        """Decide on the lines of a data set under the lock, and write; return what was decided.

        *Guarantee.* The line is on the disk when this returns, and was not written if it raises
        before the commit; nobody else wrote between what ``decide`` saw and the line.
        """
        with self._connected() as connection, self._locked(connection):
            lines = self._read(connection, ledger)
            decided = decide(lines)
            if isinstance(decided, Line):
                return decided
            return self._write(connection, lines, ledger, decided)

    def lines(self, ledger: str) -> tuple[Line, ...]:
        """Return all lines of a data set."""
        with self._connected() as connection:
            return self._read(connection, ledger)

    def first(self, ledger: str) -> tuple[Line, ...]:
        """Return the first line of a data set, if there is one."""
        words = f"SELECT {', '.join(FIELDS)} FROM lines WHERE ledger = ? ORDER BY position LIMIT 1"
        with self._connected() as connection:
            return tuple(Line(*row) for row in connection.execute(words, (ledger,)))

    def names(self) -> tuple[str, ...]:
        """Return the names of the data sets, in order."""
        with self._connected() as connection:
            found = connection.execute("SELECT DISTINCT ledger FROM lines ORDER BY ledger")
            return tuple(name for (name,) in found)

    def backup(self, target: str) -> None:
        """Copy the file as it is at one moment, while others may write."""
        with self._connected() as connection, closing(sqlite3.connect(target)) as copy:
            connection.backup(copy)

    def check_integrity(self) -> None:
        """Refuse a file in which SQLite finds damage."""
        with self._connected() as connection:
            found = connection.execute("PRAGMA integrity_check").fetchall()
            if found != [("ok",)]:
                raise sqlite3.DatabaseError

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Open the file, which must be a ledger that this version reads."""
        if not os.path.isfile(self.path):
            found = "it is none" if self.exists() else "there is none"
            raise BudgetError(
                f"ledger {self.path!r} must be a file; {found}, and nothing is charged or released."
            )
        check_local(self.path)
        with one_sentence(self.path):
            check_one_name(self.path)
        with one_sentence(self.path), closing(self._open()) as connection:
            (mark,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if mark != APPLICATION:
                raise BudgetError(
                    f"ledger {self.path!r} must be a file that a ledger wrote; it is something "
                    "else, and nothing is charged or released."
                )
            if version > VERSION:
                raise BudgetError(
                    f"ledger {self.path!r} must have format version {VERSION}; it has version "
                    f"{version}, which a newer tailguard wrote, and nothing is charged or released."
                )
            for pragma in DURABLE:
                connection.execute(pragma)
            yield connection

    def _open(self) -> sqlite3.Connection:
        """Connect to the file, and never make one; where nothing can be written, to read it."""
        path = os.path.abspath(self.path)
        address = f"file:{quote(path)}?mode=rw"
        if not os.access(os.path.dirname(path), os.W_OK) and not Path(f"{path}-wal").exists():
            address += "&immutable=1"  # else SQLite asks for a log beside the file
        return sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)

    @contextmanager
    def _locked(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Hold the write lock from before the first look until the line is on the disk."""
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _read(self, connection: sqlite3.Connection, ledger: str) -> tuple[Line, ...]:
        words = f"SELECT {', '.join(FIELDS)} FROM lines WHERE ledger = ? ORDER BY position"
        rows = connection.execute(words, (ledger,)).fetchall()
        before, known = KNOWN.pop((self.path, ledger), ([], ()))
        if not _same(rows[: len(before)], before):
            before, known = [], ()
        lines = (*known, *(Line(*row) for row in rows[len(before) :]))
        KNOWN[self.path, ledger] = rows, lines
        for oldest in list(KNOWN)[:-MOST_KNOWN]:  # listed at once: other threads change it
            KNOWN.pop(oldest, None)
        return lines

    def _write(
        self,
        connection: sqlite3.Connection,
        lines: tuple[Line, ...],
        ledger: str,
        draft: Draft,
    ) -> Line:
        # When a run was over would tell how long it took.
        line = Line.after(lines, ledger, draft, time="" if draft.kind == SETTLED else _today())
        marks = ", ".join("?" for _ in FIELDS)
        row = [getattr(line, name) for name in FIELDS]
        connection.execute(f"INSERT INTO lines ({', '.join(FIELDS)}) VALUES ({marks})", row)
        return line


def _same(rows: list[tuple[object, ...]], others: list[tuple[object, ...]]) -> bool:
    """Whether rows are stored alike: 1 and 1.0 are equal, and have other digests."""
    return rows == others and all(
        type(cell) is type(other)
        for row, known in zip(rows, others, strict=True)
        for cell, other in zip(row, known, strict=True)
    )


def _today() -> str:
    """Return the day by this machine's clock; it is written down, and nothing follows from it.

    A time of day would tell how long runs took that follow one another: a search takes the longer,
    the more tries it makes, and their number is secret.
    """
    return datetime.now(UTC).date().isoformat()
