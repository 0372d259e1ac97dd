"""The table of what came of seeded faults."""

from scipy.stats import beta

__all__ = ["score", "survivors", "table"]

CONFIDENCE = 0.95


def score(caught: int, tried: int) -> tuple[float, float, float]:
    """Return the share that was caught, and Clopper and Pearson's interval around it."""
    tail = (1.0 - CONFIDENCE) / 2.0
    low = float(beta.ppf(tail, caught, tried - caught + 1)) if caught else 0.0
    high = float(beta.isf(tail, caught + 1, tried - caught)) if caught < tried else 1.0
    return caught / tried, low, high


def table(results: dict[str, dict], n_faults: int, reasons: dict[str, str]) -> str:
    """Return a table with a line for each room, and one for all."""
    rooms: dict[str, list[str]] = {}
    for name, each in results.items():
        caught = each["verdict"].startswith("caught")
        verdict = "caught" if caught else "harmless" if name in reasons else "open"
        rooms.setdefault(each["source"].split("/")[0], []).append(verdict)
    rooms["all"] = [verdict for found in list(rooms.values()) for verdict in found]
    lines = [
        "| room | tried | caught | harmless | open | score | 95 % interval | without harmless |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for room, found in rooms.items():
        counts = [found.count(verdict) for verdict in ("caught", "harmless", "open")]
        share, low, high = score(counts[0], len(found))
        harmful = f"{counts[0] / (counts[0] + counts[2]):.1%}" if counts[0] + counts[2] else ""
        cells = (room, len(found), *counts, f"{share:.1%}", f"{low:.1%} to {high:.1%}", harmful)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join([f"{len(results)} of {n_faults} faults were tried.", "", *lines, ""])


def survivors(results: dict[str, dict], reasons: dict[str, str]) -> str:
    """Return all faults that no test saw, and why that does no harm."""
    found = [(name, each) for name, each in results.items() if each["verdict"] == "survived"]
    return "\n".join(
        f"{each['source']}:{each['line']} {each['words']}: {reasons.get(name, 'open')}"
        for name, each in found
    )
