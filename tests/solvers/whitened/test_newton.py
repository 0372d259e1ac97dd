"""Steps: shorter the noisier they are, and otherwise along the fit where a likelihood bends."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.plans.plan import Plan
from tailguard.plans.problem import Problem
from tailguard.queries.units import Units
from tailguard.queries.view import View
from tailguard.solvers.session import BudgetSession
from tailguard.solvers.whitened.clipping import Clip
from tailguard.solvers.whitened.newton import (
    CURVATURE_RANGE,
    LARGEST_PART,
    NOISE_PART,
    relative_curvature,
    scaled_along_fit,
    step,
)
from tailguard.solvers.whitened.schedule import Shares, stages_for
from tailguard.solvers.whitened.state import Fit, NewtonIterate

WEIGHTS = np.array([0.9, -0.4, 0.2, 0.7])  # of three columns and the constant
ALONG = np.array([0.9, -0.4, 0.2, 0.0]) / np.linalg.norm([0.9, -0.4, 0.2])
ACROSS = np.array([0.4, 0.9, 0.0, 0.0])


def fit_of(loss, weights=WEIGHTS, *, curvature_released=False):
    problem = Problem(loss, n_rows=1_000, n_features=3, intercept=True)
    view = View.plain(loss, Units.raw(3, intercept=True))
    fit = Fit(None, problem, Shares(), view, weights.copy(), np.zeros(4), 4.0, np.ones(4))
    fit.curvature_released = curvature_released
    return fit


def test_a_logistic_loss_bends_less_along_a_fit_the_further_it_spreads():
    fit = fit_of(tg.losses.Logistic())
    bends = [relative_curvature(fit, spread) for spread in (0.01, 0.5, 1.0, 2.0, 4.0)]
    assert bends[0] == pytest.approx(1.0, abs=1e-3)
    assert (np.diff(bends) < 0.0).all()
    assert relative_curvature(fit, 100.0) == CURVATURE_RANGE[0]


@pytest.mark.parametrize("spread", [0.1, 0.5, 1.0, 1.5])
def test_a_log_link_bends_more_by_the_squared_spread(spread):
    """E[exp(s z) z**2] = (1 + s**2) exp(s**2 / 2) for normal z."""
    fit = fit_of(tg.losses.Poisson())
    assert relative_curvature(fit, spread) == pytest.approx(1.0 + spread**2, rel=1e-4)
    assert relative_curvature(fit, 5.0) == CURVATURE_RANGE[1]


@pytest.mark.parametrize("loss", [tg.losses.Logistic(), tg.losses.Poisson()])
def test_only_the_part_of_a_step_along_the_fit_changes(loss):
    fit = fit_of(loss)
    update_curvature = relative_curvature(fit, np.linalg.norm(WEIGHTS[:3]))
    np.testing.assert_allclose(scaled_along_fit(fit, 0.3 * ALONG), 0.3 * ALONG / update_curvature)
    for other in (ACROSS, np.array([0.0, 0.0, 0.0, 1.0])):
        np.testing.assert_allclose(scaled_along_fit(fit, other), other, atol=1e-12)
    step = np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(
        scaled_along_fit(fit, step), step + ALONG * (ALONG @ step) * (1.0 / update_curvature - 1.0)
    )


def test_steps_stay_as_they_are_for_residuals_and_once_curvature_was_released():
    step = np.array([0.1, 0.2, 0.3, 0.4])
    for loss in (tg.losses.Squared(), tg.losses.Huber(1.345), tg.losses.Quantile(0.5)):
        assert (scaled_along_fit(fit_of(loss), step) == step).all()
    for loss in (tg.losses.Logistic(), tg.losses.Poisson()):
        assert (scaled_along_fit(fit_of(loss, curvature_released=True), step) == step).all()
        assert (
            scaled_along_fit(fit_of(loss, weights=np.array([0.0, 0.0, 0.0, 0.7])), step) == step
        ).all()


class ToldPurse(BudgetSession):
    """A budget session that answers every question with the same score and no noise."""

    def __init__(self, plan, score):
        super().__init__(plan, None)
        self.score, self.asked = score, []

    def ask(self, query, state, stage):
        self._spent += stage.mu**2
        self.asked.append(stage.mu)
        return self.score[None, :]


def stepped(mu, *, n_before=10, sharing=(0,), way=-ACROSS):
    """Rounds whose Newton step is ``-way``, after others that arrived where they started."""
    fit = fit_of(tg.losses.Squared())
    fit.shares = Shares()
    plan = Plan("example", fit.problem, tg.GDP(mu), stages_for(fit.problem, fit.shares, mu))
    fit.session, fit.clip = ToldPurse(plan, way), Clip(1.0, 1.0, 1.0, 0.1)
    query_std = 2.0 / (fit.n_rows * fit.rounds([0])[0].mu)
    before = NewtonIterate(WEIGHTS, WEIGHTS, query_std, fit.n_rows)
    fit.iterates = [before] * n_before
    for rounds in sharing:
        step(fit, sharing=rounds)
    assert fit.iterates[-1].noise_std == pytest.approx(query_std, rel=1e-3) or any(sharing)
    return fit


def needed_later(plan):
    """The squared mu of the stages after the rounds."""
    names = ("debiasing", "debiasing curvature", "variance")
    return sum(plan.stage(name).total_mu ** 2 for name in names)


def gone(fit):
    """The part of the step that was gone."""
    return float((fit.weights - WEIGHTS) @ ACROSS / (ACROSS @ ACROSS))


@pytest.mark.parametrize(("mu", "damped"), [(1.0, False), (0.05, True), (0.035, True)])
def test_a_round_goes_a_part_of_its_step_and_a_noisier_one_less(mu, damped):
    fit = stepped(mu)
    iterate = fit.iterates[-1]
    np.testing.assert_allclose(iterate.start, WEIGHTS)
    np.testing.assert_allclose(iterate.weights, WEIGHTS + ACROSS)
    allowed = NOISE_PART / (4 * iterate.noise_std**2)
    assert (allowed < LARGEST_PART) == damped
    np.testing.assert_allclose(fit.weights, WEIGHTS + min(LARGEST_PART, allowed) * ACROSS)


def test_the_noisier_the_round_the_smaller_the_part():
    parts = [gone(stepped(mu)) for mu in (1.0, 0.05, 0.04, 0.035)]
    assert parts[0] == pytest.approx(LARGEST_PART)
    assert (np.diff(parts) < 0.0).all()


@pytest.mark.parametrize(("mu", "n_before"), [(1.0, 0), (0.05, 0), (0.05, 1), (0.01, 10)])
def test_where_that_is_less_than_an_average_goes_the_fit_stands_at_the_average(mu, n_before):
    fit = stepped(mu, n_before=n_before)
    stood = fit.weights.copy()
    fit.average_iterates()
    np.testing.assert_array_equal(fit.weights, stood)
    if mu == 1.0 and n_before == 0:
        np.testing.assert_allclose(fit.weights, WEIGHTS + ACROSS, rtol=0.01)


def test_a_round_alone_takes_all_that_is_left_but_what_later_stages_need():
    usual, last = stepped(0.5), stepped(0.5, sharing=(1,))
    plan = last.session.plan
    assert usual.session.asked == [plan.stage("rounds of phase 1").mu]
    assert last.session.asked[0] == pytest.approx(np.sqrt(plan.total_mu**2 - needed_later(plan)))
    assert last.session.asked[0] ** 2 + needed_later(plan) <= plan.total_mu**2


@pytest.mark.parametrize("count", [2, 4, 32])
def test_rounds_share_what_is_left_equally_and_leave_nothing(count):
    fit = stepped(0.5, sharing=(0, 0, *range(count, 0, -1)))
    plan, asked = fit.session.plan, np.array(fit.session.asked)
    planned = plan.stage("rounds of phase 1").mu
    assert (asked[:2] == planned).all()
    shared = plan.total_mu**2 - needed_later(plan) - 2 * planned**2
    np.testing.assert_allclose(asked[2:], np.sqrt(shared / count), rtol=1e-9)
    assert (asked**2).sum() <= shared + 2 * planned**2


def test_a_round_has_at_least_what_was_planned_for_it():
    fit = stepped(0.5, sharing=(1_000_000, 1))
    planned = fit.session.plan.stage("rounds of phase 1").mu
    assert fit.session.asked[0] == planned
    assert fit.session.asked[1] > planned
