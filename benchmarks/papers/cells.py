"""From lines to what is shown: medians with intervals, and paired comparisons."""

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from papers import rivals
from papers.methods import METHODS, PAPER, PUBLISHED, TIGHT

CONFIDENCE = 0.95
N_RESAMPLES = 2000
ORDER = [
    rivals.OPTIMUM,
    rivals.ROBUST,
    *(rival.key for rival in rivals.RIVALS),
    *(method.key for method in METHODS),
]


@dataclass(frozen=True)
class Cell:
    """Excess risks of one method at one epsilon, a seed each; of several settings the best one."""

    task: str
    n_rows: int
    n_features: int
    epsilon: float
    method: str
    calibration: str
    excess: dict
    noise: float | None = None
    bound: float | None = None
    error: str | None = None

    @property
    def values(self):
        return np.array(list(self.excess.values()))

    @property
    def median(self):
        return float(np.median(self.values)) if self.excess else float("nan")

    @property
    def interval(self):
        """Interval of the median, from resampled seeds."""
        return interval_of(self.values, np.median)


def interval_of(values, statistic):
    """Percentile bootstrap over seeds, with a fixed stream."""
    if len(values) == 0:
        return float("nan"), float("nan")
    draws = np.random.default_rng(0).choice(values, (N_RESAMPLES, len(values)))
    tail = (1 - CONFIDENCE) / 2
    return tuple(float(x) for x in np.quantile(statistic(draws, axis=1), [tail, 1 - tail]))


def paired_interval(gaps):
    """Student's interval of the mean: with few seeds it is wide, where a bootstrap is not."""
    if len(gaps) < 2:
        return -np.inf, np.inf
    quantile = stats.t.ppf((1 + CONFIDENCE) / 2, len(gaps) - 1)
    reach = quantile * np.std(gaps, ddof=1) / np.sqrt(len(gaps))
    return float(np.mean(gaps) - reach), float(np.mean(gaps) + reach)


def paired_chance(gaps):
    """Chance of a mean so far from zero where there is no difference, by Student's test."""
    if len(gaps) < 2 or not np.any(gaps):
        return 1.0
    spread = np.std(gaps, ddof=1) / np.sqrt(len(gaps))
    if spread == 0.0:
        return 0.0
    return float(2.0 * stats.t.sf(abs(np.mean(gaps)) / spread, len(gaps) - 1))


def holm(chances):
    """Return which chances stand at 5 % for all of them together: Holm's step-down (1979).

    The least one is held against 5 % over their number, the next against 5 % over one fewer, until
    one does not stand. Holds however the comparisons depend on each other.
    """
    stands = [False] * len(chances)
    for rank, index in enumerate(np.argsort(chances, kind="stable")):
        if chances[index] > (1 - CONFIDENCE) / (len(chances) - rank):
            break
        stands[index] = True
    return stands


def gather(lines):
    """Return the cells, in the order in which they are shown."""
    grouped = defaultdict(list)
    for line in lines:
        names = ("task", "n", "d", "epsilon", "method", "calibration")
        grouped[tuple(line[name] for name in names)].append(line)
    cells = [_cell(facts, group) for facts, group in grouped.items()]
    tasks = list(dict.fromkeys(cell.task for cell in cells))
    return sorted(
        cells,
        key=lambda c: (tasks.index(c.task), ORDER.index(c.method), c.calibration, c.epsilon),
    )


def _cell(facts, lines):
    ran = {line["seed"]: line["excess"] for line in lines if "excess" in line}
    best = 0
    if ran:
        table = np.array([[np.inf if x is None else x for x in row] for row in ran.values()])
        best = int(np.argmin(np.median(table, axis=0)))
    excess = {seed: row[best] for seed, row in ran.items() if row[best] is not None}
    first = lines[0]
    told = first.get("noise"), first.get("bound"), first.get("error")
    return Cell(*facts, excess, *told)


@dataclass(frozen=True)
class Comparison:
    """Tight against printed noise of one method, on the same samples and the same draws."""

    task: str
    epsilon: float
    method: str
    n_seeds: int
    n_better: int
    difference: float
    interval: tuple
    chance: float
    stands: bool = False  # in all comparisons together

    @property
    def verdict(self):
        """What its own interval says."""
        if self.interval[1] < 0:
            return "better"
        return "WORSE" if self.interval[0] > 0 else "level"

    @property
    def joint_verdict(self):
        """What is left of it among all comparisons."""
        return self.verdict if self.stands else "level"


def comparisons(cells):
    """Compare all pairs of cells that differ in nothing but the calibration."""
    by_key = {(c.task, c.epsilon, c.method, c.calibration): c for c in cells}
    found = []
    for (task, epsilon, method, calibration), printed in by_key.items():
        tight = by_key.get((task, epsilon, method, TIGHT))
        if calibration not in (PAPER, PUBLISHED) or tight is None:
            continue
        seeds = sorted({*printed.excess} & {*tight.excess})
        if not seeds:
            continue
        gaps = np.array([tight.excess[seed] - printed.excess[seed] for seed in seeds])
        found.append(
            Comparison(
                task,
                epsilon,
                method,
                len(gaps),
                int(np.sum(gaps < 0)),
                float(np.mean(gaps)),
                paired_interval(gaps),
                paired_chance(gaps),
            )
        )
    standing = holm([each.chance for each in found])
    return [replace(each, stands=stands) for each, stands in zip(found, standing, strict=True)]
