"""What the lines of a ledger hold: its cap, its charges, and what counts of them."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from tailguard.checks import check_failure, check_integer, check_positive
from tailguard.ledger.cap import Cap, Charge
from tailguard.ledger.lines import RESERVED, SETTLED, Line, changed_line
from tailguard.privacy.books import Release
from tailguard.privacy.events import event_from_dict
from tailguard.privacy.guarantees import guarantee_from_dict
from tailguard.version import __version__

T = TypeVar("T")

LARGEST_LEDGER = 2**16
"""Charges that a process keeps as it read them, at about a kilobyte each; more are read again."""


def cap_told(cap: Cap) -> dict[str, Any]:
    """Return what the first line says.

    Examples
    --------
    >>> from tailguard.privacy.guarantees import GDP
    >>> cap_told(Cap(GDP(1.0)))["cap"]
    {'kind': 'gdp', 'mu': 1.0}
    """
    return {"cap": cap.guarantee.to_dict(), "software": __version__}


def charge_told(charge: Charge, coordinates: int) -> dict[str, Any]:
    """Return what a reserved line says.

    Examples
    --------
    >>> from tailguard.privacy.events import Gaussian
    >>> charge_told(Charge(Gaussian(0.5)), 3)["event"]
    {'kind': 'gaussian', 'mu': 0.5}
    """
    told = {"event": charge.event.to_dict(), "cover": charge.cover, "coordinates": coordinates}
    return told | {"software": __version__}


def cap_of(lines: Sequence[Line]) -> Cap:
    """Return the cap, which the first line states.

    Examples
    --------
    >>> from tailguard.ledger import Ledger
    >>> cap_of(Ledger("budget.sqlite", "claims", epsilon=4.0, delta=1e-5).lines())
    Cap(guarantee=ApproxDP(epsilon=4.0, delta=1e-05))
    """
    return _read(lines[0], _cap_in)


def charges_of(lines: Sequence[Line]) -> tuple[Charge, ...]:
    """Return all charges as they count, in order.

    Examples
    --------
    >>> from tailguard.ledger import Ledger
    >>> charges_of(Ledger("budget.sqlite", "claims", epsilon=4.0, delta=1e-5).lines())
    ()
    """
    return tuple(standing(lines).values())


def standing(lines: Sequence[Line]) -> dict[str, Charge]:
    """Return by their keys all charges as they count.

    Examples
    --------
    >>> standing([])
    {}
    """
    states = [charges for _, charges in replayed(lines)]
    return states[-1] if states else {}


def replayed(lines: Sequence[Line]) -> Iterator[tuple[Line, dict[str, Charge]]]:
    """Yield each line, and all charges as they count once it is written: one dictionary, updated.

    A settled line that says what stays charged puts that in the place of its run's charges.

    Examples
    --------
    >>> from tailguard.ledger import Ledger
    >>> from tailguard.privacy.events import Gaussian
    >>> ledger = Ledger("budget.sqlite", "claims", epsilon=4.0, delta=1e-5)
    >>> _ = ledger.charge(Gaussian(0.5), key="report of March")
    >>> [sorted(charges) for _, charges in replayed(ledger.lines())]
    [[], ['report of March']]
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
    """Return the keys of all charges of a settled run, and what counts in their place, if less.

    Examples
    --------
    >>> from tailguard.ledger.lines import Draft
    >>> draft = Draft(SETTLED, "3f", {"keys": ["3f", "3f (2)"], "releases": []})
    >>> settled_of(Line.after((), "claims", draft, time=""))
    (('3f', '3f (2)'), None)
    """
    keys, left = _read(line, _settled_in)
    if keys[:1] != (line.key,):
        raise changed_line(line.ledger, line.position)
    return keys, left


def events_of(lines: Sequence[Line]) -> tuple[Any, ...]:
    """Return the events that count as charged, in order.

    Examples
    --------
    >>> from tailguard.ledger import Ledger
    >>> from tailguard.privacy.events import Gaussian
    >>> ledger = Ledger("budget.sqlite", "claims", epsilon=4.0, delta=1e-5)
    >>> _ = ledger.charge(Gaussian(0.5), key="report of March")
    >>> events_of(ledger.lines())
    (Gaussian(mu=0.5),)
    """
    return tuple(charge.event for charge in charges_of(lines))


def coordinates_of(lines: Sequence[Line]) -> int:
    """Return how many noised numbers were charged for.

    Examples
    --------
    >>> coordinates_of([])
    0
    """
    return sum(_read(line, _charge_in)[1] for line in lines if line.kind == RESERVED)


def releases_of(line: Line) -> tuple[Release, ...]:
    """Return what a settled line says was released.

    Examples
    --------
    >>> from tailguard.ledger.lines import Draft
    >>> line = Line.after((), "claims", Draft(SETTLED, "3f", {"releases": []}), time="")
    >>> releases_of(line)
    ()
    """
    return _read(line, _releases_in)


def _read(line: Line, read: Callable[[str], T]) -> T:
    """Read a line; one that holds anything else was not written by a ledger."""
    try:
        return read(line.content)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError):
        raise changed_line(line.ledger, line.position) from None


@lru_cache(maxsize=64)
def _cap_in(content: str) -> Cap:
    return Cap(guarantee_from_dict(json.loads(content)["cap"]))


@lru_cache(maxsize=LARGEST_LEDGER)
def _charge_in(content: str) -> tuple[Charge, int]:
    """Read a charge; a process reads the same lines before each of its own."""
    told = json.loads(content)
    cover = told["cover"]
    if cover is not None:
        mu, failure = cover
        cover = (check_positive("cover", mu), check_failure("cover", failure))
    coordinates = check_integer("coordinates", told["coordinates"], minimum=0)
    return Charge(event_from_dict(told["event"]), cover), coordinates


@lru_cache(maxsize=LARGEST_LEDGER)
def _settled_in(content: str) -> tuple[tuple[str, ...], Charge | None]:
    told = json.loads(content)
    keys = tuple(dict.fromkeys(map(str, told["keys"])))
    return keys, Charge(event_from_dict(told["charged"])) if "charged" in told else None


def _releases_in(content: str) -> tuple[Release, ...]:
    return tuple(Release(**told) for told in json.loads(content)["releases"])
