"""CoinPress, range-then-mean and the means of the five papers, on light and heavy tails.

    python benchmarks/bench_coinpress.py

Records have independent columns of standard deviation 1 around means of 3. CoinPress and the mean
after Kamath, Singhal and Ullman receive this deviation and a radius of 100; the papers' means
receive a bound on the second moment, which their theorems need; tg.mean receives nothing. Figures
are median l2 errors over seeds at the same guarantee, with the least noise that satisfies it.
NON-PRIVATE simulation: seeds determine noise and records.
"""

import argparse
from pathlib import Path
from statistics import median

import numpy as np

import tailguard as tg

RESULTS = Path(__file__).parent / "results" / "coinpress.md"
COMMAND = "python benchmarks/bench_coinpress.py"
N_ROWS, N_FEATURES, N_SEEDS, SHIFT = 20_000, 10, 10, 3.0
PROMISES = {"rho = 0.005": tg.ZCDP(0.005), "rho = 0.5": tg.ZCDP(0.5)}
# Law -> draws of mean 0 and standard deviation 1.
LAWS = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "Student's t(3)": lambda rng, size: rng.standard_t(3.0, size) / 3.0**0.5,
    "Pareto(3)": lambda rng, size: (rng.pareto(3.0, size) - 0.5) / 0.75**0.5,
    "lognormal": lambda rng, size: (rng.lognormal(size=size) - np.e**0.5) / (np.e**2 - np.e) ** 0.5,
}
# About the origin, where the papers' moments are.
ABOUT_ZERO = 1.0 + SHIFT**2
KINDS = {"central": 1.0, "raw": ABOUT_ZERO, "directional": 1.0 + N_FEATURES * SHIFT**2}


def moment(kind):
    """Return a bound on the second moment in the kind that a paper takes."""
    return tg.Moment(2.0, KINDS[kind], kind=kind)


PAPERS = tg.papers
METHODS = {
    "CoinPress": lambda X, **how: PAPERS.biswas2020.mean(X, radius=100.0, scale=1.0, **how),
    "Kamath, Singhal and Ullman": lambda X, **how: PAPERS.ksu2020.mean(
        X, radius=100.0, scale=1.0, **how
    ),
    "Kamath, clamped": lambda X, **how: PAPERS.kamath2022.clamped_mean(
        X, moment=moment("central"), **how
    ),
    "Tao, truncated": lambda X, **how: PAPERS.tao2022.truncated_mean(
        X, moment=moment("raw"), **how
    ),
    "Wang, soft": lambda X, **how: PAPERS.wang2020.soft_mean(X, moment=moment("raw"), **how),
    "Zhao, clipped": lambda X, **how: PAPERS.zhao2024.clipped_mean(
        X, moment=moment("directional"), **how
    ),
    "Zhao, iterative": lambda X, **how: PAPERS.zhao2024.iterative_mean(
        X, moment=moment("directional"), n_groups=50, **how
    ),
    "tg.mean, told nothing": tg.mean,
}


def error(method, law, promise, seed):
    """Return the l2 error of one run."""
    X = SHIFT + LAWS[law](np.random.default_rng(seed), (N_ROWS, N_FEATURES))
    found = METHODS[method](X, guarantee=PROMISES[promise], random_state=seed)
    return float(np.linalg.norm(found.value - SHIFT))


def main():
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the first case, and nothing is kept")
    quick = parser.parse_args().quick
    rows = []
    for law in list(LAWS)[: 1 if quick else None]:
        for promise in list(PROMISES)[: 1 if quick else None]:
            errors = (
                median(error(method, law, promise, seed) for seed in range(N_SEEDS))
                for method in METHODS
            )
            rows.append([law, promise, *(f"{each:.2g}" for each in errors)])
            print(rows[-1], flush=True)
    if quick:
        return
    lines = [
        f"<!-- {COMMAND} -->",
        "# CoinPress and range-then-mean beside the papers' means",
        f"Median l2 error over {N_SEEDS} seeds, n = {N_ROWS:,}, d = {N_FEATURES}, columns of "
        "standard deviation 1. NON-PRIVATE simulation.",
        "\n".join("| " + " | ".join(row) + " |" for row in [
            ["law", "promise", *METHODS], ["---"] * (2 + len(METHODS)), *rows
        ]),
    ]  # fmt: skip
    RESULTS.write_text("\n\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
