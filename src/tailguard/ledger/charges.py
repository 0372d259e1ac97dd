"""The content of a ledger's lines: the cap, the charges, and what stays charged after a stop.

If released numbers make a run stop early, the run settles, and its ledger may give back what the
run did not spend. This module checks all conditions for that, on the lines themselves and under the
lock of the file:

* everything that was released is Gaussian noise on sums over all records. Each such release has its
  own price, whether the run continues or not. Other releases have no separate price: a cover prices
  the rest of a run as a whole, and a pass over a secret partition, a sample or a search was also
  paid as a whole. Once one of these has begun, all of it stays charged;
* the releases are within what was reserved for Gaussian noise, where squares of mu add up. All
  other reserves have a separate price, and nothing of them was released;
* the charges meet a filter, so no charge was admitted as a first charge that meets none.

The run closes its books before this check, so nothing more is released. From then on the cost of
its releases counts, or the reserve for them if rounding made it smaller. The reserved number of
coordinates still counts, for the distance of sampled from ideal noise.

The head of ``cap.py`` has the proof. It only needs a stop that depends on released numbers. An
exception that a record may have caused is not such a stop, and all charges stay.

Reference
---------
Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023 (filters in mu: unspent budget remains
available).
"""

import json
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

from tailguard.checks import (
    BudgetError,
    InputError,
    check_failure,
    check_integer,
    check_positive,
    shown,
)
from tailguard.ledger.cap import Cap, Charge, squared_mu
from tailguard.ledger.lines import RESERVED, SETTLED, Draft, Line, canonical, changed_line
from tailguard.privacy.books import LedgerEntry, Release
from tailguard.privacy.books.releases import spent_event
from tailguard.privacy.events import Event, event_from_dict
from tailguard.privacy.flat_events import FlatEvents, flatten
from tailguard.privacy.guarantees import Guarantee, guarantee_from_dict
from tailguard.privacy.roots import ROUNDING
from tailguard.privacy.unit import ROWS, Unit

T = TypeVar("T")

LARGEST_LEDGER = 2**16
"""The number of charges that a process keeps in parsed form, about a kilobyte each."""


def cap_of(lines: Sequence[Line]) -> Cap:
    """Return the cap, which the first line states."""
    return _read(lines[0], _cap_in)


def unit_of(lines: Sequence[Line]) -> str:
    """Return the unit of privacy that the first line states; rows if it states none."""
    return _read(lines[0], _unit_in)


def check_same(ledger: str, lines: Sequence[Line], cap: Guarantee, unit: Unit) -> None:
    """Refuse a cap or a unit that differs from the ledger's."""
    first_cap = cap_of(lines).guarantee
    if first_cap != cap:
        raise InputError(
            f"ledger {ledger!r} must keep its cap, {first_cap.describe()}; got {cap.describe()}. "
            "Open it without a cap, or charge under another name."
        )
    if unit_of(lines) != unit.budget:
        raise InputError(
            f"ledger {ledger!r} must go on counting {unit_of(lines)}; got {unit.budget}. Open it "
            "with the same person=, or without a cap."
        )


def key_taken(ledger: str, line: Line) -> BudgetError:
    """Return the error for a key that was charged before."""
    return BudgetError(
        f"key must be new to ledger {ledger!r}; entry {line.position} was "
        f"charged under {line.key!r}, and nothing more is charged or released."
    )


def over_cap(ledger: str, cap: Cap, before: Sequence[Charge]) -> BudgetError:
    """Return the error for a charge that the cap does not admit."""
    return BudgetError(
        f"ledger {ledger!r} must keep {cap.guarantee.describe()}; with this run it would not; the "
        f"rest of the budget fits {cap.describe_left(before)}, and nothing is charged or released."
    )


def charges_of(lines: Sequence[Line]) -> tuple[Charge, ...]:
    """Return all charges in order, each with the amount that counts."""
    return tuple(standing(lines).values())


def standing(lines: Sequence[Line]) -> dict[str, Charge]:
    """Return all charges by their keys, each with the amount that counts."""
    states = [charges for _, charges in replayed(lines)]
    return states[-1] if states else {}


def replayed(lines: Sequence[Line]) -> Iterator[tuple[Line, dict[str, Charge]]]:
    """Yield each line, and the charges that count after it, in one dictionary that is updated.

    A settled line after an early stop replaces the charges of its run by what stays charged.
    """
    charges: dict[str, Charge] = {}
    for line in lines:
        if line.kind == RESERVED:
            charges[line.key], _ = _read(line, _charge_in)
        elif line.kind == SETTLED:
            keys, left = settled_of(line)
            if left is not None:
                if not charges.keys() >= {*keys}:
                    raise changed_line(line.ledger, line.position)
                charges[line.key] = left
                for key in keys[1:]:
                    del charges[key]
        yield line, charges


def settled_of(line: Line) -> tuple[tuple[str, ...], Charge | None]:
    """Return the keys of a settled run's charges, and the smaller charge that replaces them."""
    keys, left = _read(line, _settled_in)
    if keys[:1] != (line.key,):
        raise changed_line(line.ledger, line.position)
    return keys, left


def events_of(lines: Sequence[Line]) -> tuple[Any, ...]:
    """Return the events that count as charged, in order."""
    return tuple(charge.event for charge in charges_of(lines))


def coordinates_of(lines: Sequence[Line]) -> int:
    """Return for how many noisy numbers the ledger was charged."""
    return sum(_read(line, _charge_in)[1] for line in lines if line.kind == RESERVED)


def releases_of(line: Line) -> tuple[Release, ...]:
    """Return the releases that a settled line lists."""
    return _read(line, _releases_in)


def _read(line: Line, read: Callable[[str], T]) -> T:
    """Read the content of a line; refuse content that no ledger writes."""
    try:
        return read(line.content)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError):
        raise changed_line(line.ledger, line.position) from None


def _unit_in(content: str) -> str:
    return str(json.loads(content).get("unit", ROWS.budget))


@lru_cache(maxsize=64)
def _cap_in(content: str) -> Cap:
    return Cap(guarantee_from_dict(json.loads(content)["cap"]))


@lru_cache(maxsize=LARGEST_LEDGER)
def _charge_in(content: str) -> tuple[Charge, int]:
    """Read a charge; cached, since a process reads all lines before each of its charges."""
    data = json.loads(content)
    cover = data["cover"]
    if cover is not None:
        mu, failure = cover
        cover = (check_positive("cover", mu), check_failure("cover", failure))
    coordinates = check_integer("coordinates", data["coordinates"], minimum=0)
    return Charge(event_from_dict(data["event"]), cover), coordinates


@lru_cache(maxsize=LARGEST_LEDGER)
def _settled_in(content: str) -> tuple[tuple[str, ...], Charge | None]:
    data = json.loads(content)
    keys = tuple(dict.fromkeys(map(str, data["keys"])))
    return keys, Charge(event_from_dict(data["charged"])) if "charged" in data else None


def _releases_in(content: str) -> tuple[Release, ...]:
    return tuple(Release(**each) for each in json.loads(content)["releases"])


def left_charged(events: Sequence[Event], releases: Sequence[Release]) -> Event | None:
    """Return what stays charged of a run that stopped early; None if everything does."""
    spent, spent_otherwise = flatten(spent_event(releases)).split()
    reserved, _ = FlatEvents.total(map(flatten, events)).split()
    most = squared_mu(reserved) * (1 + Fraction(ROUNDING))  # the rounding that books allow
    if spent_otherwise.kinds or spent.blocks or squared_mu(spent) > most:
        return None
    return min(reserved, spent, key=squared_mu).event


def check_held(lines: Sequence[Line], entries: Sequence[LedgerEntry]) -> None:
    """Refuse to settle a run in a file without its charges, such as an older backup."""
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
    """Return the line to write for a finished run: one line for all of its charges.

    If the ledger already has this line, return it; refuse a settled line with other content.
    """
    charges = standing(lines)
    content: dict[str, Any] = {"keys": [*keys], "releases": [each.to_dict() for each in releases]}
    if stopped_early and cap_of(lines).meets_filter(tuple(charges.values())):
        stays_charged = left_charged([charges[key].event for key in keys], releases)
        content |= {} if stays_charged is None else {"charged": stays_charged.to_dict()}
    existing = [line for line in lines if (line.kind, line.key) == (SETTLED, keys[0])]
    if existing and existing[0].content != canonical(content):
        raise BudgetError(
            f"ledger {existing[0].ledger!r} must record the releases of a run once; entry "
            f"{existing[0].position} has other content for {shown(keys[0])}."
        )
    return existing[0] if existing else Draft(SETTLED, keys[0], content)


def check_kept(lines: Sequence[Line]) -> None:
    """Refuse a ledger with a charge or a return of budget that was not allowed at its time."""
    cap = cap_of(lines)
    for index, (line, charges) in enumerate(replayed(lines)):
        counted = tuple(charges.values())
        if line.kind == RESERVED and not (cap.admits(counted) and cap.agrees(counted[-1])):
            raise _not_kept(line, "charges more than was left")
        if line.kind == SETTLED and settled_of(line)[1] is not None:
            keys, releases = settled_of(line)[0], releases_of(line)
            settled = settlement(lines[:index], keys, releases, stopped_early=True)
            if canonical(settled.content) != line.content:
                raise _not_kept(line, "gives back more than was left")


def _not_kept(line: Line, what: str) -> BudgetError:
    return BudgetError(f"ledger {line.ledger!r} must keep its cap; line {line.position} {what}.")
