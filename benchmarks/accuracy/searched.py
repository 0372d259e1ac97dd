"""DP-GD with counted selection among ten settings that were chosen on other tables.

    PYTHONPATH=benchmarks python -m accuracy.searched

chooses them: on tasks of the TRAINING family of at most ``MOST_CELLS`` cells, one seed, epsilon 1
and 4, at the budget of a try. Settings are added one by one: each time the one with which the best
of all chosen has the least geometric mean excess, in parts of a constant's, over tasks and budgets.
They are multiples of the median gradient and of the inverse of the largest curvature at the best
constant. The search is told both for each table, free of charge, and starts at that constant; it
returns the mean of the second half of the steps.
"""

import itertools
from types import SimpleNamespace

import numpy as np

from accuracy import families, methods, peers
from accuracy.data import Data
from accuracy.lines import generator
from accuracy.risks import best_constant, loss_values
from accuracy.tables import LOG_ODDS_LIMIT
from tailguard import ApproxDP
from tailguard.privacy.selection import mu_of_a_try
from tailguard.privacy.tries import NumberOfTries

TRIES = NumberOfTries(30, "geometric")  # expected: a setting is tried with a chance of 3 in 4
# Number of tries, share and limits were chosen on the tasks of ``choose``, too.
SCORE_SHARE = 0.3  # of a try's squared mu
SCORE_QUANTILE, LIMITS = 0.99, {"squared": 1.0, "logistic": 3.0, "poisson": 3.0}
N_SETTINGS, MOST_CELLS, N_TASKS, EPSILONS = 10, 4 * 10**5, 48, (1.0, 4.0)
LEAST_EXCESS = 1e-3  # in parts of a constant's
GRID = [*itertools.product(methods.STEPS, methods.CLIPS, methods.STEP_SIZES)]
# Steps, clip and step size: what ``choose`` returned.
SETTINGS = (
    (100, 3.0, 1.0),
    (300, 10.0, 1.0),
    (20, 3.0, 1.0),
    (300, 0.03, 30.0),
    (100, 0.1, 3.0),
    (300, 3.0, 10.0),
    (20, 1.0, 1.0),
    (100, 10.0, 0.1),
    (100, 3.0, 0.3),
    (100, 10.0, 3.0),
)


def try_budget(epsilon, delta):
    """Return the mu of one try: its fit and its score."""
    return mu_of_a_try(ApproxDP(epsilon, delta), TRIES)


def fits_of(form, loss, settings, mu, rng):
    """Return weights by these settings, of which some may be the same, one column each."""
    typical, largest = methods.descent_units(form, loss)
    start = np.zeros((form.features.shape[1], 1))
    start[-1] = best_constant(loss, form.target.mean()) if form.intercept else 0.0
    weights = np.empty((form.features.shape[1], len(settings)))
    for n_steps in {setting[0] for setting in settings}:
        places = [place for place, setting in enumerate(settings) if setting[0] == n_steps]
        _, clips, sizes = zip(*(settings[place] for place in places), strict=True)
        _, tail = peers.descents(
            form.features,
            form.target,
            loss,
            mu,
            rng,
            n_steps=n_steps,
            clips=typical * np.array(clips),
            sizes=np.array(sizes) / largest,
            start=start,
        )
        weights[:, places] = tail
    return weights


def scores_of(form, loss, weights, mu, rng):
    """Release the mean of clipped differences of losses from a constant's, for each column.

    One record moves a mean by at most twice the limit over the number of records. Limits are
    multiples of a quantile of the constant's losses, and predictions do not leave the range of the
    targets; the search is told both.
    """
    y = form.target
    alone = loss_values(loss, np.full(len(y), best_constant(loss, y.mean())), y)
    least = alone.min() if loss == "poisson" else 0.0
    limit = LIMITS[loss] * float(np.quantile(alone - least, SCORE_QUANTILE))
    with np.errstate(all="ignore"):
        losses = loss_values(loss, _held(form.features @ weights, loss, y), y[:, None])
    differences = np.clip(np.nan_to_num(losses - alone[:, None], nan=limit), -limit, limit)
    std = 2.0 * limit / (len(y) * mu)
    return differences.mean(axis=0) + std * rng.standard_normal(weights.shape[1])


def _held(score, loss, target):
    """Hold scores where they are judged, and predictions in the range of the targets."""
    if loss == "squared":
        return np.clip(score, target.min(), target.max())
    most = LOG_ODDS_LIMIT if loss == "logistic" else np.log(max(target.max(), 1.0))
    return np.clip(score, -LOG_ODDS_LIMIT, most)


def search(form, loss, epsilon, delta, rng, settings=SETTINGS):
    """Return the weights of the best of a random number of tries: all that leaves.

    *Reference.* Papernot and Steinke 2022; Koskela, Redberg and Wang 2024.
    """
    mu = try_budget(epsilon, delta)
    tried = [settings[place] for place in rng.integers(len(settings), size=_tries(rng))]
    weights = fits_of(form, loss, tried, np.sqrt(1.0 - SCORE_SHARE) * mu, rng)
    scores = scores_of(form, loss, weights, np.sqrt(SCORE_SHARE) * mu, rng)
    return weights[:, int(np.argmin(scores))]


def _tries(rng):
    return int(rng.geometric(TRIES.parameter))


def scaled(features, target, loss):
    """Return columns centred at medians, divided by robust deviations; so the target of squares."""
    trial = SimpleNamespace(features=features, target=target)
    task = SimpleNamespace(loss=loss, intercept=True, n_features=features.shape[1])
    return Data(task, trial, None).scaled


def choose():
    """Return the ten settings, in the order in which they were added."""
    table = []
    for index in range(N_TASKS):
        law = families.draw_law(families.TRAINING_SEED, index)
        if law.n_rows * len(law.columns) > MOST_CELLS:
            continue
        task = families.training_task(index)
        trial = task.trial(0)
        for epsilon in EPSILONS:
            mu = np.sqrt(1.0 - SCORE_SHARE) * try_budget(epsilon, task.delta)
            form, rng = Data(task, trial, epsilon).scaled, generator(task.name, epsilon)
            fits = fits_of(form, task.loss, GRID, mu, rng)
            row = np.array([trial.excess(*form.back(fit)) for fit in fits.T]) / trial.constant_gap
            table.append(np.log(np.clip(row, LEAST_EXCESS, 1.0 / LEAST_EXCESS)))
            print(task.name, task.loss, epsilon, f"{np.exp(min(table[-1])):.3g}", flush=True)
    table, chosen = np.array(table), []
    for _ in range(N_SETTINGS):
        best = table[:, chosen].min(axis=1, initial=np.inf)
        means = np.minimum(best[:, None], table).mean(axis=0)
        chosen.append(int(np.argmin(means)))
        print(f"{np.exp(means.min()):.4f}", GRID[chosen[-1]])
    return [GRID[place] for place in chosen]


if __name__ == "__main__":
    print(choose())
