"""Intervals of private means: do they hold the mean of the records, and how wide are they?

    python benchmarks/bench_mean_intervals.py [--tables FILE.parquet ...] [--seeds 4] [--out FILE]

Every numeric column of a table gets its mean alone, and all columns of it together, at epsilon 1
and 4. Without tables, columns are drawn from simulated laws, on which the rule was chosen. Columns
are grouped by their shape. A width is half of an interval over 1.96, in the noise that the result
states, and in the sampling error of a mean without privacy; both are medians. NON-PRIVATE: seeds
determine the noise.
"""

import argparse
import json
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import tailguard as tg

EPSILONS, DELTA, Z = (1.0, 4.0), 1e-6, 1.96
SIZES, QUICK_SIZES = (1_000, 10_000, 40_000), (2_000,)


def laws(rng):
    """Name -> a draw of ``n`` records."""

    def or_zero(share, draw):
        return lambda n: np.where(rng.random(n) < share, 0.0, draw(n))

    found = {
        "normal": rng.standard_normal,
        "uniform": rng.random,
        "exponential": lambda n: rng.exponential(1.0, n),
        "beta": lambda n: rng.beta(5.0, 1.0, n),
        "far": lambda n: 2000.0 + 10.0 * rng.standard_normal(n),
        "far, skewed": lambda n: 2015.0 - rng.exponential(3.0, n),
        "counts": lambda n: rng.poisson(3.0, n).astype(float),
        "grades": lambda n: 4.0 - np.minimum(rng.geometric(0.6, n), 4),
        "grades from 20": lambda n: 20.0 + rng.integers(0, 4, n),
    }
    for share in (0.02, 0.1, 0.3):
        found[f"indicator of {share}"] = lambda n, share=share: (rng.random(n) < share) * 1.0
    for index in (1.5, 2.0, 3.0, 5.0):
        found[f"pareto({index})"] = lambda n, index=index: rng.pareto(index, n)
    for freedom in (2.0, 3.0, 5.0):
        found[f"t({freedom})"] = lambda n, freedom=freedom: rng.standard_t(freedom, n)
    for spread in (0.5, 1.0, 1.5, 2.0):
        found[f"lognormal({spread})"] = lambda n, spread=spread: rng.lognormal(0.0, spread, n)
    for share in (0.5, 0.8, 0.95):
        found[f"{share} zeros, pareto(2)"] = or_zero(share, lambda n: rng.pareto(2.0, n))
        found[f"{share} zeros, counts"] = or_zero(share, lambda n: 1.0 + rng.geometric(0.5, n))
    for share in (0.95, 0.99, 0.997):
        found[f"{share} ones"] = lambda n, share=share: np.where(
            rng.random(n) < share, 1.0, rng.random(n)
        )
    return found


def kind_of(x):
    """The shape of a column; NON-PRIVATE."""
    values, counts = np.unique(x, return_counts=True)
    centred = (x - x.mean()) / x.std()
    tests = {
        "two values": values.size == 2,
        "mostly zero": np.mean(x == 0.0) >= 0.5,
        "mostly one value": counts.max() >= 0.9 * x.size,
        "few values": values.size <= 12,
        "far from zero": abs(x.mean()) > 10.0 * x.std(),
        "heavy": np.mean(centred**4) > 12.0,
    }
    return next((name for name, is_true in tests.items() if is_true), "light")


def simulated(sizes, seed):
    """Tables of all laws together, in sizes."""
    rng = np.random.default_rng(seed)
    for n in sizes:
        yield np.column_stack([draw(n) for draw in laws(rng).values()]).astype(float)


def read(path):
    """The finite numeric columns of a file that vary."""
    table = pq.read_table(path).to_pandas().select_dtypes(["number", "bool"]).astype(float)
    X = table.to_numpy()
    return X[:, np.isfinite(X).all(axis=0) & (X.std(axis=0) > 0.0)]


def measure(X, epsilon, seed, lines):
    """Add a line per column, alone and among all."""
    kinds = [kind_of(x) for x in X.T]
    sampling = X.std(axis=0) / np.sqrt(len(X))
    promise = {"epsilon": epsilon, "delta": DELTA, "random_state": seed}
    together = tg.mean(X, **promise)
    alone = [tg.mean(x, **promise) for x in X.T.copy()]
    for how, low, high, noise in (
        ("together", together.low, together.high, together.noise_std),
        (
            "alone",
            *(np.array([getattr(one, a) for one in alone]) for a in ("low", "high", "noise_std")),
        ),
    ):
        held = (low <= X.mean(axis=0)) & (X.mean(axis=0) <= high)
        half = (high - low) / 2.0 / Z
        by_noise = np.abs((low + high) / 2.0 - X.mean(axis=0)) <= Z * noise
        columns = (np.isfinite(low), held, by_noise, half / noise, half / sampling)
        for row in zip(kinds, *columns, strict=True):
            lines[how, row[0], epsilon].append(row[1:])


def summary(lines):
    """A dict per cell."""
    for (how, kind, epsilon), rows in sorted(lines.items()):
        given, held, by_noise, in_noise, in_sampling = np.array(rows, dtype=float).T
        seen = given > 0.0
        yield {
            "columns": how,
            "kind": kind,
            "epsilon": epsilon,
            "runs": len(rows),
            "given": round(float(seen.mean()), 3),
            "held": shown(np.mean, held[seen]),
            "held by noise alone": shown(np.mean, by_noise[seen]),
            "width in noise": shown(np.median, in_noise[seen]),
            "width in sampling": shown(np.median, in_sampling[seen]),
        }


def shown(average, values):
    """A rounded average, or None without values."""
    return round(float(average(values)), 3) if values.size else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", nargs="*", default=[])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, help="keep the figures, beside those of other sources")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", tg.BudgetWarning)  # of a thousand records and thirty columns
    lines = defaultdict(list)
    for seed in range(1 if asked.quick else asked.seeds):
        sizes = QUICK_SIZES if asked.quick else SIZES
        for X in map(read, asked.tables) if asked.tables else simulated(sizes, seed):
            for epsilon in EPSILONS:
                measure(X, epsilon, seed, lines)
    rows = [*summary(lines)]
    for row in rows:
        print(*row.values(), sep="\t")
    if asked.out and not asked.quick:
        kept = json.loads(asked.out.read_text()) if asked.out.exists() else {}
        kept["tables" if asked.tables else "simulated"] = rows
        asked.out.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
