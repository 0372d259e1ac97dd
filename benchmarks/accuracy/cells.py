"""From lines to cells: one task at one epsilon, what every method reached, and how they compare.

An oracle's setting is chosen here: of a grid, the one with the least mean excess over all seeds of
the cell. An excess that is null counts as infinite: it was not finite, or the setting was not a
finalist and was left out on a later seed. Either way it is not chosen.

The least of hundreds of means over a few seeds is partly luck. So each seed is also given the
setting that was best on the others, as one who tunes on other noise would have.
"""

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

NON_PRIVATE, OURS, RIVAL = "non-private", "tailguard", "DP-GD, oracle-tuned"
GOOD, TOLERANCE, BAD = 1.25, 0.01, 2.0
STANDARD_ERRORS = 2.0  # by which two means must differ to count as different


@dataclass
class Cell:
    """Excess over seeds of each method (its chosen setting) for one task and epsilon."""

    suite: str
    task: str
    loss: str
    n: int
    d: int
    epsilon: float
    gap: float
    excess: dict = field(default_factory=dict)
    paired: dict = field(default_factory=dict)
    tuning: dict = field(default_factory=dict)
    elsewhere: np.ndarray | None = None  # the rival's, each seed by the setting best on the others
    oracle: float | None = None
    library: str = ""  # the tailguard that was fitted

    def mean(self, method):
        """Mean excess over seeds; NaN where the method was not run."""
        values = self.excess.get(method)
        return float(np.mean(values)) if values is not None else float("nan")

    def best(self, tuning):
        """The method of a tuning with the least mean excess, or None."""
        names = [name for name, told in self.tuning.items() if told == tuning]
        return min(names, key=self.mean, default=None)

    def ratio(self, method=RIVAL):
        """Ours over a method's mean excess; NaN where either is missing or not above zero."""
        ours, theirs = self.mean(OURS), self.mean(method)
        return ours / theirs if ours > 0 and theirs > 0 else float("nan")

    def ratio_elsewhere(self):
        """Ours over the rival's mean excess, tuned on other seeds; NaN where that is not known."""
        ours = self.mean(OURS)
        known = self.elsewhere is not None and ours > 0
        return ours / float(np.mean(self.elsewhere)) if known else float("nan")

    def level(self):
        """Whether ours is at most 1.25 max(best oracle-tuned peer, 0) + 1 % of the gap."""
        best = self.mean(self.best("oracle-tuned"))
        return self.mean(OURS) <= GOOD * max(best, 0.0) + TOLERANCE * self.gap

    def far(self):
        """Whether ours is above twice that bound."""
        best = self.mean(self.best("oracle-tuned"))
        return self.mean(OURS) > BAD * (GOOD * max(best, 0.0) + TOLERANCE * self.gap)

    def beats(self, method):
        """1, 0 or -1: ours is better, not told apart by the noise of the seeds, or worse."""
        ours, theirs = self.excess[OURS], self.excess[method]
        if np.isinf([self.mean(OURS), self.mean(method)]).any():
            return int(np.isinf(self.mean(method))) - int(np.isinf(self.mean(OURS)))
        error = np.hypot(standard_error(ours), standard_error(theirs))
        difference = np.mean(theirs) - np.mean(ours)
        return int(np.sign(difference)) if abs(difference) > STANDARD_ERRORS * error else 0


def standard_error(values):
    """Standard error of a mean; infinite for a single value."""
    return np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.inf


def gather(lines):
    """Return cells in the order of the lines."""
    groups, facts, gaps = defaultdict(list), {}, defaultdict(list)
    for line in lines:
        if "error" not in line:
            groups[line["suite"], line["task"], line["epsilon"], line["method"]].append(line)
            facts.setdefault((line["suite"], line["task"]), line)
    for (suite, task, _, _), group in groups.items():
        gaps[suite, task] += [line["gap"] for line in group]
    # The mean over a task's trials of the excess of a constant.
    gaps = {task: float(np.mean(each)) for task, each in gaps.items()}
    cells = {}
    for (suite, task, epsilon, method), group in groups.items():
        if epsilon is None:
            continue
        fact = facts[suite, task]
        cell = cells.setdefault(
            (suite, task, epsilon),
            Cell(suite, task, fact["loss"], fact["n"], fact["d"], epsilon, gaps[suite, task]),
        )
        cell.tuning[method] = group[0]["tuning"]
        cell.excess[method] = choose(group)
        if all("paired" in line for line in group):
            cell.paired[method] = choose(group, "paired")
        if method == OURS:
            cell.library = ", ".join(sorted({line.get("library", "") for line in group}))
        if method == RIVAL:
            cell.elsewhere = choose_elsewhere(group)
        reference = groups.get((suite, task, None, NON_PRIVATE))
        if reference:
            cell.excess[NON_PRIVATE] = choose(reference)
    return list(cells.values())


def choose(group, key="excess"):
    """Excess over seeds of the setting whose mean over seeds is least."""
    table = table_of(group, key)
    return table[:, int(np.argmin(table.mean(axis=0)))]


def choose_elsewhere(group):
    """Excess of each seed by the setting whose mean over the other seeds is least, or None.

    There is none for a single seed, nor where one setting alone was kept and not this.
    """
    by_seed = {line["seed"]: line["elsewhere"] for line in group if "elsewhere" in line}
    table = table_of(group)
    if len(by_seed) == len(table):
        return np.array(
            [np.inf if value is None else value for value in map(by_seed.get, sorted(by_seed))]
        )
    if min(table.shape) < 2:
        return None
    others = [np.delete(table, seed, axis=0).mean(axis=0) for seed in range(len(table))]
    return np.array([row[np.argmin(means)] for row, means in zip(table, others, strict=True)])


def table_of(group, key="excess"):
    """One row a seed, in order, one column a setting.

    Lines of another grid than the last one's are left out.
    """
    grid = group[-1].get("grid")
    by_seed = {line["seed"]: line[key] for line in group if line.get("grid") == grid}
    rows = [by_seed[seed] for seed in sorted(by_seed)]
    return np.array([[np.inf if value is None else value for value in row] for row in rows])


def coverage(lines, *, epsilon=1.0, n_rows=20_000):
    """Covered share and number of 95 % intervals at budgets and sizes from these up."""
    kept = [
        line
        for line in lines
        if line.get("intervals") and line["epsilon"] >= epsilon and line["n"] >= n_rows
    ]
    intervals = sum(line["intervals"] for line in kept)
    covered = sum(line["covered"] for line in kept)
    return (covered / intervals if intervals else float("nan")), intervals, len(kept)


def family_coverage(lines, *, epsilon=1.0, n_rows=20_000):
    """By first letter of tasks with a true score: coefficients, with an interval, held by it."""
    counts = {}
    for line in lines:
        if "coefficients" in line and line["epsilon"] >= epsilon and line["n"] >= n_rows:
            of = counts.setdefault(line["task"][0], np.zeros(3, dtype=int))
            of += [line[name] for name in ("coefficients", "intervals", "covered")]
    return {letter: tuple(map(int, counts[letter])) for letter in sorted(counts)}


@dataclass(frozen=True)
class Summary:
    """How one suite went, over its cells."""

    suite: str
    library: str
    cells: int
    ratio_median: float
    ratio_p90: float
    elsewhere_median: float
    elsewhere_p90: float
    ratio_non_private: float
    level: float
    far: int
    untuned_won: int
    untuned_even: int
    untuned_lost: int
    oracle_median: float


def summarise(suite, cells):
    """Summarise the cells of a suite in which ours and the rival were run."""
    kept = [cell for cell in cells if OURS in cell.excess and RIVAL in cell.excess]
    against = [
        cell.beats(method)
        for cell in kept
        for method, tuning in cell.tuning.items()
        if tuning in {"untuned", "given scales"}
    ]
    ratios = [cell.ratio() for cell in kept]
    elsewhere = [cell.ratio_elsewhere() for cell in kept]
    return Summary(
        suite=suite,
        library=", ".join(sorted({cell.library for cell in kept})),
        cells=len(kept),
        ratio_median=quantile(ratios, 0.5),
        ratio_p90=quantile(ratios, 0.9),
        elsewhere_median=quantile(elsewhere, 0.5),
        elsewhere_p90=quantile(elsewhere, 0.9),
        ratio_non_private=quantile([cell.ratio(NON_PRIVATE) for cell in kept], 0.5),
        level=float(np.mean([cell.level() for cell in kept])) if kept else float("nan"),
        far=sum(cell.far() for cell in kept),
        untuned_won=against.count(1),
        untuned_even=against.count(0),
        untuned_lost=against.count(-1),
        oracle_median=quantile(
            [cell.mean(OURS) / cell.oracle for cell in kept if cell.oracle], 0.5
        ),
    )


def quantile(values, level):
    """Quantile of the values that are numbers (infinity is one); NaN of none.

    The value is the smallest with at least that share at or below it.
    """
    known = sorted(value for value in values if not np.isnan(value))
    return known[int(np.ceil(level * len(known))) - 1] if known else float("nan")
