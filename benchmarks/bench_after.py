"""Methods published after the five papers, compared with the theorems of the five.

    python benchmarks/bench_after.py [pure] [polytope] [population] [--quick]

A linear regression on independent columns with tails of Student's t(5), and residuals of t(3).
Figures are medians over seeds of half of the squared distance from the true weights, which is the
excess risk. The theorems of the papers promise zCDP of epsilon^2 / 2, which follows from pure DP.
NON-PRIVATE simulation: seeds determine noise and records.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

import tailguard as tg
from tailguard.papers import asi2024, hu2022, kamath2022, pure, tao2022, wang2020, xu2025, zhao2024

RESULTS = Path(__file__).parent / "results"
# Of a coordinate of the gradient within about 1 of the true weights (E x^4 = 9), and of its mean.
BOUND, REACH = 9.0, 3.0
SHAPE = {"strong_convexity": 1.0, "smoothness": 1.0}
OF_BALL = {"diameter": 4.0, "gradient_bound": REACH}
OF_L1 = {"constraint": tg.sets.L1Ball(1.0), "gradient_bound": REACH}


def zcdp(epsilon):
    """What the theorems of the papers promise."""
    return tg.ZCDP(epsilon**2 / 2.0)


@dataclass(frozen=True)
class Method:
    """How a solver is made for sizes and a promise, and what it promises at an epsilon."""

    make: Callable
    promise: Callable = zcdp
    on_the_set: bool = True


def theorem(call, kind, on_the_set=True, **told):
    """Return a theorem of a paper, with its moment in a kind."""

    def make(n_rows, width, promise):
        bound = {"norm": (BOUND * width) ** 2}.get(kind, BOUND)
        moment = tg.Moment(4.0 if kind == "norm" else 2.0, bound, kind=kind)
        more = {"row_limit": 2.0 * width**0.5} if kind == "norm" else {}
        return call(n_rows, width, promise, moment=moment, **told, **more)

    return Method(make, on_the_set=on_the_set)


def pure_descent(call, **told):
    """Return a descent in pure DP."""
    known = {"moment": tg.Moment(2.0, BOUND), **told}
    return Method(lambda n, d, promise: call(n, d, promise, **known), tg.PureDP)


def frank_wolfe(promise):
    """Return Frank-Wolfe under a promise."""
    told = {"moment": tg.Moment(2.0, BOUND, kind="raw"), "radius": 1.0, "smoothness": 1.0}
    return Method(lambda n, d, asked: hu2022.frank_wolfe(n, d, asked, **told), promise)


def population(order, chance=None):
    """Return localisation on the population, told a moment of the gradient's norm."""

    def make(_n_rows, width, _promise):
        return asi2024.PopulationLocalised(
            row_limit=2.0 * width**0.5,
            gradient_scale=(BOUND * width) ** 0.5,
            moment_order=order,
            diameter=4.0,
            failure_probability=chance,
        )

    return Method(make)


@dataclass(frozen=True)
class Table:
    """One comparison: what is measured, of whom, and what is said above it."""

    title: str
    told: str
    methods: dict
    sizes: tuple  # of records and columns
    epsilons: tuple
    truth: Callable  # of columns
    constraint: object
    n_seeds: int = 5


TABLES = {
    "pure": Table(
        "Descents in pure DP beside the papers'",
        "0.5 is that of zero weights. Theorems for convex losses take 50 steps.",
        {
            "pure, full steps": pure_descent(pure.convex_descent, **OF_BALL),
            "pure, blocks": pure_descent(
                pure.strongly_convex_descent, gradient_bound=REACH, **SHAPE
            ),
            "Kamath 5.2": theorem(kamath2022.convex, "central", n_steps=50, **OF_BALL),
            "Kamath 5.7": theorem(kamath2022.strongly_convex, "central", **OF_BALL, **SHAPE),
            "Tao 7": theorem(tao2022.strongly_convex, "raw", **OF_BALL, **SHAPE),
            "Wang 7": theorem(wang2020.smoothed_strongly_convex, "raw", **OF_BALL, **SHAPE),
            "Zhao 4": theorem(
                zhao2024.convex, "directional", n_steps=50, smoothness=1.0, diameter=4.0
            ),
        },
        ((30_000, 4), (100_000, 4)),
        (1.0, 10.0),
        lambda width: np.full(width, 0.5),
        tg.sets.L2Ball(2.0),
    ),
    "polytope": Table(
        "Frank-Wolfe on an l1 ball beside the papers' theorems",
        "Two weights are not zero; 0.26 is the excess of zero weights. Theorems take at most 30 "
        "steps. Tao 10 is sparse descent without the ball, told that two weights matter.",
        {
            "Frank-Wolfe, pure": frank_wolfe(tg.PureDP),
            "Frank-Wolfe, zCDP": frank_wolfe(zcdp),
            "Kamath 5.2": theorem(kamath2022.convex, "central", n_steps=30, **OF_L1),
            "Tao 6": theorem(tao2022.convex, "raw", n_steps=30, **OF_L1),
            "Tao 10, sparse": theorem(
                tao2022.sparse, "raw", on_the_set=False, diameter=2.0, n_nonzero=2, n_kept=4,
                **SHAPE,
            ),
            "Wang 8": theorem(
                wang2020.smoothed_convex, "raw", smoothness=1.0, n_steps=30, **OF_L1
            ),
            "Zhao 4": theorem(
                zhao2024.convex, "directional", smoothness=1.0, n_steps=30,
                constraint=OF_L1["constraint"],
            ),
            "Xu 1": theorem(xu2025.localised, "norm", constraint=OF_L1["constraint"]),
        },
        ((20_000, 10), (20_000, 300)),
        (1.0, 5.0),
        lambda width: np.array([0.6, 0.4] + [0.0] * (width - 2)),
        OF_L1["constraint"],
        3,
    ),
    "population": Table(
        "Localisation on the population beside the papers' theorems",
        "0.5 is that of zero weights. Theorems for convex losses take 50 steps. Xu 1, k = 4 and "
        "90 % are told a fourth moment of the gradient, which is not finite here.",
        {
            "population, k = 2": population(2.0),
            "population, k = 4": population(4.0),
            "population, 90 %": population(4.0, 0.1),
            "Xu 1": theorem(xu2025.localised, "norm", diameter=4.0),
            "Kamath 5.2": theorem(kamath2022.convex, "central", n_steps=50, **OF_BALL),
            "Tao 6": theorem(tao2022.convex, "raw", n_steps=50, **OF_BALL),
            "Wang 8": theorem(
                wang2020.smoothed_convex, "raw", smoothness=1.0, n_steps=50, **OF_BALL
            ),
            "Zhao 4": theorem(
                zhao2024.convex, "directional", n_steps=50, smoothness=1.0, diameter=4.0
            ),
        },
        ((30_000, 4), (300_000, 4)),
        (0.3, 1.0, 10.0),
        lambda width: np.full(width, width**-0.5),
        tg.sets.L2Ball(2.0),
    ),
}  # fmt: skip


def excess(table, method, sizes, epsilon, seed):
    """Return the excess risk of one run."""
    rng, truth = np.random.default_rng(seed), table.truth(sizes[1])
    promise = method.promise(epsilon)
    X = rng.standard_t(5.0, sizes) / (5.0 / 3.0) ** 0.5
    y = X @ truth + rng.standard_t(3.0, sizes[0]) / 3.0**0.5
    found = tg.minimize(
        tg.losses.Squared(), X, y, guarantee=promise, random_state=seed, check_records=False,
        solver=method.make(*sizes, promise),
        constraint=table.constraint if method.on_the_set else None,
    )  # fmt: skip
    return float(np.sum((found.coef - truth) ** 2)) / 2.0


def measure(name, *, quick):
    """Measure a table, and write it unless it is a glance."""
    table, rows = TABLES[name], []
    for sizes in table.sizes[: 1 if quick else None]:
        for epsilon in table.epsilons[: 1 if quick else None]:
            errors = (
                median(excess(table, method, sizes, epsilon, s) for s in range(table.n_seeds))
                for method in table.methods.values()
            )
            rows.append(
                [f"{sizes[0]:,}", str(sizes[1]), f"{epsilon:g}", *map("{:.2g}".format, errors)]
            )
            print(rows[-1], flush=True)
    if quick:
        return
    head = ["n", "d", "epsilon", *table.methods]
    lines = [
        f"<!-- python benchmarks/bench_after.py {name} -->",
        f"# {table.title}",
        f"Median excess risk over {table.n_seeds} seeds. {table.told} The papers' theorems promise "
        "zCDP of epsilon^2 / 2. NON-PRIVATE simulation.",
        "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]),
    ]
    (RESULTS / f"{name}.md").write_text("\n\n".join(lines) + "\n", encoding="utf-8")


def main():
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--quick", action="store_true", help="one row of each, and nothing is kept")
    asked = parser.parse_args()
    for name in asked.tables or TABLES:
        measure(name, quick=asked.quick)


if __name__ == "__main__":
    main()
