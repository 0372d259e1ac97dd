"""Three families of random tasks: two to choose defaults on, one to judge them on.

All come from one generator and differ in the seed alone:

* the TRAINING family, seed 20230601: tasks 0, 1, 2, ... without end; defaults may be chosen on it;
* the FORMER family, seeds 77003311 (tasks F00 to F63), 20261121 (G00 to G63), 60221408 (H00 to
  H63), 14142135 (I00 to I63), 17320508 (J00 to J63), 22360679 (K00 to K63), 24494897 (L00 to
  L63), 14588361 (M00 to M63), 67054207 (N00 to N63) and 27618969 (O00 to O63): earlier
  defaults were judged on them. They have been looked at since: they judge no more, and defaults may
  be chosen on them, too;
* the EVALUATION family, seed 69021653: tasks 0 to 63. It must NEVER be used to choose a default, a
  share of a budget or a threshold, nor to decide whether a change is kept: it is run after the
  defaults are frozen by a commit, and the runner prints which family it uses.

A task is squared (half of them), logistic (three in eight) or Poisson (one in eight). Its law is
drawn from the seed: tails of columns and noise, units from 1e-6 to 1e6, offsets up to 50 standard
deviations, correlations, sparse coefficients, indicator and zero-inflated columns, skewed noise
whose size depends on a column, from 1e3 to 1e6 records (most at most 1e5) and 2 to 200 columns.
A quarter of the logistic tasks have another link, so that no linear score is true.

``python -m accuracy.families`` (with ``PYTHONPATH=benchmarks``) lists the training family.
"""

import sys
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import stdtr

from accuracy.judges import Judge
from accuracy.laws import CONTINUOUS, DISCRETE, Column, correlation, draw_noise
from accuracy.optimum import minimise
from accuracy.risks import mean_of
from accuracy.tasks import Task, Trial, finite

TRAINING_SEED = 20230601
# By the first letter of their tasks.
FORMER_SEEDS = {
    "F": 77003311,
    "G": 20261121,
    "H": 60221408,
    "I": 14142135,
    "J": 17320508,
    "K": 22360679,
    "L": 24494897,
    "M": 14588361,
    "N": 67054207,
    "O": 27618969,
}
EVALUATION_SEED = 69021653
N_EVALUATION = 64

LOSSES = ("squared", "logistic", "squared", "logistic", "squared", "poisson", "squared", "logistic")
LARGE = (10, 27)  # of every 32 tasks: a squared and a logistic one of more than 2e5 records
LINK_FREEDOM = 2.0  # of the Student link of the tasks whose linear score is not true
POISSON_LIMIT = 4.0  # columns of Poisson tasks stop here: else no mean of exp(score) exists
HETEROSKEDASTIC = 0.3  # noise grows by this share per unit of the first column
PILOT_ROWS = 20_000
MAX_CELLS = 2 * 10**7  # of a reference sample
MAX_REFERENCE_ROWS = 200_000


@dataclass(frozen=True, eq=False)
class Law:
    """Everything that fixes a simulated task; all of it is drawn by ``draw_law``."""

    loss: str
    n_rows: int
    intercept: bool
    columns: tuple[Column, ...]
    units: np.ndarray
    offsets: np.ndarray
    correlation: str
    mixing: np.ndarray
    weights: np.ndarray  # of the columns before units and offsets
    constant: float
    noise: Column
    heteroskedastic: bool
    target_unit: float
    true_link: bool

    def draw_columns(self, n_rows, rng):
        """Draw columns before units and offsets."""
        latent = rng.standard_normal((n_rows, len(self.columns))) @ self.mixing
        bent = [column.bend(z, rng) for column, z in zip(self.columns, latent.T, strict=True)]
        drawn = np.column_stack(bent)
        return np.clip(drawn, -POISSON_LIMIT, POISSON_LIMIT) if self.loss == "poisson" else drawn

    def draw(self, n_rows, rng):
        """Draw raw columns and targets."""
        columns = self.draw_columns(n_rows, rng)
        return self.units * (self.offsets + columns), self.draw_target(columns, rng)

    def mean_target(self, columns):
        """Expected targets given columns."""
        score = columns @ self.weights + self.constant
        if self.loss == "squared":
            return self.target_unit * score
        return mean_of(self.loss, score) if self.true_link else stdtr(LINK_FREEDOM, score)

    def draw_target(self, columns, rng):
        """Draw targets given columns."""
        mean = self.mean_target(columns)
        if self.loss == "poisson":
            return rng.poisson(mean).astype(float)
        if self.loss == "logistic":
            return (rng.random(len(mean)) < mean).astype(float)
        noise = self.target_unit * draw_noise(self.noise.law, self.noise.shape, len(mean), rng)
        if self.heteroskedastic:
            noise *= 1.0 + HETEROSKEDASTIC * np.abs(columns[:, 0])
        return mean + noise


def draw_law(family_seed, index):
    """Draw the law of task ``index`` of a family."""
    rng = np.random.default_rng([family_seed, index])
    loss = LOSSES[index % len(LOSSES)]
    large = index % 32 in LARGE
    n_rows = int(10 ** (rng.uniform(5.3, 6.0) if large else rng.triangular(3.0, 5.0, 5.0)))
    most = 20 if large else min(200, n_rows // 25)
    n_features = int(np.exp(rng.uniform(np.log(2), np.log(most + 1))))
    intercept = loss == "poisson" or rng.random() < 0.8
    columns = _draw_columns(n_features, rng)
    kind = str(rng.choice(["none", "ar", "factor", "block"]))
    mixing = correlation(kind, rng.uniform(0.2, 0.9), n_features, rng)
    smooth = np.array([column.law in CONTINUOUS for column in columns])
    counted = np.array([column.law in ("binary", "rare") for column in columns])
    units = np.where(counted, 1.0, 10 ** rng.uniform(-6, 6, n_features))
    far = smooth & (rng.random(n_features) < 0.5) & intercept
    offsets = np.where(far, rng.uniform(-50, 50, n_features), 0.0)
    share = rng.choice([1.0, 0.3])
    weights = rng.standard_normal(n_features) * (rng.random(n_features) < share)
    weights[rng.integers(n_features)] = 1.0  # never all zero
    noise = _draw_tail(("gaussian", "student", "pareto", "lognormal", "mixture"), rng)
    low, high, centre = {
        "squared": (0.3, 3.0, 10.0),
        "logistic": (0.5, 3.0, 1.5),
        "poisson": (0.2, 0.6, 1.0),
    }[loss]
    law = Law(
        loss=loss,
        n_rows=n_rows,
        intercept=intercept,
        columns=columns,
        units=units,
        offsets=offsets,
        correlation=kind,
        mixing=mixing,
        weights=weights,
        constant=rng.uniform(-centre, centre) if intercept else 0.0,
        noise=noise,
        heteroskedastic=bool(rng.random() < 0.4),
        target_unit=10 ** rng.uniform(-6, 6) if loss == "squared" else 1.0,
        true_link=loss != "logistic" or bool(rng.random() < 0.75),
    )
    pilot = law.draw_columns(PILOT_ROWS, rng) @ weights
    quarter, three_quarters = np.quantile(pilot, [0.05, 0.95])
    spread = (three_quarters - quarter) / 3.29 or pilot.std()  # a normal's sd from its 90 % range
    weights *= rng.uniform(low, high) / spread
    return law


def _draw_columns(n_features, rng):
    """Draw the laws of the columns: one tail for most of them, a fifth discrete in half the tasks.

    The columns share a law in half of the tasks, as measurements of one kind do.
    """
    shared = _draw_tail(CONTINUOUS, rng) if rng.random() < 0.5 else None
    discrete = 0.2 if rng.random() < 0.5 else 0.0
    columns = []
    for _ in range(n_features):
        if rng.random() < discrete:
            law = str(rng.choice(DISCRETE))
            low, high = {"binary": (0.2, 0.8), "rare": (0.01, 0.05), "zero-inflated": (0.1, 0.5)}[
                law
            ]
            columns.append(Column(law, rng.uniform(low, high)))
        else:
            columns.append(shared or _draw_tail(CONTINUOUS, rng))
    return tuple(columns)


def _draw_tail(laws, rng):
    """Draw a law and its shape; every one has a variance."""
    law = str(rng.choice(laws))
    low, high = {"lognormal": (0.5, 1.2), "pareto": (2.5, 6.0)}.get(law, (2.5, 10.0))
    return Column(law, rng.uniform(low, high))


@lru_cache(maxsize=2)
def make_judge(family_seed, index):
    """Draw the reference sample of a task and find its optimum."""
    law = draw_law(family_seed, index)
    rng = np.random.default_rng([family_seed, index, 1])
    n_rows = min(MAX_REFERENCE_ROWS, MAX_CELLS // len(law.columns))
    columns = law.draw_columns(n_rows, rng)
    mean = law.mean_target(columns)
    optimum = law.target_unit * law.weights, law.target_unit * law.constant
    if not law.true_link:
        optimum = minimise(columns, mean, law.loss, intercept=law.intercept)
    return Judge(law.loss, columns, mean, optimum, law.intercept, law.units, law.offsets)


def make_task(family, family_seed, index, *, letter=None):
    """Build a task of a family; its name starts with the family's letter."""
    law = draw_law(family_seed, index)

    def trial(seed):
        judge = make_judge(family_seed, index)
        features, target = law.draw(
            law.n_rows, np.random.default_rng([family_seed, index, 2, seed])
        )
        return Trial(
            features=features,
            target=target,
            excess=finite(judge.excess),
            constant_gap=judge.constant_gap(),
            truth=judge.raw_optimum() if law.true_link else None,
        )

    return Task(
        name=f"{letter or family[0].upper()}{index:02d}",
        suite=family,
        loss=law.loss,
        n_rows=law.n_rows,
        n_features=len(law.columns),
        intercept=law.intercept,
        trial=trial,
        settings=describe(law),
    )


def describe(law):
    """Public facts of a law, for listings and reports."""
    return {
        "columns": "/".join(sorted({column.law for column in law.columns})),
        "correlation": law.correlation,
        "nonzero": int(np.count_nonzero(law.weights)),
        "noise": law.noise.law if law.loss == "squared" else "",
        "heteroskedastic": law.heteroskedastic and law.loss == "squared",
        "true_link": law.true_link,
    }


def training_task(index):
    """Task ``index`` (0, 1, ...) of the family on which defaults may be chosen."""
    return make_task("training", TRAINING_SEED, index)


def former_tasks():
    """The tasks that judged earlier defaults, 64 a seed; seen since, and open to any use."""
    return [
        make_task("former", seed, index, letter=letter)
        for letter, seed in FORMER_SEEDS.items()
        for index in range(N_EVALUATION)
    ]


def evaluation_tasks():
    """The 64 tasks on which frozen defaults are judged; NEVER use them to choose anything."""
    return [make_task("evaluation", EVALUATION_SEED, index) for index in range(N_EVALUATION)]


def main(n_tasks=32):
    """List the first tasks of the training family."""
    print("TRAINING family: defaults may be chosen on it.")
    for index in range(n_tasks):
        task = training_task(index)
        facts = ", ".join(f"{key} {value}" for key, value in task.settings.items() if value != "")
        print(
            f"{task.name} {task.loss:8s} n={task.n_rows:<7d} d={task.n_features:<3d} "
            f"{'with' if task.intercept else 'no'} intercept; {facts}"
        )


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:2]))
