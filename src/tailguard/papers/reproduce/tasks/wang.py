"""The tasks and the methods of Wang, Xiao, Devadas and Xu (2020, Section 6 and Appendix C).

From the paper: laws of the noise, sizes of steps, the trimmed share, the bound on the moment, the
budgets. Our choices, which the paper does not state: normal columns, a unit vector of weights, the
ball of radius 2, a start at zero, no penalty. Algorithm 3 is run at the printed noise, although it
is not private (E1).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np
from scipy import stats

from tailguard.array_types import FloatArray
from tailguard.checks import InputError
from tailguard.datasets.dataset import Dataset
from tailguard.losses.logistic import Logistic
from tailguard.losses.squared import Squared
from tailguard.moments import Moment
from tailguard.papers import wang2020
from tailguard.papers.common.theorem import Theorem
from tailguard.papers.instances import simulated
from tailguard.papers.reproduce.results import Noise
from tailguard.papers.reproduce.tasks.fits import PlannedFit, Task
from tailguard.privacy.guarantees import GDP, ApproxDP, Guarantee
from tailguard.sets.l2_ball import L2Ball

EPSILONS = (0.1, 0.5, 1.0)  # Section 6
# Appendix C: the bound v on the second moment and the step of Algorithm 4, those of Algorithm 3.
MOMENT, STEP = Moment(2.0, 5.0, kind="raw"), 0.1
TRIMMED_STEP, TRIMMED_SHARE = 0.01, 0.05
RADIUS = 2.0  # not stated; twice the length of the weights
KAPPA = 4.0  # width of the range of Algorithm 3; not stated
N_FEATURES = 10  # Section 6
# Far less noise than sampling error: such fits are those without privacy.
NO_PRIVACY = GDP(1e4)

ALGORITHM_3, ALGORITHM_4, BATCHES = "Algorithm 3", "Algorithm 4", "Algorithm 4, batches"
THEOREM_5, RGD, BATCH_RGD = "Algorithm 3 by Theorem 5", "RGD, no privacy", "RGD, batches"

RIDGE = Task("ridge", Squared(), L2Ball(RADIUS))
LOGISTIC = Task("logistic", Logistic(), L2Ball(RADIUS), {"classes": (0.0, 1.0)})
LAWS = {"ridge": simulated.lognormal_line, "logistic": simulated.loglogistic_labels}
# The risk of the logistic task falls along the weights up to the edge of the ball.
LENGTHS = {"ridge": 1.0, "logistic": RADIUS}
N_QUANTILES = 100_000  # of an integral: twice as many move an excess by less than 1e-8


@dataclass(frozen=True)
class Method:
    """A curve: how its theorem is called for sizes and a guarantee."""

    curve: str
    noise: Noise
    call: Callable[[int, int, Guarantee], Theorem]
    averages: bool = False

    def fit_for(
        self, task: Task, n_rows: int, width: int, epsilon: float
    ) -> Callable[[], PlannedFit]:
        """Return a fit that is planned at its first run, since planning may be refused.

        Delta is 1/n as in the paper, and RGD has no privacy.
        """
        promise = NO_PRIVACY if self.noise == "-" else ApproxDP(epsilon, 1.0 / n_rows)
        return cache(lambda: PlannedFit.of_theorem(task, self.call(n_rows, width, promise)))

    def path(self, trace: FloatArray) -> Iterator[tuple[int, FloatArray]]:
        """Yield steps and their points, or the averages so far; some 25 of them."""
        counts = np.arange(1, len(trace) + 1)
        points = np.cumsum(trace, axis=0) / counts[:, None] if self.averages else trace
        every = max(1, len(trace) // 25)
        for step in sorted({*range(every, len(trace) + 1, every), 1, len(trace)}):
            yield step, points[step - 1]


_TOLD: dict[str, Any] = {"moment": MOMENT, "constraint": L2Ball(RADIUS)}
soft: Callable[..., Theorem] = partial(wang2020.smoothed_convex, smoothness=1.0 / STEP, **_TOLD)
"""Algorithm 4."""
batches: Callable[..., Theorem] = partial(wang2020.stochastic, **_TOLD)
"""The same on batches."""


def trimmed(
    kappa: float, n_rows: int, n_features: int, guarantee: Guarantee, **how: Any
) -> Theorem:
    """Return Algorithm 3; ``smoothness`` gives the step, and need not be that of the risk.

    The noise follows from the numerical proof if the budget is enough for it, else from the
    published constants.
    """
    options = {"mean_range": kappa / 2.0, "strong_convexity": 1.0, **_TOLD, **how}
    call = partial(wang2020.trimmed_strongly_convex, n_rows, n_features, guarantee, **options)
    if "calibration" in how:
        return _checked(call())
    try:
        return _checked(call(proof="numerical"))
    except InputError:  # the budget is too small for all but the published constants
        return _checked(call(proof="published"))


def _checked(theorem: Theorem) -> Theorem:
    """Return the theorem if its plan succeeds; planning computes the noise."""
    PlannedFit.of_theorem(RIDGE, theorem).plan  # noqa: B018 - refused here, if at all
    return theorem


def as_stated(n_steps: int, n_rows: int) -> dict[str, Any]:
    """Return the step and the trimmed number of the experiments."""
    n_trimmed = round(TRIMMED_SHARE * n_rows)
    return {"n_steps": n_steps, "n_trimmed": n_trimmed, "smoothness": 1.0 / TRIMMED_STEP}


AS_PRINTED: dict[str, Any] = {"calibration": "printed"}


def curves_of(n_steps: int, n_rows: int, *, by_theorem: bool) -> tuple[Method, ...]:
    """List the curves of Figures 1 and 2."""
    stated = as_stated(n_steps, n_rows)
    found = [
        Method(ALGORITHM_3, "tight", partial(trimmed, KAPPA, **stated)),
        Method(ALGORITHM_3, "printed", partial(trimmed, KAPPA, **stated, **AS_PRINTED)),
        Method(ALGORITHM_4, "tight", partial(soft, n_steps=n_steps)),
        Method(ALGORITHM_4, "printed", partial(soft, n_steps=n_steps, **AS_PRINTED)),
        Method(BATCHES, "tight", batches, averages=True),
        Method(RGD, "-", partial(soft, n_steps=n_steps)),
        Method(BATCH_RGD, "-", batches, averages=True),
    ]
    if by_theorem:
        found.insert(2, Method(THEOREM_5, "tight", partial(trimmed, KAPPA, smoothness=1.0)))
    return tuple(found)


@lru_cache(maxsize=2)
def draw(task: str, n_rows: int, n_features: int, seed: int) -> Dataset:
    """Draw the records of a task."""
    return LAWS[task](n_rows, n_features, seed=seed)


def distance(task: Task, data: Dataset, weights: FloatArray) -> float:
    """Return the distance from the optimum over its length."""
    optimum = LENGTHS[task.name] * data.coefficients
    return float(np.linalg.norm(weights - optimum) / np.linalg.norm(optimum))


def excess(task: Task, data: Dataset, weights: FloatArray) -> float:
    """Return the excess risk over the optimum, for the law of the records."""
    risk, optimum = RISKS[task.name], LENGTHS[task.name] * data.coefficients
    return risk(weights, data.coefficients) - risk(optimum, data.coefficients)


def _squared_risk(weights: FloatArray, truth: FloatArray) -> float:
    """Return half the mean squared residual, without the share of the noise."""
    return float(np.sum((weights - truth) ** 2)) / 2.0


def _logistic_risk(weights: FloatArray, truth: FloatArray) -> float:
    """Return the mean of ``log(1 + exp(score)) - label * score``.

    The score is normal, and the mean of a label times a column is along the truth.
    """
    normals, along = _logistic_means()
    scores = np.linalg.norm(weights) * normals
    return float(np.mean(np.logaddexp(0.0, scores)) - along * (weights @ truth))


@cache
def _logistic_means() -> tuple[FloatArray, float]:
    """Return quantiles of a normal score, and the mean of it times its label.

    A label is 1 if the score is above minus the noise ``v``, so the mean is that of the normal
    density at ``v``.
    """
    chances = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    along = float(np.mean(stats.norm.pdf(simulated.loglogistic_noise(chances))))
    return np.asarray(stats.norm.ppf(chances), dtype=np.float64), along


RISKS: dict[str, Callable[..., float]] = {"ridge": _squared_risk, "logistic": _logistic_risk}
