"""Coverage of the intervals of ``tg.describe`` for quantiles and means of known distributions.

    python benchmarks/bench_laws.py [--quick] [--seeds N] [--out FILE.csv]

Each seed draws tables of ten columns, one distribution each, with few and with many records, and
describes them at epsilon 1. A line of the file is a size, a kind of distribution and a statistic:
the number of intervals given, and the number of these that cover the true value. "n mu" is the
number of records times mu over the root of the number of columns. Seeds determine the noise:
nothing is private.
"""

import argparse
import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

import tailguard as tg
from tailguard.checks import BudgetWarning

SIZES, N_SEEDS = (4_000, 30_000), 100
QUICK_SIZES, QUICK_SEEDS = (4_000,), 3
PROMISE = {"epsilon": 1.0, "delta": 1e-6}
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
LAWS = {
    "smooth": [stats.norm(), stats.t(3), stats.lognorm(1.0), stats.gamma(0.7), stats.expon(),
               stats.uniform(-1.0, 2.0)],
    "whole": [stats.poisson(1.0), stats.poisson(20.0), stats.randint(18, 91),
              stats.nbinom(2, 0.1)],
}  # fmt: skip


def described(n_rows, seed):
    """Yield kind, statistic, and whether an interval is given and holds, of one table."""
    rng = np.random.default_rng([seed, n_rows])
    laws = [(kind, law) for kind, those in LAWS.items() for law in those]
    drawn = [law.rvs(n_rows, random_state=rng).astype(float) for _, law in laws]
    table = pd.DataFrame(dict(enumerate(drawn))).rename(columns=str)
    found = tg.describe(table, q=LEVELS, correlations=False, random_state=seed, **PROMISE)
    for place, (kind, law) in enumerate(laws):
        for statistic, own, low, high in (
            ("quantiles", law.ppf(LEVELS), found.quantiles_low, found.quantiles_high),
            ("mean", law.mean(), found.mean_low, found.mean_high),
        ):
            ends = low[0][place], high[0][place]
            given = np.isfinite(ends).all(axis=0)
            held = given & (ends[0] <= own) & (own <= ends[1])
            yield kind, statistic, int(given.sum()), int(held.sum()), np.size(own)


def measured(sizes, n_seeds):
    """Return the counts by size, kind of law and statistic."""
    mu = tg.ApproxDP(**PROMISE).gaussian_mu()
    columns = ["kind", "statistic", "given", "held", "asked"]
    parts = []
    for n_rows in sizes:
        lines = [line for seed in range(n_seeds) for line in described(n_rows, seed)]
        size = n_rows * mu / math.sqrt(sum(map(len, LAWS.values())))
        parts.append(pd.DataFrame(lines, columns=columns).assign(**{"n mu": round(size)}))
    return pd.concat(parts).groupby(["n mu", "kind", "statistic"], sort=False).sum()


def main():
    """Print the counts, and keep them where asked."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few records and seeds; keeps nothing")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore", BudgetWarning)
    n_seeds = given.seeds or (QUICK_SEEDS if given.quick else N_SEEDS)
    found = measured(QUICK_SIZES if given.quick else SIZES, n_seeds)
    print(found.assign(share=found["held"] / found["given"]).round(3).to_string())
    if given.out and not given.quick:
        found.to_csv(given.out)


if __name__ == "__main__":
    main()
