"""A line of JSON for every cell and seed, so that what was run is not run again."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tailguard.papers.reproduce.results import Point

# Far more than any seed tells, and short lines.
DIGITS = 6


@dataclass(frozen=True)
class CellLine:
    """What one cell gave for one seed: points, or why it was refused."""

    cell: str
    seed: int
    points: tuple[Point, ...]
    refused: str | None = None
    seconds: float = 0.0

    def as_json(self) -> str:
        """Return the line; points of one curve stand together."""
        curves: dict[tuple[str, str, str], list[list[float]]] = {}
        for p in self.points:
            place = [float(f"{number:.{DIGITS}g}") for number in (p.x, p.value)]
            curves.setdefault((p.panel, p.curve, p.noise), []).append(place)
        facts = {"cell": self.cell, "seed": self.seed, "seconds": round(self.seconds, 3)}
        listed = [[*names, places] for names, places in curves.items()]
        return json.dumps({**facts, "refused": self.refused, "curves": listed})

    @classmethod
    def of_json(cls, text: str) -> "CellLine":
        """Read a line back."""
        found = json.loads(text)
        seed = found["seed"]
        points = tuple(
            Point(panel, curve, noise, x, value, seed)
            for panel, curve, noise, places in found["curves"]
            for x, value in places
        )
        return cls(found["cell"], seed, points, found["refused"], found["seconds"])


def read_lines(path: Path) -> list[CellLine]:
    """Read what was written; a line that an interrupt cut off is dropped."""
    if not path.exists():
        return []
    found = []
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(CellLine.of_json(text))
        except json.JSONDecodeError:
            continue
    return found


def append_lines(path: Path, lines: Iterable[CellLine]) -> None:
    """Write lines at the end of a file, after a line that an interrupt cut off."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as out:
        out.writelines(f"\n{line.as_json()}" for line in lines)
