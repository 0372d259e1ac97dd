"""CPU seconds of a default fit, of a fit without privacy, and of one without the last correction.

    python benchmarks/bench_fit_cost.py [--quick] [--out FILE.json]

Records are simulated and heavy-tailed, in float64: a million with 50 columns for the comparison
with scikit-learn; 400,000 with 20 columns for the comparison with the default whose plan omits the
correction by contributions. Times are CPU seconds of all threads of the process. The two fits take
turns, and a ratio is the median over turns. The first fit of each, which compiles, is not counted.
"passes" is the number of times that the releases of a fit read the records; one on a random sample
counts by its share of them.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from unittest import mock

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression

import tailguard as tg
from tailguard.solvers.newton import allocation

SHAPE, QUICK_SHAPE = (1_000_000, 50), (20_000, 10)
SMALLER = (400_000, 20)
REPEATS = 3
MODELS = {
    "linear": (LinearRegression, tg.LinearRegression),
    "logistic": (LogisticRegression, tg.LogisticRegression),
    "poisson": (None, tg.PoissonRegression),
}
UNCORRECTED = {name: regime for name, regime in allocation.REGIMES.items() if "correct" not in name}


def records(kind: str, n_rows: int, n_features: int):
    """Return features with Student-t columns, and a target."""
    rng = np.random.default_rng(0)
    X = rng.standard_t(4.0, (n_rows, n_features))
    score = X @ rng.normal(size=n_features) / n_features**0.5
    if kind == "linear":
        return X, score + rng.lognormal(size=n_rows)
    if kind == "poisson":
        return X, rng.poisson(np.exp(0.5 * np.clip(score, -4.0, 4.0)))
    return X, (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-score))).astype(int)


def seconds(fit) -> float:
    """CPU seconds of a call."""
    start = time.process_time()
    fit()
    return time.process_time() - start


def by_turns(first, second):
    """Return the median seconds of each, and the median of their ratio."""
    first(), second()
    turns = [(seconds(first), seconds(second)) for _ in range(REPEATS)]
    ratio = statistics.median(ours / base for base, ours in turns)
    return *(statistics.median(taken) for taken in zip(*turns, strict=True)), ratio


def passes(model) -> float:
    """How often all releases of a fit together read the records."""
    sampled = model.plan_.settings.get("sampled_records", 0) / model.plan_.problem.n_rows
    releases = model.certificate_.releases
    return sum(each.times * (sampled if each.block_map else 1.0) for each in releases)


def row(kind, baseline, shape):
    """Time the default fit of a model beside its baseline."""
    X, y = records(kind, *shape)
    plain, private = MODELS[kind]

    def fit():
        return private(epsilon=1.0, delta=1e-8).fit(X, y)

    def beside():
        if baseline == "scikit-learn":
            return plain().fit(X, y)
        with mock.patch.dict(allocation.REGIMES, UNCORRECTED, clear=True):
            return fit()

    took, ours, ratio = by_turns(beside, fit)
    told = {"model": kind, "rows": shape[0], "columns": shape[1], "baseline": baseline}
    read = passes(fit())
    return told | {"its seconds": took, "seconds": ours, "ratio": ratio, "passes": read}


def main() -> None:
    """Print a line a model and baseline."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small tables")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    cases = [(kind, "scikit-learn", SHAPE) for kind in ("linear", "logistic")]
    cases += [(kind, "uncorrected", SMALLER) for kind in MODELS]
    rows = []
    for kind, baseline, shape in cases:
        rows.append(row(kind, baseline, QUICK_SHAPE if given.quick else shape))
        print(json.dumps(rows[-1]), flush=True)
    if given.out and not given.quick:
        given.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
