"""How often intervals of private scores hold what a model explains of a population.

    python benchmarks/bench_score.py --tables 24

One model a law is fitted once; each table is drawn anew, and the truth is that of 300 000 rows.
"""

import argparse
import warnings

import numpy as np
from sklearn.metrics import roc_auc_score

import tailguard as tg
from tailguard.losses.squared import Squared

N_ROWS, N_TRUTH, EPSILONS = 6_000, 300_000, (0.3, 1.0, 4.0)
LAWS = {
    "normal": tg.LinearRegression,
    "t(3)": tg.LinearRegression,
    "labels": tg.LogisticRegression,
    "rare labels": tg.LogisticRegression,
    "counts": tg.PoissonRegression,
    "rare counts": tg.PoissonRegression,
    "costs": tg.GammaRegression,
}


def draw(law, n_rows, rng):
    """Draw rows of t(3) columns, normal ones for normal targets, and their targets."""
    X = rng.standard_t(3, (n_rows, 3))
    if law == "normal":
        X = rng.standard_normal((n_rows, 3))
    eta = X @ [1.0, 0.5, 0.0]
    mean = np.exp(np.clip(0.3 * eta, -3.0, 3.0))
    targets = {
        "normal": lambda: eta + 1.5 * rng.standard_normal(n_rows),
        "t(3)": lambda: eta + rng.standard_t(3, n_rows),
        "labels": lambda: (eta + rng.logistic(size=n_rows) > 1.0).astype(float),
        "rare labels": lambda: (eta + rng.logistic(size=n_rows) > 4.0).astype(float),
        "counts": lambda: rng.poisson(mean).astype(float),
        "rare counts": lambda: rng.poisson(0.05 * np.exp(np.clip(0.5 * eta, -2, 2))).astype(float),
        "costs": lambda: mean * rng.gamma(0.7, 1.0 / 0.7, n_rows),
    }
    return X, targets[law]()


def truth_of(model, X, y):
    """Return the share of the deviance that the model explains, and the area under the curve."""
    score, loss = model._score_of(X), model._loss()
    loss = loss if loss.link.curved else Squared()
    mean = y.mean()
    constant = mean if loss.link.residual else np.log(mean)
    if not loss.link.scaled:
        constant -= np.log(1.0 - mean)
    whole = loss.deviance(np.full(len(y), constant), y).mean()
    area = np.nan if loss.link.scaled else roc_auc_score(y, score)
    return 1.0 - loss.deviance(score, y).mean() / whole, area


def main():
    """Print a line per law and budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=24)
    parser.add_argument("--quick", action="store_true", help="three tables")
    told = parser.parse_args()
    n_tables = 3 if told.quick else told.tables
    warnings.simplefilter("ignore", tg.BudgetWarning)
    print("law, epsilon: given, held, root mean square error, mean width; area held, error")
    for law, kind in LAWS.items():
        rng = np.random.default_rng(1)
        model = kind(guarantee=tg.GDP(1.0), random_state=0).fit(*draw(law, 20_000, rng))
        truth, area = truth_of(model, *draw(law, N_TRUTH, rng))
        for epsilon in EPSILONS:
            told = []
            for number in range(n_tables):
                how = {"epsilon": epsilon, "delta": 1e-6, "random_state": number}
                found = model.private_score(*draw(law, N_ROWS, rng), **how)
                own, auc = found.explained, found.auc or found.explained
                held = own.low <= truth <= own.high, auc.low <= area <= auc.high
                told.append([*held, own.value - truth, own.high - own.low, auc.value - area])
            held, area_held, error, width, area_error = np.array(told, dtype=float).T
            given = np.isfinite(error)
            if not given.any():
                print(f"{law}, {epsilon}: 0.00")
                continue
            root = np.sqrt((error[given] ** 2).mean())
            line = f"{law}, {epsilon}: {given.mean():.2f}, {held[given].mean():.2f}, {root:.3f}"
            line += f", {width[given].mean():.3f}"
            if np.isfinite(area):
                seen = np.isfinite(area_error)
                off = np.sqrt((area_error[seen] ** 2).mean())
                line += f"; {area_held[seen].mean():.2f}, {off:.3f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
