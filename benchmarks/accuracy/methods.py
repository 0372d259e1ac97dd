"""Which fits are compared, under which name, and what each is told.

Every method is ``(data, rng) -> (settings, fits)``: one setting where nothing is tuned, a grid
where an oracle may choose. What a method is told decides its ``tuning``:

* ``untuned``: raw units, fixed settings, no knowledge of the data;
* ``given scales``: the median and the interquartile range of every column and of the target, free;
* ``oracle-tuned``: also quantiles of the data, and the setting that is best on TEST risk, free;
* ``ours``: the public facts alone, everything else paid for.

A grid is a pair of functions: ``data -> {name: parameters}`` lists its settings, and the one that
fits takes ``kept``, the names to run (None: all). What is not kept is not worked out; its fit is
None, so that the settings and their order are the same in every line.
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


def run_grid(settings, kept, fit):
    """Fit the settings that are kept; None stands for the others."""
    return {
        name: fit(*parameters) if kept is None or name in kept else None
        for name, parameters in settings.items()
    }


def descent_settings(data):
    """Every number of steps, iterate, clip and step size; the same for all data."""
    return {
        f"clip {clip:g}, step {size:g}, {n_steps} steps, {iterate}": (n_steps, iterate, clip, size)
        for n_steps, iterate, clip, size in itertools.product(STEPS, ITERATES, CLIPS, STEP_SIZES)
    }


def descent_units(form, loss):
    """Return the median gradient norm at the best constant, and the largest curvature there."""
    X, y = form.features, form.target
    constant = best_constant(loss, y.mean()) if form.intercept else 0.0
    slope = np.abs(mean_of(loss, np.full(len(y), constant)) - y)
    typical = np.median(slope * np.linalg.norm(X, axis=1)) or 1.0
    bend = float(np.mean(curvature_of(loss, np.array([constant]))))
    return typical, bend * np.linalg.eigvalsh(X.T @ X / len(y))[-1]


def descent_grid(data, rng, kept=None):
    """Try every clip, step size, number of steps and iterate that is kept.

    A chain of steps moves all its clips and step sizes at once, and has both iterates.
    """
    form = data.scaled
    typical, largest = descent_units(form, data.task.loss)
    settings = descent_settings(data)
    chains = {}  # the clips and step sizes of each number of steps, once each, in order
    for name, (n_steps, _, *pair) in settings.items():
        if kept is None or name in kept:
            chains.setdefault(n_steps, {})[tuple(pair)] = None
    weights = {}
    for n_steps, pairs in chains.items():
        clips = [typical * clip for clip, _ in pairs]
        sizes = [size / largest for _, size in pairs]
        results = descent(data, form, rng, n_steps=n_steps, clips=clips, sizes=sizes)
        for iterate, columns in zip(ITERATES, results, strict=True):
            for pair, column in zip(pairs, columns.T, strict=True):
                weights[n_steps, iterate, *pair] = column
    return run_grid(settings, kept, lambda *setting: form.back(weights[setting]))


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


def statistics_settings(data):
    """Bounds of rows and targets at quantiles of the data."""
    return {name: bounds for name, *bounds in quantile_grid(data.scaled)}


def statistics_grid(data, rng, kept=None):
    """AdaSSP at quantiles of the data."""
    form = data.scaled

    def fit(rows, target):
        weights = peers.adassp(
            form.features,
            form.target,
            budget(data),
            rng,
            row_bound=rows,
            target_bound=target,
            neighbours=data.neighbours,
        )
        return form.back(weights)

    return run_grid(statistics_settings(data), kept, fit)


def boosted_once(data, form, rng):
    """BoostedAdaSSP as published: both bounds 1, 100 rounds."""
    weights = peers.boosted_adassp(
        form.features, form.target, budget(data), rng, neighbours=data.neighbours
    )
    return {"bounds 1, 100 rounds": form.back(weights)}


def boosted_settings(data):
    """Bounds at quantiles of the data, with few and many rounds."""
    form = data.scaled
    rounds = (10, 100) if form.features.size <= MANY_CELLS else (10,)
    return {
        f"{name}, {n_rounds} rounds": (*bounds, n_rounds)
        for name, *bounds in quantile_grid(form)
        for n_rounds in rounds
    }


def boosted_grid(data, rng, kept=None):
    """BoostedAdaSSP at quantiles of the data, with few and many rounds."""
    form = data.scaled

    def fit(rows, target, n_rounds):
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
        return form.back(weights)

    return run_grid(boosted_settings(data), kept, fit)


def objective_once(data, rng):
    """Objective perturbation with rows bounded at ten robust standard deviations a column."""
    form = data.scaled
    bound = GUESS * math.sqrt(form.features.shape[1])
    return {"rows of 10 robust sd": form.back(_objective(data, form, rng, bound, 0.5))}


def objective_settings(data):
    """Row bounds at quantiles of the data, with two splits of the budget."""
    norms = np.linalg.norm(data.scaled.features, axis=1)
    return {
        f"rows q{quantile:g}, share {share:g}": (float(np.quantile(norms, quantile)), share)
        for quantile, share in itertools.product(ROW_QUANTILES, (0.2, 0.5))
    }


def objective_grid(data, rng, kept=None):
    """Objective perturbation at quantiles of the rows, with two splits of the budget."""
    form = data.scaled

    def fit(bound, share):
        return form.back(_objective(data, form, rng, bound, share))

    return run_grid(objective_settings(data), kept, fit)


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
    """A compared method: its name, what it is told, the losses it is for, and how it fits.

    ``settings`` lists the grid of an oracle, whose ``fit`` takes ``kept``; others have none.
    """

    name: str
    tuning: str
    losses: tuple[str, ...]
    fit: object
    settings: object = None

    @property
    def key(self):
        return f"{self.name}, {self.tuning}" if self.tuning != "ours" else self.name


ALL = ("squared", "logistic", "poisson")
METHODS = (
    Method("tailguard", "ours", ALL, ours),
    Method("DP-GD", "untuned", ALL, lambda data, rng: descent_once(data, data.raw, rng)),
    Method("DP-GD", "given scales", ALL, lambda data, rng: descent_once(data, data.scaled, rng)),
    Method("DP-GD", "oracle-tuned", ALL, descent_grid, descent_settings),
    Method("AdaSSP", "given scales", ("squared",), statistics_once),
    Method("AdaSSP", "oracle-tuned", ("squared",), statistics_grid, statistics_settings),
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
    Method("BoostedAdaSSP", "oracle-tuned", ("squared",), boosted_grid, boosted_settings),
    Method("objective perturbation", "given scales", ("logistic",), objective_once),
    Method(
        "objective perturbation",
        "oracle-tuned",
        ("logistic",),
        objective_grid,
        objective_settings,
    ),
)
