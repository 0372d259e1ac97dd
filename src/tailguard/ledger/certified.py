"""Whether a ledger holds the charge that a certificate names, and what was released against it."""

from collections.abc import Sequence
from typing import Any

from tailguard.checks import BudgetError, InputError
from tailguard.ledger.lines import RESERVED, SETTLED, Line, canonical
from tailguard.ledger.names import OTHERS
from tailguard.privacy.books.entries import LedgerEntry
from tailguard.privacy.books.namespaces import namespaced_event, namespaced_release
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.events import Composed, Event


def check_certified(lines: Sequence[Line], certificate: Certificate) -> bool:
    """Refuse a certificate whose charges are others; tell whether its releases are listed, too.

    Lines are those of one ledger, whose chain was checked. A search that did not stop early leaves
    no list of releases, nor does a run that was not settled.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> ledger = tg.Ledger("budget.sqlite", "claims", epsilon=4.0, delta=1e-5)
    >>> result = tg.mean(np.arange(1000.0), epsilon=1.0, delta=1e-6, ledger=ledger)
    >>> check_certified(ledger.lines(), result.certificate)
    True
    """
    name = lines[0].ledger
    entries = certificate.ledger_entries
    if not entries or any(entry.ledger != name for entry in entries):
        named = ", ".join(sorted({repr(entry.ledger) for entry in entries})) or "none"
        raise InputError(
            f"certificate must name charges of ledger {name!r} alone; it names {named}."
        )
    planned = certificate.planned
    events = planned.events if isinstance(planned, Composed) else (planned,)
    if len(events) != len(entries):
        raise _other(entries[0], "charged another plan")
    charges = []
    for entry, event in zip(entries, events, strict=True):
        line = lines[entry.position - 1] if entry.position <= len(lines) else None
        if line is None or line.kind != RESERVED or line.entry() != entry:
            raise _other(entry, "is no charge there")
        _check_charge(line, event, certificate)
        charges.append(line)
    return _lists_releases(lines, charges[0], certificate)


def _check_charge(line: Line, event: Event, certificate: Certificate) -> None:
    """Refuse a charge of another event, by another version, or for another tool."""
    told = line.told()
    if told["released_by"] == OTHERS:
        raise _other(line.entry(), "was charged for another tool")
    charged = namespaced_event(event, str(told["released_by"])).to_dict()
    if canonical(told["event"]) != canonical(charged):
        raise _other(line.entry(), "charged another plan")
    if told["software"] != certificate.version:
        raise _other(line.entry(), f"was written by tailguard {told['software']}")


def _lists_releases(lines: Sequence[Line], charge: Line, certificate: Certificate) -> bool:
    """Compare with the releases that were listed when the run was over, if they were.

    Compare also what counts in the place of the charges: nothing does of a run without a line.
    """
    settled = next((line for line in lines if (line.kind, line.key) == (SETTLED, charge.key)), None)
    told: dict[str, Any] = {} if settled is None else settled.told()
    counts = None if certificate.charged is None else certificate.charged.to_dict()
    if canonical(told.get("charged")) != canonical(counts):
        raise _other((settled or charge).entry(), "counts something else")
    if settled is None:
        return False
    run = str(charge.told()["released_by"])
    released = [namespaced_release(each, run).to_dict() for each in certificate.releases]
    if canonical(told["releases"]) != canonical(released):
        raise _other(settled.entry(), "lists other releases")
    return True


def _other(entry: LedgerEntry, what: str) -> BudgetError:
    return BudgetError(
        f"certificate must be of a run that ledger {entry.ledger!r} was charged with; "
        f"{entry.describe()} {what}."
    )
