"""Accelerated descent over secret batches: its recursion, its noise and its promise."""

import math

import numpy as np
import pytest

import tailguard as tg
from support.recursions import clipped_slope, consecutive, data, without_noise
from support.spy import gate_over, run_over
from tailguard.checks import BudgetError
from tailguard.gate.plan import Problem
from tailguard.papers.solvers.doubling_accelerated import DoublingAccelerated
from tailguard.papers.solvers.permuted_accelerated import (
    PermutedAccelerated,
    batch_noise,
    printed_batch_noise,
)
from tailguard.papers.solvers.phased_growth import DoublingLocalised
from tailguard.papers.solvers.phases import doubling_sizes

BALL = tg.sets.L2Ball(0.5)
SMOOTH = 50.0  # so large that the step follows from it alone


def one_pass(w, X, y, n_steps, clip_norm=1e3, lag=1):
    """Ghadimi and Lan 2012, in the unrolled form of their paper."""
    size = len(y) // n_steps
    average, points = w, []
    for t in range(1, n_steps + 1):
        rows = slice((t - 1) * size, t * size)
        alpha = 2.0 / (t + lag)
        lam = alpha * t * (t + 1) / (8.0 * SMOOTH)
        middle = average + alpha * (w - average)
        w = w - lam * clipped_slope(middle, X[rows], y[rows], clip_norm, np.inf)
        w = w / max(1.0, np.linalg.norm(w) / 0.5)
        average = average + alpha * (w - average)
        points.append(average)
    return points


@pytest.mark.parametrize("clip_norm", [1e3, 0.5])
def test_without_noise_it_is_the_accelerated_recursion(clip_norm):
    X, y = data(207)
    solver = PermutedAccelerated(n_steps=10, clip_norm=clip_norm, smoothness=SMOOTH)
    solution = without_noise(solver, X, y, BALL)
    points = one_pass(np.zeros(3), X, y, 10, clip_norm)
    np.testing.assert_allclose(solution.trace, points, atol=1e-9)
    np.testing.assert_allclose(solution.coef, points[-1], atol=1e-9)


def test_phases_go_on_from_where_the_last_one_ended():
    X, y = data(500)
    solver = DoublingAccelerated(
        n_steps=6, clip_norm=1e3, smoothness=SMOOTH, growth_bound=1.5, start=0.1
    )
    solution = without_noise(solver, X, y, BALL)
    w, points = np.full(3, 0.1), []
    for rows, targets in consecutive(X, y, doubling_sizes(500, 1.5, 32)):
        points += one_pass(w, rows, targets, 6)
        w = points[-1]
    assert len(points) == 24
    np.testing.assert_allclose(solution.trace, points, atol=1e-9)


def test_a_loss_known_by_its_gradient_will_do():
    X, y = data(200)
    own = tg.losses.RecordGradient(lambda w, x, t: (x @ w - t) * x)
    solver = PermutedAccelerated(n_steps=8, clip_norm=2.0, smoothness=SMOOTH)
    found = [without_noise(solver, X, y, BALL, loss=loss).coef for loss in (own, None)]
    np.testing.assert_allclose(*found, atol=1e-9)


# Noise: the card's table, n = 10_000 and delta = n^-1.1.


@pytest.mark.long
@pytest.mark.parametrize(
    ("epsilon", "n_steps", "parallel", "least"),
    [
        (0.1, 10, 0.054, 0.054),
        (0.1, 50, 0.271, 0.192),
        (0.5, 200, 0.255, 0.161),
        (1, 50, 0.0341, 0.0341),
    ],
)
def test_the_noise_of_a_batch_is_the_smallest_of_the_proofs(epsilon, n_steps, parallel, least):
    problem = Problem(tg.losses.Squared(), 10_000, 3, constraint=BALL)
    solver = PermutedAccelerated(n_steps=n_steps, clip_norm=1.0)
    guarantee = tg.ApproxDP(epsilon, 10_000**-1.1)
    plan = solver.plan(problem, guarantee)
    noise = 2.0 * n_steps / 10_000 / plan.stages[0].mu
    assert noise == pytest.approx(least, rel=0.025)
    assert 2.0 * n_steps / 10_000 / guarantee.gaussian_mu() == pytest.approx(parallel, rel=0.01)
    shuffled = least < parallel
    assert plan.stages[0].shuffled == shuffled
    assert plan.settings["proof"] == ("groups" if shuffled else "parallel")


def test_other_promises_count_disjoint_batches_only():
    for promise in (tg.GDP(0.1), tg.ZCDP(0.01)):
        mu, shuffled = batch_noise(promise, 500)
        assert not shuffled
        assert mu == pytest.approx(promise.gaussian_mu())


@pytest.mark.long
def test_a_shuffled_run_is_booked_as_one_shuffle_within_the_promise():
    X, y = data(600)
    problem, guarantee = (
        Problem(tg.losses.Squared(), 600, 3, constraint=BALL),
        tg.ApproxDP(0.1, 1e-5),
    )
    solver = PermutedAccelerated(n_steps=200, clip_norm=1.0)
    _, gate, plan = run_over(solver, problem, X, y, guarantee, seed=3)
    assert plan.stages[0].shuffled
    assert plan.stages[0].mu > 1.5 * guarantee.gaussian_mu()
    certificate = gate.certificate()
    assert 0.099 <= certificate.spent.epsilon <= 0.1
    assert certificate.spent.epsilon == pytest.approx(certificate.total.epsilon, rel=1e-9)


def test_a_momentum_that_lags_is_run():
    class Lagging(PermutedAccelerated):
        lag = 2

    X, y = data(207)
    found = without_noise(Lagging(n_steps=5, clip_norm=0.5, smoothness=SMOOTH), X, y, BALL).trace
    points = one_pass(np.zeros(3), X[:205], y[:205], 5, 0.5, lag=2)
    np.testing.assert_allclose(found, points, atol=1e-6)


@pytest.mark.parametrize("growth_bound", [1.2, 20.0])
def test_printed_phases_without_a_record_are_refused(growth_bound):
    problem = Problem(tg.losses.Squared(), 10_000, 3, constraint=BALL)
    for solver in (DoublingAccelerated, DoublingLocalised):
        accelerated = solver is DoublingAccelerated
        how = {"calibration": "printed"} if accelerated else {"schedule": "printed"}
        with pytest.raises(tg.InputError, match="growth_bound must leave records in every round"):
            solver(growth_bound=growth_bound, **how).plan(problem, tg.ApproxDP(0.5, 1e-5))
        solver(growth_bound=growth_bound).plan(problem, tg.ApproxDP(0.5, 1e-5))


def test_phases_are_shuffled_each_by_itself_and_the_costliest_counts():
    problem = Problem(tg.losses.Squared(), 2000, 3, constraint=BALL)
    solver = DoublingAccelerated(n_steps=100, clip_norm=1.0)
    _, gate, plan = run_over(solver, problem, *data(2000), tg.ApproxDP(0.1, 1e-5), seed=3)
    assert plan.settings["proof"] == "; ".join(["groups"] * len(plan.stages))
    assert [event.block for event in plan.event.events] == list(range(len(plan.stages)))
    assert 0.099 <= gate.certificate().spent.epsilon <= 0.1


# The printed noise.


@pytest.mark.parametrize(("epsilon", "n_steps", "spent"), [(3.0, 30, 87.4), (9.0, 300, math.inf)])
def test_printed_noise_may_cost_more_than_sampled_noise_can_promise(epsilon, n_steps, spent):
    solver = PermutedAccelerated(n_steps=n_steps, calibration="printed")
    told = {"constraint": BALL, "random_state": 0, "solver": solver}
    X, y = data(10_000)
    solved = tg.minimize(tg.losses.Squared(), X, y, guarantee=tg.ApproxDP(epsilon, 1e-5), **told)
    found = solved.certificate
    assert found.mode == "reproduction: NOT PRIVATE"
    assert found.total.epsilon >= spent


@pytest.mark.parametrize(("epsilon", "n_steps", "sigma"), [(0.5, 50, 0.0045), (1.0, 10, 0.001)])
def test_the_printed_noise_is_charged_what_it_costs(epsilon, n_steps, sigma):
    asked = tg.ApproxDP(epsilon, 10_000**-1.1)
    mu = printed_batch_noise(asked, n_steps, 10_000)
    assert 2.0 * n_steps / 10_000 / mu == pytest.approx(sigma, rel=0.04)
    problem = Problem(tg.losses.Squared(), 10_000, 3, constraint=BALL)
    solver = PermutedAccelerated(n_steps=n_steps, calibration="printed", clip_norm=1.0)
    plan = solver.plan(problem, asked)
    assert plan.guarantee == asked
    assert plan.printed
    X, y = data(10_000)
    gate, _ = gate_over(problem, X, y, asked, seed=1)
    with pytest.raises(BudgetError, match="the plan must cost at most"):
        gate.reserve(plan.event, coordinates=plan.coordinates)
    gate.reserve(plan.event, coordinates=plan.coordinates, unprotected=True)
    solver.run(plan, gate)
    found = gate.certificate()
    assert 3.0 * epsilon < found.spent.epsilon <= found.total.epsilon
    assert found.mode == "reproduction: NOT PRIVATE"


# Public conditions.


def test_leftover_records_are_not_read_and_too_many_steps_are_cut():
    problem = Problem(tg.losses.Squared(), 47, 3, constraint=BALL)
    plan = PermutedAccelerated(n_steps=10, clip_norm=1.0).plan(problem, tg.GDP(1.0))
    assert plan.settings["batch_sizes"] == "10 of 4"
    plan = PermutedAccelerated(n_steps=100, clip_norm=1.0).plan(problem, tg.GDP(1.0))
    assert plan.settings["batch_sizes"] == "47 of 1"


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (Problem(tg.losses.Squared(), 500, 2), "finite diameter"),
        (Problem(tg.losses.Squared(), 500, 2, constraint=tg.sets.Box([0], [1])), "2 weights"),
        (Problem(tg.losses.Multinomial(3), 500, 2, constraint=BALL), "smoothness must be given"),
        (
            Problem(tg.losses.Multinomial(3), 500, 2, intercept=True, constraint=BALL),
            "intercept must be False",
        ),
    ],
)
def test_what_cannot_be_planned_is_one_sentence(problem, message):
    with pytest.raises(tg.InputError, match=message):
        PermutedAccelerated().plan(problem, tg.GDP(1.0))


@pytest.mark.parametrize(
    "options",
    [
        {"phase_steps": 3},
        {"phase_steps": np.ones(2)},
        {"phase_clip_norms": 0.0},
    ],
)
def test_options_of_phases_that_mean_nothing_are_refused(options):
    with pytest.raises(tg.InputError, match=next(iter(options))):
        DoublingAccelerated(**options)


def observed_delta(mu, n_batches, epsilon, n_draws=200_000):
    """Estimate of delta, and its error, for one who sees all batch means but not the batches."""
    rng = np.random.default_rng(7)
    chances = []
    for sign in (1.0, -1.0):
        seen = rng.standard_normal((n_draws, n_batches))
        seen[:, 0] += sign * mu / 2.0  # any batch will do: the test below treats all alike
        ratio = np.log(np.exp(mu / 2 * seen).sum(axis=1) / np.exp(-mu / 2 * seen).sum(axis=1))
        chances.append((ratio > epsilon).mean())
    error = math.sqrt((chances[0] + math.exp(2 * epsilon) * chances[1]) / n_draws)
    return chances[0] - math.exp(epsilon) * chances[1], error


@pytest.mark.parametrize(("epsilon", "n_batches"), [(0.5, 10), (1.0, 10), (1.0, 20)])
def test_an_observer_of_the_batch_means_breaks_the_printed_noise_only(epsilon, n_batches):
    promise = tg.ApproxDP(epsilon, 10_000**-1.1)
    printed = printed_batch_noise(promise, n_batches, 10_000)
    broken, error = observed_delta(printed, n_batches, epsilon)
    assert broken - 4.0 * error > 50 * promise.delta
    kept, error = observed_delta(batch_noise(promise, n_batches)[0], n_batches, epsilon)
    assert kept - 4.0 * error <= promise.delta


def test_phases_may_have_steps_and_clip_norms_of_their_own():
    problem = Problem(tg.losses.LpLoss(4), 10_000, 3, constraint=tg.sets.L1Ball(1.0))
    solver = DoublingAccelerated(phase_steps=(3, 5, 9), phase_clip_norms=(1.0, 2.0, 4.0))
    plan = solver.plan(problem, tg.GDP(0.5))
    assert [stage.n_blocks for stage in plan.stages] == [3, 5, 9]
    assert plan.settings["clip_norm"] == "1; 2; 4"
    with pytest.raises(
        tg.InputError, match="phase_steps must have one number for each of 3 phases"
    ):
        DoublingAccelerated(phase_steps=(3, 5)).plan(problem, tg.GDP(0.5))
    with pytest.raises(tg.InputError, match="phase_clip_norms must be"):
        DoublingAccelerated(phase_clip_norms=(1.0, 2.0, 0.0))
