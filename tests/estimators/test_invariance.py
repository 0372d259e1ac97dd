"""Units, origins and the order of columns change predictions within the privacy noise only.

The yardstick is what another draw of the noise does to predictions from the same records. A default
that looked at units somewhere would exceed it by far, as the mutant shows.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from support.targets import FREE, target_for
from tailguard.solvers.newton import solver

N_ROWS, N_FEATURES, N_SEEDS = 3_000, 4, 4
# Four fits of five directions: chi-square with 20 degrees passes three once in 200 000 times; the
# rest is room for draws that fits share.
MOST = 5.0
POWERS = np.array([-9, 9, -4, 3])


def data(name):
    """Columns with tails, an indicator among them."""
    rng = np.random.default_rng(0)
    X = rng.standard_t(4, (N_ROWS, N_FEATURES))
    X[:, 3] = rng.random(N_ROWS) < 0.3
    score = 0.3 + X @ [0.5, -0.4, 0.0, 0.6]
    return X, target_for(FREE[name], score, rng)


def rescaled(X):
    return X * 10.0**POWERS


def shifted(X):
    return X + [50.0, -50.0, 50.0, -25.0] * X.std(axis=0)


def both(X):
    return rescaled(shifted(X))


def permuted(X):
    return np.ascontiguousarray(X[:, [2, 0, 3, 1]])


def all_at_once(X):
    return permuted(both(X))


def scores(name, X, y, seeds):
    """Linear scores of fits with different noise."""
    found = []
    for seed in seeds:
        model = FREE[name](epsilon=2.0, delta=1e-6, random_state=seed).fit(X, y)
        found.append(X @ model.coef_ + model.intercept_)
    return np.array(found)


@lru_cache
def unmoved(name):
    """Scores of fits to columns as they are: their mean, and their mean square around it."""
    X, y = data(name)
    base = scores(name, X, y, range(2 * N_SEEDS))
    return base.mean(axis=0), base.var(axis=0, ddof=1).mean()


def excess(name, move):
    """Mean square of fits to moved columns around the unmoved mean, over that of unmoved ones."""
    X, y = data(name)
    center, noise = unmoved(name)
    moved = scores(name, move(X), y, range(5 * N_SEEDS, 6 * N_SEEDS))
    return np.mean((moved - center) ** 2) / noise


# The others of a link read units as these do.
FIRST = ("LinearRegression", "QuantileRegression", "LogisticRegression", "PoissonRegression")
EVERY = [pytest.param(name, marks=() if name in FIRST else pytest.mark.audit) for name in FREE]
ONE_BY_ONE = [pytest.param(move, marks=pytest.mark.audit) for move in (rescaled, shifted)]


@pytest.mark.parametrize(
    "move", [all_at_once, pytest.param(permuted, marks=pytest.mark.audit), *ONE_BY_ONE]
)
@pytest.mark.parametrize("name", EVERY)
def test_moved_columns_predict_the_same_within_the_noise(name, move):
    assert excess(name, move) < MOST


@pytest.mark.parametrize("name", ["LinearRegression", "LogisticRegression"])
@pytest.mark.parametrize("move", [both, *ONE_BY_ONE])
def test_a_default_that_looks_at_units_is_caught(name, move, monkeypatch):
    honest = solver.find_units

    def mutant(session, problem, **more):
        """Take no scale for less than a thousandth, and no origin further than ten."""
        units, seen = honest(session, problem, **more)
        scale = np.maximum(units.scale, 1e-3)
        return replace(units, scale=scale, center=np.clip(units.center, -10.0, 10.0)), seen

    unmoved(name)  # the mutant keeps to ordinary units
    monkeypatch.setattr(solver, "find_units", mutant)
    assert excess(name, move) > 5.0 * MOST
