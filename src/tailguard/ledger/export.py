"""A ledger as plain data, to be kept elsewhere, and whether a ledger goes on from what was kept."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tailguard.checks import BudgetError, InputError, check_integer, check_version
from tailguard.ledger.certified import check_certified
from tailguard.ledger.lines import Line, check_chain
from tailguard.privacy.certificate import Certificate

KEY = "tailguard_ledger"
"""The key that says what the record is; its value is the version of the format."""
VERSION = 1


def head_of(lines: Sequence[Line]) -> dict[str, Any]:
    """Return name, number and digest of the last line.

    Examples
    --------
    >>> from tailguard.ledger.lines import CREATED, Draft
    >>> line = Line.after((), "claims", Draft(CREATED, "", {}), time="2026-01-01T00:00:00+00:00")
    >>> sorted(head_of([line]))
    ['digest', 'ledger', 'position', 'tailguard_ledger']
    """
    last = lines[-1]
    place = {"ledger": last.ledger, "position": last.position, "digest": last.digest}
    return {KEY: VERSION, **place}


def exported(lines: Sequence[Line]) -> dict[str, Any]:
    """Return all lines and their head.

    Examples
    --------
    >>> from tailguard.ledger.lines import CREATED, Draft
    >>> line = Line.after((), "claims", Draft(CREATED, "", {}), time="2026-01-01T00:00:00+00:00")
    >>> check_continues([line], exported([line]))
    """
    return {
        KEY: VERSION,
        "ledger": lines[-1].ledger,
        "head": head_of(lines),
        "lines": [asdict(line) for line in lines],
    }


def check_continues(lines: Sequence[Line], known: Any) -> None:
    """Refuse a ledger that is not what was exported, followed by further lines or none.

    A certificate is known as well: then its charges must be there.

    Examples
    --------
    >>> from tailguard.ledger.lines import CREATED, Draft
    >>> made = "2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00"
    >>> one, two = (Line.after((), "claims", Draft(CREATED, "", {}), time=time) for time in made)
    >>> check_continues([one], head_of([two]))
    Traceback (most recent call last):
    tailguard.checks.BudgetError: ledger 'claims' must go on from the exported one; line 1 is \
another one there.
    """
    if isinstance(known, Certificate):
        check_certified(lines, known)
        return
    try:
        check_version("export", known.get(KEY), newest=VERSION)
        head = known.get("head", known)
        name, digest = str(head["ledger"]), str(head["digest"])
        position = check_integer("position", head["position"], minimum=1)
        if "lines" in known:
            told = [Line(**line) for line in known["lines"]]
            check_chain(name, told)
            whole = head_of(told) == {KEY: VERSION, **{k: head[k] for k in head if k != KEY}}
        else:
            whole = True
    except (AttributeError, LookupError, TypeError):
        whole = False
    if not whole:
        raise InputError("export must hold what a ledger exported; it does not.")
    ledger = lines[0].ledger
    if name != ledger:
        raise InputError(f"export must be of ledger {ledger!r}; it is of {name!r}.")
    if position > len(lines):
        raise BudgetError(
            f"ledger {ledger!r} must go on from the exported one; it has {len(lines)} lines and "
            f"the export {position}: charges are missing, as in an older backup."
        )
    if lines[position - 1].digest != digest:
        raise BudgetError(
            f"ledger {ledger!r} must go on from the exported one; line {position} is another one "
            "there."
        )
