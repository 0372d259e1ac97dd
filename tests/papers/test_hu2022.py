"""Frank-Wolfe on the l1 ball: its vertices, their noise, its bound, and what one record can do."""

import math

import numpy as np
import pytest

import tailguard as tg
from support.recursions import without_noise
from support.sources import QuietSource
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.gate.plan import Problem
from tailguard.noise.mechanisms import ALL_MECHANISMS
from tailguard.noise.sources import SimulationSource
from tailguard.papers.hu2022 import FrankWolfe, excess_bound, frank_wolfe
from tailguard.queries.base import calibration_for

RAW = tg.Moment(2.0, 1.0, kind="raw")
BALL = tg.sets.L1Ball(1.5)
HUBER = tg.losses.Huber(1.0)
PURE, CONCENTRATED = tg.PureDP(3.0), tg.ZCDP(1.0)


def problem(n_rows=4_000, n_features=3, **more):
    return Problem(HUBER, n_rows, n_features, **{"constraint": BALL, **more})


def test_it_is_frank_wolfe_on_truncated_gradients():
    rng = np.random.default_rng(0)
    X, y = rng.standard_t(2.0, (60, 4)), rng.standard_t(2.0, 60)
    solver = FrankWolfe(n_steps=6, threshold=0.8)
    found = without_noise(solver, X, y, BALL, loss=HUBER, guarantee=tg.PureDP(1e3)).trace
    w = np.zeros(4)
    for step in range(6):
        rows = slice(10 * step, 10 * step + 10)  # a quiet source cuts runs
        gradients = np.clip(X[rows] @ w - y[rows], -1.0, 1.0)[:, None] * X[rows]
        mean = np.where(np.abs(gradients) <= 0.8, gradients, 0.0).mean(axis=0)
        vertex = np.zeros(4)
        j = np.argmax(np.abs(mean))
        vertex[j] = -1.5 * np.sign(mean[j])
        w = w + 2 / (step + 2) * (vertex - w)
        np.testing.assert_allclose(found[step], w, atol=1e-9)


def test_on_columns_along_vertices_it_is_frank_wolfe_on_their_symmetric_hull():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((60, 3)), rng.standard_normal(60)
    vertices = rng.standard_normal((5, 3))
    solver, promise = FrankWolfe(n_steps=6, threshold=1e3), tg.PureDP(1e6)
    found = without_noise(solver, X @ vertices.T, y, BALL, loss=HUBER, guarantee=promise).trace
    w, corners = np.zeros(3), 1.5 * np.vstack([vertices, -vertices])
    for step in range(6):
        rows = slice(10 * step, 10 * step + 10)
        mean = X[rows].T @ np.clip(X[rows] @ w - y[rows], -1.0, 1.0) / 10
        w = w + 2 / (step + 2) * (corners[np.argmin(corners @ mean)] - w)
        np.testing.assert_allclose(vertices.T @ found[step], w, atol=1e-9)


@pytest.mark.parametrize("promise", [PURE, CONCENTRATED, tg.ApproxDP(1.0, 1e-6)])
def test_blocks_spend_the_promise_once(promise):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((2_000, 30)), rng.standard_normal(2_000)
    solver = FrankWolfe(n_steps=5, threshold=1.0)
    told = {"constraint": BALL, "solver": solver, "guarantee": promise, "random_state": 0}
    solved = tg.minimize(HUBER, X, y, **told, check_records=False)
    total = solved.certificate.total
    spent = total.rho if promise is CONCENTRATED else total.epsilon
    asked = promise.rho if promise is CONCENTRATED else promise.epsilon
    assert 0.99 * asked < spent <= asked
    assert np.count_nonzero(solved.coef) <= 5
    assert BALL.contains(solved.coef)


# A choice between entries that differ by the noise's scale, and the sign of an entry as large.
CASES = [
    (PURE, 3.0, 2, 1.0 - math.exp(-1.0) * 1.5 / 2.0),  # a noisy maximum of two Laplace variables
    (CONCENTRATED, 1.0, 2, 1.0 / (1.0 + math.exp(-1.0))),  # Gumbel
    (PURE, 1.0, 1, 1.0 - math.exp(-1.0) / 2.0),
    (CONCENTRATED, math.sqrt(2.0) ** -1, 1, 0.5 * (1.0 + math.erf(1.0 / math.sqrt(2.0)))),
]


@pytest.mark.parametrize(("promise", "factor", "width", "chance"), CASES)
def test_the_noise_of_a_vertex_has_the_scale_of_its_promise(promise, factor, width, chance):
    """4,000 releases as a plan asks for them; scales of 0.8 and 1.25 are refused.

    Choosing and noising an entry that moves by 2 tau / n costs 3 shares of epsilon and 2 of rho.
    """
    n, tau = 8, 2.0
    scale = 2.0 * tau * factor / (n * (3.0 if promise is PURE else 1.0))
    entries = np.array([1.9, 1.9 - scale]) if width == 2 else np.array([scale])
    X, y = np.tile(entries, (n, 1)), np.full(n, 1e6)  # beyond every residual: slopes are -1
    solver, task = FrankWolfe(n_steps=1, threshold=tau), problem(n, width)
    plan, query = solver.plan(task, promise), solver._query(task)
    assert plan.settings["noise_scale"] == pytest.approx(scale, rel=1e-5)
    calibration = calibration_for(query, n, width, plan.stages[0].asked)
    lattice = query.answer(make_rows(X, y), np.zeros(width), calibration)
    mechanism, source = ALL_MECHANISMS[calibration.mechanism], SimulationSource(4)
    falls = [mechanism.release(lattice, calibration, source) for _ in range(4_000)]
    right = np.mean([each[0] != 0 if width == 2 else each[0] > 0 for each in falls])
    doubt = math.sqrt(chance * (1.0 - chance) / 4_000)  # at most 0.0072
    assert abs(right - chance) < 3.5 * doubt


@pytest.mark.parametrize("gap", [0.8, 1.25])
def test_another_scale_would_be_seen(gap):
    """By at least as much as the test above allows."""
    by_scale = {
        PURE: lambda g: 1.0 - math.exp(-g) * (1.0 + g / 2.0) / 2.0,
        CONCENTRATED: lambda g: 1.0 / (1.0 + math.exp(-g)),
    }
    for chance in by_scale.values():
        assert abs(chance(gap) - chance(1.0)) > 3.5 * 0.0072


def test_one_record_moves_an_entry_by_its_sensitivity_and_no_more():
    n, tau = 1_000, 2.0
    X, y = np.zeros((n, 1)), np.full(n, 1e6)
    X[:, 0] = 0.5
    solver = FrankWolfe(n_steps=1, threshold=tau)
    task = problem(n, 1)
    plan, query = solver.plan(task, PURE), solver._query(task)
    found = {}
    for name, x, target in [
        ("up", tau, 1e300), ("down", -tau, 1e300), ("far", 1e300, 1e300), ("void", np.nan, 0.0),
    ]:  # fmt: skip
        X[7], y[7] = x, target
        gate = Gate(make_rows(X, y), guarantee=PURE, source=QuietSource())
        gate.reserve(plan.event)
        (block,) = solver._batches.blocks(plan.stages[0], gate)
        answer = gate.ask(query, np.array([1.5]), plan.stages[0], block=block)
        found[name] = float(answer[0]) / query.step_size
    assert found["up"] - found["down"] == pytest.approx(2.0 * tau / n, rel=1e-6)
    rest = 0.5 * (n - 1) / n
    assert found["far"] == pytest.approx(rest, rel=1e-6)  # it counts as zero
    assert found["void"] == pytest.approx(rest, rel=1e-6)
    # At weights of 1.5: the long step hides them.
    sensitivity = query.sensitivity(n, 1)
    assert sensitivity.ideal / query.step_size == pytest.approx(2.0 * tau / n)


def test_steps_and_threshold_have_the_least_bound_and_the_published_rate():
    told = {"moment": RAW, "radius": 1.0, "smoothness": 1.0}

    def least(n_rows, n_features=1_000, epsilon=0.3, change=1.0):
        solver = frank_wolfe(n_rows, n_features, tg.PureDP(epsilon), **told)
        tau = solver.threshold * change
        noise = 3.0 * 2.0 * tau / (n_rows // solver.n_steps * epsilon)
        sizes = {"n_rows": n_rows, "n_features": n_features, "n_steps": solver.n_steps}
        risk = {"diameter": 2.0, "smoothness": 1.0, "moment_bound": 1.0}
        return excess_bound(**sizes, threshold=tau, noise_scale=noise, **risk)

    assert least(10**6) < min(least(10**6, change=0.8), least(10**6, change=1.25))
    slope = math.log10(least(10**9) / least(10**7)) / 2.0
    assert slope == pytest.approx(-1.0 / 3.0, abs=0.03)  # log(d) / (n epsilon)^(1/3)
    assert least(10**8, epsilon=0.03) / least(10**7) == pytest.approx(1.0, abs=0.06)
    assert least(10**7, 10**6) < 1.5 * least(10**7, 10**3)


def test_the_bound_is_re_derived_and_holds():
    n, d, steps, tau, b, v = 30_000, 50, 12, 9.0, 0.05, 4.0
    nats, m = math.log(6 * d * steps / 0.1), n // steps
    error = v / tau + math.sqrt(2 * v * nats / m) + 2 * tau * nats / (3 * m) + 2 * b * nats
    told = {"threshold": tau, "noise_scale": b, "moment_bound": v}
    found = excess_bound(
        n_rows=n, n_features=d, n_steps=steps, diameter=2.0, smoothness=1.0, **told
    )
    assert found == pytest.approx(2.0 * (2.0 * 4.0 / 14.0 / 2.0 + error))
    rng = np.random.default_rng(5)
    truth = np.zeros(d)
    truth[3] = 1.0
    X = rng.standard_t(5.0, (n, d)) / (5.0 / 3.0) ** 0.5
    y = X @ truth + rng.standard_t(3.0, n)
    promise = tg.ApproxDP(4.0, 1e-6)
    told = {"moment": tg.Moment(2.0, 4.0, kind="raw"), "radius": 1.0, "smoothness": 1.0}
    solver = frank_wolfe(n, d, promise, **told)
    solved = tg.minimize(
        tg.losses.Squared(), X, y, guarantee=promise, constraint=tg.sets.L1Ball(1.0),
        solver=solver, random_state=0,
    )  # fmt: skip
    noise = float(solved.plan.settings["noise_scale"])
    bound = excess_bound(
        n_rows=n, n_features=d, n_steps=solver.n_steps, threshold=solver.threshold,
        noise_scale=noise, diameter=2.0, smoothness=1.0, moment_bound=4.0,
    )  # fmt: skip
    assert np.sum((solved.coef - truth) ** 2) / 2.0 < min(bound, 0.25)  # of 0.5 at zero


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"constraint": tg.sets.L2Ball(1.0)}, r"constraint must be a tg\.sets\.L1Ball"),
        ({"constraint": None}, "constraint must be"),
        ({"intercept": True}, "intercept must be False"),
        ({"n_rows": 3}, "n_steps must be at most n_rows = 3"),
    ],
)
def test_what_it_cannot_is_refused(told, words):
    with pytest.raises(tg.InputError, match=words):
        FrankWolfe(n_steps=4, threshold=1.0).plan(problem(**told), PURE)
    with pytest.raises(tg.InputError, match="threshold must be"):
        FrankWolfe(n_steps=4, threshold=0.0)
    with pytest.raises(tg.InputError, match="radius must be"):
        frank_wolfe(100, 3, PURE, moment=RAW, radius=-1.0, smoothness=1.0)
