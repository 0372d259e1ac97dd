"""Losses whose slope is not the expected target less the target: refused where that is assumed."""

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
    "solver 'whitened-newton' needs a loss of the residual, or one whose slope is the expected "
    r"target less the target; {} is neither: use solver='noisy-gradient-descent' and a constraint\."
)


@dataclass(frozen=True)
class Gamma(tg.losses.Poisson):
    """Negative log-likelihood of a Gamma law with a log link, as somebody might register it."""

    name: ClassVar[str] = "gamma"
    link: ClassVar[Link] = Link.LOG
    canonical: ClassVar[bool] = False

    @np.errstate(all="ignore")
    def value(self, score, target):
        return np.asarray(score) + np.multiply(target, self.mean(np.negative(score)))

    @np.errstate(all="ignore")
    def slope(self, score, target):
        return 1.0 - np.multiply(target, np.exp(np.clip(np.negative(score), -500.0, 500.0)))


@pytest.fixture
def gamma(monkeypatch):
    """The loss, while it is registered."""
    monkeypatch.setitem(LOSSES, "gamma", f"{Gamma.__module__}:Gamma")
    return Gamma()


def records(n_rows=20_000):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n_rows, 2))
    return X, rng.gamma(2.0, np.exp(0.7 + X @ [0.5, -0.8]) / 2.0)


@pytest.mark.parametrize("n_rows", [200, 20_000])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", [Gamma(), tg.losses.BalancedLogistic()])
def test_the_default_refuses_them_and_says_what_would_do(loss, intercept, n_rows):
    problem = Problem(loss, n_rows, 2, intercept=intercept)
    with pytest.raises(tg.InputError, match=REFUSED.format(type(loss).__name__)):
        WhitenedNewton().plan(problem, tg.GDP(1.0))


def test_a_fit_by_default_is_refused(gamma):
    X, y = records(n_rows=2000)
    with pytest.raises(tg.InputError, match=REFUSED.format("Gamma")):
        tg.minimize(gamma, X, y, epsilon=1.0, delta=1e-6, intercept=True, random_state=0)


def test_the_solver_that_it_names_fits_them(gamma):
    X, y = records()
    told = {"constraint": tg.sets.L2Ball(3.0), "intercept": True, "random_state": 0}
    found = tg.minimize(gamma, X, y, epsilon=4.0, delta=1e-6, **told)
    assert found.plan.solver == "noisy-gradient-descent"
    np.testing.assert_allclose([*found.coef, found.intercept], [0.5, -0.8, 0.7], atol=0.1)
