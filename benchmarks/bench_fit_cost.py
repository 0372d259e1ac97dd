"""CPU seconds of a default fit, beside scikit-learn's fit of the same model without privacy.

    python benchmarks/bench_fit_cost.py [--quick]

Records are simulated: a million with 50 columns, heavy-tailed, in float64. Times are CPU seconds
of the whole process over all its threads, medians over repeats; the first fit, which compiles, is
not counted. "passes" is how often the planned stages read the records: one that is planned on a
random sample counts by its share of them.
"""

import statistics
import sys
import time

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression

import tailguard as tg

SHAPE, QUICK_SHAPE = (1_000_000, 50), (20_000, 10)
REPEATS = 3
MODELS = (
    ("linear", LinearRegression, tg.LinearRegression),
    ("logistic", LogisticRegression, tg.LogisticRegression),
)


def records(kind: str, n_rows: int, n_features: int):
    """Return features with Student-t columns, and a target."""
    rng = np.random.default_rng(0)
    X = rng.standard_t(4.0, (n_rows, n_features))
    score = X @ rng.normal(size=n_features) / n_features**0.5
    if kind == "linear":
        return X, score + rng.lognormal(size=n_rows)
    return X, (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-score))).astype(int)


def seconds(fit) -> float:
    """Median CPU seconds of a call, after one that is not counted."""
    fit()
    found = []
    for _ in range(REPEATS):
        start = time.process_time()
        fit()
        found.append(time.process_time() - start)
    return statistics.median(found)


def passes(plan) -> float:
    """How often all stages together read the records."""
    sampled = plan.settings.get("sampled_records", 0) / plan.problem.n_rows
    return sum(stage.times * (sampled if stage.block_map else 1.0) for stage in plan.stages)


def main() -> None:
    """Print a line a model."""
    n_rows, n_features = QUICK_SHAPE if "--quick" in sys.argv[1:] else SHAPE
    print(f"n = {n_rows:,}, d = {n_features}, epsilon = 1; medians of {REPEATS}, CPU seconds")
    print(f"{'model':10}{'scikit-learn':>14}{'tailguard':>12}{'ratio':>8}{'passes':>8}")
    for kind, plain, private in MODELS:
        X, y = records(kind, n_rows, n_features)
        model = private(epsilon=1.0, delta=1e-8)
        base = seconds(lambda plain=plain, X=X, y=y: plain().fit(X, y))
        ours = seconds(lambda model=model, X=X, y=y: model.fit(X, y))
        read = passes(model.plan_)
        print(f"{kind:10}{base:14.2f}{ours:12.2f}{ours / base:8.2f}{read:8.1f}", flush=True)


if __name__ == "__main__":
    main()
