"""Accuracy of ``tg.describe`` on tables, compared with rivals that receive the true bounds.

    python benchmarks/bench_describe.py [TABLE.parquet ...] [--draws 10] [--methods tailguard tree]
        [--pieces FOLDER] [--out FOLDER]
    TAILGUARD_NUM_THREADS=1 python benchmarks/bench_describe.py --speed [--out FOLDER]
    python benchmarks/bench_describe.py --file TABLE.parquet --rows 20000000 [--out FOLDER]

Without tables, the table is simulated, of 50 000 records, or of 5 000 with ``--quick``. ``--speed``
measures only processor time on one thread, for quantiles of 20 columns. ``--file`` measures time
and memory on a file of five columns, which is written first if it does not exist.

For every numeric column the methods estimate five quantiles, the mean and the standard deviation,
all from one budget (epsilon, 1e-6), for replace-one neighbours. ``tailguard`` receives no facts
about the columns. Its rivals (``describe_rivals.py``) receive each column's smallest and largest
value, and split the same zCDP evenly over columns and statistics: five quantiles, mean and spread.

A piece is a table and a method. With ``--pieces`` each piece has a file in that folder, and a piece
that exists with as many draws is not measured again. So a long run continues where it stopped, and
methods with environments of their own add their pieces to the same folder. ``--out`` then writes
the figures that pages quote, from all pieces; with ``--speed`` and ``--file`` it updates
``describe_cost.json``.

An error is the distance to the table's own statistic over the larger of its interquartile range and
its standard deviation between the 1 % and 99 % quantiles. A cell is a column, a statistic and an
epsilon; its figure is the median over draws of noise, and a draw without an answer counts as
infinite: a cell is ``hidden`` if half of its draws are, and ``hidden once`` if any is. ``level``
counts cells where our error is smaller, or larger by at most two standard errors of the median.
Nothing here is private.
"""

import argparse
import json
import math
import tempfile
import time
import warnings
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import tailguard as tg
from describe_rivals import DELTA, LEVELS, RIVALS, STATISTICS, installed
from tailguard.checks import BudgetWarning

OURS = "tailguard"
ROW_GROUP = 1_000_000  # rows of a file that are written at once


def statistics(values):
    return np.array([*np.quantile(values, LEVELS), values.mean(), values.std()])


def unit_of(values):
    quartiles, ends = np.quantile(values, (0.25, 0.75)), np.quantile(values, (0.01, 0.99))
    middle = values[(values >= ends[0]) & (values <= ends[1])]
    return max(quartiles[1] - quartiles[0], middle.std(), 1e-12)


def simulated(name, seed=0):
    """Columns that are heavy, far, whole, often zero, rare or constant."""
    rng, n = np.random.default_rng(seed), int(name)
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
    if not path.exists():
        return simulated(path.name)
    table = pq.read_table(path).to_pandas()
    numbers = table.select_dtypes(["number", "bool"]).astype(float)
    return numbers.loc[:, numbers.notna().any()]


def by_us(table, columns, exact, epsilons, n_draws):
    """Answers by epsilon, draw, column and statistic; how often intervals hold, and are given."""
    answers = np.full((len(epsilons), n_draws, *exact.shape), math.nan)
    held, given = np.zeros((2, len(epsilons), *exact.shape), dtype=int)
    for (e, epsilon), seed in ((each, s) for each in enumerate(epsilons) for s in range(n_draws)):
        found = tg.describe(
            table, q=LEVELS, correlations=False, epsilon=epsilon, delta=DELTA, random_state=seed
        )
        moments = np.array([found.mean[0], found.std[0]]).T
        answers[e, seed] = np.hstack([found.quantiles[0], moments])
        low, high = (
            np.column_stack([quantiles[0], mean[0]])
            for quantiles, mean in (
                (found.quantiles_low, found.mean_low),
                (found.quantiles_high, found.mean_high),
            )
        )
        known, own = np.isfinite(low) & np.isfinite(high), exact[:, :-1]
        given[e, :, :-1] += known
        held[e, :, :-1] += known & (low <= own) & (own <= high)
    return answers, held, given


def by_rival(name, columns, exact, epsilons, n_draws):
    """Answers by epsilon, draw, column and statistic."""
    answers = np.full((len(epsilons), n_draws, *exact.shape), math.nan)
    for j, values in enumerate(columns):
        answer = RIVALS[name](values)
        for e, epsilon in enumerate(epsilons):
            rho = tg.ApproxDP(epsilon, DELTA).gaussian_mu() ** 2 / 2.0
            for draw in range(n_draws):
                rng = np.random.default_rng([draw, e, j])
                answers[e, draw, j] = answer(rho / (len(columns) * len(STATISTICS)), rng)
    return answers


def piece(path, name, epsilons, n_draws):
    """Median errors of a method on a table: a row per epsilon, column and statistic."""
    table = numbers_of(path)
    columns = [np.sort(table[each].dropna().to_numpy()) for each in table]
    exact = np.array([statistics(values) for values in columns])
    units = np.array([unit_of(values) for values in columns])[:, None]
    asked = columns, exact, epsilons, n_draws
    if name == OURS:
        answers, held, given = by_us(table, *asked)
    else:
        answers, held, given = by_rival(name, *asked), 0, 0
    errors = np.abs(answers - exact) / units
    hidden = np.isnan(errors)
    medians = np.median(np.where(hidden, np.inf, errors), axis=1)
    deviations = np.ma.array(errors, mask=hidden).std(axis=1).filled(0.0)
    index = pd.MultiIndex.from_product(
        [epsilons, table.columns, STATISTICS], names=["epsilon", "column", "statistic"]
    )
    told = {
        "error": np.where(hidden.all(axis=1), np.nan, medians),
        "spread": deviations * 1.2533 / math.sqrt(n_draws),
        "hidden": hidden.sum(axis=1),
        "held": held + np.zeros(errors[:, 0].shape, dtype=int),
        "given": given + np.zeros(errors[:, 0].shape, dtype=int),
    }
    frame = pd.DataFrame({key: part.ravel() for key, part in told.items()}, index).reset_index()
    facts = {"table": path.stem, "n": len(table), "d": len(columns), "name": name, "draws": n_draws}
    return frame.assign(**facts)


def kept(file):
    """Read a piece."""
    return pd.read_csv(file, dtype={"table": str, "column": str})


def measured(path, name, epsilons, n_draws, folder):
    """Return a piece, from its file if it is there."""
    file = folder / f"{path.stem}.{name}.csv"
    if file.exists():
        before = kept(file)
        if before["draws"].min() >= n_draws and set(epsilons) <= set(before["epsilon"]):
            return before
    start = time.process_time()
    found = piece(path, name, epsilons, n_draws)
    part = file.with_suffix(".part")
    found.to_csv(part, index=False)
    part.replace(file)  # a run that is stopped leaves no half a piece
    print(f"{path.stem} {name} {time.process_time() - start:.1f} s", flush=True)
    return found


CELL = ["table", "n", "d", "epsilon", "column", "statistic"]
VERDICTS = ["better", "level", "hidden", "hidden once"]


def judged(cells):
    """Of every cell and rival with an answer, whether ours is better, or level, or hidden."""
    parts, own = [], cells[cells["name"] == OURS].set_index(CELL)
    for rival, found in cells[cells["name"] != OURS].groupby("name"):
        other = found[np.isfinite(found["error"])].set_index(CELL)
        mine = own.reindex(other.index)
        mine = mine[mine["draws"].notna()]
        other = other.loc[mine.index]
        error = mine["error"].fillna(np.inf)
        noise = np.hypot(mine["spread"].fillna(0.0), other["spread"])
        told = {
            "better": error <= other["error"] + 1e-12,
            "level": error <= other["error"] + 2.0 * noise + 1e-12,
            "hidden": np.isinf(error),
            "hidden once": mine["hidden"] > 0.0,
            "draws": other["draws"],
        }
        parts.append(pd.DataFrame(told).assign(rival=rival))
    return pd.concat(parts)


def summary(cells):
    """Shares of cells where ours is better, or level, by rival, epsilon and statistic."""
    told = judged(cells)
    ways = (["rival", "epsilon"], ["rival", "statistic"], ["rival"])
    lines = [told.groupby(way)[VERDICTS].mean().round(3).to_string() for way in ways]
    medians = cells.groupby(["epsilon", "statistic", "name"])["error"].median().unstack()
    return "\n".join([*lines, "median errors", medians.round(5).to_string()])


def shared_errors(cells):
    """Median errors on the tables that the most methods have answered, of what a rival has.

    A method that was asked on less than a quarter of the tables is left out.
    """
    tables = cells.groupby("name")["table"].nunique()
    cells = cells[cells["name"].isin(tables.index[tables >= tables.max() / 4.0])]
    methods = cells.groupby("table")["name"].transform("nunique")
    errors = cells[methods == methods.max()]
    answers = errors.groupby(["name", "statistic"])["error"].transform("count")
    errors = errors[(answers > 0) | (errors["name"] == OURS)].fillna({"error": np.inf})
    return errors.groupby(["name", "epsilon", "statistic"])["error"].agg(
        lambda told: np.quantile(told, 0.5, method="lower")
    )


def counted_intervals(cells):
    """How many intervals hold the table's own value, are given, and were asked for."""
    own = cells[(cells["name"] == OURS) & (cells["statistic"] != "std")]
    mu = own["epsilon"].map(lambda epsilon: tg.ApproxDP(epsilon, DELTA).gaussian_mu())
    kind = np.where(own["statistic"] == "mean", "means", "quantiles")
    told = own.assign(kind=kind, asked=own["draws"], **{"n mu": own["n"] * mu})
    return told.groupby(["table", "n mu", "kind"])[["held", "given", "asked"]].sum()


def store(cells, folder):
    """Write what pages quote: counts of cells by table, median errors, and counts of intervals."""
    by_table = judged(cells).groupby(["table", "n", "d", "epsilon", "rival"])
    counts = by_table[VERDICTS].sum().assign(cells=by_table.size(), draws=by_table["draws"].min())
    counts.to_csv(folder / "describe.csv")
    shared_errors(cells).round(6).to_csv(folder / "describe_errors.csv")
    counted_intervals(cells).to_csv(folder / "describe_intervals.csv")


def intervals(cells):
    """How often intervals are given, and hold the table's own value, by the size of ``n * mu``."""
    frame = counted_intervals(cells).reset_index()
    size = pd.cut(frame["n mu"], [0.0, 300.0, 1000.0, np.inf])
    sums = frame.groupby(["kind", size], observed=True)[["held", "given", "asked"]].sum()
    sums["holds"], sums["is given"] = sums["held"] / sums["given"], sums["given"] / sums["asked"]
    return sums.round(3).to_string()


def store_cost(folder, **told):
    """Add to the stored costs, or put what was measured now in the place of what is there."""
    file = folder / "describe_cost.json"
    before = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps({**before, **told}, indent=1, sort_keys=True) + "\n")


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
    least = {}
    for name, call in asked.items():
        taken = []
        for _ in range(n_runs + 1):  # the first one compiles
            start = time.process_time()
            call()
            taken.append(time.process_time() - start)
        least[name] = round(min(taken[1:]), 3)
        print(f"{name:18} {least[name]:.3f} s", flush=True)
    return {f"{n_columns} columns of {n_rows} rows": least}


def write(file, n_rows):
    """Write a Parquet file of five columns in row groups of a million rows."""
    names, rows = ["normal", "skewed", "ages", "visits", "zeros"], 0
    with pq.ParquetWriter(file, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for seed in range(-(-n_rows // ROW_GROUP)):
            part = simulated(min(ROW_GROUP, n_rows - rows), seed)[names]
            writer.write_table(pa.Table.from_pandas(part, preserve_index=False))
            rows += len(part)


def out_of_core(n_rows, file):
    """Describe a file of many rows: time, processor time, and the most memory that it took."""
    if not file.exists():
        part = file.with_suffix(".part")
        writer = get_context("spawn").Process(target=write, args=(part, n_rows))
        writer.start()  # whose memory is not counted
        writer.join()
        part.replace(file)
    kilobytes = getrusage(RUSAGE_SELF).ru_maxrss
    start, work = time.perf_counter(), time.process_time()
    found = tg.describe(file, epsilon=1.0, delta=0.1 / n_rows, random_state=0)
    taken, worked = time.perf_counter() - start, time.process_time() - work
    most = getrusage(RUSAGE_SELF).ru_maxrss
    print(found)
    print(f"{n_rows} rows, {file.stat().st_size / 1e9:.2f} GB: {taken:.1f} s, {worked:.1f} s of "
          f"processor time, {most / 1024:.0f} MB, {kilobytes / 1024:.0f} before")  # fmt: skip
    return {f"file of {n_rows} rows": {"seconds": round(worked, 1), "MB": round(most / 1024)}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.3, 1.0, 3.0])
    parser.add_argument("--methods", nargs="+", default=[OURS, "exponential", "tree"],
                        choices=[OURS, *RIVALS])  # fmt: skip
    parser.add_argument("--most", type=int, help="leave out tables of more records than this")
    parser.add_argument("--pieces", type=Path, help="a folder of pieces to go on with")
    parser.add_argument("--out", type=Path, help="a folder for what pages quote, as CSV")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--file", type=Path, help="describe this Parquet file, written if need be")
    parser.add_argument("--rows", type=int, default=1_000_000, help="for --speed and --file")
    given = parser.parse_args()
    warnings.simplefilter("ignore", BudgetWarning)
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
    if given.speed or given.file:
        told = speed(given.rows) if given.speed else out_of_core(given.rows, given.file)
        if given.out:
            store_cost(given.out, **told)
        return
    if missing := set(given.methods) - {OURS, *installed()}:
        parser.error(f"--methods must be installed; {', '.join(sorted(missing))} is not.")
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.pieces or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for path in given.tables or [Path("5000" if given.quick else "50000")]:
            if given.most and path.exists() and pq.read_metadata(path).num_rows > given.most:
                continue
            for name in given.methods:
                measured(path, name, given.epsilons, given.draws, folder)
        cells = pd.concat(map(kept, sorted(folder.glob("*.csv"))), ignore_index=True)
    if given.out and not given.quick:
        store(cells, given.out)
    if cells["name"].nunique() > 1 and OURS in set(cells["name"]):
        print(summary(cells), "intervals", intervals(cells), sep="\n")


if __name__ == "__main__":
    main()
