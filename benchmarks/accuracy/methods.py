"""Which fits are compared, under which name, and what each is told.

Every method is ``(data, rng) -> (settings, fits)``: one setting where nothing is tuned, a grid
where an oracle may choose. What a method is told decides its ``tuning``:

* ``untuned``: raw units, fixed settings, no knowledge of the data;
* ``given scales``: the median and the interquartile range of every column and of the target, free;
* ``oracle-tuned``: also quantiles of the data, and the setting that is best on TEST risk, free;
* ``ours``: the public facts alone, everything else paid for.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

import tailguard as tg
from accuracy import peers
from accuracy.risks import best_constant, curvature_of, mean_of

# In multiples of the median gradient norm at the best constant, and of 1 / the largest curvature.
CLIPS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
STEP_SIZES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
STEPS = (5, 20, 100, 300)
ITERATES = ("last", "tail mean")
ROW_QUANTILES, TARGET_QUANTILES = (0.25, 0.5, 0.75, 0.9, 0.99), (0.5, 0.75, 0.9, 0.99)
GUESS = 10.0  # bounds of those who are given scales: so many robust standard deviations
MANY_CELLS = 2 * 10**6  # beyond, BoostedAdaSSP is tuned with few rounds only

MODELS = {
    "squared": tg.LinearRegression,
    "logistic": tg.LogisticRegression,
    "poisson": tg.PoissonRegression,
}


def budget(data):
    """Largest mu that the trial's guarantee allows."""
    return peers.budget(data.epsilon, data.task.delta)


def ours(data, rng):
    """Fit the library's default: bounds, scales and tuning are its own business."""
    model = MODELS[data.task.loss](
        epsilon=data.epsilon,
        delta=data.task.delta,
        fit_intercept=data.task.intercept,
        random_state=int(rng.integers(2**31)),
    )
    target = data.trial.target
    model.fit(data.trial.features, target.astype(int) if data.task.loss != "squared" else target)
    return {"default": (model.coef_, model.intercept_, model)}


def descent(data, form, rng, *, n_steps, clips, sizes):
    """Return (last, tail mean) weights, one column a setting."""
    return peers.descents(
        form.features,
        form.target,
        data.task.loss,
        budget(data),
        rng,
        n_steps=n_steps,
        clips=clips,
        sizes=sizes,
        neighbours=data.neighbours,
    )


def descent_once(data, form, rng):
    """Take 100 steps with clip 1 and step size 1."""
    last, _ = descent(data, form, rng, n_steps=100, clips=[1.0], sizes=[1.0])
    return {"clip 1, step 1, 100 steps": form.back(last[:, 0])}


def descent_grid(data, rng):
    """Try every clip, step size, number of steps and iterate."""
    form = data.scaled
    X, y, loss = form.features, form.target, data.task.loss
    constant = best_constant(loss, y.mean()) if data.task.intercept else 0.0
    slope = np.abs(mean_of(loss, np.full(len(y), constant)) - y)
    typical = np.median(slope * np.linalg.norm(X, axis=1)) or 1.0
    bend = float(np.mean(curvature_of(loss, np.array([constant]))))
    largest = bend * np.linalg.eigvalsh(X.T @ X / len(y))[-1]
    grid = list(itertools.product(CLIPS, STEP_SIZES))
    clips = [typical * clip for clip, _ in grid]
    sizes = [size / largest for _, size in grid]
    fits = {}
    for n_steps in STEPS:
        results = descent(data, form, rng, n_steps=n_steps, clips=clips, sizes=sizes)
        for iterate, weights in zip(ITERATES, results, strict=True):
            for column, (clip, size) in zip(weights.T, grid, strict=True):
                setting = f"clip {clip:g}, step {size:g}, {n_steps} steps, {iterate}"
                fits[setting] = form.back(column)
    return fits


def statistics_once(data, rng):
    """AdaSSP with bounds of ten robust standard deviations."""
    form = data.scaled
    rows = GUESS * math.sqrt(form.features.shape[1])
    weights = peers.adassp(
        form.features,
        form.target,
        budget(data),
        rng,
        row_bound=rows,
        target_bound=GUESS,
        neighbours=data.neighbours,
    )
    return {"bounds of 10 robust sd": form.back(weights)}


def quantile_grid(form):
    """Yield a name and bounds of rows and targets for each pair of quantiles."""
    norms, sizes = np.linalg.norm(form.features, axis=1), np.abs(form.target)
    for rows, target in itertools.product(ROW_QUANTILES, TARGET_QUANTILES):
        bounds = float(np.quantile(norms, rows)), float(np.quantile(sizes, target))
        if min(bounds) > 0:
            yield f"rows q{rows:g}, target q{target:g}", *bounds


def statistics_grid(data, rng):
    """AdaSSP at quantiles of the data."""
    form, fits = data.scaled, {}
    for setting, rows, target in quantile_grid(form):
        weights = peers.adassp(
            form.features,
            form.target,
            budget(data),
            rng,
            row_bound=rows,
            target_bound=target,
            neighbours=data.neighbours,
        )
        fits[setting] = form.back(weights)
    return fits


def boosted_once(data, form, rng):
    """BoostedAdaSSP as published: both bounds 1, 100 rounds."""
    weights = peers.boosted_adassp(
        form.features, form.target, budget(data), rng, neighbours=data.neighbours
    )
    return {"bounds 1, 100 rounds": form.back(weights)}


def boosted_grid(data, rng):
    """BoostedAdaSSP at quantiles of the data, with few and many rounds."""
    form, fits = data.scaled, {}
    for setting, rows, target in quantile_grid(form):
        for n_rounds in (10, 100) if form.features.size <= MANY_CELLS else (10,):
            weights = peers.boosted_adassp(
                form.features,
                form.target,
                budget(data),
                rng,
                row_bound=rows,
                residual_bound=target,
                n_rounds=n_rounds,
                neighbours=data.neighbours,
            )
            fits[f"{setting}, {n_rounds} rounds"] = form.back(weights)
    return fits


def objective_once(data, rng):
    """Objective perturbation with rows bounded at ten robust standard deviations a column."""
    form = data.scaled
    bound = GUESS * math.sqrt(form.features.shape[1])
    return {"rows of 10 robust sd": form.back(_objective(data, form, rng, bound, 0.5))}


def objective_grid(data, rng):
    """Objective perturbation at quantiles of the rows, with two splits of the budget."""
    form, fits = data.scaled, {}
    norms = np.linalg.norm(form.features, axis=1)
    for quantile, share in itertools.product(ROW_QUANTILES, (0.2, 0.5)):
        weights = _objective(data, form, rng, float(np.quantile(norms, quantile)), share)
        fits[f"rows q{quantile:g}, share {share:g}"] = form.back(weights)
    return fits


def _objective(data, form, rng, bound, share):
    return peers.objective_perturbation(
        form.features,
        form.target,
        data.epsilon,
        data.task.delta,
        rng,
        row_bound=bound,
        share=share,
    )


@dataclass(frozen=True)
class Method:
    """A compared method: its name, what it is told, the losses it is for, and how it fits."""

    name: str
    tuning: str
    losses: tuple[str, ...]
    fit: object

    @property
    def key(self):
        return f"{self.name}, {self.tuning}" if self.tuning != "ours" else self.name


ALL = ("squared", "logistic", "poisson")
METHODS = (
    Method("tailguard", "ours", ALL, ours),
    Method("DP-GD", "untuned", ALL, lambda data, rng: descent_once(data, data.raw, rng)),
    Method("DP-GD", "given scales", ALL, lambda data, rng: descent_once(data, data.scaled, rng)),
    Method("DP-GD", "oracle-tuned", ALL, descent_grid),
    Method("AdaSSP", "given scales", ("squared",), statistics_once),
    Method("AdaSSP", "oracle-tuned", ("squared",), statistics_grid),
    Method(
        "BoostedAdaSSP",
        "untuned",
        ("squared",),
        lambda data, rng: boosted_once(data, data.raw, rng),
    ),
    Method(
        "BoostedAdaSSP",
        "given scales",
        ("squared",),
        lambda data, rng: boosted_once(data, data.scaled, rng),
    ),
    Method("BoostedAdaSSP", "oracle-tuned", ("squared",), boosted_grid),
    Method("objective perturbation", "given scales", ("logistic",), objective_once),
    Method("objective perturbation", "oracle-tuned", ("logistic",), objective_grid),
)
