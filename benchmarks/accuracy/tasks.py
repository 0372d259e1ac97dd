"""What a task gives: trials, each a training sample and a judge of coefficients."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, eq=False)
class Trial:
    """One training sample of a task, and how to judge what was fitted to it.

    Attributes
    ----------
    features, target
        The training sample, in raw units.
    excess
        ``(coef, intercept) -> `` excess risk over ``baseline``; inf where a coefficient is not
        finite.
    constant_gap
        Excess risk of the best constant prediction (of predicting 0 where no intercept is fitted).
    truth
        Coefficients and intercept of the population optimum, where known.
    paired
        Excess over the best non-private fit on one test set, where published figures use it.
    predicted
        Excess of what a fitted model itself predicts on the test rows, if ours is judged by it.
    """

    features: np.ndarray
    target: np.ndarray
    excess: Callable[[np.ndarray, float], float]
    constant_gap: float
    truth: tuple[np.ndarray, float] | None = None
    paired: Callable[[np.ndarray, float], float] | None = None
    predicted: Callable[[object], float] | None = None


@dataclass(frozen=True, eq=False)
class Task:
    """A named task; ``trial(seed)`` draws a training sample and its judge.

    ``baseline`` says what the excess is measured from, ``settings`` holds public facts for the
    report.
    """

    name: str
    suite: str
    loss: str
    n_rows: int
    n_features: int
    intercept: bool
    trial: Callable[[int], Trial]
    baseline: str = "population optimum"
    settings: dict = field(default_factory=dict)

    @property
    def delta(self):
        """``n^-1.1``, as in the published comparisons."""
        return float(self.n_rows) ** -1.1


def finite(excess):
    """Let a judge answer inf where coefficients are not finite or overflow."""

    def judge(coef, intercept=0.0):
        with np.errstate(all="ignore"):
            value = float(excess(np.asarray(coef, dtype=float).ravel(), float(intercept)))
        return value if np.isfinite(value) else float("inf")

    return judge
