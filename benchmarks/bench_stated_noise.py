"""Does the stated privacy noise of coefficients and totals match their variation over fits?

    python benchmarks/bench_stated_noise.py [--quick] [--seeds N] [--out FILE.json]
                                            [FILE.parquet[:TARGET] ...]

The same records are fitted repeatedly with fresh noise. A line is a table, a loss and an epsilon.
"noise" is the standard deviation of a coefficient over the seeds, over the root mean square of
``coef_noise_std_``, as median and 90th percentile over the coefficients that were estimated in four
of five fits; "stated" is the share of these coefficients. Bounds of features are released, too, and
a coefficient belongs to features within them. So for corrected fits the deviation is that from the
best coefficients without privacy within the fit's own bounds; "raw" is the same ratio for the
coefficients themselves. Corrected and other fits are separate, as they state the noise of different
numbers. For counts "total" is the share of fits whose predicted total lies within 5 % and two
``total_error_`` of the actual one, and the root mean square of its relative error over the stated
one. By chance alone the 90th percentile of 20 seeds is about 1.2.

Simulated tables are skewed, heavy, or counts. In a file, TARGET is the name of the target column
("target" by default). The loss is logistic if it is 0 or 1, that of counts if it is whole and not
negative, and else squared; missing cells become the median. Seeds determine the noise: nothing here
is private.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np

import tailguard as tg
from accuracy.optimum import minimise

N_ROWS, QUICK_N_ROWS = 20_000, 5_000
EPSILONS = (1.0, 4.0)
N_SEEDS, QUICK_SEEDS = 20, 4
MOST_ROWS, MOST_COLUMNS = 30_000, 60  # of a file; more are left out
LEAST_FITS = 0.8  # share of the fits in which a coefficient is estimated for it to count
MODELS = {
    "squared": tg.LinearRegression,
    "logistic": lambda **told: tg.LogisticRegression(classes=(0, 1), **told),
    "poisson": tg.PoissonRegression,
}


def simulated(n_rows):
    """Return tables by name: features, target and loss."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 8))
    X[:, 0] = np.exp(X[:, 0])
    X[:, 1] = rng.random(n_rows) < 0.2
    X[:, 3] += X[:, 2]
    coef = np.array([0.2, 0.5, 0.3, -0.2, 0.1, 0.0, 0.0, 0.3])
    score = np.minimum(X, 8.0) @ coef
    skewed = rng.lognormal(0.0, 1.0, n_rows)
    counts = rng.poisson(np.exp(score - 1.0) * rng.gamma(0.7, 1.0 / 0.7, n_rows))
    return {
        "skewed residuals": (X, score + skewed, "squared"),
        "heavy residuals": (X, score + rng.standard_t(3, n_rows), "squared"),
        "outcomes": (X, rng.random(n_rows) < 1.0 / (1.0 + np.exp(1.0 - score)), "logistic"),
        "counts": (X, counts, "poisson"),
    }


def read(given):
    """Return features, target and loss of a file."""
    import pandas as pd  # noqa: PLC0415 (only where there is one)

    path, _, target = given.partition(":")
    frame = pd.read_parquet(path).iloc[:, : MOST_COLUMNS + 1]
    frame = frame.sample(min(len(frame), MOST_ROWS), random_state=0)
    y = frame.pop(target or "target").to_numpy(float)
    X = pd.get_dummies(frame, drop_first=True, dtype=float).to_numpy(float)
    X = np.where(np.isnan(X), np.nan_to_num(np.nanmedian(X, axis=0)), X)
    whole = bool((y >= 0.0).all() and (y == np.round(y)).all())
    loss = "logistic" if whole and y.max() == 1.0 else "poisson" if whole else "squared"
    return X, y, loss


def fits(X, y, loss, epsilon, n_seeds):
    """Fit the same records with other noise."""
    for seed in range(n_seeds):
        told = {"epsilon": epsilon, "delta": len(y) ** -1.1, "random_state": seed}
        yield MODELS[loss](**told).fit(X, y.astype(int) if loss == "logistic" else y)


def aims(model, X, y, loss):
    """Return the best coefficients without privacy, of features within the fit's bounds."""
    if model.feature_bounds_ is not None:
        X = np.clip(X, *model.feature_bounds_.T)
    return minimise(X, y, loss, intercept=True)[0]


def ratios(values, stated):
    """Return seed deviation over stated noise, by coefficient that most fits estimate."""
    found = []
    for value, noise in zip(np.transpose(values), np.transpose(stated), strict=True):
        known = np.isfinite(noise) & (noise > 0.0)
        if known.sum() >= max(LEAST_FITS * len(noise), 2):
            found.append(value[known].std(ddof=1) / np.sqrt(np.mean(noise[known] ** 2)))
    return found


def quantiles(what, found):
    """Name the median and the 90th percentile of what was found, if anything was."""
    if not found:
        return {}
    return {f"{what}median": float(np.median(found)), f"{what}p90": float(np.quantile(found, 0.9))}


def totals(models, X, y):
    """Return the share of totals that hold, and their error over the stated one."""
    errors = np.array([model.predict(X).sum() / y.sum() - 1.0 for model in models])
    stated = np.array([model.total_error_ for model in models])
    held = np.abs(errors) <= 0.05 + 2.0 * stated
    return float(held.mean()), float(np.sqrt(np.mean((errors / stated) ** 2)))


def measure(name, table, n_seeds):
    """Yield a row for each epsilon, and kind of fit."""
    X, y, loss = table
    for epsilon in EPSILONS:
        models = list(fits(X, y, loss, epsilon, n_seeds))
        for corrected in (True, False):
            some = [m for m in models if (m.interval_center_ is not None) == corrected]
            if len(some) < 2:
                continue
            stated = np.array([m.coef_noise_std_ for m in some])
            values = np.array([m.interval_center_[:-1] if corrected else m.coef_ for m in some])
            row = {"table": name, "loss": loss, "epsilon": epsilon, "corrected": corrected}
            found = ratios(values, stated)
            row |= {"fits": len(some), "stated": len(found) / stated.shape[1]}
            row |= quantiles("raw " * corrected, found)
            if corrected:
                row |= quantiles("", ratios(values - [aims(m, X, y, loss) for m in some], stated))
            if loss == "poisson" and np.isfinite([m.total_error_ for m in some]).all():
                row["total_held"], row["total_error"] = totals(some, X, y)
            yield row


def main():
    """Print a line for each table and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", metavar="FILE.parquet[:TARGET]")
    parser.add_argument("--quick", action="store_true", help="small tables and few seeds")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    n_seeds = given.seeds or (QUICK_SEEDS if given.quick else N_SEEDS)
    tables = simulated(QUICK_N_ROWS if given.quick else N_ROWS)
    tables = {Path(f.partition(":")[0]).stem: read(f) for f in given.files} or tables
    rows = []
    for name, table in tables.items():
        for row in measure(name, table, n_seeds):
            numbers = {key: value for key, value in row.items() if isinstance(value, float)}
            shown = "  ".join(f"{key} {value:.2f}" for key, value in numbers.items())
            kind = "corrected" if row["corrected"] else "rounds"
            print(
                f"{name:24s} {row['loss']:9s} {kind:9s} fits {row['fits']:3d}  {shown}", flush=True
            )
            rows.append(row)
    if given.out and not given.quick:  # a glance keeps no results
        given.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
