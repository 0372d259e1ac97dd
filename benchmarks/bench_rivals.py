"""Default fits and rivals that receive bounds and scales: risks on real tables, and intervals.

    python benchmarks/bench_rivals.py --data FOLDER [--quick] [--tables NAME ...] [--out FILE.json]

FOLDER contains the tables that ``benchmarks/accuracy/tables.py`` describes; tables of more than 60
columns are skipped, and a fit has at most 30,000 records. ``delta`` is ``n^-1.1``, and neighbours
differ in one replaced record.

For each table, rivals receive bounds of all columns and of the target at no privacy cost: the range
of the records, or the 99 % quantile of the distances from the median. Both are run, and each rival
gets, for each epsilon, the choice that suits it better over all tables. Its features are clipped to
these bounds in fits and predictions, and its predictions are clipped to the bounds of the target.

*Risk*: excess over the best fit without privacy on the test rows, as a fraction of the loss of a
constant, as mean over splits. Less than 1 % counts as 1 % in ratios of ours to theirs.

*Intervals* of 95 %, on the tables of squared loss of ``bench_intervals.py``: do they cover the
slopes of the table's own least squares? For ours, features are within the released bounds; for a
rival, features and target are within the bounds that it receives, which favours it. Width is
relative to that of the sandwich (HC0) of the same fit without privacy. "Level" is the width after
all intervals of a method are rescaled by one factor until 95 % hold. Rivals are evaluated on the
slopes for which ours has an interval ("shared"), and on all. Seeds determine the noise: nothing
here is private.
"""

import argparse
import json
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tailguard as tg
from accuracy import peers, rivals, searched
from accuracy.lines import generator
from accuracy.tables import tables_task
from bench_intervals import LEAST_ROWS, MOST_COLUMNS, MOST_ROWS, Z, read, sandwich

EPSILONS, N_SPLITS, SEEDS = (1.0, 4.0), 3, (77001, 77002, 77003)
KINDS = ("range", "quantile")
OURS, SEARCHED = "tailguard", "DP-GD, counted search"
LEAST_EXCESS, LEVEL = 0.01, 0.95
MODELS = {
    "squared": tg.LinearRegression,
    "logistic": lambda **told: tg.LogisticRegression(classes=(0, 1), **told),
    "poisson": tg.PoissonRegression,
}


def adassp(box, mu, epsilon, delta, rng):
    """AdaSSP (Wang 2018), which gives no intervals."""
    bounds = {"row_bound": box.row_bound, "target_bound": 1.0}
    return peers.adassp(box.features, box.target, mu, rng, **bounds), None


def mixing(box, mu, epsilon, delta, rng):
    """Iterative Hessian Mixing, which gives no intervals."""
    told = (box.features, box.target, mu, epsilon, delta, rng)
    return rivals.hessian_mixing(*told, row_bound=box.row_bound), None


def statistics(box, mu, epsilon, delta, rng):
    """Least squares from noisy statistics."""
    return rivals.noisy_statistics(box.features, box.target, mu, rng, row_bound=box.row_bound)


def by_theorem(box, mu, epsilon, delta, rng):
    """BinAgg with the correction of its theorem."""
    return rivals.binned(box.features, box.target, box.sides, mu, rng)


def by_package(box, mu, epsilon, delta, rng):
    """BinAgg with the correction of its package."""
    return rivals.binned(box.features, box.target, box.sides, mu, rng, corrected=False)


# Of each rival on squared loss the forms that are run beside both kinds of bounds.
RIVALS = {
    "AdaSSP": {"": adassp},
    "IHM": {"": mixing},
    "BinAgg": {", theorem": by_theorem, ", package": by_package},
    "dp-econometrics": {"": statistics},
}


@dataclass(frozen=True, eq=False)
class Fit:
    """A rival's fit, which predicts from features within the bounds that it was told."""

    box: rivals.Box
    kind: str
    coef: np.ndarray
    intercept: float

    def decision_function(self, features):
        return self.box.clip(features) @ self.coef + self.intercept

    def predict(self, features):
        score, (low, high) = self.decision_function(features), self.box.target_sides
        if self.kind == "squared":
            return np.clip(score, low, high)
        return np.exp(np.minimum(score, np.log(max(high, 1.0))))


def searched_fit(box, kind, epsilon, delta, rng):
    """DP-GD with counted selection; the target is within bounds for squares alone."""
    features, target = box.clipped
    form = searched.scaled(features, target if kind == "squared" else box.raw_target, kind)
    return form.back(searched.search(form, kind, epsilon, delta, rng))


def excesses(name, trial, kind, epsilon, seed):
    """Yield a method, a form, and its excess on a split in parts of a constant's."""
    X, y = trial.features[:MOST_ROWS], trial.target[:MOST_ROWS]
    delta = len(y) ** -1.1
    mu = peers.budget(epsilon, delta)
    target = y.astype(int) if kind == "logistic" else y
    model = MODELS[kind](epsilon=epsilon, delta=delta, random_state=seed).fit(X, target)
    yield OURS, "", trial.predicted(model) / trial.constant_gap
    for told in KINDS:
        box = rivals.Box(X, y, told)
        run = {SEARCHED: {"": None}} | (RIVALS if kind == "squared" else {})
        for rival, forms in run.items():
            for form, fit in forms.items():
                rng = generator(name, seed, epsilon, rival, told + form)
                if fit is None:
                    coef, intercept = searched_fit(box, kind, epsilon, delta, rng)
                else:
                    coef, intercept = box.back(fit(box, mu, epsilon, delta, rng)[0])
                excess = trial.predicted(Fit(box, kind, coef, intercept)) / trial.constant_gap
                yield rival, told + form, excess if np.isfinite(excess) else float("inf")


def measure_risks(folder, facts, splits):
    """Yield a row of a table for each epsilon: the excess of each method and form, by split."""
    task, kind = tables_task(folder, facts), facts["kind"]
    if task.n_features > MOST_COLUMNS:
        return
    for epsilon in EPSILONS:
        found = {}
        for seed in splits:
            told = (facts["name"], task.trial(seed), kind, epsilon, seed)
            for rival, form, excess in excesses(*told):
                found.setdefault(f"{rival} | {form}", []).append(float(f"{excess:.4g}"))
        yield {"table": facts["name"], "loss": kind, "epsilon": epsilon, "excess": found}


def standing(mid, half, best, errors):
    """Return distances from the best slopes in half widths, and widths over HC0; NaN: none."""
    given = np.isfinite(mid) & np.isfinite(half) & (half > 0.0) & (errors > 0.0)
    with np.errstate(all="ignore"):
        off, width = np.abs(mid - best) / half, half / (Z * errors)
    return np.where(given, off, np.nan), np.where(given, width, np.nan)


def intervals(name, X, y, epsilon, seed):
    """Return, for each method and form, how its intervals of one fit stand."""
    delta = len(y) ** -1.1
    mu = peers.budget(epsilon, delta)
    model = tg.LinearRegression(epsilon=epsilon, delta=delta, random_state=seed).fit(X, y)
    bounds = model.feature_bounds_
    best, errors, _ = sandwich(X if bounds is None else np.clip(X, *bounds.T), y, "squared")
    low, high = np.asarray(model.conf_int())[: X.shape[1]].T
    found = {(OURS, ""): standing((low + high) / 2.0, (high - low) / 2.0, best, errors)}
    for told in KINDS:
        box = rivals.Box(X, y, told)
        best, errors, _ = sandwich(*box.clipped, "squared")
        for rival, forms in RIVALS.items():
            for form, fit in forms.items():
                rng = generator(name, seed, epsilon, rival, told + form, "intervals")
                weights, covariance = fit(box, mu, epsilon, delta, rng)
                if covariance is not None:
                    half = Z * box.slopes(np.sqrt(np.maximum(np.diag(covariance), 0.0)))
                    mid = box.slopes(weights)
                    found[rival, told + form] = standing(mid, half, best, errors)
    return found


def measure_intervals(folder, names, seeds):
    """Yield a row for each method, form and epsilon, over tables and seeds."""
    tables = [(name, *read(folder, name)) for name in names]
    tables = [each for each in tables if len(each[2]) >= LEAST_ROWS]
    tables = [each for each in tables if 0 < each[1].shape[1] <= MOST_COLUMNS]
    for epsilon in EPSILONS:
        fits = [intervals(*each, epsilon, seed) for each in tables for seed in seeds]
        shared = [np.isfinite(fit[OURS, ""][0]) for fit in fits]
        for method, form in fits[0]:
            row = {"method": method, "form": form, "epsilon": epsilon, "tables": len(tables)}
            parts = [fit[method, form] for fit in fits]
            row |= {"slopes": sum(map(len, shared)), **facts_of(parts)}
            both = [(off[on], wide[on]) for (off, wide), on in zip(parts, shared, strict=True)]
            yield row | {f"shared {key}": value for key, value in facts_of(both).items()}


def facts_of(parts):
    """Return how many intervals are given and hold, and widths as they are and level."""
    off = np.concatenate([off for off, _ in parts])
    off = off[np.isfinite(off)]
    widths = [np.median(wide[np.isfinite(wide)]) for _, wide in parts if np.isfinite(wide).any()]
    width = float(np.median(widths))
    level = width * float(np.quantile(off, LEVEL))
    row = {"given": len(off), "held": int((off <= 1.0).sum())}
    return row | {"width": float(f"{width:.4g}"), "level": float(f"{level:.4g}")}


def risk_table(rows):
    """Yield, for each rival and epsilon, its better form and how ours compares with it."""
    for rival in (SEARCHED, *RIVALS):
        for epsilon in EPSILONS:
            cells = [row for row in rows if row["epsilon"] == epsilon]
            cells = [{k: np.mean(v) for k, v in row["excess"].items()} for row in cells]
            forms = {key: None for cell in cells for key in cell if key.startswith(f"{rival} | ")}
            cells = [cell for cell in cells if forms.keys() <= cell.keys()]
            if not forms:
                continue
            table = {form: np.array([cell[form] for cell in cells]) for form in forms}
            form = min(forms, key=lambda form: geometric(table[form]))
            ours, theirs = np.array([cell[f"{OURS} | "] for cell in cells]), table[form]
            ratio = np.maximum(ours, LEAST_EXCESS) / np.maximum(theirs, LEAST_EXCESS)
            yield {
                "rival": rival,
                "form": form.partition(" | ")[2],
                "epsilon": epsilon,
                "tables": len(cells),
                "ours": np.quantile(ours, (0.5, 0.9)).tolist(),
                "theirs": np.quantile(theirs, (0.5, 0.9)).tolist(),
                "ratio": np.quantile(ratio, (0.5, 0.9)).tolist(),
                "ahead": int((ratio < 1.0).sum()),
                "behind": int((ratio > 1.0).sum()),
            }


def geometric(excess):
    """Geometric mean of excesses, of which none counts as less than 1 %."""
    return float(np.exp(np.mean(np.log(np.maximum(excess, LEAST_EXCESS)))))


def interval_table(rows):
    """Yield the row of each method and epsilon: of its forms the one that is shortest level."""
    for method in dict.fromkeys(row["method"] for row in rows):
        for epsilon in EPSILONS:
            forms = [row for row in rows if (row["method"], row["epsilon"]) == (method, epsilon)]
            yield min(forms, key=lambda row: row["shared level"])


def main():
    """Print a line for each table and epsilon, and the two tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--tables", nargs="+", metavar="NAME", help="these alone")
    parser.add_argument("--quick", action="store_true", help="three tables; nothing is kept")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    facts = json.loads((given.data / "metadata.json").read_text())
    facts = [each for each in facts if given.tables is None or each["name"] in given.tables]
    if given.quick and given.tables is None:
        facts = [each for each in facts if each["kind"] == "squared"][4:7]
    splits, seeds = (range(1), SEEDS[:1]) if given.quick else (range(N_SPLITS), SEEDS)
    risks = []
    for each in facts:
        for row in measure_risks(given.data, each, splits):
            risks.append(row)
            print(json.dumps(row), flush=True)
    names = [each["name"] for each in facts if each["kind"] == "squared"]
    found = {"risks": risks, "intervals": [*measure_intervals(given.data, names, seeds)]}
    for row in (*risk_table(risks), *found["intervals"]):
        print(json.dumps(row))
    if given.out and not given.quick:
        text = ",\n".join(json.dumps(row) for row in risks)
        more = ",\n".join(json.dumps(row) for row in found["intervals"])
        given.out.write_text(f'{{"risks": [\n{text}\n],\n"intervals": [\n{more}\n]}}\n')


if __name__ == "__main__":
    main()
