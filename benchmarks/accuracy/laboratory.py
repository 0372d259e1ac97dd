"""L1, L3, L4 and T5s: four tasks with a lower bound to aim at, the local asymptotic oracle.

T5s is unkind to clipping: its noise is skewed and its size depends on a column, so that clipped
residuals are biased. Excess risks of squared loss are halved here, as published for these tasks.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import expit

from accuracy.judges import Judge
from accuracy.tasks import Task, Trial, finite

LAW_SEED = 7
MOMENT_SEED, N_MOMENT = 1, 2_000_000
JUDGE_SEED, N_JUDGE = 99, 200_000
FIRST_TRIAL = 1000


@dataclass(frozen=True, eq=False)
class LaboratoryLaw:
    """A law with known coefficients; ``second_moments`` of columns for squared loss."""

    name: str
    loss: str
    n_rows: int
    coef: np.ndarray
    draw_columns: Callable
    draw_target: Callable
    second_moments: np.ndarray | None = None

    def draw(self, n_rows, rng):
        X = self.draw_columns(rng, n_rows)
        return X, self.draw_target(rng, X, X @ self.coef)


def _mixing(n_features):
    order = np.arange(n_features)
    return np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(order, order))).T


def _law_l1(rng):
    coef = rng.normal(size=10)
    return LaboratoryLaw(
        "L1",
        "squared",
        100_000,
        coef / np.linalg.norm(coef),
        lambda r, n: r.normal(size=(n, 10)),
        lambda r, X, z: z + r.lognormal(1, 1, len(z)) - math.exp(1.5),
        np.eye(10),
    )


def _law_l3(rng):
    units = np.logspace(0, 2, 20)
    rng.shuffle(units)
    return LaboratoryLaw(
        "L3",
        "squared",
        100_000,
        0.5 * rng.normal(size=20) / units,
        lambda r, n: r.standard_t(2.5, (n, 20)) * units,
        lambda r, X, z: z + r.standard_t(2.2, len(z)),
        np.diag(5.0 * units**2),
    )


def _law_l4(rng):
    mixing = _mixing(30)
    return LaboratoryLaw(
        "L4",
        "logistic",
        50_000,
        0.05 * rng.normal(size=30),
        lambda r, n: np.exp(1.5 * (r.normal(size=(n, 30)) @ mixing)),
        lambda r, X, z: (r.random(len(z)) < expit(z)).astype(float),
    )


def _law_t5s(rng):
    mixing = _mixing(15)

    def columns(r, n):
        return np.exp(0.8 * (r.normal(size=(n, 15)) @ mixing)) - 1.0

    def target(r, X, z):
        size = 1 + 0.3 * np.abs(X[:, 0])
        return z + (r.lognormal(0, 1, len(z)) - math.exp(0.5)) * size

    X = columns(np.random.default_rng(MOMENT_SEED), N_MOMENT)
    coef = 0.3 * rng.normal(size=15)
    return LaboratoryLaw("T5s", "squared", 100_000, coef, columns, target, X.T @ X / N_MOMENT)


LAWS = {"L1": _law_l1, "L3": _law_l3, "L4": _law_l4, "T5s": _law_t5s}


@lru_cache(maxsize=4)
def make_law(name):
    """Build a law from its fixed seed."""
    return LAWS[name](np.random.default_rng(LAW_SEED))


@lru_cache(maxsize=1)
def logistic_judge(name):
    """Judge a logistic law on a large sample."""
    law = make_law(name)
    X = law.draw_columns(np.random.default_rng(JUDGE_SEED), N_JUDGE)
    return Judge("logistic", X, expit(X @ law.coef), (law.coef, 0.0), intercept=False)


def _excess(law):
    if law.loss == "logistic":
        return logistic_judge(law.name).excess

    def excess(coef, _intercept):
        gap = coef - law.coef
        return gap @ law.second_moments @ gap / 2.0

    return excess


def laboratory_task(name, n_rows=None):
    """Build a task; another ``n_rows`` than the published one gets it into the name."""

    def trial(seed):
        law = make_law(name)
        excess = finite(_excess(law))
        size = n_rows or law.n_rows
        X, y = law.draw(size, np.random.default_rng(FIRST_TRIAL + seed))
        return Trial(X, y, excess, excess(np.zeros(len(law.coef)), 0.0), (law.coef, 0.0))

    sizes = {"L1": (100_000, 10), "L3": (100_000, 20), "L4": (50_000, 30), "T5s": (100_000, 15)}
    rows, n_features = sizes[name]
    return Task(
        name=name if n_rows is None else f"{name} n={n_rows:.0e}".replace("e+0", "e"),
        suite="laboratory" if n_rows is None else "consistency",
        loss="logistic" if name == "L4" else "squared",
        n_rows=n_rows or rows,
        n_features=n_features,
        intercept=False,
        trial=trial,
    )


def laboratory_tasks():
    """The four tasks at their published sizes."""
    return [laboratory_task(name) for name in LAWS]


def consistency_tasks():
    """T5s at growing sizes: does the excess fall, or does the bias of clipping stay?"""
    return [laboratory_task("T5s", n_rows) for n_rows in (10_000, 100_000, 1_000_000)]
