"""A run that goes on where it was stopped: answers that it released, in the order of asking.

A run's solver follows from its plan and the gate's answers alone. So a run that was stopped is run
again from its start: the gate gives the recorded answers without reading a record, until there are
no more, and goes on. Its books are written anew, to the same lines.

*Why nothing is paid twice.* A release is recorded before the solver sees it, so what was seen comes
back as it was. A question that was being answered when the process ended is asked again with fresh
noise, and charged once: its first answer was in the memory of that process and, at most, in the
file without its key (``sealed.py``), and so was seen by nobody. A file that ends in the midst
of a key is refused.

*What a fresh secret may replace.* Random pairs and groups are drawn anew after the stop. Given any
orders, each answer has its stated sensitivity, so nothing rests on all answers having one order.
The same holds of a sample for each answer, and of the one block that several answers read: their
prices add up whoever is in it. Of several blocks the costliest counts, since a record is in one of
them: that is false of two partitions, so such plans are refused.

Reference
---------
Dwork and Roth 2014, Proposition 2.1 (post-processing); Smith and Thakurta 2022 (questions chosen in
the light of earlier answers, within what was reserved).
"""

import os
from collections.abc import Callable
from hashlib import sha256
from itertools import pairwise
from threading import Lock
from typing import Any

from tailguard.array_types import IntArray
from tailguard.checks import InputError, ReleaseError, shown
from tailguard.gate.checkpoint.described import described
from tailguard.gate.checkpoint.log import Log
from tailguard.gate.checkpoint.sealed import sealed, unsealed
from tailguard.ledger.lines import canonical
from tailguard.noise.sources import CryptographicSource, Source
from tailguard.privacy.books import Books
from tailguard.version import __version__

RUN, ANSWER, OPENED, RESUMED, FINISHED = "run", "answer", "key", "resumed", "finished"
"""What lines are: what the run is; an answer under its key; the key; another start; the end."""

VERSION = 1
"""Of the format."""

# How the line of a key begins.
KEY_BEGUN = b'{"content":{"key":"'


class Checkpoint:
    """The recorded answers of one run.

    Parameters
    ----------
    path
        A file: a new one for a new run, else that of the run that is to go on. It is held until
        ``close``.
    source
        Where the run's noise comes from. A simulation's is brought to where it was at an answer.

    Examples
    --------
    >>> import numpy as np
    >>> from tailguard.noise.sources import make_source
    >>> source = make_source(None)
    >>> first = Checkpoint("mean.checkpoint", source)
    >>> first.begin({"n_rows": 5})
    >>> first.answered({"name": "count"}, lambda: np.array([7]))
    array([7])
    >>> first.close()
    >>> again = Checkpoint("mean.checkpoint", source)
    >>> again.begin({"n_rows": 5})
    >>> again.answered({"name": "count"}, lambda: np.array([8]))
    array([7])
    >>> again.close()
    """

    def __init__(self, path: str | os.PathLike[str], source: Source) -> None:
        if not isinstance(path, str | os.PathLike) or not os.fspath(path):
            raise InputError(f"checkpoint must be the path of a file; got {shown(path)}.")
        self._secret = CryptographicSource()
        self._source = source
        self._lock = Lock()
        self._log = Log(os.path.realpath(os.fspath(path)))
        kinds = [kind for kind, _ in self._log.lines]
        # No run at all, where the process ended before its first line was whole.
        self.resumed = bool(kinds)
        self.finished = FINISHED in kinds
        self.starts = kinds.count(RESUMED) + int(self.resumed)
        self.run = f"{int(self._secret.words(1)[0]):016x}"
        self._answers = self._recorded()
        self._next = 0

    def begin(self, facts: dict[str, Any]) -> None:
        """Write down what the run is, or refuse a file that is of another one."""
        facts = {name: described(fact) for name, fact in facts.items()}
        facts |= {"format": repr(VERSION), "software": repr(__version__)}
        if not self.resumed:
            self._log.append(RUN, {"run": self.run, "facts": facts})
            return
        known = self._log.lines[0][1]["facts"]
        for name in sorted({*known, *facts}):
            if known.get(name) != facts.get(name):
                raise InputError(
                    f"checkpoint must be of the same run; {self._log.path!r} is of one with "
                    f"another {name.replace('_', ' ')}: take another file, or remove this one."
                )
        if not self.finished:
            self._log.append(RESUMED, {"start": self.starts})

    def answered(
        self, release: dict[str, Any], draw: Callable[[], IntArray], question: Any = None
    ) -> IntArray:
        """Return the recorded answer to a release; where there is none, draw one and record it."""
        release = release | {"question": sha256(described(question).encode()).hexdigest()}
        with self._lock:
            canonical(release)  # what cannot be written is refused before an answer is drawn
            if self._next < len(self._answers):
                return self._replayed(release)
            if self.finished:
                raise self._other("asks for more")
            answer = draw()
            key = self._secret.words(4).tobytes()
            hidden = {"sealed": sealed(answer, key), "words": self._source.n_drawn}
            self._log.append(ANSWER, {"release": release, **hidden})
            self._log.append(OPENED, {"key": key.hex()})
            return answer

    def finish(self) -> None:
        """Write down that all was answered."""
        if not self.finished:
            self._log.append(FINISHED, {})
            self.finished = True

    def opened(self, ledger: Any) -> Books:
        """Return the books of the run in a ledger, which refuses a copy that goes on later."""
        if not self.resumed:
            books: Books = ledger.opened(self.run)
        else:
            start = None if self.finished else self.starts
            books = ledger.resumed(self.run, start=start)
        return books

    def close(self, *, begun: bool = True) -> None:
        """Let go of the file, and remove that of a new run that was refused at its beginning."""
        if begun or self.resumed:
            self._log.close()
        else:
            self._log.discard()

    def _recorded(self) -> list[tuple[dict[str, Any], str]]:
        """Return the answers whose keys are there."""
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
        pairs = pairwise(lines)
        return [
            (answer, key["key"])
            for (kind, answer), (after, key) in pairs
            if (kind, after) == (ANSWER, OPENED)
        ]

    def _replayed(self, release: dict[str, Any]) -> IntArray:
        recorded, key = self._answers[self._next]
        if canonical(recorded["release"]) != canonical(release):
            raise self._other("asks for something else")
        self._next += 1
        self._source.move_to(recorded["words"])
        return unsealed(recorded["sealed"], bytes.fromhex(key))

    def _other(self, what: str) -> ReleaseError:
        return ReleaseError(
            f"checkpoint must be of the same run; this one {what} than was recorded in "
            f"{self._log.path!r}, and nothing was drawn: use the machine and the software that it "
            "was begun with."
        )
