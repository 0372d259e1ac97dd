"""Descents in pure DP: their noise, what they spend, what one record can do, and their rates."""

import math

import numpy as np
import pytest

import tailguard as tg
from support.recursions import data, without_noise
from tailguard.gate.plan import Problem
from tailguard.papers import kamath2022, pure
from tailguard.papers.pure import PureDescent
from tailguard.privacy.events import Laplace

MOMENT = tg.Moment(2.0, 1.0)
PROMISE = tg.PureDP(2.0)
BALL = tg.sets.L2Ball(1.0)
SHAPE = {"strong_convexity": 1.0, "smoothness": 2.0}
CLAMPED = tg.solvers.make_oracle("clamped", threshold=2.0, n_groups=4)


def problem(n_rows=4_000, n_features=3):
    return Problem(tg.losses.Squared(), n_rows, n_features, constraint=BALL)


@pytest.mark.parametrize(("schedule", "share"), [("full", 0.5), ("disjoint", 2.0)])
def test_epsilon_adds_up_over_full_steps_and_not_over_blocks(schedule, share):
    solver = PureDescent(n_steps=4, step_size=0.1, oracle=CLAMPED, schedule=schedule)
    plan = solver.plan(problem(), PROMISE)
    assert isinstance(plan.stages[0].asked, Laplace)
    assert plan.stages[0].asked.epsilon == pytest.approx(share, rel=2e-9)
    X, y = data(4_000)
    solved = tg.minimize(
        tg.losses.Squared(), X, y, guarantee=PROMISE, constraint=BALL, solver=solver, random_state=0
    )
    total = solved.certificate.total
    assert total.epsilon == pytest.approx(2.0, rel=1e-6)
    assert total.delta in (None, 0.0)


def test_the_noise_of_a_step_is_laplace_of_the_l1_sensitivity_over_its_share():
    """Theorem 4.1 with an even number of groups: 3 tau d / (n_g epsilon); zeros show the noise."""
    d, n = 400, 4_000
    solver = PureDescent(n_steps=1, step_size=1.0, oracle=CLAMPED)
    wide = tg.sets.L2Ball(1e6)
    solved = tg.minimize(
        tg.losses.Squared(), np.zeros((n, d)), np.zeros(n), guarantee=PROMISE, constraint=wide,
        solver=solver, random_state=1, check_records=False,
    )  # fmt: skip
    scale = 3 * 2.0 * d / (n // 4 * 2.0)
    # |Laplace(b)| has the mean b: 1 give or take 0.05 here, and scales of 0.8 and 1.25 are told.
    assert 0.87 < np.mean(np.abs(solved.coef)) / scale < 1.13
    tail = np.mean(np.abs(solved.coef) > 3 * scale)  # exp(-3) = 0.050; of normal noise 0.034
    assert 0.025 < tail < 0.075


def test_one_record_moves_a_step_by_its_sensitivity():
    """Of four groups of 100 one lies between -6 and 6 6: the median follows it by half."""
    X, y = np.full((400, 1), 1e-3), np.zeros(400)
    y[100:200], y[200:] = 1e6, -1e6
    y[:100] = 0.0
    solver = PureDescent(n_steps=1, step_size=0.1, oracle=CLAMPED)
    found = []
    for far in (-1e300, 1e300):
        y[3] = far
        found.append(float(without_noise(solver, X, y, BALL, guarantee=PROMISE).coef[0]))
    assert abs(found[1] - found[0]) == pytest.approx(0.1 * 3 * 2.0 / 100, rel=1e-5)


def test_it_is_algorithm_1_on_the_clamped_mean():
    X, y = data(60)
    oracle = tg.solvers.make_oracle("clamped", threshold=0.2, n_groups=1)
    solver = PureDescent(n_steps=5, step_size=0.3, oracle=oracle)
    found = without_noise(solver, X, y, BALL, guarantee=tg.PureDP(1e6))
    w, points = np.zeros(3), []
    for _ in range(5):
        w = w - 0.3 * np.clip((X @ w - y)[:, None] * X, -0.6, 0.6).mean(axis=0)
        w = w / max(1.0, np.linalg.norm(w))
        points.append(w)
    np.testing.assert_allclose(found.trace, points, atol=1e-4)
    np.testing.assert_allclose(found.coef, np.mean(points, axis=0), atol=1e-4)
    blocks = PureDescent(n_steps=5, step_size=0.3, oracle=oracle, schedule="disjoint")
    solved = without_noise(blocks, X, y, BALL, guarantee=tg.PureDP(1e6))
    np.testing.assert_array_equal(solved.coef, solved.trace[-1])


def test_steps_are_those_at_which_noise_reaches_the_gradient():
    n, d, epsilon = 10**6, 4, 1.0
    solver = pure.convex_descent(n, d, tg.PureDP(epsilon), moment=MOMENT, diameter=2.0)
    threshold = (n * epsilon / math.sqrt(d)) ** (1 / 3)
    groups = 2 * math.ceil(4 * math.log(2 * d / 0.1) / 2)
    assert solver.oracle.parameters == pytest.approx({"threshold": threshold, "n_groups": groups})
    noise = math.sqrt(2) * 3 * threshold * d / (n // groups * epsilon)
    assert solver.n_steps == math.floor(1 / (math.sqrt(d) * noise))
    reach = math.hypot(1.0, math.sqrt(d) * noise * solver.n_steps)
    assert solver.step_size == pytest.approx(2 / (reach * math.sqrt(2 * solver.n_steps)), rel=1e-3)


def test_the_bounds_have_the_rates_that_are_derived():
    sizes = {"n_rows": 10**6, "n_features": 4, "moment_order": 3.0, "epsilon": 1e-4}
    more = {**sizes, "n_rows": 10**7}

    def slope(bound, **told):
        return math.log10(bound(**more, **told) / bound(**sizes, **told))

    assert slope(pure.convex_bound, diameter=2.0) == pytest.approx(-2 / 5, abs=0.01)
    blocks = slope(pure.strongly_convex_bound, diameter=2.0, **SHAPE)
    assert blocks == pytest.approx(-4 / 3, abs=0.01)
    assert slope(kamath2022.convex_lower_bound_pure) == pytest.approx(-2 / 3, abs=0.01)
    wide = {**sizes, "n_features": 400}
    grown = math.log(
        pure.convex_bound(**wide, diameter=2.0) / pure.convex_bound(**sizes, diameter=2.0)
    )
    assert grown / math.log(100) == pytest.approx(1 / 2 + 1 / 5, abs=0.01)


def test_blocks_have_the_threshold_of_their_own_mean_and_fit_heavy_tails():
    drawn = tg.datasets.heavy_tailed_linear(n_rows=60_000, n_features=3, seed=0)
    solver = pure.strongly_convex_descent(60_000, 3, tg.PureDP(4.0), moment=MOMENT, **SHAPE)
    assert solver.schedule == "disjoint"
    block = 60_000 // solver.n_steps
    threshold = max(10.0, (4.0 * block / 3) ** 0.5)
    assert solver.oracle.parameters["threshold"] == pytest.approx(threshold)
    solved = tg.minimize(
        tg.losses.Huber(1.0), drawn.features, drawn.target, guarantee=tg.PureDP(4.0),
        constraint=tg.sets.L2Ball(4.0), solver=solver, random_state=0,
    )  # fmt: skip
    assert np.isfinite(solved.coef).all()


def test_what_it_cannot_is_refused():
    solver = PureDescent(n_steps=2, step_size=0.1, oracle=CLAMPED)
    with pytest.raises(tg.InputError, match=r"guarantee must be tg\.PureDP"):
        solver.plan(problem(), tg.ZCDP(0.5))
    with pytest.raises(tg.InputError, match="schedule must be"):
        PureDescent(n_steps=2, step_size=0.1, oracle=CLAMPED, schedule="sampled")
    clipped = tg.solvers.make_oracle("clipped", clip_norm=1.0)
    with pytest.raises(tg.InputError, match="pure form"):
        PureDescent(n_steps=2, step_size=0.1, oracle=clipped).plan(problem(), PROMISE)
    blocks = PureDescent(n_steps=9, step_size=0.1, oracle=CLAMPED, schedule="disjoint")
    with pytest.raises(tg.InputError, match="n_steps must be at most"):
        blocks.plan(problem(5), PROMISE)
