"""What is planned at which budget, from public numbers alone."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.solvers.base import Problem
from tailguard.solvers.whitened.shares import FAINT, FAINT_CURVATURE, shares_for
from tailguard.solvers.whitened.stages import stages_for

LOSSES = {
    "squared": tg.losses.Squared(),
    "huber": tg.losses.Huber(1.345),
    "logistic": tg.losses.Logistic(),
    "poisson": tg.losses.Poisson(),
}
N_FEATURES = 30
every_loss = pytest.mark.parametrize("name", LOSSES)
every_budget = pytest.mark.parametrize("budget", [5.0, 50.0, 500.0, 5e3, 5e4, 5e6])


def plan(name, budget, *, intercept=True, n_features=N_FEATURES):
    """Shares and stages at ``n * mu = budget``."""
    mu = budget / 10_000
    problem = Problem(LOSSES[name], 10_000, n_features, intercept)
    shares = shares_for(problem, mu)
    return shares, {
        stage.name: stage.total_mu**2 / mu**2 for stage in stages_for(problem, shares, mu)
    }


@every_loss
@every_budget
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n_features", [1, 5, 100])
def test_stages_spend_exactly_the_budget_and_rounds_a_sixth_of_it(
    name, budget, intercept, n_features
):
    _, spent = plan(name, budget, intercept=intercept, n_features=n_features)
    assert sum(spent.values()) == pytest.approx(1.0)
    rounds = sum(share for stage, share in spent.items() if stage.startswith("rounds of"))
    assert rounds >= 1 / 6
    assert min(spent.values()) > 0.0


@every_loss
def test_a_faint_plan_asks_for_no_second_moments_but_those_that_whiten(name):
    bends = name in ("logistic", "poisson")
    border = (FAINT_CURVATURE if bends else FAINT) * (N_FEATURES + 2) ** 1.5
    shares, faint = plan(name, 0.99 * border)
    dropped = {"curvature", "leaning", "calibration", "calibration curvature", "variance"}
    assert not dropped & faint.keys()
    assert shares.bend == ()
    assert "moments" in faint
    _, above = plan(name, 1.01 * border)
    assert "variance" in above
    assert ("curvature" in above) == (name != "huber")
    assert ("leaning" in above) == (name == "squared")
    assert ("calibration" in above) == (name in ("squared", "poisson"))


@every_loss
def test_units_get_less_of_a_larger_budget(name):
    found = [plan(name, budget)[0] for budget in (200.0, 2e3, 2e4, 2e5, 2e6)]
    for stage in ("size", "place", "target", "again"):
        assert (np.diff([getattr(shares, stage) for shares in found]) <= 0.0).all()


def test_nothing_is_placed_without_an_intercept_and_classes_have_no_units():
    assert not {"place", "fine place", "spread"} & plan("squared", 5e4, intercept=False)[1].keys()
    assert {"target size", "size"} <= plan("squared", 5e4, intercept=False)[1].keys()
    assert not any(stage.startswith("target") for stage in plan("logistic", 5e4)[1])
    assert [s for s in plan("poisson", 5e4)[1] if s.startswith("target")] == ["target size"]
