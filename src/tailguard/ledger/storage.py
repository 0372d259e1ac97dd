"""Where a ledger may be kept, and what is said where it cannot be.

SQLite's write-ahead log is shared memory of one machine: on a file system that several machines
mount, two of them would each grant the same budget. So such file systems are refused.

Reference
---------
SQLite, "Write-Ahead Logging" (section "Overview"): all processes must be on the same host computer;
WAL does not work over a network filesystem.
"""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape, glob
from os import PathLike
from pathlib import Path

from tailguard.checks import BudgetError, InputError

PATIENCE = 60.0
"""Seconds that a charge waits for others. One takes some milliseconds, so hundreds may queue."""

# Of file systems that Linux names; several machines may mount each of them at once.
SHARED = {
    *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "gfs", "gfs2", "glusterfs", "gpfs"),
    *("lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "panfs", "pvfs2", "smb2", "smb3"),
    *("smbfs", "virtiofs", "fuse.ceph", "fuse.davfs", "fuse.gcsfuse", "fuse.glusterfs"),
    *("fuse.rclone", "fuse.s3fs", "fuse.sshfs", "fuse.vmhgfs-fuse"),
}
MOUNTS = "/proc/self/mountinfo"
"""The table of mounts that Linux keeps; elsewhere there is none, and nothing is refused."""

SIDE_FILES = ("-wal", "-shm", "-journal")
"""What SQLite appends to a file's name for files of its own beside it ("Temporary Files Used By
SQLite", sections 2.1 to 2.3)."""

DRAFT = ".new"
"""How names of files end that are not whole yet."""

# By the beginning of SQLite's names of errors.
SENTENCES = {
    "SQLITE_READONLY": "be writable, and its folder too; it is read-only",
    "SQLITE_FULL": "have room to grow; the disk is full",
    "SQLITE_CANTOPEN": "be in a folder that exists and can be written to; it cannot be opened",
    "SQLITE_PERM": "be in a folder that exists and can be written to; it cannot be opened",
    "SQLITE_BUSY": f"be free within {PATIENCE:g} seconds; another process holds it",
    "SQLITE_LOCKED": f"be free within {PATIENCE:g} seconds; another process holds it",
    "SQLITE_NOTADB": "be a file that a ledger wrote; it is something else, or damaged",
    "SQLITE_CORRUPT": "be whole; the file is damaged",
    "SQLITE_IOERR": "be on a disk that works; reading or writing failed",
}


@contextmanager
def one_sentence(path: str) -> Iterator[None]:
    """Turn whatever SQLite complains of into one sentence; nothing was charged then.

    Examples
    --------
    >>> with one_sentence("budget.sqlite"):
    ...     raise sqlite3.DatabaseError("?")
    Traceback (most recent call last):
    tailguard.checks.BudgetError: ledger 'budget.sqlite' must be a file that SQLite can use; it is \
not, and nothing is charged or released.
    """
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        name = getattr(error, "sqlite_errorname", None) or ""
        named = (rule for start, rule in SENTENCES.items() if name.startswith(start))
        rule = next(named, "be a file that SQLite can use; it is not")
    else:
        return
    raise BudgetError(f"ledger {path!r} must {rule}, and nothing is charged or released.")


def check_local(path: str) -> None:
    """Refuse a file on a file system that several machines may mount.

    Examples
    --------
    >>> check_local("budget.sqlite")
    """
    kind = file_system_of(path)
    if kind in SHARED:
        raise BudgetError(
            f"ledger {path!r} must be on a disk of this machine; its file system is {kind}, which "
            "other machines may mount, and nothing is charged or released."
        )


def file_system_of(path: str, mounts: str = MOUNTS) -> str:
    """Return the kind of file system of a path, or of where it would be; empty if unknown.

    Examples
    --------
    >>> file_system_of("/nowhere/budget.sqlite", mounts="/no/such/table")
    ''
    """
    try:
        table = Path(mounts).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    place, longest, found = os.path.realpath(path), -1, ""
    for line in table.splitlines():
        mount, _, source = line.partition(" - ")
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), mount.split(" ")[4])
        inside = place == point or place.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= longest:  # a later mount hides an earlier one
            longest, found = len(point), source.split(" ")[0]
    return found


def check_one_name(path: str) -> None:
    """Refuse a file of several names: charges in the log beside one are not read by another.

    A name that a process left which was killed while it made the file is taken away.

    Examples
    --------
    >>> open("budget.sqlite", "w").close()
    >>> check_one_name("budget.sqlite")
    """
    if os.stat(path).st_nlink > 1:
        for draft in map(Path, glob(f"{escape(path)}.*{DRAFT}")):
            if draft.samefile(path):
                draft.unlink(missing_ok=True)
    if os.stat(path).st_nlink > 1:
        raise BudgetError(
            f"ledger {path!r} must have one name, and no hard links: charges under one name may be "
            "lost under another; nothing is charged or released."
        )


def flush_folder(path: str) -> None:
    """Put a new file's name on the disk, where the system can flush folders.

    Examples
    --------
    >>> flush_folder("budget.sqlite")
    """
    with suppress(OSError):
        folder = os.open(Path(path).absolute().parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def check_regular_file(name: str, path: str | PathLike[str]) -> None:
    """Refuse a path at which there is anything but a regular file; there may be nothing yet.

    Examples
    --------
    >>> check_regular_file("--out", "model.json")
    >>> check_regular_file("--out", "/dev/null")
    Traceback (most recent call last):
    tailguard.checks.InputError: --out must be the path of a regular file; '/dev/null' is a \
device, a pipe or a folder.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError(
            f"{name} must be the path of a regular file; {os.fspath(path)!r} is a device, a pipe "
            "or a folder."
        )


def check_no_side_file(name: str, path: str | PathLike[str]) -> None:
    """Refuse a name that SQLite may use for a file of its own, which it would write over.

    Examples
    --------
    >>> open("budget.sqlite", "w").close()
    >>> check_no_side_file("--out", "budget.sqlite-wal")
    Traceback (most recent call last):
    tailguard.checks.InputError: --out must have another name; SQLite keeps files of its own \
beside 'budget.sqlite' under 'budget.sqlite-wal'.
    """
    real = os.path.realpath(path)
    for ending in SIDE_FILES:
        beside = real.removesuffix(ending)
        if real.endswith(ending) and os.path.exists(beside):
            raise InputError(
                f"{name} must have another name; SQLite keeps files of its own beside "
                f"{os.path.basename(beside)!r} under {os.path.basename(real)!r}."
            )
