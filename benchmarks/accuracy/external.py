"""diffprivlib and Opacus, in an environment of their own: ``make bench-accuracy-peers``.

    python -m accuracy.external --data FOLDER [--suite public] [--results FOLDER]

Neither is a dependency of tailguard, and tailguard is not needed here; a package that cannot be
imported is left out with a sentence. Lines are written beside those of the other methods.

Guarantees differ, in the other tools' favour or not: diffprivlib is pure (delta = 0), which is a
stronger promise for the same epsilon; Opacus counts one record more or less as neighbours, which
is a weaker one than replacing a record. diffprivlib's data are clipped to symmetric bounds before
they are handed over. Opacus is tuned on a NumPy stand-in of the same algorithm; the winner on test
risk is then run with Opacus itself.
"""

import argparse
import importlib.util
import itertools
import math
import warnings
from pathlib import Path

import numpy as np
from scipy.special import expit

from accuracy.data import Data
from accuracy.lines import append, facts, generator, judged, key, read
from accuracy.suites import EPSILONS, SUITES, make_suite, seed_of

BATCH = 1024
CLIPS, RATES, EPOCHS = (0.1, 1.0, 10.0, 100.0), (0.01, 0.1, 1.0), (5, 20)
GUESS, QUANTILES, PENALTIES = 10.0, (0.5, 0.9, 0.99), (1.0, 100.0)
N_OPACUS_SEEDS = 3


def columns_without_ones(form):
    """The prepared columns; both packages fit an intercept of their own."""
    return form.features[:, :-1] if form.intercept else form.features


def back(form, coef, intercept):
    """Map a fit of the prepared columns to raw units."""
    weights = np.ravel(coef)
    return form.back(np.append(weights, intercept) if form.intercept else weights)


def diffprivlib_linear(form, epsilon, row_bound, target_bound, seed):
    """Fit diffprivlib's LinearRegression on data clipped to symmetric bounds."""
    from diffprivlib.models import LinearRegression  # noqa: PLC0415

    X, y = columns_without_ones(form), form.target
    model = LinearRegression(
        epsilon=epsilon,
        bounds_X=(-row_bound, row_bound),
        bounds_y=(-target_bound, target_bound),
        fit_intercept=form.intercept,
        random_state=seed,
    )
    model.fit(np.clip(X, -row_bound, row_bound), np.clip(y, -target_bound, target_bound))
    return back(form, model.coef_, float(np.ravel(model.intercept_)[0]) if form.intercept else 0.0)


def diffprivlib_logistic(form, epsilon, norm, penalty, seed):
    """Fit diffprivlib's LogisticRegression on rows divided by ``norm``, of norm at most 1."""
    from diffprivlib.models import LogisticRegression  # noqa: PLC0415

    X = columns_without_ones(form) / norm
    X = X * np.minimum(1.0, 1.0 / np.maximum(np.linalg.norm(X, axis=1), 1e-300))[:, None]
    model = LogisticRegression(
        epsilon=epsilon,
        data_norm=1.0,
        C=penalty,
        max_iter=1000,
        fit_intercept=form.intercept,
        random_state=seed,
    )
    model.fit(X, form.target.astype(int))
    constant = float(np.ravel(model.intercept_)[0]) if form.intercept else 0.0
    return back(form, np.ravel(model.coef_) / norm, constant)


def diffprivlib(task, trial, epsilon, seed):
    """Yield (tuning, fits) of diffprivlib."""
    form = Data(task, trial, epsilon).scaled
    X = columns_without_ones(form)
    if task.loss == "squared":
        yield "given scales", {"10 sd": diffprivlib_linear(form, epsilon, GUESS, GUESS, seed)}
        fits = {}
        for q in QUANTILES[1:]:
            rows, target = np.quantile(np.abs(X), q, axis=0), np.quantile(np.abs(form.target), q)
            rows = np.where(rows > 0, rows, 1.0)
            fits[f"q{q:g}"] = diffprivlib_linear(form, epsilon, rows, float(target), seed)
        yield "oracle-tuned", fits
    else:
        bound = GUESS * math.sqrt(X.shape[1])
        yield "given scales", {"10 sd": diffprivlib_logistic(form, epsilon, bound, 1.0, seed)}
        norms = np.linalg.norm(X, axis=1)
        yield (
            "oracle-tuned",
            {
                f"q{q:g}, C {penalty:g}": diffprivlib_logistic(
                    form, epsilon, float(np.quantile(norms, q)), penalty, seed
                )
                for q, penalty in itertools.product(QUANTILES, PENALTIES)
            },
        )


def noise_multiplier(epsilon, delta, n_rows, epochs):
    """Ask Opacus how much noise its algorithm needs."""
    from opacus.accountants.utils import get_noise_multiplier  # noqa: PLC0415

    return get_noise_multiplier(
        target_epsilon=epsilon,
        target_delta=delta,
        sample_rate=1 / math.ceil(n_rows / BATCH),
        epochs=epochs,
        accountant="prv",
    )


def stand_in(form, loss, noise, epochs, clips, rates, rng):
    """DP-SGD in NumPy for many settings at once: Poisson batches, clipped sums, Gaussian noise."""
    X, y = form.features, form.target
    n_batches = math.ceil(len(y) / BATCH)
    norms = np.linalg.norm(X, axis=1)
    weights = np.zeros((X.shape[1], len(clips)))
    for _ in range(epochs * n_batches):
        batch = rng.integers(0, len(y), rng.binomial(len(y), 1 / n_batches))
        score = X[batch] @ weights
        slope = (
            2.0 * (score - y[batch, None]) if loss == "squared" else expit(score) - y[batch, None]
        )
        sizes = np.maximum(np.abs(slope) * norms[batch, None], 1e-300)
        total = X[batch].T @ (slope * np.minimum(1.0, clips / sizes))
        total += rng.standard_normal(weights.shape) * (clips * noise)
        weights = weights - rates * total * n_batches / len(y)
    return weights


def opacus_fit(form, loss, epsilon, delta, clip, rate, epochs, seed):
    """Fit a linear layer with Opacus."""
    import torch  # noqa: PLC0415
    from opacus import PrivacyEngine  # noqa: PLC0415
    from torch.utils.data import DataLoader, TensorDataset  # noqa: PLC0415

    torch.manual_seed(seed)
    X = torch.from_numpy(columns_without_ones(form).astype(np.float32))
    y = torch.from_numpy(form.target.astype(np.float32))[:, None]
    layer = torch.nn.Linear(X.shape[1], 1, bias=form.intercept)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
    criterion = torch.nn.MSELoss() if loss == "squared" else torch.nn.BCEWithLogitsLoss()
    layer, optimizer, batches = PrivacyEngine().make_private_with_epsilon(
        module=layer,
        optimizer=torch.optim.SGD(layer.parameters(), lr=rate),
        data_loader=DataLoader(TensorDataset(X, y), batch_size=BATCH),
        target_epsilon=epsilon,
        target_delta=delta,
        epochs=epochs,
        max_grad_norm=clip,
    )
    for _ in range(epochs):
        for inputs, targets in batches:
            optimizer.zero_grad()
            if len(inputs):
                criterion(layer(inputs), targets).backward()
                optimizer.step()
    parameters = [parameter.detach().numpy().ravel() for parameter in layer.parameters()]
    return back(form, parameters[0].astype(float), float(parameters[1][0]) if form.intercept else 0)


def opacus(task, trial, epsilon, seed):
    """Yield (tuning, fits) of Opacus; the oracle's choice is made on this trial's test risk."""
    data, delta = Data(task, trial, epsilon), task.delta
    yield "untuned", {"clip 1": opacus_fit(data.raw, task.loss, epsilon, delta, 1.0, 0.1, 20, seed)}
    grid = np.array(list(itertools.product(CLIPS, RATES)))
    scores = {}
    for epochs in EPOCHS:
        noise = noise_multiplier(epsilon, delta, task.n_rows, epochs)
        rng = generator(task.name, seed, epsilon, "stand-in", epochs)
        weights = stand_in(data.scaled, task.loss, noise, epochs, grid[:, 0], grid[:, 1], rng)
        for (clip, rate), column in zip(grid, weights.T, strict=True):
            scores[clip, rate, epochs] = trial.excess(*data.scaled.back(column))
    clip, rate, epochs = min(scores, key=scores.get)
    fit = opacus_fit(data.scaled, task.loss, epsilon, delta, clip, rate, epochs, seed)
    yield "oracle-tuned", {f"clip {clip:g}, rate {rate:g}, {epochs} epochs": fit}


TOOLS = {"diffprivlib": diffprivlib, "opacus": opacus}


def run(suite, path, tool, n_seeds):
    """Append the lines of one package that a file lacks."""
    done = {key(line) for line in read(path)}
    with path.open("a") as out:
        for task in suite.tasks:
            for seed in [seed_of(suite.name, place) for place in range(n_seeds)]:
                missing = [
                    epsilon
                    for epsilon in EPSILONS
                    if (task.name, seed, epsilon, f"{tool}, oracle-tuned") not in done
                ]
                if task.loss == "poisson" or not missing:
                    continue
                trial = task.trial(seed)
                for epsilon in missing:
                    append(out, _lines(suite.name, task, trial, tool, epsilon, seed))
                print(f"  {tool}: {task.name}, seed {seed}", flush=True)


def _lines(suite, task, trial, tool, epsilon, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            facts(suite, task, trial, seed)
            | {"epsilon": epsilon, "method": f"{tool}, {tuning}", "tuning": tuning}
            | judged(trial, fits)
            for tuning, fits in TOOLS[tool](task, trial, epsilon, seed)
        ]


def main():
    """Run each package that is here on one suite."""
    parser = argparse.ArgumentParser(prog="python -m accuracy.external")
    parser.add_argument("--suite", choices=SUITES, default="public")
    parser.add_argument("--data", help="folder of Parquet files")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    suite = make_suite(options.suite, folder=options.data)
    print(suite.words)
    lines = options.results / "lines"
    lines.mkdir(parents=True, exist_ok=True)
    for tool in TOOLS:
        if importlib.util.find_spec(tool) is None:
            print(f"{tool} is not installed in this environment: its rows are left out.")
            continue
        n_seeds = N_OPACUS_SEEDS if tool == "opacus" else options.seeds
        run(suite, lines / f"{options.suite}-{tool}.jsonl", tool, n_seeds)


if __name__ == "__main__":
    main()
