"""Lines in an SQLite file: one writer at a time, and each line on the disk before a call returns.

``BEGIN IMMEDIATE`` takes the only write lock before anything is read, so that a decision based on
the lines is still valid when the new line is written. Commits are fully synchronous: the log is
flushed to the disk before a commit returns, provided that operating system and disk report this
truthfully. No connection outlives a call, so that a ledger can be copied, pickled and forked.

SQLite's write-ahead log uses shared memory of one machine: on a file system that several machines
mount, two of them would each grant the same budget. So such file systems are refused.

Reference
---------
SQLite, "Write-Ahead Logging" (section "Overview": all processes must be on the same host computer;
WAL does not work over a network filesystem), and "PRAGMA synchronous" and "PRAGMA fullfsync"
(macOS, where a plain flush stops at the disk's cache).
"""

import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from glob import escape, glob
from os import PathLike
from pathlib import Path
from threading import get_ident
from typing import TypeAlias
from urllib.parse import quote

from tailguard.checks import BudgetError, InputError, shown
from tailguard.ledger.lines import FIELDS, SETTLED, Draft, Line

PATIENCE = 60.0
"""Seconds that a charge waits for others. A charge takes milliseconds, so hundreds may queue."""

# File systems, by their names in Linux, that several machines, real or virtual, may mount at once.
SHARED = {
    *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "gfs", "gfs2", "glusterfs", "gpfs"),
    *("lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "panfs", "prl_fs", "pvfs2", "smb2"),
    *("smb3", "smbfs", "vboxsf", "virtiofs", "wekafs", "fuse.blobfuse", "fuse.blobfuse2"),
    *("fuse.ceph", "fuse.davfs", "fuse.gcsfuse", "fuse.glusterfs", "fuse.goofys"),
    *("fuse.grpcfuse", "fuse.juicefs", "fuse.osxfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs"),
    "fuse.vmhgfs-fuse",
}
MOUNTS = "/proc/self/mountinfo"
"""The table of mounts of Linux. Other systems have none, and there nothing is refused."""

SIDE_FILES = ("-wal", "-shm", "-journal")
"""Endings that SQLite appends to the name of a file for its own files ("Temporary Files Used By
SQLite", sections 2.1 to 2.3)."""

DRAFT = ".new"
"""The ending of the name of an incomplete file."""

# What a ledger must do, by the beginning of SQLite's error name.
SENTENCES = {
    "SQLITE_READONLY": "be writable, and its folder too; it is read-only",
    "SQLITE_FULL": "have room to grow; the disk is full",
    "SQLITE_CANTOPEN": "be in a folder that exists and can be written to; it cannot be opened",
    "SQLITE_PERM": "be in a folder that exists and can be written to; it cannot be opened",
    "SQLITE_BUSY": f"be free within {PATIENCE:g} seconds; another process holds it",
    "SQLITE_LOCKED": f"be free within {PATIENCE:g} seconds; another process holds it",
    "SQLITE_NOTADB": "be a file that a ledger wrote; it is something else, or damaged",
    "SQLITE_CORRUPT": "be whole; the file is damaged",
    "SQLITE_IOERR": "be on a disk that works and has room; reading or writing failed",
}


@contextmanager
def one_sentence(path: str) -> Iterator[None]:
    """Turn an error of SQLite into one sentence. After such an error nothing was charged."""
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        name = getattr(error, "sqlite_errorname", None) or ""
        rules = (rule for start, rule in SENTENCES.items() if name.startswith(start))
        rule = next(rules, "be a file that SQLite can use; it is not")
    else:
        return
    raise BudgetError(f"ledger {path!r} must {rule}, and nothing is charged or released.")


def check_local(path: str) -> None:
    """Refuse a file on a file system that several machines may mount, or one mounted by itself.

    A file that is mounted by itself, as into a container, has another name elsewhere. SQLite keeps
    a log beside each name, so charges under one name are not read under the other.
    """
    point, kind = mount_of(path)
    if kind in SHARED:
        raise BudgetError(
            f"ledger {path!r} must be on a disk of this machine; its file system is {kind}, which "
            "other machines may mount, and nothing is charged or released."
        )
    if point == os.path.realpath(path):
        raise BudgetError(
            f"ledger {path!r} must not be mounted as a single file: charges under its other name "
            "may be lost; nothing is charged or released: mount the folder that holds it."
        )


def mount_of(path: str, mounts: str = MOUNTS) -> tuple[str, str]:
    """Return the mount that holds a path, and its kind of file system; both empty if unknown."""
    try:
        table = Path(mounts).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", ""
    real_path, innermost, kind = os.path.realpath(path), "", ""
    for line in table.splitlines():
        mount, _, source = line.partition(" - ")
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), mount.split(" ")[4])
        inside = real_path == point or real_path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(innermost):  # a later mount hides an earlier one
            innermost, kind = point, source.split(" ")[0]
    return innermost, kind


def check_one_name(path: str) -> None:
    """Refuse a file with several names: charges in the log of one name are not read under another.

    If a process was killed while it created the file, this removes the name of its draft.
    """
    if os.stat(path).st_nlink > 1:
        for draft in map(Path, glob(f"{escape(path)}.*{DRAFT}")):
            with suppress(FileNotFoundError):  # the process that made it has just removed it
                if draft.samefile(path):
                    draft.unlink()
    if os.stat(path).st_nlink > 1:
        raise BudgetError(
            f"ledger {path!r} must have one name, and no hard links: charges under one name may be "
            "lost under another; nothing is charged or released."
        )


def flush_folder(path: str) -> None:
    """Flush a new file's name to the disk, if the system can flush folders."""
    with suppress(OSError):
        folder = os.open(Path(path).absolute().parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def check_regular_file(name: str, path: str | PathLike[str]) -> None:
    """Refuse the path of a device, a pipe or a folder."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError(
            f"{name} must be the path of a regular file; {os.fspath(path)!r} is a device, a pipe "
            "or a folder."
        )


def check_no_side_file(name: str, path: str | PathLike[str]) -> None:
    """Refuse a name that SQLite may use for its own file, which it would overwrite."""
    real = os.path.realpath(path)
    for ending in SIDE_FILES:
        beside = real.removesuffix(ending)
        if real.endswith(ending) and os.path.exists(beside):
            raise InputError(
                f"{name} must have another name; SQLite keeps files of its own beside "
                f"{os.path.basename(beside)!r} under {os.path.basename(real)!r}."
            )


APPLICATION = 0x7467_6C64
"""SQLite's application id of a ledger: the letters tgld."""
VERSION = 1
"""The version of the tables; increase it when their meaning changes."""

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
"""File and data set -> the rows of the last reading, and their lines. All rows are read each time.
If one of them has changed, all lines are made again; otherwise no digest is computed again."""
MOST_KNOWN = 8  # data sets of a process; a line takes about a kilobyte

Decision: TypeAlias = Callable[[tuple[Line, ...]], Draft | Line]
"""Takes the existing lines; returns a draft to write, or an existing line to write nothing."""


class Store:
    """A file of lines, for one or several data sets."""

    def __init__(self, path: str) -> None:
        self.path = path

    def exists(self) -> bool:
        """Whether there is a file."""
        return os.path.exists(self.path)

    def create(self) -> None:
        """Create the complete file in one step; if several processes try, one creates it."""
        check_local(self.path)
        draft = f"{self.path}.{os.getpid()}-{get_ident()}{DRAFT}"
        with one_sentence(self.path):
            Path(draft).unlink(missing_ok=True)  # left by a killed process with this id
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
        """Call ``decide`` on the lines of a data set under the lock; write and return its line.

        *Guarantee.* When this returns, the line is on the disk; if this raises before the commit,
        the line was not written. Nobody else writes between the lines that ``decide`` gets and the
        new line.
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
        query = f"SELECT {', '.join(FIELDS)} FROM lines WHERE ledger = ? ORDER BY position LIMIT 1"
        with self._connected() as connection:
            return tuple(Line(*row) for row in connection.execute(query, (ledger,)))

    def names(self) -> tuple[str, ...]:
        """Return the names of the data sets, in order."""
        with self._connected() as connection:
            rows = connection.execute("SELECT DISTINCT ledger FROM lines ORDER BY ledger")
            return tuple(name for (name,) in rows)

    def backup(self, target: str) -> None:
        """Copy the file as it is at one moment, even while others write."""
        with self._connected() as connection, closing(sqlite3.connect(target)) as copy:
            connection.backup(copy)

    def check_integrity(self) -> None:
        """Refuse a file in which SQLite finds damage."""
        with self._connected() as connection:
            answer = connection.execute("PRAGMA integrity_check").fetchall()
            if answer != [("ok",)]:
                raise sqlite3.DatabaseError

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Open the file, which must be a ledger that this version reads."""
        if not os.path.isfile(self.path):
            state = "it is none" if self.exists() else "there is none"
            raise BudgetError(
                f"ledger {self.path!r} must be a file; {state}, and nothing is charged or "
                "released; to begin it, pass its cap to tg.Ledger, or run 'tailguard ledger "
                "create'."
            )
        check_local(self.path)
        with one_sentence(self.path):
            check_one_name(self.path)
        with one_sentence(self.path), closing(self._open()) as connection:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if application != APPLICATION:
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
        """Connect to the file without creating it; read-only if the folder cannot be written to."""
        path = os.path.realpath(self.path)  # SQLite's log lies beside the file, not beside a link
        address = f"file:{quote(path)}?mode=rw"
        if not os.access(os.path.dirname(path), os.W_OK) and not Path(f"{path}-wal").exists():
            address += "&immutable=1"  # otherwise SQLite needs a log file in the folder
        return sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)

    @contextmanager
    def _locked(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Hold the write lock from before the first read until the line is on the disk."""
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _read(self, connection: sqlite3.Connection, ledger: str) -> tuple[Line, ...]:
        """Read all rows of a data set; reuse the lines of the last reading if their rows agree."""
        query = f"SELECT {', '.join(FIELDS)} FROM lines WHERE ledger = ? ORDER BY position"
        rows = connection.execute(query, (ledger,)).fetchall()
        before, known = KNOWN.pop((self.path, ledger), ([], ()))
        if not _same(rows[: len(before)], before):
            before, known = [], ()
        lines = (*known, *(Line(*row) for row in rows[len(before) :]))
        KNOWN[self.path, ledger] = rows, lines
        for oldest in list(KNOWN)[:-MOST_KNOWN]:  # a copy, since other threads change KNOWN
            KNOWN.pop(oldest, None)
        return lines

    def _write(
        self, connection: sqlite3.Connection, lines: tuple[Line, ...], ledger: str, draft: Draft
    ) -> Line:
        # The time at which a run was settled would reveal how long it took.
        line = Line.after(lines, ledger, draft, time="" if draft.kind == SETTLED else _today())
        marks = ", ".join("?" for _ in FIELDS)
        row = [getattr(line, name) for name in FIELDS]
        connection.execute(f"INSERT INTO lines ({', '.join(FIELDS)}) VALUES ({marks})", row)
        return line


def _same(rows: list[tuple[object, ...]], others: list[tuple[object, ...]]) -> bool:
    """Whether rows have equal values and types: 1 and 1.0 are equal, but their digests differ."""
    return rows == others and all(
        type(cell) is type(other)
        for row, known in zip(rows, others, strict=True)
        for cell, other in zip(row, known, strict=True)
    )


def _today() -> str:
    """Return the day by this machine's clock; nothing depends on it.

    A time of day would reveal the duration of runs that follow one another. The duration of a
    search depends on its number of tries, which is secret.
    """
    return datetime.now(UTC).date().isoformat()


def checked_path(path: object) -> str:
    """Return the absolute path of a file."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise InputError(f"path must be that of a file; got {shown(path)}.")
    check_regular_file("path", text)
    check_no_side_file("path", text)
    return os.path.abspath(text)
