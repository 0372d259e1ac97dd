"""Steps: shorter the noisier they are, and otherwise along the fit where a likelihood bends."""

from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from support.fits import plain_fit
from tailguard.gate.plan import Plan, Problem
from tailguard.solvers.newton import allocation
from tailguard.solvers.newton.newton import (
    LARGEST_PART,
    LEAST_ALONG,
    FitSession,
    _relative_curvature,
    _scaled_along_fit,
    averaged,
    settled,
    step,
)
from tailguard.solvers.newton.schedule import AFTER_ROUNDS, Shares, stages_for
from tailguard.solvers.newton.state import NewtonIterate

WEIGHTS = np.array([0.9, -0.4, 0.2, 0.7])  # of three columns and the constant
ALONG = np.array([0.9, -0.4, 0.2, 0.0]) / np.linalg.norm([0.9, -0.4, 0.2])
ACROSS = np.array([0.4, 0.9, 0.0, 0.0])


def test_a_logistic_loss_bends_less_along_a_fit_the_further_it_spreads():
    loss = tg.losses.Logistic()
    bends = [_relative_curvature(loss, spread) for spread in (0.01, 0.5, 1.0, 2.0, 4.0)]
    assert bends[0] == pytest.approx(1.0, abs=1e-3)
    assert (np.diff(bends) < 0.0).all()
    assert _relative_curvature(loss, 100.0) == LEAST_ALONG


@pytest.mark.parametrize("spread", [0.1, 0.5, 1.0, 1.5])
def test_a_log_link_bends_more_by_the_squared_spread(spread):
    """E[exp(s z) z**2] = (1 + s**2) exp(s**2 / 2) for normal z."""
    loss = tg.losses.Poisson()
    assert _relative_curvature(loss, spread) == pytest.approx(1.0 + spread**2, rel=1e-4)


@pytest.mark.parametrize("loss", [tg.losses.Logistic(), tg.losses.Poisson()])
def test_only_the_part_of_a_step_along_the_fit_changes(loss):
    fit = plain_fit(loss, 3, weights=WEIGHTS)
    curvature = _relative_curvature(loss, np.linalg.norm(WEIGHTS[:3]))
    np.testing.assert_allclose(_scaled_along_fit(loss, fit, 0.3 * ALONG), 0.3 * ALONG / curvature)
    for other in (ACROSS, np.array([0.0, 0.0, 0.0, 1.0])):
        np.testing.assert_allclose(_scaled_along_fit(loss, fit, other), other, atol=1e-12)
    way = np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(
        _scaled_along_fit(loss, fit, way), way + ALONG * (ALONG @ way) * (1.0 / curvature - 1.0)
    )
    at_constant = plain_fit(loss, 3, weights=np.array([0.0, 0.0, 0.0, 0.7]))
    assert (_scaled_along_fit(loss, at_constant, way) == way).all()


def newton_step_of(loss, *, released=False):
    """The step that a round takes whose score is ``-way``."""
    way = np.array([0.1, 0.2, 0.3, 0.4])
    fit = plain_fit(loss, 3, weights=WEIGHTS, cap=9.0 if released else np.inf)
    problem, shares = Problem(loss, 1_000, 3, intercept=True), Shares(constant=0.01)
    plan = Plan("example", problem, tg.GDP(1.0), stages_for(problem, shares, 1.0))
    iterate = step(ToldPurse(plan, -way, shares), fit).iterates[0]
    return iterate.weights - iterate.start, way


@pytest.mark.parametrize(
    "loss",
    [tg.losses.Squared(), tg.losses.Huber(1.345), tg.losses.Quantile(0.5), tg.losses.Poisson()],
)
def test_steps_stay_as_they_are_for_residuals_and_log_links(loss):
    np.testing.assert_allclose(*newton_step_of(loss), rtol=1e-12)


def test_steps_stay_as_they_are_once_curvature_was_released():
    loss = tg.losses.Logistic()
    np.testing.assert_allclose(*newton_step_of(loss, released=True), rtol=1e-12)
    moved, way = newton_step_of(loss)
    assert not np.allclose(moved, way, rtol=0.01)


class ToldPurse(FitSession):
    """A budget session that answers every question with the same score and no noise."""

    def __init__(self, plan, score, shares):
        super().__init__(plan, None, shares)
        self.score, self.asked = score, []

    def ask(self, query, state, stage):
        self._spent += stage.mu**2
        self.asked.append(stage.mu)
        return self.score[None, :]


def stepped(mu, *, n_before=10, rounds_left=(0,), way=-ACROSS):
    """Rounds whose Newton step is ``-way``, after others that arrived where they started."""
    loss, shares = tg.losses.Squared(), Shares()
    problem = Problem(loss, n_rows=1_000, n_features=3, intercept=True)
    plan = Plan("example", problem, tg.GDP(mu), stages_for(problem, shares, mu))
    session, fit = ToldPurse(plan, way, shares), plain_fit(loss, 3, weights=WEIGHTS)
    query_std = 2.0 / (problem.n_rows * session.round(0).mu)
    before = NewtonIterate(WEIGHTS, WEIGHTS, query_std, problem.n_rows)
    fit = replace(fit, iterates=(before,) * n_before)
    for rounds in rounds_left:
        fit = step(session, fit, rounds_left=rounds)
    assert fit.iterates[-1].noise_std == pytest.approx(query_std, rel=1e-3) or any(rounds_left)
    return session, fit


def needed_later(plan):
    """The squared mu of the stages after the rounds."""
    names = ("debiasing", "debiasing curvature")
    assert {*names} == {*AFTER_ROUNDS} & {stage.name for stage in plan.stages}
    return sum(plan.stage(name).total_mu ** 2 for name in names)


@pytest.mark.parametrize(("mu", "damped"), [(1.0, False), (0.05, True), (0.035, True)])
def test_a_round_goes_a_part_of_its_step_and_a_noisier_one_less(mu, damped):
    _, fit = stepped(mu)
    iterate = fit.iterates[-1]
    np.testing.assert_allclose(iterate.start, WEIGHTS)
    np.testing.assert_allclose(iterate.weights, WEIGHTS + ACROSS)
    allowed = LARGEST_PART**2 / (4 * iterate.noise_std**2)
    assert (allowed < LARGEST_PART) == damped
    np.testing.assert_allclose(fit.weights, WEIGHTS + min(LARGEST_PART, allowed) * ACROSS)


@pytest.mark.parametrize(("mu", "n_before"), [(1.0, 0), (0.05, 0), (0.05, 1), (0.01, 10)])
def test_where_that_is_less_than_an_average_goes_the_fit_stands_at_the_average(mu, n_before):
    _, fit = stepped(mu, n_before=n_before)
    np.testing.assert_array_equal(averaged(fit).weights, fit.weights)
    if mu == 1.0 and n_before == 0:
        np.testing.assert_allclose(fit.weights, WEIGHTS + ACROSS, rtol=0.01)


@pytest.mark.parametrize("count", [1, 2, 32])
def test_rounds_share_what_is_left_equally_and_leave_nothing(count):
    session, _ = stepped(0.5, rounds_left=(0, 0, *range(count, 0, -1)))
    plan, asked = session.plan, np.array(session.asked)
    planned = plan.stage("rounds of phase 1").mu
    assert (asked[:2] == planned).all()
    shared = plan.total_mu**2 - needed_later(plan) - 2 * planned**2
    np.testing.assert_allclose(asked[2:], np.sqrt(shared / count), rtol=1e-9)
    assert (asked**2).sum() <= shared + 2 * planned**2


def test_a_round_has_at_least_what_was_planned_for_it():
    session, _ = stepped(0.5, rounds_left=(1_000_000, 1))
    planned = session.plan.stage("rounds of phase 1").mu
    assert session.asked[0] == planned
    assert session.asked[1] > planned


def test_a_fit_has_settled_if_noise_explains_its_last_step():
    fit = plain_fit(tg.losses.Squared(), 3, weights=WEIGHTS)
    for length, expected in ((1.9, True), (2.1, False)):  # in standard deviations of the noise
        arrival = WEIGHTS + 0.1 * length * np.ones(4)
        iterates = (
            NewtonIterate(arrival, WEIGHTS, 0.01, 100),
            NewtonIterate(WEIGHTS, arrival, 0.1, 100),
        )
        assert settled(replace(fit, iterates=iterates)) == expected


@pytest.mark.parametrize("has_settled", [True, False])
def test_rounds_that_settled_leave_their_budget_to_fewer_passes(monkeypatch, has_settled):
    monkeypatch.setattr(allocation, "SMALLEST_SAMPLE", 20_000)
    monkeypatch.setattr("tailguard.solvers.newton.solver.settled", lambda fit: has_settled)
    X = np.random.default_rng(0).normal(size=(60_000, 2))
    model = tg.LinearRegression(epsilon=4.0, delta=1e-6, random_state=0).fit(X, X @ [1.0, 2.0])
    rounds = [each for each in model.certificate_.releases if each.stage == "rounds of phase 4"]
    planned = model.plan_.stage("rounds of phase 4")
    spent = [(each.sensitivity / each.noise_std) ** 2 for each in rounds for _ in range(each.times)]
    assert len(spent) == (3 if has_settled else planned.times)  # of 16, 15 are left, 4, 1
    assert sum(spent) >= planned.total_mu**2 * (1.0 - 1e-6)
    assert model.certificate_.spent.mu <= model.certificate_.total.mu
    assert model.certificate_.total.epsilon <= 4.0
