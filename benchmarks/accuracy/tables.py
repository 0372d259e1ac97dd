"""Real tables from a folder that the repository does not contain, scored by what fits predict.

The folder holds ``metadata.json``, a list with ``name``, ``kind`` (squared, logistic, poisson) and
``splits`` of each table, and ``<name>.parquet``: numeric columns and ``target``. A split has the
risks ``constant`` of the training mean and ``best`` of the best linear fit without privacy on its
test rows, and may be marked ``"stable": false`` where no linear fit is clearly better than a
constant; it is then left out. Seed ``s`` of a task takes the ``s``-th split that is left, and noise
of its own.

A fifth of the rows, drawn by the number of the split, is the test set. Missing cells are filled
with the median of the training rows, for all methods alike; that is not private. Ours is judged by
its own predictions, which read features within bounds; peers by their coefficients.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy.special import xlogy

from accuracy.tasks import Task, Trial, finite

TEST_SHARE = 5  # one row in so many
LOG_ODDS_LIMIT, LOG_MEAN_LIMIT = 30.0, 20.0  # of scores that are judged
SUITE = "tables"


def risk_of(kind, score, target):
    """Mean squared error, log loss, or half the mean Poisson deviance of linear scores."""
    if kind == "squared":
        return np.mean((target - score) ** 2)
    if kind == "logistic":
        held = np.clip(score, -LOG_ODDS_LIMIT, LOG_ODDS_LIMIT)
        return np.mean(np.logaddexp(0.0, held) - target * held)
    held = np.clip(score, -LOG_MEAN_LIMIT, LOG_MEAN_LIMIT)
    return np.mean(xlogy(target, target) - target * held - target + np.exp(held))


def scores_of(kind, model, features):
    """Scores of a fitted model by its own predictions."""
    if kind == "logistic":
        return model.decision_function(features)
    predictions = model.predict(features)
    return predictions if kind == "squared" else np.log(np.maximum(predictions, 1e-300))


@lru_cache(maxsize=2)
def table(folder, name):
    """Return features and target of all rows, NaN where a cell is missing."""
    import pandas as pd  # noqa: PLC0415 - only where there is data

    cells = pd.read_parquet(Path(folder) / f"{name}.parquet").astype(float)
    target = cells.pop("target").to_numpy()
    return cells.to_numpy(), target


def rows_of(n_rows, split):
    """Return the training and the test rows of a split."""
    order = np.random.default_rng(split).permutation(n_rows)
    edge = n_rows // TEST_SHARE
    return order[edge:], order[:edge]


@dataclass(frozen=True)
class Split:
    """A split of a table and the two risks that scale its excess."""

    number: int
    constant: float
    best: float


def splits_of(facts):
    """Return the splits of a table's metadata that are not marked as unstable."""
    return tuple(
        Split(number, split["constant"], split["best"])
        for number, split in enumerate(facts["splits"])
        if split.get("stable", True)
    )


@lru_cache(maxsize=2)
def _trial(folder, name, kind, split):
    features, target = table(folder, name)
    train, test = rows_of(len(target), split.number)
    fill = np.nanmedian(features[train], axis=0)
    train_X, test_X = (
        np.where(np.isnan(features[rows]), fill, features[rows]) for rows in (train, test)
    )

    def excess(coef, intercept):
        return risk_of(kind, test_X @ coef + intercept, target[test]) - split.best

    def predicted(model):
        risk = risk_of(kind, scores_of(kind, model, test_X), target[test])
        return float(risk - split.best)

    gap = split.constant - split.best
    return Trial(train_X, target[train], finite(excess), gap, predicted=predicted)


def tables_task(folder, facts):
    """Build the task of one table."""
    name, kind, splits = facts["name"], facts["kind"], splits_of(facts)
    features, target = table(folder, name)
    return Task(
        name=name,
        suite=SUITE,
        loss=kind,
        n_rows=len(target) - len(target) // TEST_SHARE,
        n_features=features.shape[1],
        intercept=True,
        trial=lambda seed: _trial(folder, name, kind, splits[seed % len(splits)]),
        baseline="best non-private linear fit on the test rows",
    )


def tables_tasks(folder):
    """Build the tasks of all tables of a folder; none where it has no ``metadata.json``."""
    path = Path(folder or "") / "metadata.json"
    if not (folder and path.exists()):
        return []
    found = [facts for facts in json.loads(path.read_text()) if facts.get("splits")]
    return [tables_task(folder, facts) for facts in found]
