"""The lines of a ledger: their content, and the chain of digests that connects them.

A line's digest covers its own content and the digest of the line before. So changing, moving,
inserting or removing a line breaks the chain there. There are two exceptions: all later digests are
recomputed, or the last lines are removed. Anyone who kept the digests from before the edit detects
both; an exported ledger has all digests.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

from tailguard.checks import BudgetError
from tailguard.privacy.books.books import LedgerEntry

CREATED, RESERVED, RESUMED, SETTLED = "created", "reserved", "resumed", "settled"
"""Kinds of lines: the cap, which comes first; a charge; the resumption of a run from a checkpoint;
the releases of a finished run, with what stays charged after an early stop."""

FIELDS = ("ledger", "position", "kind", "key", "time", "content", "previous", "digest")


@dataclass(frozen=True)
class Draft:
    """A line to be written, before its position and time are known."""

    kind: str
    key: str
    content: dict[str, Any]


@dataclass(frozen=True)
class Line:
    """One line, as it is stored.

    Attributes
    ----------
    ledger, position
        The data set, and the line's number in the ledger, counted from 1.
    kind
        ``"created"``, ``"reserved"``, ``"resumed"`` or ``"settled"``.
    key
        The unique key of a charge; a settled line has the key of its run's first charge.
    time
        The day (UTC) on which it was written, by the clock of the machine; empty in a settled line.
        Nothing depends on it.
    content
        The content of the line, as canonical JSON.
    previous, digest
        The digest of the line before, and the digest of this line.
    """

    ledger: str
    position: int
    kind: str
    key: str
    time: str
    content: str
    previous: str
    digest: str

    @classmethod
    def after(cls, lines: Sequence["Line"], ledger: str, draft: Draft, *, time: str) -> "Line":
        """Return the draft as the line after ``lines``."""
        before = lines[-1].digest if lines else ""
        content = canonical(draft.content)
        line = cls(ledger, len(lines) + 1, draft.kind, draft.key, time, content, before, "")
        return replace(line, digest=line.true_digest())

    def true_digest(self) -> str:
        """Compute the digest from all other fields of the line."""
        words = [getattr(self, name) for name in FIELDS[:-1]]
        # With repr, any value that an edit puts into the file has a text, and so another digest.
        return sha256(json.dumps(words, default=repr).encode()).hexdigest()

    @cached_property
    def is_whole(self) -> bool:
        """Whether the stored digest is the true one; computed once per line."""
        return self.digest == self.true_digest()

    def data(self) -> dict[str, Any]:
        """Return the content as plain data."""
        return json.loads(self.content)

    def entry(self) -> LedgerEntry:
        """Return the entry by which a certificate names the line."""
        return LedgerEntry(self.ledger, self.position, self.key, self.digest)


def canonical(data: Any) -> str:
    """Return plain data as JSON in its one canonical form."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def check_chain(ledger: str, lines: Sequence[Line]) -> None:
    """Refuse a ledger with a line that was changed or moved."""
    if not lines or lines[0].kind != CREATED:
        raise BudgetError(
            f"ledger {ledger!r} must begin with its cap; it does not, and nothing is charged or "
            "released."
        )
    before, charged, settled = "", set[str](), set[str]()
    for position, line in enumerate(lines, start=1):
        if line.kind == RESERVED:
            in_order = line.key not in charged
            charged.add(line.key)
        elif line.kind == SETTLED:
            in_order = line.key in charged and line.key not in settled
            settled.add(line.key)
        else:
            in_order = line.kind == (CREATED if position == 1 else RESUMED)
        in_chain = (line.ledger, line.position, line.previous) == (ledger, position, before)
        if not (in_chain and in_order and line.is_whole):
            raise changed_line(ledger, position)
        before = line.digest


def changed_line(ledger: str, position: int) -> BudgetError:
    """Return the error for a line that differs from what was written."""
    return BudgetError(
        f"ledger {ledger!r} must be as it was written; line {position} was changed, moved, "
        "inserted or removed, and nothing is charged or released."
    )
