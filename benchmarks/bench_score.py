"""Coverage of the intervals of private scores for a model's score on a population.

    python benchmarks/bench_score.py [--quick] [--tables 160] [--out FILE.json]

One model per distribution is fitted once; each table is drawn anew, and the true score is that on
300 000 rows. A line is a distribution and an epsilon: the share of tables with a score and, of
these, the share of intervals that hold, the root mean square error and the mean width; for two
labels also the first two for the area, and for three classes for the accuracy.
"""

import argparse
import json
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

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
    "three classes": partial(tg.LogisticRegression, classes=(0, 1, 2)),
}
SLOPES = [[1.0, 0.0, -1.0], [-0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]  # of the scores of three classes


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
        "three classes": lambda: class_of(X @ SLOPES + [0.0, 0.0, -1.0], rng),
    }
    return X, targets[law]()


def class_of(scores, rng):
    """Draw the class of each row by its scores: the third one is the rarest."""
    return (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)


def truth_of(model, X, y):
    """Return the share of the deviance that the model explains, and its area or its accuracy."""
    if len(getattr(model, "classes_", ())) > 2:
        shares = np.bincount(y) / len(y)
        loss = log_loss(y, model.predict_proba(X))
        return 1.0 + loss / (shares @ np.log(shares)), (model.predict(X) == y).mean()
    score, loss = model._score_of(X), model._loss()
    loss = loss if loss.link.curved else Squared()
    mean = y.mean()
    constant = mean if loss.link.residual else np.log(mean)
    if not loss.link.scaled:
        constant -= np.log(1.0 - mean)
    whole = loss.deviance(np.full(len(y), constant), y).mean()
    area = np.nan if loss.link.scaled else roc_auc_score(y, score)
    return 1.0 - loss.deviance(score, y).mean() / whole, area


def row(law, epsilon, model, truth, tables):
    """Score all tables at an epsilon."""
    (truth, second), errors, widths, held, others = truth, [], [], [], []
    for number, table in enumerate(tables):
        found = model.private_score(*table, epsilon=epsilon, delta=1e-6, random_state=number)
        own = found.explained
        if np.isfinite(own.value):
            errors.append(own.value - truth)
            if np.isfinite(own.low):
                widths.append(own.high - own.low)
                held.append(own.low <= truth <= own.high)
            if (other := found.auc or found.accuracy) is not None:
                others.append((other.low <= second <= other.high, other.value - second))
    told = {"law": law, "epsilon": epsilon, "tables": len(errors), "given": len(held)}
    if errors:
        told |= {"error": float(np.sqrt(np.mean(np.square(errors))))}
    if held:
        told |= {"held": float(np.mean(held)), "width": float(np.mean(widths))}
    if others:
        inside, off = np.transpose(others)
        name = "area" if found.auc is not None else "accuracy"
        told |= {f"{name} held": inside.mean(), f"{name} error": float(np.sqrt(np.mean(off**2)))}
    return told


def main():
    """Print a line per law and budget."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=160)
    parser.add_argument("--quick", action="store_true", help="three tables")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    n_tables, rows = 3 if given.quick else given.tables, []
    warnings.simplefilter("ignore", tg.BudgetWarning)
    for law, kind in LAWS.items():
        rng = np.random.default_rng(1)
        model = kind(guarantee=tg.GDP(1.0), random_state=0).fit(*draw(law, 20_000, rng))
        truth = truth_of(model, *draw(law, N_TRUTH, rng))
        for epsilon in EPSILONS:
            tables = (draw(law, N_ROWS, rng) for _ in range(n_tables))
            rows.append(row(law, epsilon, model, truth, tables))
            print(json.dumps(rows[-1]), flush=True)
    if given.out and not given.quick:
        given.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
