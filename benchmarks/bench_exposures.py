"""Counts and amounts with exposures or weights, and the best fit without privacy.

    python benchmarks/bench_exposures.py [--quick] [--seeds N] [--out FILE.csv]
        [FILE.parquet:TARGET:EXPOSURE[:LEFT_OUT,...] ...]

A line is a law of records or a table, an epsilon, and results over seeds. "excess" is the excess of
the private fit's mean loss over that of scikit-learn's optimum on features within the same bounds,
as a fraction of the optimum's gain over the best constant rate: median and largest. Above 1 the fit
is worse than a constant. "total" is the largest error of the predicted total of all records.
"hold" is the number of 95 % intervals of slopes that cover the optimum's, "of" how many there are.

Simulated features are normal, an indicator and lognormal; rates are exponentials of a linear score.
Exposures are uniform from a tenth to one year, or log-uniform over two or four decades; weights are
the claims that an average is of, or a constant far below their bound. In a file, text columns
become indicators and missing cells the median. Seeds determine the noise: nothing here is private.
"""

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import TweedieRegressor

import tailguard as tg

EPSILONS, DELTA = (1.0, 4.0), 1e-6
N_SEEDS, QUICK_SEEDS = 6, 1
MOST_ROWS = 60_000  # of a file
HEADER = ("records", "beside", "n", "columns", "epsilon", "fits")
HEADER += ("excess", "worst", "total", "hold", "of")
EXPOSURES = {
    "a year": lambda rng, n: rng.uniform(0.1, 1.0, n),
    "two decades": lambda rng, n: 10.0 ** rng.uniform(-2.0, 0.0, n),
    "four decades": lambda rng, n: 10.0 ** rng.uniform(-4.0, 0.0, n),
}
WEIGHTS = {  # and their bound
    "claims as weights": (lambda rng, n: np.minimum(1.0 + rng.poisson(0.3, n), 5.0), 5.0),
    "an eighth as weight": (lambda _, n: np.ones(n), 8.0),
}
LAWS = ("rare counts", "uneven counts", "amounts")
SIZES = ((5_000, 4), (20_000, 8), (100_000, 15))


def simulated(law, n_rows, n_features, rng, exposure):
    """Return features and targets; ``exposure`` multiplies rates, or is claims of an average."""
    X = rng.standard_normal((n_rows, n_features))
    X[:, 1] = rng.random(n_rows) < 0.3
    X[:, 2] = np.exp(0.5 * X[:, 2])
    rate = np.exp(X[:, :4] @ [0.3, -0.4, 0.2, 0.1])
    if law == "amounts":
        return X, np.maximum(10.0 * rate * exposure * rng.gamma(1.5, 1 / 1.5, n_rows), 1e-300)
    if law == "uneven counts":
        rate = 0.5 * rate * rng.gamma(0.5, 2.0, n_rows)
    return X, rng.poisson(exposure * rate * (0.1 if law == "rare counts" else 1.0))


def read(given):
    """Return features, targets and exposures of a file."""
    import pandas as pd  # noqa: PLC0415 (only where there is one)

    path, target, exposure, *left_out = given.split(":")
    frame = pd.read_parquet(path)
    frame = frame.sample(min(len(frame), MOST_ROWS), random_state=0)
    y, years = (frame.pop(name).to_numpy(dtype=float) for name in (target, exposure))
    frame = frame.drop(columns=left_out[0].split(",") if left_out else [])
    cells = pd.get_dummies(frame, drop_first=True, dtype=float)
    X, used = cells.fillna(cells.median()).to_numpy(dtype=float), years > 0.0
    return X[used], y[used], years[used]


def judged(X, y, beside, bound, power, epsilon, seed):
    """Return excess, error of the total, and which of the intervals of slopes hold.

    ``beside`` is the exposure, or the weight if there is a ``bound`` of weights.
    """
    by_weight = bound is not None
    model = (tg.GammaRegression if power == 2.0 else tg.PoissonRegression)(
        epsilon=epsilon, delta=DELTA, random_state=seed, weight_bound=bound
    ).fit(X, y, **{"sample_weight" if by_weight else "exposure": beside})
    within = np.clip(X, *model.feature_bounds_.T)
    # A likelihood with an exposure is that of rates with a power of it as weight.
    exposure = np.ones(len(y)) if by_weight else beside
    weight = beside if by_weight else exposure ** (2.0 - power)
    middle, spread = within.mean(axis=0), np.maximum(within.std(axis=0), 1e-300)
    optimum = TweedieRegressor(power=power, alpha=0.0, link="log", max_iter=3_000, tol=1e-7)
    optimum.fit((within - middle) / spread, y / exposure, sample_weight=weight)
    coef, rate = optimum.coef_ / spread, np.average(y / exposure, weights=weight)
    best = optimum.predict((within - middle) / spread)
    found = model.predict(X, **({} if by_weight else {"exposure": exposure}))
    loss, rates = model._loss(), (found / exposure, best, np.full(len(y), rate))
    losses = [np.average(loss.deviance(np.log(r), y / exposure), weights=weight) for r in rates]
    low, high = model.conf_int()[: X.shape[1]].T
    known = ~np.isnan(low)
    count = beside if by_weight else np.ones(len(y))
    error = abs(float(count @ found / (count @ y)) - 1.0)
    held = ((low <= coef) & (coef <= high))[known]
    return (losses[0] - losses[1]) / (losses[2] - losses[1]), error, held


def report(name, beside, draw, seeds):
    """Print one line an epsilon, and yield what it says."""
    for epsilon in EPSILONS:
        results = [judged(*draw(seed), epsilon, seed) for seed in range(seeds)]
        excess, errors, held = zip(*results, strict=True)
        held, (n_rows, n_features) = np.concatenate(held), draw(0)[0].shape
        numbers = np.median(excess), max(excess), max(errors)
        shown = " ".join(f"{number:8.3f}" for number in numbers)
        size = f"{n_rows:7} {n_features:3} {epsilon:4g}"
        print(f"{name:16} {beside:20} {size} {shown} {held.sum():4} of {held.size}", flush=True)
        texts = (f"{number:.4g}" for number in numbers)
        yield name, beside, n_rows, n_features, epsilon, seeds, *texts, held.sum(), held.size


def draws(quick):
    """Yield each simulated law, what is beside its records, and a function that draws it."""
    for law in LAWS:
        for n_rows, n_features in SIZES[:1] if quick else SIZES:
            for beside in [*EXPOSURES, *WEIGHTS]:

                def draw(seed, law=law, size=(n_rows, n_features), beside=beside):
                    rng = np.random.default_rng((seed, *size, len(law), len(beside)))
                    power = 2.0 if law == "amounts" else 1.0
                    if beside in EXPOSURES:
                        exposure = EXPOSURES[beside](rng, size[0])
                        return *simulated(law, *size, rng, exposure), exposure, None, power
                    drawn, bound = WEIGHTS[beside]
                    return *simulated(law, *size, rng, 1.0), drawn(rng, size[0]), bound, power

                yield law, beside, draw


def main():
    """Run the laws, or the files that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", metavar="FILE.parquet:TARGET:EXPOSURE")
    parser.add_argument("--quick", action="store_true", help="few records; keeps nothing")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    seeds = given.seeds or (QUICK_SEEDS if given.quick else N_SEEDS)
    warnings.simplefilter("ignore")
    print(f"{'':54} {'excess':>8} {'worst':>8} {'total':>8} hold")
    rows = [HEADER]
    for file in given.files:
        table = (*read(file), None, 1.0)
        name, beside = Path(file.partition(":")[0]).stem, file.split(":")[2]
        rows += report(name, beside, lambda _, table=table: table, seeds)
    for name, beside, draw in draws(given.quick):
        rows += report(name, beside, draw, seeds)
    if given.out and not given.quick:
        with given.out.open("w", newline="") as kept:
            csv.writer(kept, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main()
