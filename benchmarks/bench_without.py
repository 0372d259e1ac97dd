"""What is each rule of the default worth? Fits of real tables without it, one rule at a time.

    python benchmarks/bench_without.py --data FOLDER [--rules NAME ...] [--draws 2] [--out FILE]

FOLDER contains the tables that ``benchmarks/accuracy/tables.py`` describes. A line is a rule and an
epsilon: the mean excess loss on rows held back, as a fraction of what the best constant loses, at
most 3 a table; and the tables that lose .03 more than with all rules, beyond twice the standard
deviation of the draws. Rules are left out by replacing names of the package while it runs. The
first line is of all rules. Seeds determine the noise: nothing here is private.
"""

import argparse
import json
import warnings
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np

import tailguard as tg
from accuracy.tables import tables_tasks
from tailguard.solvers.newton import allocation, choices, start, whitening

EPSILONS, SPLITS, LARGEST = (0.3, 1.0, 3.0), 3, 3.0
MODELS = {
    "squared": tg.LinearRegression,
    "logistic": partial(tg.LogisticRegression, classes=(0, 1)),
    "poisson": tg.PoissonRegression,
}


def other_regimes(*names):
    """Patch the budgets: the regimes of these names are left out."""
    kept = {name: each for name, each in allocation.REGIMES.items() if name not in names}
    return patch.object(allocation, "REGIMES", kept)


def other_histograms(**parts):
    """Patch the shares of histograms of columns."""
    return patch.dict(allocation.DETECTING, parts)


RULES = {
    "nothing": lambda: [],
    "farther bounds": lambda: [patch.object(choices, "EXTRA_BOUND", {})],
    "margin of farther bounds": lambda: [patch.object(choices, "MARGIN_OF_BOUNDS", 0.0)],
    "choice of bounds": lambda: [other_regimes("choice of bounds")],
    "shorter steps": lambda: [
        patch.object(whitening.StepShortening, "_shortened", lambda self, *_: self.matrix)
    ],
    "least curvature": lambda: [patch.object(whitening, "FLATTEST", 0.0)],
    "rows cut less": lambda: [
        patch.object(start, "choose_clip", partial(start.choose_clip, misfit=0.0))
    ],
    "few records": lambda: [other_regimes("few records")],
    "whitening only": lambda: [
        other_regimes("whitening only", "whitening only of a likelihood", "constant of counts")
    ],
    "balanced slopes": lambda: [patch.object(allocation, "BALANCED_BELOW", 0.0)],
    "larger debiasing": lambda: [patch.object(allocation, "DEBIASING_FACTOR", 0.0)],
    "second sizes": lambda: [
        other_histograms(size_retry=(0.0, 0.0)), patch.object(allocation, "LEAST_RETRY", 0.0)
    ],
    "rare events": lambda: [
        patch.object(start, "_without_correction_of_few", lambda session, fit: fit)
    ],
    "larger correction": lambda: [other_regimes("correction with many records")],
    "correction of outcomes": lambda: [other_regimes("correction of outcomes")],
}  # fmt: skip


def excesses(tasks, draws):
    """The excess of each draw: an array of tables, draws and epsilons."""
    found = np.empty((len(tasks), draws * SPLITS, len(EPSILONS)))
    for i, task in enumerate(tasks):
        for seed in range(draws * SPLITS):
            trial = task.trial(seed % SPLITS)
            y = trial.target.astype(int) if task.loss == "logistic" else trial.target
            for k, epsilon in enumerate(EPSILONS):
                promise = {"epsilon": epsilon, "delta": task.delta, "random_state": seed}
                model = MODELS[task.loss](**promise).fit(trial.features, y)
                found[i, seed, k] = min(trial.predicted(model) / trial.constant_gap, LARGEST)
    return found


def measure(tasks, rules, draws):
    """Yield a line for each rule and epsilon."""
    whole = excesses(tasks, draws)
    for name in rules:
        patches = RULES[name]()
        for each in patches:
            each.start()
        without = excesses(tasks, draws) if patches else whole
        for each in patches:
            each.stop()
        more = without.mean(axis=1) - whole.mean(axis=1)
        noise = np.hypot(without.std(axis=1), whole.std(axis=1)) / np.sqrt(whole.shape[1])
        for k, epsilon in enumerate(EPSILONS):
            lost = np.flatnonzero(more[:, k] > 0.03 + 2.0 * noise[:, k])
            yield {"without": name, "epsilon": epsilon, "tables": len(tasks),
                   "excess": round(float(without[:, :, k].mean()), 4),
                   "lose": {tasks[i].name: round(float(more[i, k]), 2) for i in lost}}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, help="folder of Parquet files")
    parser.add_argument("--rules", nargs="*", choices=RULES, default=list(RULES))
    parser.add_argument("--draws", type=int, default=2, help="draws of noise a split")
    parser.add_argument("--quick", action="store_true", help="three tables, two rules, one draw")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    tasks, rules, draws = tables_tasks(given.data), given.rules, given.draws
    if given.quick:
        tasks, rules, draws = tasks[:3], rules[:2], 1
    lines = []
    for line in measure(tasks, rules, draws):
        print(json.dumps(line), flush=True)
        lines.append(line)
    if given.out:
        given.out.write_text(json.dumps(lines, indent=1) + "\n")


if __name__ == "__main__":
    main()
