"""Do 95 % intervals cover the coefficients of fits without privacy on real tables?

    python benchmarks/bench_intervals.py --data FOLDER [--quick] [--tables NAME ...]
                                         [--schema] [--permuted] [--out FILE.json]

FOLDER contains the tables that ``benchmarks/accuracy/tables.py`` describes. Columns that nearly
repeat others are dropped, missing cells become the median, and a table has at most 30,000 records;
tables of fewer than 2,000 records or more than 60 columns are skipped. The private fit and the
reference fit without privacy read features within the bounds that the private fit releases. An
interval includes sampling error, too, so it should cover the reference at least at its stated rate.
A line is a table and an epsilon, over seeds: slopes, how many have an interval ("given"), how many
of these cover the reference ("held"), and the median of their widths over those of the sandwich
intervals (HC0) without privacy. For counts "totals" is the number of predicted totals within 5 %
and two stated errors of the actual one. Seeds determine the noise: nothing here is private.

With ``--schema`` tables are as a user has them: categories are rebuilt from their one-hot columns
("region=north") and declared, with the first level as the baseline, and columns that repeat others
stay. Tables without a category of three levels are skipped. "Slopes" are then those that the
records determine; an interval of any other slope is "false". "Silent" are missing intervals without
a reason. "excess" is the excess loss of a fit over the best one without privacy, as a fraction of
the loss of a constant: the mean of the fits.

With ``--permuted`` up to five columns of a table are added again, permuted together, so that they
are independent of the target. "Slopes" are only theirs, and "rejected" are those whose interval
excludes zero, at most one in twenty if coverage is right.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.linalg import qr

import tailguard as tg
from accuracy.optimum import minimise
from accuracy.risks import curvature_of, mean_of
from accuracy.tables import risk_of, scores_of, table

EPSILONS, SEEDS = (1.0, 4.0), (90210, 90211, 90212, 90213, 90214)
LEAST_ROWS, MOST_ROWS, MOST_COLUMNS = 2_000, 30_000, 60
NEARLY_REPEATED = 1e-2  # of the largest pivot; a column with less is left out
SEPARATED = 35.0  # scores of outcomes beyond it have no finite optimum
LEAST_LEVELS = 3  # a category with fewer is a column of zeros and ones
UNDETERMINED = 1e-6  # singular value of standardised columns, over the largest; part of a slope
MOST_PERMUTED = 5
Z = 1.959964
MODELS = {
    "squared": tg.LinearRegression,
    "logistic": lambda **told: tg.LogisticRegression(classes=(0, 1), **told),
    "poisson": tg.PoissonRegression,
}


def read(folder, name):
    """Return features that no others nearly repeat, and the target, of at most so many records."""
    X, y = table(folder, name)
    X = np.where(np.isnan(X), np.nan_to_num(np.nanmedian(X, axis=0)), X)
    rows = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    X = X[rows][:, X[rows].std(axis=0) > 0.0]
    triangle, order = qr((X - X.mean(axis=0)) / X.std(axis=0), mode="r", pivoting=True)
    pivots = np.abs(np.diag(triangle))
    return X[:, np.sort(order[: len(pivots)][pivots > NEARLY_REPEATED * pivots[0]])], y[rows]


def sandwich(X, y, kind):
    """Return the best slopes without privacy, their HC0 errors, and scores; or None."""
    coef, intercept = minimise(X, y, kind, intercept=True)
    score = X @ coef + intercept
    if kind == "logistic" and np.abs(score).max() > SEPARATED:
        return None
    scale = np.append(X.std(axis=0), 1.0)
    rows = np.column_stack([X - X.mean(axis=0), np.ones(len(y))]) / np.where(scale > 0, scale, 1.0)
    bread = np.linalg.pinv((rows * curvature_of(kind, score)[:, None]).T @ rows, hermitian=True)
    meat = (rows * ((y - mean_of(kind, score)) ** 2)[:, None]).T @ rows
    errors = np.sqrt(np.maximum(np.diag(bread @ meat @ bread), 0.0))
    return coef, errors[:-1] / scale[:-1], score


def judged(X, y, kind, epsilon, seed):
    """Return which slopes have an interval, which of these hold, their widths, and the total."""
    target = y.astype(int) if kind == "logistic" else y
    promise = {"epsilon": epsilon, "delta": len(y) ** -1.1, "random_state": seed}
    model = MODELS[kind](**promise).fit(X, target)
    bounds = model.feature_bounds_
    found = sandwich(X if bounds is None else np.clip(X, *bounds.T), y, kind)
    if found is None:
        return None
    best, errors, _ = found
    low, high = np.asarray(model.conf_int())[: X.shape[1]].T
    given = np.isfinite(low) & np.isfinite(high) & (errors > 0.0)
    held = given & (low <= best) & (best <= high)
    width = (high - low)[given] / (2.0 * Z * errors[given])
    if kind != "poisson":
        return given, held, width, None
    off = abs(model.predict(X).sum() / y.sum() - 1.0)
    return given, held, width, bool(off <= 0.05 + 2.0 * model.total_error_)


def measure(folder, name, kind, seeds):
    """Yield a row for each epsilon."""
    X, y = read(folder, name)
    if len(y) < LEAST_ROWS or not 0 < X.shape[1] <= MOST_COLUMNS:
        return
    for epsilon in EPSILONS:
        fits = [judged(X, y, kind, epsilon, seed) for seed in seeds]
        fits = [fit for fit in fits if fit is not None]
        if not fits:
            continue
        given, held, widths, totals = zip(*fits, strict=True)
        widths = [float(np.median(width)) for width in widths if width.size]
        row = {"table": name, "loss": kind, "rows": len(y), "columns": X.shape[1]}
        row |= {"epsilon": epsilon, "fits": len(fits), "slopes": int(np.size(given))}
        row |= {"given": int(np.sum(given)), "held": int(np.sum(held)), "widths": widths}
        yield row | ({"totals": sum(totals)} if kind == "poisson" else {})


def measure_permuted(folder, name, kind, seeds):
    """Yield a row for each epsilon, of slopes that are zero."""
    X, y = read(folder, name)
    added = min(MOST_PERMUTED, X.shape[1])
    if len(y) < LEAST_ROWS or not 0 < X.shape[1] + added <= MOST_COLUMNS:
        return
    for epsilon in EPSILONS:
        given = rejected = 0
        for seed in seeds:
            rng = np.random.default_rng([seed, 5])
            chosen = rng.permutation(X.shape[1])[:added]
            wider = np.column_stack([X, X[rng.permutation(len(y))][:, chosen]])
            target = y.astype(int) if kind == "logistic" else y
            promise = {"epsilon": epsilon, "delta": len(y) ** -1.1, "random_state": seed}
            model = MODELS[kind](**promise).fit(wider, target)
            low, high = np.asarray(model.conf_int())[X.shape[1] : wider.shape[1]].T
            shown = np.isfinite(low) & np.isfinite(high)
            given += int(shown.sum())
            rejected += int((shown & ~((low <= 0.0) & (high >= 0.0))).sum())
        yield {"table": name, "loss": kind, "rows": len(y), "epsilon": epsilon,
               "slopes": added * len(seeds), "given": given, "rejected": rejected}  # fmt: skip


def declared(folder, name):
    """Return a table whose categories are put together, and the levels of each."""
    cells = pd.read_parquet(folder / f"{name}.parquet").astype(float)
    rows = np.random.default_rng(0).permutation(len(cells))[:MOST_ROWS]
    cells = cells.fillna(cells.median()).iloc[rows].reset_index(drop=True)
    categories = {}
    for column in cells.columns:
        if "=" in column:
            name, level = column.split("=", 1)
            categories.setdefault(name, []).append(level)
    categories = {name: of for name, of in categories.items() if len(of) >= LEAST_LEVELS}
    for name, levels in categories.items():
        shown = cells[[f"{name}={level}" for level in levels]]
        cells = cells.drop(columns=shown.columns)
        cells[name] = np.array(levels)[shown.to_numpy().argmax(axis=1)]
        levels[:] = [level for level in levels if level != "other"]  # the level that schemas have
    # Nothing but levels has an equals sign in its name.
    return cells.rename(columns=lambda name: name.replace("=", " is ")), categories


def columns_of(frame, model):
    """Return the columns of the coefficients, as the model reads them."""
    columns = []
    for name in model.schema_.coefficient_names:
        column, _, level = name.partition("=")
        cells = frame[column]
        if level == "other":
            known = model.schema_.categorical[column]
            columns.append(~cells.isin([each for each in known if each != "other"]))
        else:
            columns.append(cells == level if level else cells)
    X = np.column_stack(columns).astype(float)
    return X if model.feature_bounds_ is None else np.clip(X, *model.feature_bounds_.T)


def determined(X):
    """Return which slopes the records determine."""
    centred = X - X.mean(axis=0)
    _, values, directions = np.linalg.svd(
        centred / np.maximum(X.std(axis=0), 1e-300), full_matrices=False
    )
    free = directions[values <= UNDETERMINED * values.max()]
    return (X.std(axis=0) > 0.0) & (np.abs(free).max(axis=0, initial=0.0) < UNDETERMINED)


def measure_declared(folder, name, kind, seeds):
    """Yield a row for each epsilon, of a table with categories."""
    frame, categories = declared(folder, name)
    n_rows, width = len(frame), len(frame.columns) + sum(map(len, categories.values()))
    if not categories or n_rows < LEAST_ROWS or width > MOST_COLUMNS:
        return
    y = frame["target"].to_numpy()
    mean = y.mean()
    alone = {"squared": mean, "logistic": np.log(mean / (1.0 - mean)), "poisson": np.log(mean)}
    constant = risk_of(kind, alone[kind], y)
    for epsilon in EPSILONS:
        row = dict.fromkeys(("slopes", "given", "held", "false", "silent"), 0)
        widths, excess = [], []
        for seed in seeds:
            promise = {"epsilon": epsilon, "delta": n_rows**-1.1, "random_state": seed}
            schema = {"categorical": categories, "target": "target"}
            model = MODELS[kind](schema=schema, **promise).fit(frame)
            X = columns_of(frame, model)
            if (found := sandwich(X, y, kind)) is None:
                return
            best, errors, score = found
            low, high = np.asarray(model.conf_int())[: X.shape[1]].T
            told, shown = determined(X), np.isfinite(low) & np.isfinite(high)
            given = told & shown
            row["slopes"] += int(told.sum())
            row["given"] += int(given.sum())
            row["held"] += int((given & (low <= best) & (best <= high)).sum())
            row["false"] += int((shown & ~told).sum())
            row["silent"] += sum(not why for why in np.array(model.reasons_)[: len(low)][~shown])
            if given.any():
                widths.append(float(np.median((high - low)[given] / (2.0 * Z * errors[given]))))
            least, own = (risk_of(kind, of, y) for of in (score, scores_of(kind, model, frame)))
            excess.append((own - least) / (constant - least))
        mu = model.plan_.guarantee.gaussian_mu()
        yield {"table": name, "loss": kind, "rows": n_rows, "epsilon": epsilon,
               "n_mu": round(n_rows * mu), "fits": len(seeds), **row, "widths": widths,
               "excess": float(np.mean(excess))}  # fmt: skip


def main():
    """Print a line for each table and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--tables", nargs="+", metavar="NAME", help="these alone")
    parser.add_argument("--schema", action="store_true", help="with categories, as declared")
    parser.add_argument("--permuted", action="store_true", help="of columns that say nothing")
    parser.add_argument("--quick", action="store_true", help="one seed; nothing is kept")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for facts in json.loads((given.data / "metadata.json").read_text()):
        if given.tables is None or facts["name"] in given.tables:
            seeds = SEEDS[: 1 if given.quick else None]
            how = measure_declared if given.schema else measure
            how = measure_permuted if given.permuted else how
            for row in how(given.data, facts["name"], facts["kind"], seeds):
                rows.append(row)
                print(json.dumps(row), flush=True)
    if given.out and not given.quick:
        given.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
