"""A file of lines that only grows, each of them on the disk before anything follows from it.

A line's digest is that of its own words and of the digest before it. A process that is killed while
it writes leaves at most one line cut short, the last one, which counts as never written.
"""

import json
import os
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from tailguard.checks import InputError
from tailguard.ledger.lines import canonical
from tailguard.ledger.store import check_no_side_file, check_regular_file, flush_folder

# How every line begins: whatever else a file holds is not overwritten.
BEGINNING = b'{"content":{'

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows, where two processes are not kept apart
    fcntl = None


class Log:
    """Lines in a file that one process holds at a time.

    Attributes
    ----------
    lines
        Kind and content of each.
    rest
        What there is of a last line that was cut short; it goes when another one is written.

    Examples
    --------
    >>> log = Log("run.checkpoint")
    >>> log.append("run", {"n_rows": 5})
    >>> log.close()
    >>> again = Log("run.checkpoint")
    >>> again.lines
    [('run', {'n_rows': 5})]
    >>> again.close()
    """

    def __init__(self, path: str) -> None:
        self.path = path
        check_regular_file("checkpoint", path)
        check_no_side_file("checkpoint", path)
        try:
            self._file: BinaryIO = open(path, "ab+", buffering=0)  # noqa: SIM115 (see close)
        except OSError:
            raise InputError(
                f"checkpoint must be a file in a folder that exists and can be written to; "
                f"{path!r} cannot be opened."
            ) from None
        try:
            self._hold()
            self.lines: list[tuple[str, dict[str, Any]]] = []
            self._digest = ""
            self.rest = self._read()
        except BaseException:
            self._file.close()
            raise

    def append(self, kind: str, content: dict[str, Any]) -> None:
        """Write a line; it is on the disk when this returns."""
        line, self._digest = _line(kind, content, self._digest)
        try:
            self._file.truncate(self._file.seek(-len(self.rest), os.SEEK_END))
            self.rest = b""
            # Of a file without a buffer, one call of the system, which may write less on a full
            # disk.
            written = self._file.write(line)
            os.fsync(self._file.fileno())
        except OSError:
            written = 0
        if written != len(line):
            raise InputError(
                f"checkpoint must be on a disk that works and has room; {self.path!r} could not be "
                "written: the run stops, and goes on from here once it can be."
            )
        self.lines.append((kind, content))

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def discard(self) -> None:
        """Remove the file."""
        Path(self.path).unlink(missing_ok=True)
        self.close()

    def _hold(self) -> None:
        """Refuse a file that another run holds."""
        if fcntl is None:
            raise InputError(
                "checkpoint must be None on this system, which cannot hold a file for one run."
            )
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"checkpoint must be a file that no other run holds; one holds {self.path!r}."
            ) from None

    def _read(self) -> bytes:
        """Read all lines; return what there is of one that was cut short."""
        self._file.seek(0)
        text = self._file.read()
        whole, _, rest = text.rpartition(b"\n")
        if not BEGINNING.startswith(text[: len(BEGINNING)]):
            raise self._foreign()
        for line in whole.split(b"\n") if whole else []:
            self.lines.append(self._checked(line))
        flush_folder(self.path)
        return rest

    def _checked(self, line: bytes) -> tuple[str, dict[str, Any]]:
        try:
            read = json.loads(line)
            kind, content = str(read["kind"]), dict(read["content"])
            again, digest = _line(kind, content, self._digest)
        except (ValueError, TypeError, LookupError, RecursionError):
            again, digest = b"", ""
        if again != line + b"\n":
            raise self._foreign()
        self._digest = digest
        return kind, content

    def _foreign(self) -> InputError:
        return InputError(
            f"checkpoint must be a file that a run wrote, as it wrote it; {self.path!r} is "
            "something else, or was changed."
        )


def _line(kind: str, content: dict[str, Any], before: str) -> tuple[bytes, str]:
    """Return a line and its digest."""
    digest = sha256((before + canonical([kind, content])).encode()).hexdigest()
    text = canonical({"content": content, "digest": digest, "kind": kind})
    return text.encode() + b"\n", digest
