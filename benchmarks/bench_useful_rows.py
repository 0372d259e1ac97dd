"""The number of records from which fits beat a constant: the basis of ``tg.plan(...).useful_rows``.

Fits of skewed columns at epsilon 1, delta 1e-6. The numbers of records are multiples of the one at
which typical scales are predicted to exceed the noise (``scales_hide``). A fit beats a constant if
it explains a part of the deviance of 5,000 other records.

    python benchmarks/bench_useful_rows.py --out benchmarks/results/useful_rows.json
"""

import argparse
import json
import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

import tailguard as tg
from tailguard.gate.plan import Problem
from tailguard.losses.registry import make_loss
from tailguard.scaling.required_records import least
from tailguard.solvers.newton.outlook import scales_hide

GUARANTEE = tg.ApproxDP(1.0, 1e-6)
MODELS = {
    "squared": tg.LinearRegression,
    "logistic": lambda **told: tg.LogisticRegression(classes=(0, 1), **told),
    "poisson": tg.PoissonRegression,
}
WIDTHS, MULTIPLES, SEEDS = (3, 10, 20), (1, 2, 3, 5), 9
MEAN, STD = 10.0 * math.exp(0.125), 10.0 * math.sqrt(math.exp(0.5) - math.exp(0.25))


def records(name, n_rows, width, seed):
    """Log-normal columns, and a target of which they explain a half or less."""
    rng = np.random.default_rng(seed)
    X = 10.0 * np.exp(0.5 * rng.standard_normal((n_rows, width)))
    score = (X - MEAN) / STD @ np.full(width, 1.0 / math.sqrt(width))
    if name == "squared":
        return X, 100.0 + 20.0 * (score + rng.standard_t(4, n_rows) / math.sqrt(2.0))
    if name == "logistic":
        return X, (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-1.5 * score))).astype(float)
    return X, rng.poisson(np.exp(0.5 * np.clip(score, -3.0, 3.0) + 0.5)).astype(float)


def risk(name, predicted, y):
    """Mean loss of predictions: squares, or a negative log-likelihood."""
    if name == "squared":
        return np.mean((predicted - y) ** 2)
    p = np.maximum(predicted, 1e-9)
    if name == "logistic":
        p = np.minimum(p, 1.0 - 1e-9)
        return -np.mean(y * np.log(p) + (1.0 - y) * np.log1p(-p))
    return np.mean(p - y * np.log(p))


def explained(name, n_rows, width, seed, others):
    """The share of the risk of a constant that a fit takes away."""
    X, y = others
    model = MODELS[name](guarantee=GUARANTEE, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*records(name, n_rows, width, seed))
    predicted = model.predict_proba(X)[:, 1] if name == "logistic" else model.predict(X)
    return 1.0 - risk(name, predicted, y) / risk(name, np.full(len(y), y.mean()), y)


def measured(*, quick):
    """One row per loss, width and multiple."""
    for name in MODELS:
        for width in WIDTHS[: 1 if quick else None]:
            problem = Problem(make_loss(name), 2, width, intercept=True)
            seen = least(
                lambda n, problem=problem: scales_hide(replace(problem, n_rows=int(n)), GUARANTEE),
                2.0,
            )
            others = records(name, 5_000, width, 99)
            for multiple in MULTIPLES[: 1 if quick else None]:
                n_rows = int(multiple * seen)
                shares = [explained(name, n_rows, width, seed, others) for seed in range(SEEDS)]
                yield {
                    "loss": name,
                    "columns": width,
                    "multiple": multiple,
                    "n_rows": n_rows,
                    "beat": int(np.sum(np.array(shares) > 0.0)),
                    "fits": SEEDS,
                    "median": float(np.median(shares)),
                    "worst": float(min(shares)),
                }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--quick", action="store_true")
    told = parser.parse_args()
    path, rows = told.out, []
    for row in measured(quick=told.quick):
        rows.append(row)
        print(row, flush=True)
    if path:
        path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
