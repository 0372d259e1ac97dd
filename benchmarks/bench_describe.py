"""Accuracy of ``tg.describe`` on tables, beside published mechanisms that are told the true bounds.

    python benchmarks/bench_describe.py [TABLE.parquet ...] [--draws 3] [--out FOLDER]
    TAILGUARD_NUM_THREADS=1 python benchmarks/bench_describe.py --speed [--rows 1000000]

Without tables, a simulated one of 50 000 records is described, or of 5 000 with ``--quick``. With
``--speed`` nothing but processor time on one thread is measured, of quantiles of 20 columns.

Of every column of numbers five quantiles, the mean and the standard deviation are asked for, all on
one budget (epsilon, 1e-6), replace-one neighbours. ``tailguard`` is told nothing of the columns.
Its rivals are told each column's smallest and largest value, and share the same zCDP out evenly
over columns and statistics, five quantiles, a mean and a spread:

* ``exponential``: quantiles by the exponential mechanism (Smith 2011, Algorithm 2), at the price of
  its bounded range, rho = epsilon^2 / 8 (Cesar and Rogers 2021, Lemma 3);
* ``tree``: all quantiles of a column from one tree of counts, 16 children a node and 4 levels
  between the true bounds, with Gaussian noise (the default of Google's differential privacy
  library; Hay et al. 2010 without their consistency), at the price of five;
* both: mean and second moment of values between the true bounds, with Gaussian noise;
* ``diffprivlib``, where it is installed: its own quantiles, mean and deviation, by the exponential
  and the Laplace mechanism, each at the same part of rho (epsilon^2 / 8 and epsilon^2 / 2);
* ``opendp``, where it is installed and ``--opendp`` is given, for it is slow: quantiles of 1 000
  candidates by its noisy maximum, clamped mean and variance with its Gaussian noise, each at the
  same part of rho for two edits of a table of known size.

An error is the distance to the table's own statistic over the larger of its interquartile range and
of its standard deviation between the 1 % and 99 % quantiles. A cell is a column, a statistic and an
epsilon; its figure is the median over draws of noise. ``level`` counts cells where ours is the
smaller, or larger by at most two standard errors of the median's. Nothing here is private.
"""

import argparse
import math
import time
import warnings
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

import tailguard as tg
from tailguard.checks import BudgetWarning

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
KINDS = ("quantiles", "means")
STATISTICS = (*(f"{100 * level:g}%" for level in LEVELS), "mean", "std")
DELTA = 1e-6
BRANCHES, HEIGHT = 16, 4  # the defaults of the library named above
N_CANDIDATES = 1000  # for a quantile, between the true bounds


def statistics(values):
    return np.array([*np.quantile(values, LEVELS), values.mean(), values.std()])


def unit_of(values):
    quartiles, ends = np.quantile(values, (0.25, 0.75)), np.quantile(values, (0.01, 0.99))
    middle = values[(values >= ends[0]) & (values <= ends[1])]
    return max(quartiles[1] - quartiles[0], middle.std(), 1e-12)


def exponential(values, rho, rng):
    """Smith 2011: gaps between sorted values, weighted by how far their ranks are off."""
    epsilon = math.sqrt(8.0 * rho)
    ends = np.concatenate([values[:1], values, values[-1:]])
    gaps, found = np.diff(ends), []
    for level in LEVELS:
        with np.errstate(divide="ignore"):
            score = np.log(gaps) - epsilon / 2.0 * np.abs(
                np.arange(gaps.size) - level * values.size
            )
        place = int(np.argmax(score + rng.gumbel(size=gaps.size)))
        found.append(rng.uniform(ends[place], ends[place + 1]))
    return found


def tree(values, rho, rng):
    """Descend from the root to the leaf that holds a level, by noised counts of children."""
    std = math.sqrt(HEIGHT / (rho * len(LEVELS)))  # l2 sensitivity sqrt(2 * HEIGHT)
    low, width = values[0], max(values[-1] - values[0], 1e-300)
    leaf = np.minimum((values - low) / width * BRANCHES**HEIGHT, BRANCHES**HEIGHT - 1).astype(int)
    counts = [
        np.bincount(leaf // BRANCHES ** (HEIGHT - h), minlength=BRANCHES**h)
        for h in range(1, HEIGHT + 1)
    ]
    noised = [np.maximum(c + rng.normal(0.0, std, c.size), 0.0) for c in counts]
    found = []
    for level in LEVELS:
        node, rest, part = 0, level, 0.5
        for layer in noised:
            children = layer[node * BRANCHES : (node + 1) * BRANCHES]
            total = children.sum()
            if total <= 0.0:
                node, part = node * BRANCHES + BRANCHES // 2, 0.0
                rest = 0.5
                continue
            below = np.append(0.0, np.cumsum(children) / total)
            child = min(int(np.searchsorted(below, rest, side="right")) - 1, BRANCHES - 1)
            rest = min(max((rest - below[child]) / max(children[child] / total, 1e-12), 0.0), 1.0)
            node, part = node * BRANCHES + child, rest
        found.append(low + width * (node + part) / BRANCHES**HEIGHT)
    return found


def bounded_moments(values, rho, rng):
    low, high, n = values[0], values[-1], values.size
    center, radius = (low + high) / 2.0, max((high - low) / 2.0, 1e-300)
    u = (values - center) / radius
    first = u.mean() + rng.normal(0.0, 2.0 / n / math.sqrt(2.0 * rho))
    second = (u**2).mean() + rng.normal(0.0, 1.0 / n / math.sqrt(2.0 * rho))
    return [center + radius * first, radius * math.sqrt(max(second - first**2, 0.0))]


def by_diffprivlib(values, rho, rng):
    """All statistics of a column as the library has them."""
    from diffprivlib import tools  # noqa: PLC0415 (of the environment of `make peers`)

    options = {"bounds": (values[0], max(values[-1], np.nextafter(values[0], np.inf)))}
    options["random_state"] = np.random.RandomState(int(rng.integers(2**31)))
    chosen, noised = math.sqrt(8.0 * rho), math.sqrt(2.0 * rho)
    asked = [
        lambda level=level: tools.quantile(values, level, chosen, **options) for level in LEVELS
    ]
    asked += [lambda: tools.mean(values, noised, **options)]
    asked += [lambda: tools.std(values, noised, **options)]
    found = []
    for ask in asked:
        try:
            found.append(ask())
        except RuntimeError:  # its weights are no numbers where values lie close together
            found.append(np.nan)
    return found


def by_opendp(values, rho, rng):
    """All statistics of a column as the library has them; its noise is not seeded."""
    import opendp.prelude as dp  # noqa: PLC0415 (of the environment of `make peers`)

    dp.enable_features("contrib", "idealized-numerics")
    bounds = float(values[0]), float(max(values[-1], np.nextafter(values[0], np.inf)))
    measure, records = dp.zero_concentrated_divergence(), values.tolist()
    plain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=values.size)
    bounded = dp.vector_domain(dp.atom_domain(bounds=bounds, nan=False), size=values.size)

    def ask(transformation, then):  # rho falls with the square of the scale
        scale = math.sqrt((transformation >> then(1.0)).map(2) / rho)
        return (transformation >> then(scale))(records)

    found, grid = [], np.unique(np.linspace(*bounds, N_CANDIDATES))
    for level in LEVELS:
        scores = dp.t.make_quantile_score_candidates(
            plain, dp.symmetric_distance(), grid.tolist(), level
        )
        found.append(grid[ask(scores, lambda scale: dp.m.then_noisy_max(measure, scale, True))])
    gaussian = dp.m.then_gaussian
    found.append(ask(dp.t.make_mean(bounded, dp.symmetric_distance()), gaussian))
    variance = ask(dp.t.make_variance(bounded, dp.symmetric_distance(), ddof=0), gaussian)
    return [*found, math.sqrt(max(variance, 0.0))]


def rivals(columns, rho, rng, opendp=False):
    """Answers of all rivals, a row per column."""
    each = rho / (len(columns) * len(STATISTICS))
    moments = [bounded_moments(values, each, rng) for values in columns]
    found = {
        "exponential": [
            [*exponential(v, each, rng), *m] for v, m in zip(columns, moments, strict=True)
        ],
        "tree": [[*tree(v, each, rng), *m] for v, m in zip(columns, moments, strict=True)],
    }
    if find_spec("diffprivlib"):
        found["diffprivlib"] = [by_diffprivlib(values, each, rng) for values in columns]
    if opendp:
        found["opendp"] = [by_opendp(values, each, rng) for values in columns]
    return found


def ours(table, epsilon, seed):
    found = tg.describe(
        table, q=LEVELS, correlations=False, epsilon=epsilon, delta=DELTA, random_state=seed
    )
    held = (
        (found.quantiles_low[0], found.quantiles_high[0]),
        (found.mean_low[0], found.mean_high[0]),
    )
    return np.column_stack([found.quantiles[0], found.mean[0], found.std[0]]), held


def simulated(name):
    """Columns that are heavy, far, whole, often zero, rare or constant."""
    rng, n = np.random.default_rng(0), int(name)
    return pd.DataFrame(
        {
            "normal": rng.normal(size=n),
            "far": 1e6 + rng.normal(size=n),
            "heavy": rng.standard_t(2, n),
            "skewed": np.exp(2.0 * rng.normal(size=n)),
            "ages": rng.integers(18, 91, n).astype(float),
            "visits": rng.poisson(1.0, n).astype(float),
            "zeros": np.where(rng.random(n) < 0.6, 0.0, np.exp(rng.normal(7.0, 1.0, n))),
            "rare": (rng.random(n) < 0.03).astype(float),
            "constant": np.full(n, 3.7),
        }
    )


def numbers_of(path):
    """The columns of a table that are numbers and not empty."""
    table = pq.read_table(path).to_pandas()
    numbers = table.select_dtypes(["number", "bool"]).astype(float)
    return numbers.loc[:, numbers.notna().any()]


def measure(path, epsilons, n_draws, opendp=False):
    """Median errors by name, epsilon, column and statistic; and how often intervals hold."""
    table = numbers_of(path) if path.exists() else simulated(path.name)
    columns = [np.sort(table[name].dropna().to_numpy()) for name in table]
    exact = np.array([statistics(values) for values in columns])
    units = np.array([unit_of(values) for values in columns])[:, None]
    cells, held = [], []
    for epsilon in epsilons:
        mu = tg.ApproxDP(epsilon, DELTA).gaussian_mu()
        errors = defaultdict(list)
        for draw in range(n_draws):
            values, intervals = ours(table, epsilon, draw)
            errors["tailguard"].append(np.abs(values - exact) / units)
            for kind, (low, high) in zip(KINDS, intervals, strict=True):
                own = exact[:, :5] if kind == "quantiles" else exact[:, 5]
                given = np.isfinite(low + high)
                inside = int((given & (low <= own) & (own <= high)).sum())
                held.append((path.stem, len(table) * mu, kind, inside, given.sum(), own.size))
            rng = np.random.default_rng(draw)
            for name, found in rivals(columns, mu**2 / 2.0, rng, opendp).items():
                errors[name].append(np.abs(np.array(found) - exact) / units)
        for name, drawn in errors.items():
            all_draws = np.array(drawn)
            medians, spread = (
                np.median(all_draws, axis=0),
                all_draws.std(axis=0) * 1.2533 / math.sqrt(n_draws),
            )
            for i, j in np.ndindex(medians.shape):
                cells.append(
                    (path.stem, len(table), len(columns), epsilon, table.columns[i],
                     STATISTICS[j], name, medians[i, j], spread[i, j])
                )  # fmt: skip
    return cells, held


HELD = ("table", "n mu", "kind", "held", "given", "asked")
HEADER = ("table", "n", "d", "epsilon", "column", "statistic", "name", "error", "spread")


CELL = ["table", "n", "d", "epsilon", "column", "statistic"]
VERDICTS = ["better", "level", "hidden"]


def judged(cells):
    """Of every cell and rival with an answer, whether ours is better, or level, or hidden."""
    wide = cells.set_index([*CELL, "name"])[["error", "spread"]].unstack()
    own, spread = wide["error"]["tailguard"].fillna(np.inf), wide["spread"]["tailguard"].fillna(0.0)
    parts = []
    for rival in (name for name in wide["error"] if name != "tailguard"):
        other, noise = wide["error"][rival], wide["spread"][rival]
        level = own <= other + 2.0 * np.hypot(spread, noise) + 1e-12
        told = {"better": own <= other + 1e-12, "level": level, "hidden": np.isinf(own)}
        parts.append(pd.DataFrame(told)[other.notna()].assign(rival=rival))
    return pd.concat(parts)


def summary(cells):
    """Shares of cells where ours is better, or level, by rival, epsilon and statistic."""
    told = judged(cells)
    ways = (["rival", "epsilon"], ["rival", "statistic"], ["rival"])
    lines = [told.groupby(way)[VERDICTS].mean().round(3).to_string() for way in ways]
    medians = cells.groupby(["epsilon", "statistic", "name"])["error"].median().unstack()
    return "\n".join([*lines, "median errors", medians.round(5).to_string()])


def store(cells, held, folder):
    """Write what pages quote: counts of cells by table, median errors, and counts of intervals."""
    by_table = judged(cells).groupby(["table", "n", "d", "epsilon", "rival"])[VERDICTS]
    by_table.agg("sum").assign(cells=by_table.size()).to_csv(folder / "describe.csv")
    shared = cells.groupby("table")["name"].transform("nunique") == cells["name"].nunique()
    errors = cells[shared].assign(error=cells["error"].fillna(np.inf))
    medians = errors.groupby(["name", "epsilon", "statistic"])["error"].agg(
        lambda told: np.quantile(told, 0.5, method="lower")
    )
    medians.round(6).to_csv(folder / "describe_errors.csv")
    intervals = pd.DataFrame(held, columns=HELD).groupby(["table", "n mu", "kind"]).sum()
    intervals.to_csv(folder / "describe_intervals.csv")


def intervals(held):
    """How often intervals are given, and hold the table's own value, by the size of ``n * mu``."""
    frame = pd.DataFrame(held, columns=HELD)
    size = pd.cut(frame["n mu"], [0.0, 300.0, 1000.0, np.inf])
    sums = frame.groupby(["kind", size], observed=True)[["held", "given", "asked"]].sum()
    sums["holds"], sums["is given"] = sums["held"] / sums["given"], sums["given"] / sums["asked"]
    return sums.round(3).to_string()


def speed(n_rows, n_columns=20, n_runs=3):
    """Least processor time of quantiles and a description, beside NumPy's, in seconds."""
    kinds = simulated(n_rows)[["normal", "skewed", "ages", "zeros"]].to_numpy()
    table = np.ascontiguousarray(np.tile(kinds, n_columns // 4))
    promise = {"epsilon": 1.0, "delta": 0.1 / n_rows, "random_state": 0}
    asked = {
        "numpy, by column": lambda: [np.quantile(column, LEVELS) for column in table.T],
        "numpy, axis=0": lambda: np.quantile(table, LEVELS, axis=0),
        "tg.quantile": lambda: tg.quantile(table, LEVELS, **promise),
        "tg.describe": lambda: tg.describe(table, **promise),
    }
    for name, call in asked.items():
        taken = []
        for _ in range(n_runs + 1):  # the first one compiles
            start = time.process_time()
            call()
            taken.append(time.process_time() - start)
        print(f"{name:18} {min(taken[1:]):.3f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.3, 1.0, 3.0])
    parser.add_argument("--out", type=Path, help="a folder for what pages quote, as CSV")
    parser.add_argument("--opendp", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the table for --speed")
    given = parser.parse_args()
    warnings.simplefilter("ignore", BudgetWarning)
    if given.speed:
        speed(given.rows)
        return
    cells, held = [], []
    for path in given.tables or [Path("5000" if given.quick else "50000")]:
        found, counted = measure(path, given.epsilons, given.draws, given.opendp)
        cells += found
        held += counted
        frame = pd.DataFrame(cells, columns=HEADER)
        print(path.stem, flush=True)
        if given.out and not given.quick:
            store(frame, held, given.out)
    print(summary(frame))
    print("intervals", intervals(held), sep="\n")


if __name__ == "__main__":
    main()
