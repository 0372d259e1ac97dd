"""Fits of several classes and the best fit without privacy, on simulated and real tables.

    python benchmarks/bench_classes.py [--quick] [--seeds N] [--out FILE.csv]
                                       [FILE.parquet:TARGET ...]

A line is a distribution of the classes or a table, an epsilon, and results over seeds. "explained"
is the gain in mean log-loss of the private fit over the best constant, as a fraction of the gain of
scikit-learn's optimum on features within the same bounds: median and minimum. "above" is the median
log-loss above that of the optimum, in percent. "beyond" is the largest excess of a fit over the
constant's log-loss over seeds, in percent of that loss; zero if no fit exceeds it. "constant" is
the number of fits that consist of the class shares alone. "given" is the number of slopes of all
fits with an interval, and "hold" the number of these intervals that cover the simulated difference
to the first class or, for a table, that of the optimum.

Simulated features are a measurement far from zero, an indicator, and normal and lognormal columns;
scores of classes are linear in them. In a file, TARGET is the name of the target column. Text
columns with at most a dozen values become indicators, other text columns are dropped, and missing
cells become the median. Seeds determine the noise: nothing here is private.
"""

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

import tailguard as tg

N_ROWS, QUICK_N_ROWS, N_FEATURES = 20_000, 3_000, 5
EPSILONS = (0.3, 1.0, 3.0, 100.0)
DELTA = 1e-6
LARGE_MU = 10.0  # of epsilon 100, at which noise is not sampled as (epsilon, delta)
N_SEEDS, QUICK_SEEDS = 5, 1
HEADER = ("classes", "n", "columns", "number", "epsilon", "fits", "explained", "least")
HEADER += ("above", "beyond", "constant", "given", "hold")
MOST_ROWS, MOST_COLUMNS, MOST_LEVELS = 60_000, 60, 12  # of a file; more are left out
LAWS = {
    # Classes, their spread in scores, and how much rarer each is than the one before.
    "three even classes": (3, 1.0, 1.0),
    "three classes, little told": (3, 0.2, 1.0),
    "three classes, nothing told": (3, 0.0, 1.0),
    "four uneven classes": (4, 1.0, 3.0),
    "eight even classes": (8, 1.5, 1.0),
    "eight uneven classes": (8, 1.0, 2.0),
}


def simulated(law, n_rows, seed):
    """Return features, the place of each label, and slopes of each class less the first's."""
    classes, spread, rarer = LAWS[law]
    rng = np.random.default_rng((seed, len(law)))
    X = rng.standard_normal((n_rows, N_FEATURES))
    X[:, 1] = rng.random(n_rows) < 0.3
    X[:, 3] = np.exp(0.4 * X[:, 3])
    slopes = rng.standard_normal((N_FEATURES, classes))
    scores = spread * X @ slopes - np.log(rarer) * np.arange(classes)
    X[:, 0] = 50.0 + 10.0 * X[:, 0]
    slopes[0] /= 10.0
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return X, y, spread * (slopes[:, 1:] - slopes[:, :1]).T


def read(given):
    """Return features, the place of each label of a file, and no slopes."""
    import pandas as pd  # noqa: PLC0415 (only where there is one)

    path, _, name = given.partition(":")
    frame = pd.read_parquet(path).dropna(subset=[name])
    frame = frame.sample(min(len(frame), MOST_ROWS), random_state=0)
    places, _ = pd.factorize(frame.pop(name), sort=True)
    few = [
        c
        for c in frame
        if pd.api.types.is_numeric_dtype(frame[c]) or frame[c].nunique() <= MOST_LEVELS
    ]
    cells = pd.get_dummies(frame[few], drop_first=True, dtype=float).iloc[:, :MOST_COLUMNS]
    cells = cells.fillna(cells.median()).astype(float)
    return cells.loc[:, cells.nunique() > 1].to_numpy(), places, np.empty(0)


def log_loss(chances, y):
    """Return the mean log-loss."""
    return float(-np.log(np.maximum(chances[np.arange(len(y)), y], 1e-300)).mean())


def optimum(X, y, bounds):
    """Return the least log-loss without privacy, of features within bounds, and its slopes.

    Slopes are those of each class less the first's.
    """
    X = X if bounds is None else np.clip(X, *bounds.T)
    scale = np.maximum(X.std(axis=0), 1e-300)
    X = (X - X.mean(axis=0)) / scale
    best = LogisticRegression(C=1e6, max_iter=2000, tol=1e-6).fit(X, y)
    slopes = best.coef_ / scale
    return log_loss(best.predict_proba(X), y), slopes[1:] - slopes[:1]


def judged(X, y, slopes, epsilon, seed, known):
    """Return share explained, percents above optimum and constant, whether constant, intervals.

    Of intervals, how many are given and how many hold the slopes, or the optimum's without any.
    """
    classes = range(int(y.max()) + 1)
    promise = {"epsilon": epsilon, "delta": DELTA}
    if epsilon >= 100.0:
        promise = {"guarantee": tg.GDP(LARGE_MU)}
    model = tg.LogisticRegression(classes=list(classes), random_state=seed, **promise).fit(X, y)
    bounds = model.feature_bounds_
    key = None if bounds is None else "bounded"
    if key not in known:  # bounds differ between seeds by less than what they change
        known[key] = optimum(X, y, bounds)
    shares = np.bincount(y, minlength=len(classes)) / len(y)
    constant = -float(shares[shares > 0] @ np.log(shares[shares > 0]))
    reached = log_loss(model.predict_proba(X), y)
    best, own = known[key]
    slopes = slopes if slopes.size else own
    gained = (constant - reached) / max(constant - best, 1e-12)
    low, high = model.conf_int()[: slopes.size].T
    hold = ((low <= slopes.ravel()) & (slopes.ravel() <= high)).sum()  # none where it is NaN
    above, beyond = (100.0 * max(reached / each - 1.0, 0.0) for each in (best, constant))
    return gained, above, beyond, not model.coef_.any(), np.isfinite(low).sum(), hold


def report(name, draw, seeds, epsilons):
    """Print one line an epsilon, and yield what it says."""
    known = [{} for _ in range(seeds)]
    for epsilon in epsilons:
        drawn = [draw(seed) for seed in range(seeds)]
        found = [judged(*drawn[k], epsilon, k, known[k]) for k in range(seeds)]
        gained, above, beyond, *counts = zip(*found, strict=True)
        counts = [sum(count) for count in counts]
        X, y, _ = drawn[0]
        shown = " ".join(f"{count:5}" for count in counts)
        print(
            f"{name:38} {len(y):6} {X.shape[1]:3} {int(y.max()) + 1:3} {epsilon:7g} "
            f"{np.median(gained):9.3f} {min(gained):9.3f} {np.median(above):7.2f} "
            f"{max(beyond):7.2f} {shown}",
            flush=True,
        )
        numbers = (np.median(gained), min(gained), np.median(above), max(beyond))
        numbers = (f"{number:.4g}" for number in numbers)
        yield name, len(y), X.shape[1], int(y.max()) + 1, epsilon, seeds, *numbers, *counts


def main():
    """Run the laws, or the files that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", metavar="FILE.parquet[:TARGET]")
    parser.add_argument("--quick", action="store_true", help="few records; keeps nothing")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    seeds = given.seeds or (QUICK_SEEDS if given.quick else N_SEEDS)
    n_rows = QUICK_N_ROWS if given.quick else N_ROWS
    warnings.simplefilter("ignore", tg.BudgetWarning)
    warnings.filterwarnings("ignore", module="sklearn")  # optima that are far off
    head = f"{'n':>6} {'d':>3} {'K':>3} {'epsilon':>7} {'explained':>9} {'least':>9}"
    print(f"{'classes':38} {head} {'above':>7} {'beyond':>7} const given  hold")
    rows = [HEADER]
    for file in given.files:
        table = read(file)
        path, _, target = file.partition(":")
        name = f"{Path(path).stem}:{target}"
        rows += report(name, lambda seed, table=table: table, seeds, EPSILONS)
    for law in {} if given.files else LAWS:
        rows += report(law, lambda seed, law=law: simulated(law, n_rows, seed), seeds, EPSILONS)
    if given.out and not given.quick:
        with given.out.open("w", newline="") as kept:
            csv.writer(kept, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main()
