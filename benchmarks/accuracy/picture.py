"""The picture of the README: default fits on real tables, and what one could use instead.

    python -m accuracy.picture --data FOLDER [--jobs 2] [--results FOLDER]

FOLDER holds the tables of the suite ``tables``. All of them count, none is chosen: three splits
each, at epsilon 0.3, 1 and 3. Lines that ``--results`` has are not run again; without ``--data``
the picture is drawn from them and what is kept of peers. Writes ``tables.csv`` and ``tables.png``
there.

A table's number is the excess risk over the best linear fit without privacy, as a share of what a
constant loses, on test rows; its mean over tables counts at most ``MOST`` of each.
"""

import argparse
import csv
from pathlib import Path

import numpy as np

from accuracy import __main__ as benchmark
from accuracy import chosen
from accuracy.cells import NON_PRIVATE, OURS, RIVAL, gather
from accuracy.figure import DEFAULT, STYLES
from accuracy.lines import read

SUITE, SEEDS, EPSILONS = "tables", 3, (0.3, 1.0, 3.0)
MOST = 1.5  # half as much again as a constant loses: worse is useless, however much worse it is
TITLES = {"squared": "least squares", "logistic": "logistic", "poisson": "Poisson"}
CURVES = {
    OURS: "tailguard: default, all paid for",
    RIVAL: "DP-GD, tuned on the test rows for free",
    "AdaSSP, oracle-tuned": "AdaSSP, tuned on the test rows for free",
    NON_PRIVATE: "a fit without privacy",
}
HEAD = ("loss", "tables", "epsilon", "method", "mean", "worse_than_constant")


def run(folder, results, jobs):
    """Run what the lines lack of the drawn methods."""
    words = [f"--data={folder}", f"--results={results}", f"--seeds={SEEDS}", f"--jobs={jobs}"]
    words += [f"--epsilon={epsilon}" for epsilon in EPSILONS]
    words += [f"--method={name}" for name in CURVES if name != NON_PRIVATE]
    benchmark.run_suite(SUITE, benchmark.arguments(words))


def rows_of(cells):
    """Return a row for each loss, epsilon and curve: mean over tables, and how many are useless."""
    rows = []
    for loss in TITLES:
        for epsilon in EPSILONS:
            own = [cell for cell in cells if (cell.loss, cell.epsilon) == (loss, epsilon)]
            for method in CURVES:
                shares = [cell.mean(method) / cell.gap for cell in own if method in cell.excess]
                if shares:
                    mean = f"{np.minimum(shares, MOST).mean():.4f}"
                    worse = sum(share > 1.0 for share in shares)
                    rows.append((loss, len(shares), epsilon, method, mean, worse))
    return rows


def draw(rows, path):
    """Draw a panel a loss."""
    import matplotlib as mpl  # noqa: PLC0415 - only where a plot is wanted

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    plot, axes = plt.subplots(1, len(TITLES), figsize=(9.6, 3.4), sharey=True)
    for axis, (loss, title) in zip(axes, TITLES.items(), strict=True):
        own = [row for row in rows if row[0] == loss]
        for method, words in CURVES.items():
            points = [(row[2], float(row[4])) for row in own if row[3] == method]
            if points:
                axis.plot(*zip(*points, strict=True), label=words, **(DEFAULT | STYLES[method]))
        axis.axhline(1.0, color="#999999", linewidth=0.8, zorder=0, label="a constant")
        axis.axhline(0.0, color="#cccccc", linewidth=0.8, zorder=0)
        axis.set(xscale="log", xlabel="epsilon", ylim=(-0.05, 1.05))
        axis.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
        axis.minorticks_off()
        axis.set_title(f"{title}: {max((row[1] for row in own), default=0)} tables", fontsize=10)
    axes[0].set_ylabel("mean excess risk\n0: best on test rows, 1: a constant")
    handles = axes[0].get_legend_handles_labels()
    plot.legend(*handles, loc="lower center", ncols=3, fontsize=8, frameon=False)
    plot.tight_layout(rect=(0, 0.13, 1, 1))
    plot.savefig(path, dpi=120)
    plt.close(plot)


def write(results):
    """Write the numbers and the picture from the lines of a folder."""
    kept = [line for line in chosen.read(results) if line["suite"] == SUITE]
    lines = chosen.fill(read(results / "lines" / f"{SUITE}.jsonl"), kept)
    rows = rows_of(gather(lines))
    with (results / "tables.csv").open("w", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows([HEAD, *rows])
    draw(rows, results / "tables.png")


def main(words=None):
    """Read the command line, run what is missing, and draw."""
    parser = argparse.ArgumentParser(prog="python -m accuracy.picture")
    parser.add_argument("--data", help="folder of the tables; without it nothing is run")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--results", type=Path, default=benchmark.RESULTS)
    asked = parser.parse_args(words)
    if asked.data:
        run(asked.data, asked.results, asked.jobs)
    write(asked.results)


if __name__ == "__main__":
    main()
