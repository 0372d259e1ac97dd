"""A ledger as text and as plain data: the remaining budget, and what was charged."""

from collections.abc import Iterator, Sequence
from shlex import quote
from textwrap import wrap
from typing import Any

from tailguard.ledger.charges import charges_of, releases_of, settled_of, standing
from tailguard.ledger.ledger import Ledger
from tailguard.ledger.lines import RESERVED, SETTLED, Line
from tailguard.printable import printable, screen_width
from tailguard.privacy.accounting.total_cost import TotalCost, total_cost
from tailguard.privacy.events import Selected
from tailguard.privacy.flat_events import flatten

TITLE = "Ledger {!r}"
HEAD = "  line  written     cost by itself                    key"
INDENT, WIDTH = 8 * " ", 88  # of the lines that name the releases of a run
STOPPED = "stopped early"
"""Marks a charge for which only the releases count."""


def summary_content(ledger: Ledger) -> dict[str, Any]:
    """Return the cap, what was charged and what still fits, as plain data."""
    lines, left = ledger.lines(), ledger.left
    ends = [*_ends(lines).values()]
    return {
        "ledger": ledger.name,
        "file": ledger.path,
        "cap": ledger.cap.to_dict(),
        "unit": ledger.unit,
        "runs": sum(line.kind == RESERVED for line in lines),
        "settled": len(ends),
        "stopped_early": ends.count(STOPPED),
        "total": ledger.total().to_dict(),
        "fits": None if left is None else left.to_dict(),
        "head": {"position": len(lines), "digest": lines[-1].digest},
    }


def summary_text(ledger: Ledger) -> str:
    """Describe the cap, what was charged and what still fits."""
    content = summary_content(ledger)
    n_runs, n_stopped = content["runs"], content["stopped_early"]
    total = _cost(ledger.total()) if n_runs else "nothing"
    counts, plural = "all count as spent", "" if n_runs == 1 else "s"
    if n_stopped:
        counts = f"{n_stopped} stopped early, all others count as reserved"
    file, name, head = quote(ledger.path), quote(ledger.name), content["head"]
    facts = {
        "cap": ledger.cap.describe(),
        "charged": f"{n_runs} run{plural}, {content['settled']} settled; {counts}",
        "total": f"{total}, of the events as they are listed",
        "fits": ledger.describe_left(),
        "protects": f"{ledger.unit}, in every run",
        "neighbours": "replace-one, for every run: one record replaced by any other",
        "head": f"line {head['position']}, {head['digest']}",
        "file": ledger.path,
        "runs": f"listed by: tailguard ledger history {file} --name {name}",
    }
    rows = (printable(f"{name:<11}{fact}") for name, fact in facts.items())
    return "\n".join([TITLE.format(ledger.name), *rows])


def history_content(ledger: Ledger) -> dict[str, Any]:
    """Return the charges, each with its cost and what its run released, as plain data."""
    charges = [
        {
            "position": line.position,
            "written": line.time,
            "cost": cost and cost.to_dict(),
            "key": line.key,
            "end": end,
            "released": names,
        }
        for line, cost, end, names in _charges(ledger)
    ]
    return {"ledger": ledger.name, "charges": charges}


def history_text(ledger: Ledger) -> str:
    """List the charges, each with its cost and what its run released."""
    rows = []
    for line, cost, end, names in _charges(ledger):
        words = _cost(cost) if cost else "nothing"
        remark = "" if end in (SETTLED, None) else f", {end}"
        rows.append(f"  {line.position:>4}  {line.time:<10}  {words:<32}  {line.key}{remark}")
        text, width = ", ".join(names), screen_width(WIDTH)
        rows += wrap(text, width, initial_indent=f"{INDENT}for ", subsequent_indent=INDENT)
    return "\n".join([TITLE.format(ledger.name), HEAD, *map(printable, rows)])


def _charges(ledger: Ledger) -> Iterator[tuple[Line, TotalCost | None, str | None, list[str]]]:
    """Yield each charge: line, cost if any is left, how it ended, and names of its releases.

    A search has no end: once its tries begin, it is never settled.
    """
    lines, delta = ledger.lines(), ledger.cap.delta
    counted, ends = standing(lines), _ends(lines)
    released = {line.key: releases_of(line) for line in lines if line.kind == SETTLED}
    for line in lines:
        if line.kind == RESERVED:
            (charge,) = charges_of([line])
            left = counted.get(line.key)
            cost = total_cost(left.event, delta) if left else None
            is_search = Selected in flatten(charge.event).kinds
            end = ends.get(line.key, None if is_search else "not settled")
            names = [*dict.fromkeys(each.name for each in released.get(line.key, ()))]
            yield line, cost, end, names


def _ends(lines: Sequence[Line]) -> dict[str, str]:
    """Return how settled charges ended, by their keys."""
    ends: dict[str, str] = {}
    for line in lines:
        if line.kind == SETTLED:
            keys, left = settled_of(line)
            ends |= dict.fromkeys(keys, STOPPED if left else SETTLED)
    return ends


def _cost(total: TotalCost) -> str:
    """Describe a cost in the currencies of the cap, or that no bound is known."""
    if total.epsilon is not None:
        return f"epsilon = {total.epsilon:.4g}, delta = {total.delta:g}"
    known = {"mu": total.mu, "rho": total.rho}
    parts = [f"{name} = {value:.4g}" for name, value in known.items() if value is not None]
    return ", ".join(parts) or "no bound is known"
