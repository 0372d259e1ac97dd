"""Losses of which no power of the mean tells the slope: refused where that is assumed."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import tailguard as tg
from tailguard.gate.plan import Problem
from tailguard.losses.base import Link
from tailguard.losses.registry import LOSSES
from tailguard.solvers.newton.solver import WhitenedNewton

REFUSED = (
    "solver 'whitened-newton' needs a loss of the residual or a quasi-likelihood, such as Poisson, "
    r"Gamma or Logistic; {} is neither: use solver='noisy-gradient-descent' and a constraint\."
)


@dataclass(frozen=True)
class LogSquares(tg.losses.Squared):
    """Half the squared difference of logarithms, whose best score is no logarithm of a mean."""

    name: ClassVar[str] = "log_squares"
    link: ClassVar[Link] = Link.LOG
    canonical: ClassVar[bool] = False

    @np.errstate(all="ignore")
    def slope(self, score, target):
        return np.asarray(score) - np.log(target)

    def valid_target(self, target):
        return np.isfinite(target) & (np.asarray(target) > 0.0)


@pytest.fixture
def log_squares(monkeypatch):
    """The loss, while it is registered."""
    monkeypatch.setitem(LOSSES, "log_squares", f"{LogSquares.__module__}:LogSquares")
    return LogSquares()


def records(n_rows=20_000):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n_rows, 2))
    return X, np.exp(0.7 + X @ [0.5, -0.8] + 0.3 * rng.standard_normal(n_rows))


@pytest.mark.parametrize("n_rows", [200, 20_000])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", [LogSquares(), tg.losses.BalancedLogistic()])
def test_the_default_refuses_them_and_says_what_would_do(loss, intercept, n_rows):
    problem = Problem(loss, n_rows, 2, intercept=intercept)
    with pytest.raises(tg.InputError, match=REFUSED.format(type(loss).__name__)):
        WhitenedNewton().plan(problem, tg.GDP(1.0))


def test_the_solver_that_it_names_fits_them(log_squares):
    X, y = records()
    told = {"constraint": tg.sets.L2Ball(3.0), "intercept": True, "random_state": 0}
    found = tg.minimize(log_squares, X, y, epsilon=4.0, delta=1e-6, **told)
    assert found.plan.solver == "noisy-gradient-descent"
    np.testing.assert_allclose([*found.coef, found.intercept], [0.5, -0.8, 0.7], atol=0.1)
