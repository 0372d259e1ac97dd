"""Resume a stopped run from a file of its released answers, in the order of its questions.

The steps of a solver depend only on its plan and the gate's answers. So a stopped run is run again
from its start: the gate returns the recorded answers without reading a record, until there are no
more, and then continues. Its books are written again, with the same lines.

*Why nothing is paid twice.* A release is recorded before the solver gets it, so the solver gets the
same answer again. If the process ended while it answered a question, the question is asked again
with fresh noise, and charged once: its first answer was only in the memory of that process, or also
in the file but without its key, so nobody read it. A file that ends in the middle of a key is
refused.

*What a fresh secret may replace.* Random pairs and groups are drawn again after the stop. An
answer has its stated sensitivity in any order of the records, so later answers may use another
order. The same holds for the sample of each answer, and for the one block that several answers
read: their costs add up whichever records it holds. For several blocks only the costliest counts,
since a record is in one of them. A record may be in different blocks of two partitions, so plans
with several blocks are refused.

*Why an answer is sealed.* A reader of the file who sees part of an answer, and later another answer
to the same question, has two answers. So an answer is first encrypted with a key, and the short key
is written after the whole answer is on the disk. Without its key nobody can read an answer. The key
lies in the last block of its answer, so a full disk cannot cut it.

*Copies.* Runs that continue from two copies would draw two answers to the next question. So the
file holds the number that its disk gave to it, and an unfinished file with another number is
refused: most copies are. Snapshots of a disk and old content that is written over the file itself
keep the number: only a ledger may notice (``Checkpoint.opened``).

*The file* only grows, by lines that are on the disk before the run uses them. The digest of a line
covers its own text and the digest before it. A process that is killed while it writes leaves at
most one incomplete line, the last one, which is treated as never written.

Reference
---------
Dwork and Roth 2014, Proposition 2.1 (post-processing); Smith and Thakurta 2022 (questions that
depend on earlier answers, within the reserved budget); FIPS 202 (SHAKE256 with a secret random key
of 256 bits: without the key nobody can distinguish the stream from random bytes).
"""

import json
import os
from base64 import b64decode, b64encode
from hashlib import sha256, shake_256
from itertools import pairwise
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any, BinaryIO

import numpy as np

from tailguard.array_types import IntArray
from tailguard.checks import InputError, ReleaseError, shown
from tailguard.gate.described import described
from tailguard.ledger.lines import canonical
from tailguard.ledger.store import check_no_side_file, check_regular_file, flush_folder
from tailguard.noise.sources import CryptographicSource, Source
from tailguard.privacy.books import Books
from tailguard.version import __version__

# Integers of 64 bits, lowest byte first, on every machine. Their length is fixed: decimal digits
# would reveal the size of a number, since the length of a file is not secret.
STORED = "<i8"


def sealed(numbers: IntArray, key: bytes) -> str:
    """Encrypt integers as text; never use a key twice."""
    return b64encode(_masked(numbers.astype(STORED).tobytes(), key)).decode()


def unsealed(text: str, key: bytes) -> IntArray:
    """Decrypt what ``sealed`` returned."""
    return np.frombuffer(_masked(b64decode(text), key), dtype=STORED).astype(np.int64)


def _masked(plain: bytes, key: bytes) -> bytes:
    """Return the bytes xor the key's stream; masking twice restores the bytes."""
    stream = np.frombuffer(shake_256(key).digest(len(plain)), dtype=np.uint8)
    return (np.frombuffer(plain, dtype=np.uint8) ^ stream).tobytes()


# Disks give room to files in blocks of this many bytes, or of a multiple.
BLOCK = 512
# Every line begins with these bytes; a file that begins otherwise is not overwritten.
BEGINNING = b'{"content":{'

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows, where this lock is missing
    fcntl = None


class CheckpointFile:
    """Lines in a file that one process locks at a time.

    Attributes
    ----------
    lines
        Kind and content of each line.
    rest
        The incomplete last line, if any; the next line overwrites it.
    number
        The number that the disk gives to the file; a copy beside it has another one.
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
            self.number = str(os.fstat(self._file.fileno()).st_ino)
            self.lines: list[tuple[str, dict[str, Any]]] = []
            self._digest = ""
            self.rest = self._read()
        except BaseException:
            self._file.close()
            raise

    def append(self, kind: str, content: dict[str, Any], *, room: int = 0) -> None:
        """Write a line; it is on the disk when this returns.

        With ``room`` the line is padded such that a next line of so many bytes ends in its last
        block: that line then needs no more of the disk.
        """
        line, digest = _line(kind, content, self._digest)
        written, is_safe = 0, False
        try:
            begin = self._file.seek(-len(self.rest), os.SEEK_END)
            end = begin + len(line)
            if (end - 1) // BLOCK != (end + room - 1) // BLOCK:
                content = content | {"padding": " " * (-end % BLOCK)}
                line, digest = _line(kind, content, self._digest)
            self._file.truncate(begin)
            self.rest = b""
            # Without a buffer this is one system call; on a full disk it writes only a part.
            written = self._file.write(line)
            os.fsync(self._file.fileno())
            is_safe = written == len(line)
        except OSError:
            pass
        if not is_safe:
            is_lost = written < len(line) and line[:written].startswith(KEY_BEGUN)
            later = "cannot go on: its budget is spent" if is_lost else "can go on once it has room"
            raise InputError(
                f"checkpoint must be on a disk that works and has room; {self.path!r} could not be "
                f"written, so the run stops, and {later}."
            )
        self._digest = digest
        self.lines.append((kind, content))

    def close(self) -> None:
        """Close the file, which ends its lock."""
        self._file.close()

    def discard(self) -> None:
        """Remove the file."""
        Path(self.path).unlink(missing_ok=True)
        self.close()

    def _hold(self) -> None:
        """Lock the file; refuse a file that another run has locked."""
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
        """Read all lines; return the incomplete last line, or nothing."""
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
        """Return kind and content of a line; refuse a line that was changed."""
        try:
            data = json.loads(line)
            kind, content = str(data["kind"]), dict(data["content"])
            rewritten, digest = _line(kind, content, self._digest)
        except (ValueError, TypeError, LookupError, RecursionError):
            rewritten, digest = b"", ""
        if rewritten != line + b"\n":
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


RUN, ANSWER, KEY, RESUMED, FINISHED = "run", "answer", "key", "resumed", "finished"
"""Kinds of lines: the run's facts; an encrypted answer; its key; a resumption; the end."""

VERSION = 1  # of the format
# How the line of a key begins.
KEY_BEGUN = b'{"content":{"key":"'
LENGTH_OF_KEY = len(_line(KEY, {"key": "0" * 64}, "")[0])


class Checkpoint:
    """The recorded answers of one run.

    Parameters
    ----------
    path
        A new file for a new run, or the file of the run to resume. It is locked until ``close``.
    source
        The source of the run's noise. At a recorded answer, a simulation's source moves to its
        position after that answer.
    """

    def __init__(self, path: str | os.PathLike[str], source: Source) -> None:
        if not isinstance(path, str | os.PathLike) or not os.fspath(path):
            raise InputError(f"checkpoint must be the path of a file; got {shown(path)}.")
        self._secret = CryptographicSource()
        self._source = source
        self._lock = Lock()
        self._log = CheckpointFile(os.path.realpath(os.fspath(path)))
        kinds = [kind for kind, _ in self._log.lines]
        self.resumed = bool(kinds)  # False if the process ended before its first line was complete
        self.finished = FINISHED in kinds
        self.starts = kinds.count(RESUMED) + int(self.resumed)
        self.run = f"{int(self._secret.words(1)[0]):016x}"
        self._answers = self._stored_answers()
        self._next = 0

    def begin(self, facts: dict[str, Any]) -> None:
        """Record the facts of the run, or refuse a file of another run."""
        facts = {name: described(fact) for name, fact in facts.items()}
        facts |= {"format": repr(VERSION), "software": repr(__version__)}
        if not self.resumed:
            self._log.append(RUN, {"run": self.run, "facts": facts, "file": self._log.number})
            return
        first = self._log.lines[0][1]
        known = first["facts"]
        for name in sorted({*known, *facts}):
            if known.get(name) != facts.get(name):
                raise InputError(
                    f"checkpoint must be of the same run; {self._log.path!r} is of one with "
                    f"another {name.replace('_', ' ')}: take another file, or remove this one."
                )
        if not self.finished:
            if first.get("file") != self._log.number:
                raise InputError(
                    "checkpoint must be the very file that its run began; "
                    f"{self._log.path!r} is a copy, or was moved to another disk, and two files "
                    "would release two answers for one charge: go on from the first file, or "
                    "begin a new run."
                )
            self._log.append(RESUMED, {"start": self.starts})

    def recorded(self, release: dict[str, Any], question: Any = None) -> IntArray | None:
        """Return the recorded answer to a release; None if it must be drawn."""
        # What cannot be written is refused here, before an answer is drawn.
        requested = canonical(_with_question(release, question))
        with self._lock:
            if self._next == len(self._answers):
                if self.finished:
                    raise self._differs("asks for more")
                return None
            answer, key = self._answers[self._next]
            if canonical(answer["release"]) != requested:
                raise self._differs("asks for something else")
            self._next += 1
            self._source.move_to(answer["words"])
            return unsealed(answer["sealed"], bytes.fromhex(key))

    def keep(self, release: dict[str, Any], answer: IntArray, question: Any = None) -> None:
        """Record a drawn answer in encrypted form, and then its key."""
        key = self._secret.words(4).tobytes()
        encrypted = {"sealed": sealed(answer, key), "words": self._source.n_drawn}
        with self._lock:
            content = {"release": _with_question(release, question), **encrypted}
            self._log.append(ANSWER, content, room=LENGTH_OF_KEY)
            self._log.append(KEY, {"key": key.hex()})

    def finish(self) -> None:
        """Record that the run is finished."""
        if not self.finished:
            self._log.append(FINISHED, {})
            self.finished = True

    def opened(self, ledger: Any) -> Books:
        """Return the run's books in a ledger; the ledger refuses to resume a copy of the file."""
        if not self.resumed:
            books: Books = ledger.opened(self.run)
        else:
            start = None if self.finished else self.starts
            books = ledger.resumed(self.run, start=start)
        return books

    def close(self, *, begun: bool = True) -> None:
        """Close the file; remove the file of a new run that was refused at its beginning."""
        if begun or self.resumed:
            self._log.close()
        else:
            self._log.discard()

    def _stored_answers(self) -> list[tuple[dict[str, Any], str]]:
        """Return each answer that has a key, and the key."""
        lines = self._log.lines
        if not lines:
            return []
        if lines[0][0] != RUN or self._log.rest.startswith(KEY_BEGUN):
            self._log.close()
            raise InputError(
                f"checkpoint must be a file that a run wrote up to the end of a line; "
                f"{self._log.path!r} was cut short where a run cannot go on: its budget is spent."
            )
        self.run = str(lines[0][1]["run"])
        return [
            (answer, key["key"])
            for (kind, answer), (next_kind, key) in pairwise(lines)
            if (kind, next_kind) == (ANSWER, KEY)
        ]

    def _differs(self, what: str) -> ReleaseError:
        return ReleaseError(
            f"checkpoint must be of the same run; this one {what} than was recorded in "
            f"{self._log.path!r}, and nothing was drawn: use the machine and the software that it "
            "was begun with."
        )


def _with_question(release: dict[str, Any], question: Any) -> dict[str, Any]:
    """Add a digest of the question to a release."""
    return release | {"question": sha256(described(question).encode()).hexdigest()}
