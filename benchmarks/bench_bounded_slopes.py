"""Do 95 % intervals of Huber and quantile fits cover the fits without privacy on real tables?

    python benchmarks/bench_bounded_slopes.py --data FOLDER [--tables NAME ...] [--quick]
                                              [--out FILE.json]

FOLDER and tables are those of ``bench_intervals.py``; targets are the amounts among them. The fit
without privacy minimises the loss that the private fit has at its end, with the private fit's own
scales and bounds of features: the threshold of Huber's loss and the window of a quantile are in
these scales. A line is a table, a loss and an epsilon, over seeds: slopes, how many have an
interval ("given"), how many of these cover the slope without privacy ("held"), the median of their
widths over those of sandwich intervals without privacy, and the mean excess loss of predictions, as
a fraction of that of the best constant. Seeds determine the noise: nothing here is private.
"""

import argparse
import json
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
from scipy.optimize import minimize

import tailguard as tg
from bench_intervals import EPSILONS, LEAST_ROWS, MOST_COLUMNS, SEEDS, Z, read
from tailguard.solvers.newton import solver

MODELS = {
    "huber": tg.HuberRegression,
    "median": tg.QuantileRegression,
    "0.9-quantile": lambda **told: tg.QuantileRegression(level=0.9, **told),
}
SECANT = 0.05  # half the step that measures curvatures, in interquartile ranges of residuals
FLAT = 1e-3  # the largest gradient of a minimum, as a share of the bound of slopes


def last_fit(model, X, y):
    """Fit the model, and return the state in which its run ended; None if no column was seen."""
    seen, run = [], solver.fits

    def watched(*given):
        for fit in run(*given):
            seen[:] = [fit]
            yield fit

    with mock.patch.object(solver, "fits", watched):
        model.fit(X, y)
    return seen[0] if seen and seen[0].iterates else None


def best(X, y, loss):
    """Return the slopes that minimise the mean loss, their HC0 errors, and the scores; or None."""
    rows = np.column_stack([X - X.mean(axis=0), np.ones(len(y))])
    scale = np.append(X.std(axis=0), 1.0)
    q, r = np.linalg.qr(rows / scale)
    q, r = q * len(y) ** 0.5, r / len(y) ** 0.5
    start = q.T @ np.full(len(y), np.median(y)) / len(y)

    def value(w):
        score = q @ w
        return loss.value(score, y).mean(), q.T @ loss.slope(score, y) / len(y)

    told = {"maxiter": 5_000, "maxfun": 20_000, "ftol": 1e-14, "gtol": 1e-8}
    found = minimize(value, start, jac=True, method="L-BFGS-B", options=told).x
    score = q @ found
    slope = loss.slope(score, y)
    if np.abs(q.T @ slope).max() / len(y) > FLAT * loss.slope_bound():
        return None
    step = SECANT * max(float(np.subtract(*np.quantile(y - score, [0.75, 0.25]))), 1e-9)
    rise = (loss.slope(score + step, y) - loss.slope(score - step, y)) / (2.0 * step)
    bread = np.linalg.pinv((q * rise[:, None]).T @ q, hermitian=True)
    back = np.linalg.inv(r)[:-1] / scale[:-1, None]
    meat = (q * (slope**2)[:, None]).T @ q
    errors = np.sqrt(np.maximum(np.diag(back @ bread @ meat @ bread @ back.T), 0.0))
    return back @ found, errors, score


def judged(X, y, kind, epsilon, seed):
    """Return how many intervals are given and held, their widths, and the excess loss; or None."""
    model = MODELS[kind](epsilon=epsilon, delta=len(y) ** -1.1, random_state=seed)
    fit = last_fit(model, X, y)
    if fit is None:
        return None
    scale, loss = fit.geometry.units.target_scale, fit.geometry.loss
    bounds = model.feature_bounds_
    read_as = X if bounds is None else np.clip(X, *bounds.T)
    found = best(read_as, y / scale, loss) if (read_as.std(axis=0) > 0.0).all() else None
    if found is None:
        return None
    slopes, errors, score = found
    low, high = np.asarray(model.conf_int())[: X.shape[1]].T / scale
    given = np.isfinite(low) & (errors > 0.0)
    held = given & (low <= slopes) & (slopes <= high)
    own = loss.value((read_as @ model.coef_ + model.intercept_) / scale, y / scale).mean()
    levels = np.quantile(y / scale, np.linspace(0.02, 0.98, 49))
    constant = min(loss.value(level, y / scale).mean() for level in levels)
    least = loss.value(score, y / scale).mean()
    width = (high - low)[given] / (2.0 * Z * errors[given])
    return given.sum(), held.sum(), width, (own - least) / (constant - least)


def measure(folder, name, seeds):
    """Yield a row for each loss and epsilon."""
    X, y = read(folder, name)
    if len(y) < LEAST_ROWS or not 0 < X.shape[1] <= MOST_COLUMNS:
        return
    for kind in MODELS:
        for epsilon in EPSILONS:
            fits = [judged(X, y, kind, epsilon, seed) for seed in seeds]
            fits = [fit for fit in fits if fit is not None]
            if not fits:
                continue
            given, held, widths, excess = zip(*fits, strict=True)
            yield {
                "table": name, "loss": kind, "rows": len(y), "columns": X.shape[1],
                "epsilon": epsilon, "fits": len(fits), "slopes": X.shape[1] * len(fits),
                "given": int(sum(given)), "held": int(sum(held)),
                "widths": [float(np.median(width)) for width in widths if width.size],
                "excess": float(np.mean(excess)),
            }  # fmt: skip


def main():
    """Print a line for each table, loss and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--tables", nargs="+", metavar="NAME", help="these alone")
    parser.add_argument("--quick", action="store_true", help="one seed; nothing is kept")
    parser.add_argument("--out", type=Path)
    told = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for facts in json.loads((told.data / "metadata.json").read_text()):
        wanted = told.tables is None or facts["name"] in told.tables
        if facts["kind"] == "squared" and wanted:
            for row in measure(told.data, facts["name"], SEEDS[: 1 if told.quick else 2]):
                rows.append(row)
                print(json.dumps(row), flush=True)
    if told.out and not told.quick:
        told.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
