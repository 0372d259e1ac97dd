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


def table(results: dict[str, dict], n_faults: int) -> str:
    """Return a table with a line for each room, and one for all."""
    rooms: dict[str, list[bool]] = {}
    for each in results.values():
        caught = each["verdict"].startswith("caught")
        rooms.setdefault(each["source"].split("/")[0], []).append(caught)
    rooms["all"] = [caught for found in list(rooms.values()) for caught in found]
    lines = ["| room | tried | caught | score | 95 % interval |", "|---|---|---|---|---|"]
    for room, found in rooms.items():
        share, low, high = score(sum(found), len(found))
        lines.append(
            f"| {room} | {len(found)} | {sum(found)} | {share:.1%} | {low:.1%} to {high:.1%} |"
        )
    return "\n".join([f"{len(results)} of {n_faults} faults were tried.", "", *lines, ""])


def survivors(results: dict[str, dict]) -> str:
    """Return all faults that no test saw."""
    found = [each for each in results.values() if each["verdict"] == "survived"]
    return "\n".join(f"{each['source']}:{each['line']} {each['words']}" for each in found)
