"""Gamma, Tweedie and ridge fits and the best fit without privacy, on simulated and real tables.

    python benchmarks/bench_glm.py [--quick] [--seeds N] [--ridge] [--out FILE.csv]
        [FILE.parquet[:TARGET] ...]

A line is a distribution of the target or a table, an epsilon, and medians over seeds. "excess" is
the excess of the private fit's mean loss over that of scikit-learn's optimum on features within the
same bounds, as a fraction of the optimum's gain over the best constant. Above 1 the fit is worse
than a constant; 1 - excess is the fit's share of the deviance that can be explained. "worst" is the
largest excess over seeds. The next three are in percent: "above" is the mean loss above that of
the optimum, "beyond" the largest mean loss of a fit above the constant's, and "harm" the mean loss
of all fits above the worse of two constants, the best one and the private fit of a column of zeros.
Fits with a harm of more than 5 do harm, as in "python -m accuracy". "hold" is the share of 95 %
intervals that cover the true coefficient, if it is known, or else that of the optimum; "given" is
the share of coefficients with an interval.

Simulated features are a measurement far from zero, an indicator, and normal and lognormal columns;
the mean of the target is the exponential of a linear score. In a file, TARGET is the name of the
target column ("target" by default); the fit is Gamma if all targets are positive, and else Tweedie
of power 1.5. For all fits, text columns become indicators and missing cells become the median. With
--ridge, least squares is fitted too, and all fits have a ridge of 0.1 on columns of standard
deviation one, which all losses include. Seeds determine the noise: nothing here is private.
"""

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import TweedieRegressor

import tailguard as tg

N_ROWS, QUICK_N_ROWS, N_FEATURES = 20_000, 4_000, 5
EPSILONS = (1.0, 4.0, 100.0)
DELTA = 1e-6
LARGE_MU = 10.0  # of epsilon 100, at which noise is not sampled as (epsilon, delta)
N_SEEDS, QUICK_SEEDS = 10, 2
MOST_ROWS, MOST_COLUMNS = 20_000, 60  # of a file; more are left out
RIDGE = 0.1
HEADER = ("target", "power", "alpha", "epsilon", "fits", "excess", "worst")
HEADER += ("above", "beyond", "harm", "given", "hold", "of")
LAWS = {
    "gamma, shape 1.5": 2.0,
    "gamma, shape 0.4": 2.0,
    "lognormal, sd 1": 2.0,
    "lognormal, sd 1.4": 2.0,
    "lognormal, sd with a column": 2.0,
    "pareto, index 3": 2.0,
    "tweedie 1.2": 1.2,
    "tweedie 1.5": 1.5,
    "tweedie 1.8": 1.8,
    "zero or lognormal": 1.5,
}


def simulated(law, n_rows, seed):
    """Return features, targets and true coefficients, the intercept last."""
    rng, power = np.random.default_rng((seed, len(law))), LAWS[law]
    X = rng.standard_normal((n_rows, N_FEATURES))
    X[:, 0] = 50.0 + 10.0 * X[:, 0]
    X[:, 1] = rng.random(n_rows) < 0.3
    X[:, 3] = np.exp(0.4 * X[:, 3])
    coef = rng.standard_normal(N_FEATURES)
    coef *= 0.7 / np.linalg.norm(coef) / np.array([10.0, 0.46, 1.0, 1.0, 1.0])
    truth = np.append(coef, -50.0 * coef[0])
    mean = np.exp(X @ coef + truth[-1])
    kind, _, detail = law.partition(" ")
    noise = rng.standard_normal(n_rows)
    if kind == "gamma,":
        shape = float(detail.split()[-1])
        return X, np.maximum(rng.gamma(shape, mean / shape), 1e-300), truth
    if kind == "lognormal,":
        sd = 0.6 + 0.5 * np.abs(np.tanh(X[:, 2])) if "column" in law else float(law.split()[-1])
        return X, mean * np.exp(sd * noise - sd**2 / 2.0), truth
    if kind == "pareto,":
        return X, mean * 2.0 * rng.pareto(3.0, n_rows) + 1e-300, truth
    if kind == "zero":
        paid = rng.random(n_rows) < 0.3
        return X, paid * mean / 0.3 * np.exp(noise - 0.5), truth
    claims = rng.poisson(mean ** (2.0 - power) / (1.5 * (2.0 - power)))
    shape, scale = (2.0 - power) / (power - 1.0), 1.5 * (power - 1.0) * mean ** (power - 1.0)
    return X, rng.gamma(np.maximum(claims, 1) * shape, scale) * (claims > 0), truth


def read(given):
    """Return features and targets of a file."""
    import pandas as pd  # noqa: PLC0415 (only where there is one)

    path, _, name = given.partition(":")
    frame = pd.read_parquet(path)
    frame = frame.sample(min(len(frame), MOST_ROWS), random_state=0)
    y = frame.pop(name or "target").to_numpy(dtype=float)
    cells = pd.get_dummies(frame, drop_first=True, dtype=float).iloc[:, :MOST_COLUMNS]
    cells = cells.fillna(cells.median())
    kept = np.isfinite(y) & (y >= 0.0)
    return cells.to_numpy(dtype=float)[kept], y[kept]


def optimum(power, alpha, X, y):
    """Return coefficients of the best fit without privacy, the intercept last."""
    center, scale, unit = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-300), y.mean()
    if alpha > 0.0:  # which counts raw coefficients
        scale, unit = np.ones(X.shape[1]), 1.0
    how = {"solver": "newton-cholesky", "tol": 1e-9, "max_iter": 1_000}
    link = "identity" if power == 0.0 else "log"
    best = TweedieRegressor(power=power, alpha=alpha, link=link, **how)
    best = best.fit((X - center) / scale, y / unit)
    coef = best.coef_ / scale
    shift = 0.0 if power == 0.0 else np.log(unit)
    return np.append(coef, best.intercept_ + shift - coef @ center)


def model_of(power, alpha, **promise):
    """Return the private model of a power."""
    if power == 0.0:
        return tg.LinearRegression(alpha=alpha, **promise)
    return tg.TweedieRegression(power=power, alpha=alpha, **promise)


def judged(power, alpha, X, y, truth, epsilon, seed):
    """Return losses of the fit, the best one and two constants, and which coefficients hold."""
    promise = {"epsilon": epsilon, "delta": DELTA, "random_state": seed}
    if epsilon >= 100.0:
        promise = {"guarantee": tg.GDP(LARGE_MU), "random_state": seed}
    model = model_of(power, alpha, **promise).fit(X, y)
    blank = np.zeros((len(y), 1))
    alone = model_of(power, alpha, **promise).fit(blank, y).predict(blank)
    bounds, loss = model.feature_bounds_, model._loss()
    within = X if bounds is None else np.clip(X, *bounds.T)
    coef = optimum(power, alpha, within, y)
    found, mean = model.predict(X), y.mean()
    if power > 0.0:
        found, mean, alone = np.log(found), np.log(mean), np.log(alone)
    scores = found, within @ coef[:-1] + coef[-1], np.full(len(y), mean), alone
    weights = model.coef_, coef[:-1], np.zeros(1), np.zeros(1)
    losses = [
        float(loss.deviance(score, y).mean()) + alpha / 2.0 * float(weight @ weight)
        for score, weight in zip(scores, weights, strict=True)
    ]
    low, high = model.conf_int().T
    known, aim = ~np.isnan(low), coef if truth is None else truth
    held = ((low <= aim) & (aim <= high))[known]
    return losses, known.mean(), held


def report(name, power, alpha, draw, seeds):
    """Print one line an epsilon, and yield what it says."""
    for epsilon in EPSILONS:
        found = [judged(power, alpha, *draw(seed), epsilon, seed) for seed in range(seeds)]
        losses, given, held = zip(*found, strict=True)
        held = np.concatenate(held)
        reached, least, constant, alone = np.transpose(losses)
        excess = (reached - least) / (constant - least)
        percent = (
            100.0 * np.median(reached / least - 1.0),
            100.0 * max((reached / constant).max() - 1.0, 0.0),
            100.0 * max(reached.mean() / np.maximum(constant, alone).mean() - 1.0, 0.0),
        )
        share = f"{held.mean():6.1%} of {held.size}" if held.size else "-"
        print(
            f"{name:32} {power:5.2f} {epsilon:7g} {np.median(excess):9.4f} {max(excess):9.4f} "
            f"{' '.join(f'{number:7.2f}' for number in percent)} "
            f"{np.mean(given):6.0%} {share:>14}",
            flush=True,
        )
        numbers = np.median(excess), max(excess), *percent, np.mean(given), held.sum(), held.size
        yield name, power, alpha, epsilon, seeds, *(f"{number:.5g}" for number in numbers)


def main():
    """Run the laws, or the files that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", metavar="FILE.parquet[:TARGET]")
    parser.add_argument("--quick", action="store_true", help="few records; keeps nothing")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--ridge", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    seeds = given.seeds or (QUICK_SEEDS if given.quick else N_SEEDS)
    n_rows = QUICK_N_ROWS if given.quick else N_ROWS
    warnings.simplefilter("ignore", tg.BudgetWarning)
    warnings.filterwarnings("ignore", module="sklearn")  # columns that add up to another
    head = f"{'epsilon':>7} {'excess':>9} {'worst':>9} "
    head += f"{'above':>7} {'beyond':>7} {'harm':>7} {'given':>6} hold"
    print(f"{'target':32} {'power':>5} {head}")
    rows, alpha = [HEADER], RIDGE * given.ridge
    for file in given.files:
        X, y = read(file)
        X = X / np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0) if alpha else X
        power = 2.0 if (y > 0.0).all() else 1.5
        name = Path(file.partition(":")[0]).stem[:32]
        scaled = (X, y / y.std(), None) if alpha else (X, y, None)
        for own in (power, 0.0) if alpha else (power,):
            rows += report(name, own, alpha, lambda seed, scaled=scaled: scaled, seeds)
    for law, power in {} if given.files else LAWS.items():
        rows += report(law, power, alpha, lambda seed, law=law: simulated(law, n_rows, seed), seeds)
    if given.out and not given.quick:
        with given.out.open("w", newline="") as kept:
            csv.writer(kept, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main()
