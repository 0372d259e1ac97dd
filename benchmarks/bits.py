"""Hashes of the results of some hundred seeded calls, to check that a change keeps every bit.

    python benchmarks/bits.py --out before.json
    python benchmarks/bits.py --against before.json

Run it before and after a change that should only rename or move things. A line of the JSON is a
call and the SHA-256 of its numbers: coefficients, intercepts, standard errors, predictions, the
sensitivity and noise of every release, and the planned and spent cost. Texts, such as notes and the
names of stages, are not hashed. Noise is simulated with fixed seeds, so the table is the same in
every run on one machine; another processor or NumPy version may round differently. ``--only TEXT``
runs the calls whose name contains TEXT.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import tailguard as tg
from bits_tried import MEANS, MODELS, OF_PAPERS, set_for, sets, solver_over, what_is_known
from tailguard.solvers.registry import SOLVERS

CALLS: dict[str, Callable[[], Any]] = {}
BUDGETS = {
    "epsilon 0.2": tg.ApproxDP(0.2, 1e-6),
    "epsilon 1": tg.ApproxDP(1.0, 1e-6),
    "epsilon 8": tg.ApproxDP(8.0, 1e-6),
    "gdp 0.5": tg.GDP(0.5),
    "zcdp 0.05": tg.ZCDP(0.05),
}
ONE = BUDGETS["epsilon 1"]
SHOWN = (
    *("coef_", "intercept_", "coef_noise_std_", "intercept_noise_std_", "coef_std_"),
    *("intercept_std_", "certificate_"),
)
SIMULATED = ("linear", "logistic", "poisson")


def records(kind: str = "linear", n_rows: int = 3000, n_features: int = 4, seed: int = 1):
    """Skewed and heavy-tailed columns in odd units, far from zero, and a target of the kind."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(4.0, (n_rows, n_features))
    X[:, 0] = rng.random(n_rows) < 0.1
    score = X @ np.linspace(0.6, -0.3, n_features) / n_features**0.5
    units = 10.0 ** np.arange(n_features)
    units[0] = 1.0
    X = X * units + 5.0 * units * (np.arange(n_features) % 2)
    if kind == "logistic":
        return X, (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-score))).astype(int)
    if kind == "poisson":
        return X, rng.poisson(np.exp(0.5 + 0.4 * np.clip(score, -4.0, 4.0)))
    return X, 100.0 + 20.0 * (score + rng.lognormal(0.0, 0.8, n_rows))


def records_for(model: Any, n_rows: int = 3000, n_features: int = 4):
    """Records whose targets the loss of an estimator takes."""
    loss = model()._loss()
    kind = "logistic" if loss.n_classes else "poisson" if loss.link.log else "linear"
    X, y = records(kind, n_rows, n_features)
    return X, np.where(loss.valid_target(y), y, 1)


def call(name: str, run: Callable[[], Any]) -> None:
    """Add a call to the table."""
    if name in CALLS:
        raise ValueError(f"{name!r} is in the table twice.")
    CALLS[name] = run


def fit(model: Any, X: Any, y: Any, **observed: Any) -> Any:
    """Fit, and return what a user can read of the fit, or that it is refused."""
    try:
        with warnings.catch_warnings(action="ignore"):
            model.fit(X, y, **observed)
    except tg.InputError:  # too few records for the budget, say
        return "refused"
    interval = model.conf_int() if model.coef_std_ is not None else None
    return [*(getattr(model, name) for name in SHOWN), interval, model.predict(X[:50])]


def default_fits() -> None:
    """Every estimator at several sizes and budgets."""
    sizes = {"200 of 2": (200, 2), "3000 of 4": (3000, 4), "30000 of 3": (30_000, 3)}
    for kind, model in MODELS.items():
        for size, shape in sizes.items():
            X, y = records_for(model, *shape)
            call_fit(f"{kind}, {size}", model, X, y)
        for budget in ("epsilon 0.2", "epsilon 8"):
            X, y = records_for(model)
            call_fit(f"{kind}, {budget}", model, X, y, BUDGETS[budget])
        X, y = records_for(model, 2000, 3)
        call_fit(f"{kind}, no intercept", model, X, y, fit_intercept=False)
    for kind in ("linear", "logistic", "poisson"):
        X, y = records(kind, 5000, 40)
        call_fit(f"{kind}, 40 columns", MODELS[kind], X, y)
        X, y = records(kind, 220_000, 3)
        call_fit(f"{kind}, a sample", MODELS[kind], X, y, BUDGETS["epsilon 8"])
    for budget in ("gdp 0.5", "zcdp 0.05"):
        call_fit(f"linear, {budget}", MODELS["linear"], *records(), BUDGETS[budget])


def call_fit(name: str, model: Any, X: Any, y: Any, guarantee: Any = ONE, **options: Any) -> None:
    """Add a fit to the table."""
    call(name, lambda: fit(seeded(model, guarantee, **options), X, y))


def seeded(model: Any, guarantee: Any, **options: Any) -> Any:
    """An estimator that simulates its noise."""
    return model(guarantee=guarantee, random_state=3, **options)


def other_fits() -> None:
    """Parameters of estimators, and tables in place of arrays."""
    X, y = records()
    counts, outcomes = records("poisson")[1], records("logistic")[1]
    exposure = np.random.default_rng(5).uniform(0.5, 2.0, len(X))
    holes = X.copy()
    holes[::7, 1], holes[::11, 2] = np.nan, np.inf
    table = pd.DataFrame(X, columns=["age", "power", "cost", "years"])
    labels = np.where(outcomes, "yes", "no")
    fits = {
        "huber, threshold": (tg.HuberRegression, {"threshold": 0.5}, X, y, {}),
        "quantile, level 0.9": (tg.QuantileRegression, {"level": 0.9}, X, y, {}),
        "quantile, level 0.1": (tg.QuantileRegression, {"level": 0.1}, X, y, {}),
        "lp, p 3": (tg.LpRegression, {"p": 3.0}, X, y, {}),
        "poisson, exposure": (tg.PoissonRegression, {}, X, counts, {"exposure": exposure}),
        "poisson, exposure, no intercept": (
            tg.PoissonRegression, {"fit_intercept": False}, X, counts, {"exposure": exposure},
        ),
        "linear, void records": (tg.LinearRegression, {}, holes, y, {}),
        "linear, missing=": (tg.LinearRegression, {"missing": {1: 40.0}}, holes, y, {}),
        "linear, pandas": (tg.LinearRegression, {"missing": {"age": 0.5}}, table, y, {}),
        "logistic, classes=": (tg.LogisticRegression, {"classes": ("no", "yes")}, X, labels, {}),
        "linear, constant target": (tg.LinearRegression, {}, X, np.full(len(X), 7.0), {}),
        "linear, robust": (
            tg.LinearRegression, {"solver": tg.solvers.WhitenedNewton(target="robust")}, X, y, {},
        ),
    }  # fmt: skip
    for name, (model, options, features, target, observed) in fits.items():
        call(
            name,
            lambda m=model, o=options, X=features, y=target, e=observed: fit(
                seeded(m, ONE, **o), X, y, **e
            ),
        )
    rng = np.random.default_rng(2)
    wide = rng.standard_normal((3000, 200))
    score = wide[:, :3] @ np.array([1.0, -0.7, 0.5])
    targets = {"linear": score + rng.standard_t(3.0, 3000), "logistic": (score > 0).astype(int)}
    sparse = {"linear": tg.SparseLinearRegression, "logistic": tg.SparseLogisticRegression}
    for kind, model in sparse.items():
        for intercept in (True, False):
            options = {"n_nonzero": 3, "fit_intercept": intercept}
            call(
                f"sparse {kind}, intercept {intercept}",
                lambda m=model, o=options, y=targets[kind]: fit(
                    seeded(m, BUDGETS["epsilon 8"], **o), wide, y
                ),
            )


def means() -> None:
    """Every method with what it takes, under guarantees of every kind."""
    X = records(n_rows=4000, n_features=3)[0]
    told = {
        "auto": {"moment": tg.Moment(2.0, 4e6, kind="raw")},
        "clipped": {"moment": tg.Moment(2.0, 4e6, kind="norm")},
        "trimmed": {"low": -50.0, "high": 900.0},
    }
    kinds = ("epsilon 1", "gdp 0.5", "zcdp 0.05")
    guarantees = {kind: BUDGETS[kind] for kind in kinds} | {"pure 1": tg.PureDP(1.0)}
    for method in MEANS:
        known = told.get(method) or what_is_known(method)
        for name, guarantee in guarantees.items():
            for options in ({}, known):
                words = f"mean {method}, {name}{', known' * bool(options)}"
                call(words, lambda m=method, g=guarantee, o=options: answer_of(X, m, g, **o))


def answer_of(X: Any, method: str, guarantee: Any, **options: Any) -> Any:
    """The answer of a mean; or that it is refused, which should not change either."""
    try:
        result = tg.mean(X, guarantee=guarantee, method=method, random_state=4, **options)
    except tg.InputError:
        return "refused"
    found = list(result.found.values())
    return [result.value, result.noise_std, result.certificate, found]


def minimisers(n_rows: int = 3000) -> None:
    """Every solver over a set that it takes, and the default over every set."""
    rng = np.random.default_rng(6)
    X = np.clip(rng.standard_t(3.0, (n_rows, 3)), -6.0, 6.0)
    y = X @ np.array([0.4, 0.1, -0.2]) + rng.standard_t(2.5, n_rows)
    ball = tg.sets.L2Ball(1.0)
    for solver in (*SOLVERS, *OF_PAPERS):
        constraint, how = set_for(solver), OF_PAPERS.get(solver, solver)
        call(
            f"minimize {solver}",
            lambda s=how, c=constraint: minimum(tg.losses.Squared(), X, y, ONE, c, s),
        )
    for constraint in sets():
        name = f"minimize over {type(constraint).__name__}"
        how = solver_over(constraint)
        call(name, lambda c=constraint, s=how: minimum(tg.losses.Huber(1.0), X, y, ONE, c, s))
    losses = (tg.losses.PseudoHuber(1.0), tg.losses.LpLoss(3.0), tg.losses.Quantile(0.3))
    for loss in losses:
        call(f"minimize {type(loss).__name__}", lambda f=loss: minimum(f, X, y, ONE, ball))
    labels = rng.integers(0, 3, len(X))
    call("minimize Multinomial", lambda: minimum(tg.losses.Multinomial(3), X, labels, ONE, ball))
    call("minimize a gradient", lambda: minimum(gradient, X, y, ONE, ball))


def gradient(weights: Any, features: Any, target: float) -> Any:
    """Return the gradient of a squared residual, as a user would write it."""
    return (features @ weights - target) * features


def minimum(
    loss: Any, X: Any, y: Any, guarantee: Any, constraint: Any, solver: Any = "auto"
) -> Any:
    """What a user can read of a minimiser."""
    options = {"constraint": constraint, "solver": solver, "random_state": 5}
    solved = tg.minimize(loss, X, y, guarantee=guarantee, **options)
    return [solved.coef, solved.intercept, solved.certificate]


def theorems() -> None:
    """Every theorem of the papers that runs, and in its printed form where there is one."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    shared = import_module("papers.support.theorems")  # a test checks that it has every theorem
    X, y = shared.heavy_records()
    for name, case in shared.CASES.items():
        for calibration in ("tight", "printed")[: 1 + case.prints]:
            call(f"{name}, {calibration}", lambda c=case, k=calibration: theorem(c, k, X, y))


def theorem(case: Any, calibration: str, X: Any, y: Any) -> Any:
    """Run one theorem, with the least noise that is proved or the printed one."""
    solver = case.theorem(calibration=calibration)
    solved = minimum(tg.losses.Squared(), X, y, solver.guarantee, case.constraint, solver)
    return [*solved, solver.bound]


def public_numbers() -> None:
    """Plans, simulators and what is not private."""
    moment = tg.Moment(2.0, 5.0, kind="norm")
    known = {"diameter": 2.0, "smoothness": 1.0, "strong_convexity": 0.5}
    for task in ("mean", "convex", "strongly-convex", "squared", "logistic"):
        facts = {"moment": moment, **known} if "convex" in task else {}
        call(
            f"plan {task}",
            lambda t=task, f=facts: tg.plan(
                t, n_rows=50_000, n_features=5, guarantee=ONE, **f
            ).to_dict(),
        )
    for name in ("insurance_claims", *(f"heavy_tailed_{kind}" for kind in SIMULATED)):
        call(f"simulate {name}", lambda n=name: simulated(n))
    call("baseline robust_mean", lambda: tg.papers.baselines.robust_mean(records()[0]))


def simulated(name: str) -> Any:
    """Records of a simulator."""
    sizes = {} if name == "insurance_claims" else {"n_features": 4}
    data = getattr(tg.datasets, name)(n_rows=500, seed=8, **sizes)
    return [data.features, data.target]


def commands() -> None:
    """The command line, from files to files."""
    privacy = ("--epsilon", "2", "--delta", "1e-6", "--random-state", "9")
    model = ("fit", "claims.csv", "--target", "cost", "--out", "out.json", *privacy)
    options = {
        "cli fit": model,
        "cli fit, options": (*model, "--model", "huber", "--missing", "age=40", "--no-intercept"),
        "cli fit, categorical": (*model, "--categorical", "region=north,south"),
        "cli mean": ("mean", "claims.csv", "--columns", "cost,age", "--out", "out.json", *privacy),
    }
    for name, arguments in options.items():
        call(name, lambda a=arguments: command(a))


def command(arguments: Iterable[str]) -> Any:
    """Run a command beside a file of records; return what it wrote."""
    X, y = records(n_rows=1500, n_features=2)
    table = pd.DataFrame({"age": X[:, 0] + X[:, 1] / 10.0, "power": X[:, 1], "cost": y})
    with tempfile.TemporaryDirectory() as folder:
        if "--categorical" in arguments:
            table["region"] = np.where(X[:, 0] > 0, "north", "south")
        table.to_csv(Path(folder) / "claims.csv", index=False)
        source = str(Path(tg.__file__).parents[1])
        subprocess.run(
            [sys.executable, "-m", "tailguard", *arguments],
            cwd=folder, check=True, capture_output=True, env=os.environ | {"PYTHONPATH": source},
        )  # fmt: skip
        written = json.loads((Path(folder) / "out.json").read_text())
    written.pop("version", None)
    return written


def numbers(value: Any) -> Iterable[bytes]:
    """Yield the numbers of a result in order, as bytes; words and names are left out."""
    if isinstance(value, tg.Certificate):
        yield from certified(value)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from numbers(each)
    elif isinstance(value, np.ndarray):
        yield str((value.dtype.kind, value.shape)).encode() + np.ascontiguousarray(value).tobytes()
    elif isinstance(value, bool | int | float | np.generic):
        yield repr(value.item() if isinstance(value, np.generic) else value).encode()
    elif value == "refused" or value is None:
        yield repr(value).encode()
    elif isinstance(value, list | tuple):
        for each in value:
            yield from numbers(each)


def certified(certificate: Any) -> Iterable[bytes]:
    """Yield what was planned and spent, and the noise of every release."""
    yield from numbers([certificate.total.to_dict(), certificate.spent.to_dict()])
    for release in certificate.releases:
        yield from numbers([release.sensitivity, release.noise_std, release.times, release.block])


def table(only: str) -> dict[str, str]:
    """Run the calls; return the hash of each."""
    for add in (default_fits, other_fits, means, minimisers, theorems, public_numbers, commands):
        add()
    found = {}
    for name, run in CALLS.items():
        if only in name:
            found[name] = hashlib.sha256(b"\n".join(numbers(run()))).hexdigest()
            print(f"{found[name][:12]}  {name}", file=sys.stderr, flush=True)
    return found


def main() -> int:
    """Write the table, or say what differs from an earlier one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    with threadpool_limits(1):  # sums in another order would be other bits
        found = table(arguments.only)
    if arguments.out:
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")
    if arguments.against is None:
        print(f"{len(found)} calls")
        return 0
    earlier = json.loads(arguments.against.read_text())
    before = {name: earlier[name] for name in earlier if arguments.only in name}
    differing = [name for name in {**before, **found} if before.get(name) != found.get(name)]
    print(f"{len(found)} calls, of which {len(differing)} differ", *differing, sep="\n  ")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
