"""Descent on centres of groups that are drawn anew: its price, its recursion, its theorem."""

import math

import numpy as np
import pytest

import tailguard as tg
from support.recursions import without_noise
from tailguard.gate.plan import Problem
from tailguard.papers.solvers.grouped_descent import GroupedDescent

ALONG = tg.Moment(2.0, 1.0, kind="directional")
KNOWN = {"moment": ALONG, "diameter": 2.0, "smoothness": 0.2}
PROMISE = tg.ApproxDP(0.5, 1e-6)
OPTIONS = {"n_groups": 400, "centre": "median", "n_steps": 8}


def data():
    return tg.datasets.heavy_tailed_linear(n_rows=20_000, n_features=3, seed=5)


@pytest.mark.long
def test_a_shuffle_of_many_groups_needs_less_noise_and_keeps_the_promise():
    call, drawn = tg.papers.zhao2024.iterative_convex, data()
    fixed, anew = (
        call(20_000, 3, PROMISE, **KNOWN, **OPTIONS, shuffle=shuffle) for shuffle in (False, True)
    )
    assert anew.noise_std < 0.7 * fixed.noise_std
    assert anew.bound == fixed.bound
    assert "stays secret" in anew.explain()
    found = anew.minimize(tg.losses.Huber(1.0), drawn.features, drawn.target, random_state=0)
    assert found.certificate.total.epsilon <= PROMISE.epsilon
    assert found.certificate.spent.epsilon == pytest.approx(found.certificate.total.epsilon)
    assert found.certificate.total.epsilon > 0.98 * PROMISE.epsilon


def test_few_groups_count_as_disjoint_and_cost_what_one_of_them_does():
    solver = GroupedDescent(n_steps=16, step_size=0.1, clip_norm=1.0, n_groups=10)
    problem = Problem(tg.losses.Squared(), 20_000, 3, constraint=tg.sets.L2Ball(1.0))
    for promise in (tg.GDP(0.4), tg.ApproxDP(4.0, 1e-6)):
        plan = solver.plan(problem, promise)
        assert plan.settings["proof"] == "parallel"
        assert plan.stages[0].mu == pytest.approx(promise.gaussian_mu() / 4.0)


@pytest.mark.long
def test_the_noise_on_records_of_zeros_is_that_of_the_theorem():
    n_columns = 20
    theorem = tg.papers.zhao2024.iterative_convex(
        20_000, n_columns, PROMISE, **KNOWN, **(OPTIONS | {"n_steps": 1}), shuffle=True
    )
    steps = []
    for seed in range(180 // n_columns):
        found = tg.minimize(
            tg.losses.Squared(),
            np.zeros((20_000, n_columns)),
            np.zeros(20_000),
            guarantee=PROMISE,
            constraint=tg.sets.L2Ball(1e4),
            solver=theorem,
            random_state=seed,
        )
        steps.append(found.coef / theorem.solver.step_size)
    assert np.std(steps) == pytest.approx(theorem.noise_std, rel=0.2)


def test_without_noise_and_bounds_it_is_projected_descent():
    drawn = data()
    X, y = drawn.features[:600], drawn.target[:600]
    solver = GroupedDescent(n_steps=5, step_size=0.2, clip_norm=1e6, n_groups=1, centre="median")
    w, points = np.zeros(3), []
    for _ in range(5):
        w = w - 0.2 * X.T @ (X @ w - y) / 600
        w = w * min(1.0, 0.5 / np.linalg.norm(w))
        points.append(w)
    found = without_noise(solver, X, y, tg.sets.L2Ball(0.5))
    np.testing.assert_allclose(found.coef, np.mean(points, axis=0), atol=1e-6)


def test_what_cannot_be_is_refused():
    with pytest.raises(tg.InputError, match="shuffle must be False for calibration='printed'"):
        tg.papers.zhao2024.iterative_convex(
            20_000, 3, PROMISE, **KNOWN, **OPTIONS, shuffle=True, calibration="printed"
        )
    with pytest.raises(tg.InputError, match="centre"):
        GroupedDescent(n_steps=5, step_size=0.2, clip_norm=1.0, n_groups=4, centre="all")
    assert math.isfinite(GroupedDescent(n_steps=5, step_size=0.2, clip_norm=1.0, n_groups=4).level)
