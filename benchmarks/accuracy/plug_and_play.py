"""Explained variance on public sets of published comparisons, by methods that ask for no bounds.

    PYTHONPATH=benchmarks python -m accuracy.plug_and_play --data FOLDER

The sets are those of the suites 297 and 299 of OpenML (Grinsztajn, Oyallon and Varoquaux 2022),
on which Tang and others 2023 and Dick, Gillenwater and Joseph 2023 compare; sets whose file is not
in FOLDER are left out, with a sentence. A fifth of the records, drawn once, is the test set;
categories become indicators. Targets of money are run as they are, and as logarithms.

A number is the median R2 on the test set over ``SEEDS`` fits. All take raw columns and a constant.
"""

import argparse
import csv
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tailguard as tg
from accuracy import peers, tukey
from accuracy.lines import generator
from accuracy.real import RealSet, available, read

BUDGETS = {"ln 3, 1e-5": (math.log(3.0), 1e-5), "1, 1e-6": (1.0, 1e-6)}  # of the two papers
SEEDS = 10
RIDES = ("instant", "dteday", "casual", "registered")
SETS = (
    RealSet("cpu_act", "squared", "target"),
    RealSet("pol", "squared", "target"),
    RealSet("elevators", "squared", "target"),
    RealSet("ailerons", "squared", "target"),
    RealSet("wine_quality", "squared", "target"),
    RealSet("houses", "squared", "target"),
    RealSet("california", "squared", "target"),
    RealSet("diamonds", "squared", "price"),
    RealSet("kc_house", "squared", "price", None, ("id", "date", "zipcode")),
    RealSet("bike_hour", "squared", "cnt", None, RIDES),
    RealSet("online_news_part", "squared", "shares", None, ("url", "timedelta")),
)
MONEY = {"houses", "california", "diamonds", "kc_house"}
HEAD = ("set", "n", "d", "budget", "method", "r2_median", "positive", "fits")


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test records of a set, with a constant."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    def explained(self, predicted):
        """R2 on the test records."""
        return 1.0 - np.mean((self.y_test - predicted) ** 2) / np.var(self.y_test)


def ours(split, epsilon, delta, rng):
    """Predict by the default fit."""
    seed = int(rng.integers(2**31))
    model = tg.LinearRegression(epsilon=epsilon, delta=delta, random_state=seed)
    return model.fit(split.X[:, :-1], split.y).predict(split.X_test[:, :-1])


def tukey_em(split, epsilon, delta, rng):
    """Predict by TukeyEM; zero where it has no answer, as its authors have it."""
    found = tukey.tukey(tukey.fits_of_parts(split.X, split.y, rng), epsilon, delta, rng)
    return split.X_test @ (np.zeros(split.X.shape[1]) if found is None else found)


def boosted(split, epsilon, delta, rng):
    """Predict by BoostedAdaSSP at its published bounds, which hold rows of the test set as well."""
    weights = peers.boosted_adassp(split.X, split.y, peers.budget(epsilon, delta), rng)
    return peers.clip_rows(split.X_test, 1.0) @ weights


METHODS = {"tailguard": ours, "TukeyEM": tukey_em, "BoostedAdaSSP": boosted}


def splits(folder, real):
    """Yield a name and the split of a set, then of logarithms where the target is money."""
    (X, y), (test_X, test_y) = read(folder, real)
    X, test_X = (np.column_stack([part, np.ones(len(part))]) for part in (X, test_X))
    yield real.file, Split(X, y, test_X, test_y)
    if real.file in MONEY:
        yield f"{real.file}, log", Split(X, np.log(y), test_X, np.log(test_y))


def rows_of(name, split):
    """Yield a row a budget and method, the first without privacy."""
    facts = name, len(split.y), split.X.shape[1] - 1
    weights = np.linalg.lstsq(split.X, split.y, rcond=None)[0]
    plain = split.explained(split.X_test @ weights)
    yield *facts, "", "least squares", f"{plain:.4f}", int(plain > 0), 1
    for words, (epsilon, delta) in BUDGETS.items():
        for method, predict in METHODS.items():
            found = [
                split.explained(
                    predict(split, epsilon, delta, generator(name, seed, epsilon, method))
                )
                for seed in range(SEEDS)
            ]
            positive = sum(value > 0 for value in found)
            yield *facts, words, method, f"{np.median(found):.4g}", positive, SEEDS


def main(folder, results):
    """Run all sets, write a file of figures, and print how many are explained."""
    here, gone = available(folder, SETS)
    print("Left out, since the folder has no file:", ", ".join(one.file for one in gone) or "none")
    rows = []
    for real in here:
        for name, split in splits(folder, real):
            for row in rows_of(name, split):
                print(*row, sep="\t", flush=True)
                rows.append(row)
    with (results / "plug_and_play.csv").open("w", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows([HEAD, *rows])
    able = {row[0] for row in rows if row[4] == "least squares" and row[6]}
    for words in BUDGETS:
        for method in METHODS:
            own = [row for row in rows if row[0] in able and row[3:5] == (words, method)]
            positive = sum(float(row[5]) > 0 for row in own)
            print(f"{words}: {method}: median R2 above zero on {positive} of {len(own)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m accuracy.plug_and_play")
    parser.add_argument("--data", required=True, help="folder of Parquet files")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results")
    asked = parser.parse_args()
    main(asked.data, asked.results)
