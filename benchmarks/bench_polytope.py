"""Frank-Wolfe on an l1 ball beside the theorems of the five papers on the same ball.

    python benchmarks/bench_polytope.py

A linear regression on many independent columns with tails of Student's t(5), residuals of t(3), and
two weights that are not zero. Frank-Wolfe promises epsilon, or zCDP of epsilon^2 / 2, which follows
from it; the theorems of the papers promise the latter and take at most 30 steps. Tao 10 is sparse
descent without the ball, told that two weights matter. Figures are medians over seeds of half of
the squared distance from the true weights, which is the excess risk.
NON-PRIVATE simulation: noise and records follow seeds.
"""

import argparse
from pathlib import Path
from statistics import median

import numpy as np

import tailguard as tg
from tailguard.papers import hu2022, kamath2022, tao2022, wang2020, xu2025, zhao2024

RESULTS = Path(__file__).parent / "results" / "polytope.md"
COMMAND = "python benchmarks/bench_polytope.py"
N_ROWS, N_SEEDS, MOST_STEPS = 20_000, 3, 30
WIDTHS, EPSILONS = (10, 300), (1.0, 5.0)
BALL, WEIGHTS = tg.sets.L1Ball(1.0), (0.6, 0.4)
# Of a coordinate of the gradient: as in bench_pure.py.
BOUND, REACH = 9.0, 3.0
SHAPE = {"strong_convexity": 1.0, "smoothness": 1.0}
STEPS = {"constraint": BALL, "gradient_bound": REACH, "n_steps": MOST_STEPS}


def zcdp(call, kind, **told):
    """Return how a theorem of a paper is made for columns and an epsilon."""

    def make(width, epsilon):
        bound = {"norm": (BOUND * width) ** 2}.get(kind, BOUND)
        moment = tg.Moment(4.0 if kind == "norm" else 2.0, bound, kind=kind)
        more = {"row_limit": 2.0 * width**0.5} if kind == "norm" else {}
        return call(N_ROWS, width, tg.ZCDP(epsilon**2 / 2.0), moment=moment, **told, **more)

    return make


def frank_wolfe(promise):
    """Return how Frank-Wolfe is made."""

    def make(width, epsilon):
        told = {"moment": tg.Moment(2.0, BOUND, kind="raw"), "radius": 1.0, "smoothness": 1.0}
        return hu2022.frank_wolfe(N_ROWS, width, promise(epsilon), **told)

    return make


METHODS = {
    "Frank-Wolfe, pure": frank_wolfe(tg.PureDP),
    "Frank-Wolfe, zCDP": frank_wolfe(lambda epsilon: tg.ZCDP(epsilon**2 / 2.0)),
    "Kamath 5.2": zcdp(kamath2022.convex, "central", **STEPS),
    "Tao 6": zcdp(tao2022.convex, "raw", **STEPS),
    "Tao 10, sparse": zcdp(tao2022.sparse, "raw", diameter=2.0, n_nonzero=2, n_kept=4, **SHAPE),
    "Wang 8": zcdp(wang2020.smoothed_convex, "raw", smoothness=1.0, **STEPS),
    "Zhao 4": zcdp(
        zhao2024.convex, "directional", constraint=BALL, smoothness=1.0, n_steps=MOST_STEPS
    ),
    "Xu 1": zcdp(xu2025.localised, "norm", constraint=BALL),
}


def excess(name, width, epsilon, seed):
    """Return the excess risk of one run."""
    rng, truth = np.random.default_rng(seed), np.zeros(width)
    truth[:2] = WEIGHTS
    X = rng.standard_t(5.0, (N_ROWS, width)) / (5.0 / 3.0) ** 0.5
    y = X @ truth + rng.standard_t(3.0, N_ROWS) / 3.0**0.5
    promise = tg.PureDP(epsilon) if name.endswith("pure") else tg.ZCDP(epsilon**2 / 2.0)
    found = tg.minimize(
        tg.losses.Squared(), X, y, guarantee=promise, random_state=seed, check_records=False,
        solver=METHODS[name](width, epsilon), constraint=None if "sparse" in name else BALL,
    )  # fmt: skip
    return float(np.sum((found.coef - truth) ** 2)) / 2.0


def main():
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the first case, and nothing is kept")
    quick = parser.parse_args().quick
    rows = []
    for width in WIDTHS[: 1 if quick else None]:
        for epsilon in EPSILONS[: 1 if quick else None]:
            errors = (
                median(excess(name, width, epsilon, seed) for seed in range(N_SEEDS))
                for name in METHODS
            )
            rows.append([f"{width}", f"{epsilon:g}", *(f"{each:.2g}" for each in errors)])
            print(rows[-1], flush=True)
    if quick:
        return
    zero = sum(weight**2 for weight in WEIGHTS) / 2.0
    head = [["d", "epsilon", *METHODS], ["---"] * (2 + len(METHODS))]
    lines = [
        f"<!-- {COMMAND} -->",
        "# Frank-Wolfe on an l1 ball beside the papers' theorems",
        f"Median excess risk over {N_SEEDS} seeds, n = {N_ROWS:,}, radius 1; {zero:.2g} is that of "
        "zero weights. All but the first promise zCDP of epsilon^2 / 2. NON-PRIVATE simulation.",
        "\n".join("| " + " | ".join(row) + " |" for row in head + rows),
    ]
    RESULTS.write_text("\n\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
