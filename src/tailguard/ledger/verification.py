"""Check that a ledger continues an export, and that it has the charges that a certificate names.

A ledger can be exported as plain data and stored elsewhere. For this check its head is enough.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tailguard.checks import BudgetError, InputError, check_integer, check_text, check_version
from tailguard.ledger.charges import unit_of
from tailguard.ledger.lines import RESERVED, SETTLED, Line, canonical, check_chain
from tailguard.privacy.books.books import LedgerEntry
from tailguard.privacy.books.releases import namespaced_event, namespaced_release
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.events import Composed, Event

OTHERS = "others"
"""The name under which ``Ledger.charge`` records that another tool makes the releases."""


def check_certified(lines: Sequence[Line], certificate: Certificate) -> bool:
    """Refuse a certificate with other charges; return whether its releases are listed as well.

    The lines must be those of one ledger with a checked chain. A run that was not settled has no
    list of releases; neither has a search that did not stop early.
    """
    name = lines[0].ledger
    entries = certificate.ledger_entries
    if not entries or any(entry.ledger != name for entry in entries):
        named = ", ".join(sorted({repr(entry.ledger) for entry in entries})) or "none"
        raise InputError(
            f"certificate must name charges of ledger {name!r} alone; it names {named}."
        )
    if certificate.unit.budget != unit_of(lines):
        raise _other(entries[0], f"counts {unit_of(lines)}")
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
    """Refuse a charge for another event, by another version, or for another tool."""
    content = line.data()
    if content["released_by"] == OTHERS:
        raise _other(line.entry(), "was charged for another tool")
    charged = namespaced_event(event, str(content["released_by"])).to_dict()
    if canonical(content["event"]) != canonical(charged):
        raise _other(line.entry(), "charged another plan")
    if content["software"] != certificate.version:
        raise _other(line.entry(), f"was written by tailguard {content['software']}")


def _lists_releases(lines: Sequence[Line], charge: Line, certificate: Certificate) -> bool:
    """Compare a certificate with the settled line of its run; return whether there is one.

    Both must have the same releases, and the same charge after an early stop.
    """
    settled = next((line for line in lines if (line.kind, line.key) == (SETTLED, charge.key)), None)
    content: dict[str, Any] = {} if settled is None else settled.data()
    certified_charge = None if certificate.charged is None else certificate.charged.to_dict()
    if canonical(content.get("charged")) != canonical(certified_charge):
        raise _other((settled or charge).entry(), "counts something else")
    if settled is None:
        return False
    run = str(charge.data()["released_by"])
    released = [namespaced_release(each, run).to_dict() for each in certificate.releases]
    if canonical(content["releases"]) != canonical(released):
        raise _other(settled.entry(), "lists other releases")
    return True


def _other(entry: LedgerEntry, what: str) -> BudgetError:
    return BudgetError(
        f"certificate must be of a run that ledger {entry.ledger!r} was charged with; "
        f"{entry.describe()} {what}."
    )


KEY = "tailguard_ledger"
"""The key that marks an exported ledger; its value is the version of the format."""
VERSION = 1


def head_of(lines: Sequence[Line]) -> dict[str, Any]:
    """Return name, position and digest of the last line."""
    last = lines[-1]
    place = {"ledger": last.ledger, "position": last.position, "digest": last.digest}
    return {KEY: VERSION, **place}


def exported(lines: Sequence[Line]) -> dict[str, Any]:
    """Return all lines and their head."""
    return {
        KEY: VERSION,
        "ledger": lines[-1].ledger,
        "head": head_of(lines),
        "lines": [asdict(line) for line in lines],
    }


def check_continues(lines: Sequence[Line], known: Any) -> None:
    """Refuse a ledger that does not begin with the exported lines.

    If ``known`` is a certificate, the ledger must have its charges.
    """
    if isinstance(known, Certificate):
        check_certified(lines, known)
        return
    try:
        check_version("export", known[KEY], newest=VERSION)
        head = known.get("head", known)
        name, digest = str(head["ledger"]), str(head["digest"])
        position = check_integer("position", head["position"], minimum=1)
        if "lines" in known:
            exported_lines = [Line(**line) for line in known["lines"]]
            check_chain(name, exported_lines)
            valid = head_of(exported_lines) == {
                KEY: VERSION,
                **{k: head[k] for k in head if k != KEY},
            }
        else:
            valid = True
    except (AttributeError, LookupError, TypeError):
        valid = False
    if not valid:
        raise InputError("export must be what a ledger exported; it is something else, or damaged.")
    ledger = lines[0].ledger
    if name != ledger:
        raise InputError(f"export must be of ledger {ledger!r}; it is of {name!r}.")
    if position > len(lines):
        raise BudgetError(
            f"ledger {ledger!r} must continue the exported one; it has {len(lines)} lines and the "
            f"export {position}: charges are missing, as in an older backup."
        )
    if lines[position - 1].digest != digest:
        raise BudgetError(
            f"ledger {ledger!r} must continue the exported one; line {position} differs."
        )


def check_run(run: object) -> str:
    """Return the name of a run, which separates its releases from those of other tools."""
    text = check_text("run", run)
    if text == OTHERS:
        raise InputError(f"run must have a name of its own; {OTHERS!r} is that of other tools.")
    return text
