"""Measured numbers by panel, curve and noise; their summaries, and paired comparisons.

They are stored as a line of JSON for every cell and seed, so that no cell runs twice.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

# The level of intervals, as in docs/reproduce.md.
CONFIDENCE = 0.95


Noise = Literal["printed", "tight", "-"]  # the paper's, the least that is proved, or neither


@dataclass(frozen=True)
class Point:
    """One measured number, with its panel, curve, noise, seed and place on the axis."""

    panel: str
    curve: str
    noise: Noise
    x: float
    value: float
    seed: int = 0  # which the runner sets


@dataclass(frozen=True)
class Summary:
    """One place of a curve over all seeds: the median, its interval, and the extremes."""

    x: float
    n_seeds: int
    median: float
    low: float
    high: float
    least: float
    most: float

    @classmethod
    def of(cls, x: float, values: Iterable[float]) -> "Summary":
        """Summarise; the interval of the median is the exact one of order statistics.

        With fewer than six seeds it is the range, whose coverage is lower.
        """
        from scipy import stats  # noqa: PLC0415 (it takes a while to load)

        ordered = np.sort(np.array(list(values), dtype=np.float64))
        n_seeds = len(ordered)
        # The k-th least and the k-th greatest miss the median with probability 2 P(Binomial < k).
        k = max(int(stats.binom.ppf((1.0 - CONFIDENCE) / 2.0, n_seeds, 0.5)), 1)
        low, high = ordered[k - 1], ordered[n_seeds - k]
        numbers = (np.median(ordered), low, high, ordered[0], ordered[-1])
        return cls(x, n_seeds, *(float(number) for number in numbers))


def student_interval(
    values: Sequence[float], confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Student's interval of the mean; infinite for a single value.

    *Reference.* Student 1908.
    """
    from scipy import stats  # noqa: PLC0415 (it takes a while to load)

    if len(values) < 2:
        return -math.inf, math.inf
    mean = float(np.mean(values))
    spread = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    half = float(stats.t.ppf((1.0 + confidence) / 2.0, len(values) - 1)) * spread
    return mean - half, mean + half


@dataclass(frozen=True)
class Comparison:
    """One curve against another at one place, on the same seeds: the ratio of their medians."""

    ratio: float
    gaps: tuple[float, ...]

    def verdict(self, n_places: int = 1) -> Literal["less", "tied", "more"]:
        """Describe the position of the 95 % interval of the mean paired difference.

        By chance, below at all of several places is no more likely than below at one. Above at any
        of several places is more likely, so its level is 5 % for all places together (Bonferroni
        1936).
        """
        if student_interval(self.gaps)[1] < 0.0:
            return "less"
        wide = 1.0 - (1.0 - CONFIDENCE) / n_places
        return "more" if student_interval(self.gaps, wide)[0] > 0.0 else "tied"


def compare(
    own: Mapping[int, float], other: Mapping[int, float], *, factor: float = 1.0
) -> Comparison:
    """Compare ``own`` with ``factor`` times ``other``, seed by seed.

    It compares logarithms, since claims are about factors; or the numbers, if some are not
    positive.
    """
    seeds = sorted(own.keys() & other.keys())
    pairs = [(own[seed], factor * other[seed]) for seed in seeds]
    if all(value > 0.0 for pair in pairs for value in pair):
        pairs = [(math.log(value), math.log(bar)) for value, bar in pairs]
    gaps = tuple(value - bar for value, bar in pairs)
    if not seeds:
        return Comparison(math.nan, ())
    middle = [float(np.median([each[seed] for seed in seeds])) for each in (own, other)]
    return Comparison(middle[0] / middle[1] if middle[1] else math.inf, gaps)


class Results:
    """All measured numbers of an experiment."""

    def __init__(self, points: Iterable[Point]) -> None:
        self._found: dict[tuple[str, str, str], dict[float, dict[int, float]]] = {}
        for point in points:
            key = point.panel, point.curve, point.noise
            self._found.setdefault(key, defaultdict(dict))[point.x][point.seed] = point.value

    @property
    def panels(self) -> tuple[str, ...]:
        """Panels in the order in which they were measured."""
        return tuple(dict.fromkeys(panel for panel, _, _ in self._found))

    @property
    def keys(self) -> tuple[tuple[str, str, str], ...]:
        """Panel, curve and noise of all measurements."""
        return tuple(self._found)

    @property
    def n_seeds(self) -> int:
        """The largest number of seeds of a place."""
        counts = [len(seeds) for curve in self._found.values() for seeds in curve.values()]
        return max(counts, default=0)

    @property
    def seeds_told(self) -> str:
        """The number of seeds, in words."""
        return f"{self.n_seeds} seed{'' if self.n_seeds == 1 else 's'}"

    def curve(self, panel: str, curve: str, noise: str) -> dict[float, dict[int, float]]:
        """Return place -> seed -> value; for a curve without noises, ``noise`` is ignored."""
        found = self._found.get((panel, curve, noise)) or self._found.get((panel, curve, "-"), {})
        return {x: found[x] for x in sorted(found)}

    def summaries(self, panel: str, curve: str, noise: str) -> list[Summary]:
        """Summarise a curve, place by place."""
        found = self.curve(panel, curve, noise)
        return [Summary.of(x, values.values()) for x, values in found.items()]


# Far more digits than a seed's accuracy, and short lines.
DIGITS = 6


@dataclass(frozen=True)
class CellLine:
    """The result of one cell for one seed: points, or the reason for a refusal."""

    cell: str
    seed: int
    points: tuple[Point, ...]
    refused: str | None = None
    seconds: float = 0.0

    def as_json(self) -> str:
        """Return the line, with points grouped by curve."""
        curves: dict[tuple[str, str, str], list[list[float]]] = {}
        for p in self.points:
            place = [float(f"{number:.{DIGITS}g}") for number in (p.x, p.value)]
            curves.setdefault((p.panel, p.curve, p.noise), []).append(place)
        facts = {"cell": self.cell, "seed": self.seed, "seconds": round(self.seconds, 3)}
        listed = [[*names, places] for names, places in curves.items()]
        return json.dumps({**facts, "refused": self.refused, "curves": listed})

    @classmethod
    def of_json(cls, text: str) -> "CellLine":
        """Parse a line."""
        found = json.loads(text)
        seed = found["seed"]
        points = tuple(
            Point(panel, curve, noise, x, value, seed)
            for panel, curve, noise, places in found["curves"]
            for x, value in places
        )
        return cls(found["cell"], seed, points, found["refused"], found["seconds"])


def read_lines(path: Path) -> list[CellLine]:
    """Read all lines; skip a line that an interrupt cut off."""
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
