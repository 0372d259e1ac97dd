"""The tasks: the synthetic ones of Wang and others (2020), and those of Xu and others (2025).

What a theorem must be told is stated with the task. All of it is public: it follows from the law or
from the format of the data, never from the records.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

import tailguard as tg
from accuracy import public
from papers.sets import available
from tailguard.reproduce.tasks.optimum import Objective, minimise_over
from tailguard.reproduce.tasks.public_sets import read_libsvm

N_REFERENCE = 100_000
REFERENCE_SEED = 20_202
W9_EPSILONS = (0.1, 0.5, 1.0)
X10_EPSILONS = (0.5, 1.0, 2.0, 4.0)
PENALTY = 1e-3  # of the ridge and of the logistic tasks: penalty / 2 * |w|^2
W9_RADIUS = 2.0


@dataclass(frozen=True)
class Known:
    """What the theorems are told: shape of the risk, bound on rows, moments of the gradient.

    ``coordinate`` bounds the second raw moment of a coordinate, ``direction`` that along any
    direction, ``norm`` the norm's root mean square, and its fourth moment too.
    """

    diameter: float
    gradient_bound: float
    smoothness: float
    strong_convexity: float | None
    row_limit: float
    coordinate: float
    direction: float
    norm: float
    growth: float

    @property
    def moments(self):
        return {
            "raw": tg.Moment(2.0, self.coordinate, kind="raw"),
            "directional": tg.Moment(2.0, self.direction, kind="directional"),
            "norm": tg.Moment(2.0, self.norm**2, kind="norm"),
            "fourth": tg.Moment(4.0, self.norm**4, kind="norm"),
        }


@dataclass(frozen=True, eq=False)
class PaperTask:
    """A loss on a set, how to draw its records, and the risk that a fit is judged by.

    ``objective`` is the risk; ``draw`` takes a seed. The optimum is that of ``target_objective``,
    which is the risk itself unless there is a test sample.
    """

    name: str
    group: str
    loss: Any
    constraint: Any
    n_rows: int
    n_features: int
    penalty: float
    epsilons: tuple[float, ...]
    delta: float
    known: Known
    most_steps: int
    draw: Callable[[int], tuple[np.ndarray, np.ndarray]]
    objective: Objective
    target_objective: Objective
    fixed_records: bool = False

    @property
    def labels(self):
        """What ``tg.minimize`` must be told of the target."""
        return {"classes": (0.0, 1.0)} if self.loss.name == "logistic" else {}

    def guarantee(self, epsilon):
        return tg.ApproxDP(epsilon, self.delta)

    @cached_property
    def optimum(self):
        return minimise_over(self.target_objective, self.constraint, self.n_features)

    @cached_property
    def least(self):
        return self.objective.value(self.optimum)

    def excess(self, weights):
        return float(self.objective.value(weights) - self.least)

    def sample_objective(self, X, y):
        return Objective.of_records(self.loss, X, y, self.penalty)


def synthetic_tasks(quick=False):
    """Linear model with lognormal noise, logistic loss with log-logistic noise (card of Wang)."""
    n_rows = 10_000 if quick else 100_000
    return [_ridge(n_rows), _logistic(n_rows)]


def _ridge(n_rows, n_features=10):
    known = Known(
        diameter=2 * W9_RADIUS,
        gradient_bound=3.0,  # |w - w*| on the ball, with |w*| = 1
        smoothness=1.0,
        strong_convexity=1.0,
        row_limit=5.0,  # 1.6 times the root mean square of a row
        coordinate=5.0,  # the paper's v, below the true 34.5 of lognormal(1, 1) noise
        direction=5.0,
        norm=math.sqrt(5.0 * n_features),
        growth=2.0,
    )
    truth = public.direction(n_features)
    objective = Objective(
        lambda w: 0.5 * np.sum((w - truth) ** 2) + PENALTY / 2 * (w @ w),
        lambda w: w - truth + PENALTY * w,
    )
    return _w9("ridge", tg.losses.Squared(), n_rows, n_features, known, public.draw_t1, objective)


def _logistic(n_rows, n_features=10):
    known = Known(
        diameter=2 * W9_RADIUS,
        gradient_bound=1.0,
        smoothness=0.25 + PENALTY,
        # E s'(2 g) g^2 is 0.056 for a standard normal g: the least curvature on the ball.
        strong_convexity=0.05,
        row_limit=5.0,
        coordinate=1.0,
        direction=1.0,
        norm=math.sqrt(n_features),
        growth=2.0,
    )
    return _w9(
        "logistic",
        tg.losses.Logistic(),
        n_rows,
        n_features,
        known,
        public.draw_t2,
        _logistic_risk(n_features),
    )


@lru_cache(maxsize=1)
def _logistic_risk(n_features):
    X, _ = public.draw_t2(np.random.default_rng(REFERENCE_SEED), N_REFERENCE, n_features)
    return Objective.of_records(tg.losses.Logistic(), X, public.chance_t2(X), PENALTY)


def _w9(name, loss, n_rows, n_features, known, law, objective):
    return PaperTask(
        name=f"W9 {name}",
        group="W9",
        loss=loss,
        constraint=tg.sets.L2Ball(W9_RADIUS),
        n_rows=n_rows,
        n_features=n_features,
        penalty=PENALTY,
        epsilons=W9_EPSILONS,
        delta=1.0 / n_rows,
        known=known,
        most_steps=100,
        draw=lambda seed: law(np.random.default_rng([9, seed, n_rows]), n_rows, n_features),
        objective=objective,
        target_objective=objective,
    )


def real_tasks(folder, quick=False):
    """Fourth powers and logistic loss on a8a, a9a and w7a; and the files that are not there."""
    here, missing = available(folder)
    tasks = []
    for source in here[:1] if quick else here:
        records = read_libsvm(Path(folder), source.file)
        train, test = (records.X, records.y), (records.X_test, records.y_test)
        tasks += [_fourth_power(source, train, test), _real_logistic(source, train, test)]
    return tasks, missing


def _fourth_power(source, train, test):
    # At the start every residual is 1, so every slope is 4.
    known = _known_of(source, slope=4.0, curvature=12.0, growth=4.0, strong_convexity=None)
    signs = [(X, 2.0 * y - 1.0) for X, y in (train, test)]
    return _x10(source, "l4", tg.losses.LpLoss(4), tg.sets.L1Ball(1.0), 0.0, known, signs)


def _real_logistic(source, train, test):
    known = _known_of(source, slope=1.0, curvature=0.25, growth=2.0, strong_convexity=None)
    ball = tg.sets.L2Ball(1.0)
    return _x10(source, "logistic", tg.losses.Logistic(), ball, PENALTY, known, [train, test])


def _known_of(source, *, slope, curvature, growth, strong_convexity) -> Known:
    """Binary attributes: a slope bounds a coordinate of the gradient, and with the row its norm."""
    length = math.sqrt(source.active)
    return Known(
        diameter=2.0,
        gradient_bound=slope * length,
        smoothness=curvature * source.active,
        strong_convexity=strong_convexity,
        row_limit=length,
        coordinate=slope**2,
        direction=(slope * length) ** 2,
        norm=slope * length,
        growth=growth,
    )


def _x10(source, name, loss, constraint, penalty, known, samples):
    (X, y), (X_test, y_test) = samples
    return PaperTask(
        name=f"{source.file} {name}",
        group="X10",
        loss=loss,
        constraint=constraint,
        n_rows=len(X),
        n_features=X.shape[1],
        penalty=penalty,
        epsilons=X10_EPSILONS,
        delta=len(X) ** -1.1,
        known=known,
        most_steps=30,
        draw=lambda _seed: (X, y),
        objective=Objective.of_records(loss, X_test, y_test, penalty),
        target_objective=Objective.of_records(loss, X, y, penalty),
        fixed_records=True,
    )


def least_curvature(radius=W9_RADIUS, n_nodes=200):
    """Return ``E s'(radius g) g^2`` for a standard normal ``g`` and the logistic function ``s``."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    chance = expit(radius * nodes)
    return float(weights @ (chance * (1 - chance) * nodes**2) / weights.sum())
