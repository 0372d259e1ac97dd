"""A ledger as text: the remaining budget, and what was charged."""

from collections.abc import Iterator, Sequence
from shlex import quote
from textwrap import wrap

from tailguard.ledger.charges import charges_of, releases_of, settled_of, standing
from tailguard.ledger.ledger import Ledger
from tailguard.ledger.lines import RESERVED, SETTLED, Line
from tailguard.printable import printable
from tailguard.privacy.accounting.total_cost import TotalCost, total_cost
from tailguard.privacy.books import Release
from tailguard.privacy.events import Selected
from tailguard.privacy.flat_events import flatten

TITLE = "Ledger {!r}"
HEAD = "  line  written     cost by itself                    key"
INDENT, WIDTH = 8 * " ", 88  # of the lines that name the releases of a run
STOPPED = ", stopped early"
"""Marks a charge for which only the releases count."""


def summary_text(ledger: Ledger) -> str:
    """Describe the cap, what was charged and what still fits."""
    lines = ledger.lines()
    charges = [line for line in lines if line.kind == RESERVED]
    ends = [*_ends(lines).values()]
    total = _cost(ledger.total()) if charges else "nothing"
    counts, plural = "all count as spent", "" if len(charges) == 1 else "s"
    if STOPPED in ends:
        counts = f"{ends.count(STOPPED)} stopped early, all others count as reserved"
    file, name = quote(ledger.path), quote(ledger.name)
    facts = {
        "cap": ledger.cap.describe(),
        "charged": f"{len(charges)} run{plural}, {len(ends)} settled; {counts}",
        "total": f"{total}, of the events as they are listed",
        "fits": ledger.describe_left(),
        "protects": f"{ledger.unit}, in every run",
        "neighbours": "replace-one, for every run: one record replaced by any other",
        "head": f"line {len(lines)}, {lines[-1].digest}",
        "file": ledger.path,
        "runs": f"listed by: tailguard ledger history {file} --name {name}",
    }
    rows = (printable(f"{name:<11}{fact}") for name, fact in facts.items())
    return "\n".join([TITLE.format(ledger.name), *rows])


def history_text(ledger: Ledger) -> str:
    """List the charges, each with its cost and what its run released."""
    return "\n".join([TITLE.format(ledger.name), HEAD, *map(printable, _charges(ledger))])


def _charges(ledger: Ledger) -> Iterator[str]:
    lines, delta = ledger.lines(), ledger.cap.delta
    counted, ends = standing(lines), _ends(lines)
    released = {line.key: releases_of(line) for line in lines if line.kind == SETTLED}
    for line in lines:
        if line.kind == RESERVED:
            (charge,) = charges_of([line])
            left = counted.get(line.key)
            cost = _cost(total_cost(left.event, delta)) if left else "nothing"
            is_search = (
                Selected in flatten(charge.event).kinds
            )  # a search is never settled after its tries begin
            ended = ends.get(line.key, "" if is_search else ", not settled")
            yield f"  {line.position:>4}  {line.time:<10}  {cost:<32}  {line.key}{ended}"
            yield from _released(released.get(line.key, ()))


def _released(releases: Sequence[Release]) -> list[str]:
    """Name the different releases of a run, by the words of its books, on folded lines."""
    names = ", ".join(dict.fromkeys(release.name for release in releases))
    return wrap(names, WIDTH, initial_indent=f"{INDENT}for ", subsequent_indent=INDENT)


def _ends(lines: Sequence[Line]) -> dict[str, str]:
    """Return how settled charges ended, by their keys."""
    ends: dict[str, str] = {}
    for line in lines:
        if line.kind == SETTLED:
            keys, left = settled_of(line)
            ends |= dict.fromkeys(keys, STOPPED if left else "")
    return ends


def _cost(total: TotalCost) -> str:
    """Describe a cost in the currencies of the cap, or that no bound is known."""
    if total.epsilon is not None:
        return f"epsilon = {total.epsilon:.4g}, delta = {total.delta:g}"
    known = {"mu": total.mu, "rho": total.rho}
    parts = [f"{name} = {value:.4g}" for name, value in known.items() if value is not None]
    return ", ".join(parts) or "no bound is known"
