"""Descents in pure DP beside those of Kamath, Tao, Wang and Zhao, which promise less.

    python benchmarks/bench_pure.py

A linear regression on independent columns with tails of Student's t(5), and residuals of t(3). The
pure descents promise epsilon, the papers' zCDP of epsilon^2 / 2, which follows from it. Figures are
medians over seeds of half of the squared distance from the true weights, which is the excess risk.
Theorems for convex losses take 50 steps.
NON-PRIVATE simulation: noise and records follow seeds.
"""

import argparse
from pathlib import Path
from statistics import median

import numpy as np

import tailguard as tg
from tailguard.papers import kamath2022, pure, tao2022, wang2020, zhao2024

RESULTS = Path(__file__).parent / "results" / "pure.md"
COMMAND = "python benchmarks/bench_pure.py"
N_FEATURES, N_SEEDS, RADIUS = 4, 5, 2.0
SIZES, EPSILONS, MOST_STEPS = (30_000, 100_000), (1.0, 10.0), 50
TRUTH = np.full(N_FEATURES, 0.5)  # of length 1
# Of a coordinate of the gradient within about 1 of the true weights (E x^4 = 9), and of its mean.
BOUND, REACH = 9.0, 3.0
SHAPE = {"strong_convexity": 1.0, "smoothness": 1.0}
FACTS = {"diameter": 2.0 * RADIUS, "gradient_bound": REACH}


def moment(kind):
    """Return the bound in a kind."""
    return tg.Moment(2.0, BOUND, kind=kind)


def zcdp(call, kind, **told):
    """Return how a theorem of a paper is made for sizes and an epsilon."""

    def make(n_rows, epsilon):
        return call(n_rows, N_FEATURES, tg.ZCDP(epsilon**2 / 2.0), moment=moment(kind), **told)

    return make


METHODS = {
    "pure, full steps": lambda n, eps: pure.convex_descent(
        n, N_FEATURES, tg.PureDP(eps), moment=moment("central"), **FACTS
    ),
    "pure, blocks": lambda n, eps: pure.strongly_convex_descent(
        n, N_FEATURES, tg.PureDP(eps), moment=moment("central"), gradient_bound=REACH, **SHAPE
    ),
    "Kamath 5.2": zcdp(kamath2022.convex, "central", n_steps=MOST_STEPS, **FACTS),
    "Kamath 5.7": zcdp(kamath2022.strongly_convex, "central", **FACTS, **SHAPE),
    "Tao 7": zcdp(tao2022.strongly_convex, "raw", **FACTS, **SHAPE),
    "Wang 7": zcdp(wang2020.smoothed_strongly_convex, "raw", **FACTS, **SHAPE),
    "Zhao 4": zcdp(
        zhao2024.convex,
        "directional",
        n_steps=MOST_STEPS,
        smoothness=1.0,
        diameter=FACTS["diameter"],
    ),
}


def excess(name, n_rows, epsilon, seed):
    """Return the excess risk of one run."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(5.0, (n_rows, N_FEATURES)) / (5.0 / 3.0) ** 0.5
    y = X @ TRUTH + rng.standard_t(3.0, n_rows) / 3.0**0.5
    solver = METHODS[name](n_rows, epsilon)
    promise = tg.PureDP(epsilon) if name.startswith("pure") else tg.ZCDP(epsilon**2 / 2.0)
    found = tg.minimize(
        tg.losses.Squared(), X, y, guarantee=promise, constraint=tg.sets.L2Ball(RADIUS),
        solver=solver, random_state=seed, check_records=False,
    )  # fmt: skip
    return float(np.sum((found.coef - TRUTH) ** 2)) / 2.0


def main():
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the first case, and nothing is kept")
    quick = parser.parse_args().quick
    rows = []
    for n_rows in SIZES[: 1 if quick else None]:
        for epsilon in EPSILONS[: 1 if quick else None]:
            errors = (
                median(excess(name, n_rows, epsilon, seed) for seed in range(N_SEEDS))
                for name in METHODS
            )
            rows.append([f"{n_rows:,}", f"{epsilon:g}", *(f"{each:.2g}" for each in errors)])
            print(rows[-1], flush=True)
    if quick:
        return
    head = [["n", "epsilon", *METHODS], ["---"] * (2 + len(METHODS))]
    lines = [
        f"<!-- {COMMAND} -->",
        "# Descents in pure DP beside the papers'",
        f"Median excess risk over {N_SEEDS} seeds, d = {N_FEATURES}; 0.5 is that of zero weights. "
        "The papers' promise zCDP of epsilon^2 / 2. NON-PRIVATE simulation.",
        "\n".join("| " + " | ".join(row) + " |" for row in head + rows),
    ]
    RESULTS.write_text("\n\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
