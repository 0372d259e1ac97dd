"""Settled lines: what a run released, and what an early stop leaves charged.

A run may stop early, by a choice that it makes on released numbers, and settle. Then its ledger may
give back what it left unspent, under conditions that are all checked here, on the lines themselves
and under the lock of the file:

* everything that was released is Gaussian noise on sums over all records. Each such release has a
  price of its own, whether the run goes on or not. Nothing else has: a cover prices the rest of a
  run as a whole, and a pass over a secret partition, a sample or a search was paid as one. So once
  one of these has begun, all of it stays charged;
* the releases are within what was reserved for Gaussian noise, of which squares of mu add up.
  Whatever else was reserved had a price apart, and nothing of it was released;
* the charges meet a filter, so that no charge was admitted as a first one that meets none.

The run's books are closed before this is asked, so that nothing more is released. Then the run
counts with what it released, or with what it had reserved for that where rounding made it less. The
numbers that it might have released stay counted, for the distance of sampled from ideal noise.

The head of ``cap.py`` has the proof. It needs no more of a stop than that it depends on released
numbers: an exception that a record may have caused is none, and the books forget no such thing.

Reference
---------
Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023 (filters in mu; what was not spent is
left).
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from tailguard.checks import BudgetError, shown
from tailguard.ledger.cap import squared_mu
from tailguard.ledger.contents import cap_of, releases_of, replayed, settled_of, standing
from tailguard.ledger.lines import RESERVED, SETTLED, Draft, Line, canonical
from tailguard.privacy.books import Release
from tailguard.privacy.books.composed_releases import spent_event
from tailguard.privacy.books.entries import LedgerEntry
from tailguard.privacy.events import Event
from tailguard.privacy.events.flat_events import FlatEvents, flatten
from tailguard.privacy.roots import ROUNDING


def left_charged(events: Sequence[Event], releases: Sequence[Release]) -> Event | None:
    """Return what stays charged of a run that stopped early; None where all of it does.

    Examples
    --------
    >>> from tailguard.privacy.events import Gaussian, Laplace
    >>> count = Release("count", "Count", "gaussian", "l2", sensitivity=1.0, noise_std=8.0)
    >>> left_charged([Gaussian(0.5), Laplace(0.5)], [count])
    Composed(events=(Gaussian(mu=0.125),))
    >>> left_charged([Laplace(0.5)], [count])
    """
    spent, others = flatten(spent_event(releases)).split()
    reserved, _ = FlatEvents.total(map(flatten, events)).split()
    most = squared_mu(reserved) * (1 + Fraction(ROUNDING))  # as far as books let rounding go
    if others.kinds or spent.blocks or squared_mu(spent) > most:
        return None
    return min(reserved, spent, key=squared_mu).event


def check_held(lines: Sequence[Line], entries: Sequence[LedgerEntry]) -> None:
    """Refuse to settle a run in a file that does not hold its charges, such as an older backup.

    Examples
    --------
    >>> from tailguard.ledger import Ledger
    >>> from tailguard.privacy.events import Gaussian
    >>> ledger = Ledger("budget.sqlite", "claims", epsilon=4.0, delta=1e-5)
    >>> check_held(ledger.lines(), [ledger.charge(Gaussian(0.5), key="3f")])
    """
    for entry in entries:
        if not any(line.entry() == entry for line in lines[entry.position - 1 : entry.position]):
            raise BudgetError(
                f"ledger {entry.ledger!r} must hold all charges of a run that is over; another "
                f"file is there, such as an older backup, without {entry.describe()}."
            )


def settlement(
    lines: Sequence[Line],
    keys: Sequence[str],
    releases: Sequence[Release],
    *,
    stopped_early: bool,
) -> Draft | Line:
    """Return what to write of a run that is over: one line for all of its charges.

    It is the line that is there already where that says the same; any other is refused.

    Examples
    --------
    >>> from tailguard.ledger import Ledger
    >>> from tailguard.privacy.events import Gaussian
    >>> ledger = Ledger("budget.sqlite", "claims", epsilon=4.0, delta=1e-5)
    >>> _ = ledger.charge(Gaussian(0.5), key="3f")
    >>> settlement(ledger.lines(), ["3f"], [], stopped_early=False).content
    {'keys': ['3f'], 'releases': []}
    """
    charges = standing(lines)
    told: dict[str, Any] = {"keys": [*keys], "releases": [each.to_dict() for each in releases]}
    if stopped_early and cap_of(lines).meets_filter(tuple(charges.values())):
        left = left_charged([charges[key].event for key in keys], releases)
        told |= {} if left is None else {"charged": left.to_dict()}
    there = [line for line in lines if (line.kind, line.key) == (SETTLED, keys[0])]
    if there and there[0].content != canonical(told):
        raise BudgetError(
            f"ledger {there[0].ledger!r} must be told once what a run released; entry "
            f"{there[0].position} says something else of {shown(keys[0])}."
        )
    return there[0] if there else Draft(SETTLED, keys[0], told)


def check_kept(lines: Sequence[Line]) -> None:
    """Refuse a ledger in which a charge, or what an early stop gave back, was not allowed then.

    Examples
    --------
    >>> from tailguard.ledger import Ledger
    >>> check_kept(Ledger("budget.sqlite", "claims", epsilon=4.0, delta=1e-5).lines())
    """
    cap = cap_of(lines)
    for place, (line, charges) in enumerate(replayed(lines)):
        asked = tuple(charges.values())
        if line.kind == RESERVED and not (cap.admits(asked) and cap.agrees(asked[-1])):
            raise _not_kept(line, "charges more than was left")
        if line.kind == SETTLED and settled_of(line)[1] is not None:
            keys, releases = settled_of(line)[0], releases_of(line)
            settled = settlement(lines[:place], keys, releases, stopped_early=True)
            if canonical(settled.content) != line.content:
                raise _not_kept(line, "gives back more than was left")


def _not_kept(line: Line, what: str) -> BudgetError:
    return BudgetError(f"ledger {line.ledger!r} must keep its cap; line {line.position} {what}.")
