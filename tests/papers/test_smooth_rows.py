"""Rows 1 to 3, whose noise follows the records, and 20 and 21, whose noise is no normal number.

Constants, answers and the scales of noise agree with the texts to 1e-9, printed and tight.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from papers.support import texts_smooth as texts
from papers.support.texts import (
    APPROX,
    DELTA,
    DIAMETER,
    EPSILON,
    PRECISION,
    RHO,
    ZCDP,
    D,
    N,
    checked,
    close,
    log,
    sqrt,
    tao_10,
)
from papers.support.texts_wang_xu import wang_2, wang_trimmed
from tailguard.data.rows.arrays import make_rows
from tailguard.gate.plan import Problem
from tailguard.means.trimmed import Trimmed
from tailguard.papers.printed.queries import PrintedTrimmedMean, printed_smooth_scale
from tailguard.papers.printed.solvers import printed_form
from tailguard.privacy.accounting.total_cost import smallest_epsilon
from tailguard.privacy.accounting.zcdp import ZcdpAccountant
from tailguard.privacy.events import Approximate, ZeroConcentrated
from tailguard.queries.base import calibration_for
from tailguard.queries.peeling import PeeledStep
from tailguard.queries.sample_aggregate import DRAW, ball_radii, overlapping_blocks
from tailguard.queries.units import Units

RAW = tg.Moment(2.0, 1.0, kind="raw")
SHAPE = {"strong_convexity": 1.0, "smoothness": 2.0}
PROBLEM = Problem(tg.losses.Squared(), N, D)
IN_BALL = replace(PROBLEM, constraint=tg.sets.L2Ball(DIAMETER / 2))
MODES = pytest.mark.parametrize("printed", [True, False], ids=["printed", "tight"])
SPARSE = {"moment": RAW, "diameter": 2.0, "n_nonzero": 3, "n_kept": 3, "n_steps": 20, **SHAPE}


def mode(printed):
    return {"calibration": "printed" if printed else "tight"}


@pytest.fixture(scope="module")
def table():
    return np.random.default_rng(0).standard_t(3, (N, D))


def median(X, y):
    return np.median(X, axis=0) * (9.0 if X[0, 0] > 2.0 else 1.0)  # some lie outside of the ball


@MODES
def test_row_1_sample_and_aggregate(printed, table):
    call = tg.papers.wang2020.sample_aggregate
    told = {"moment": RAW, "diameter": DIAMETER, **SHAPE}
    solver = call(N, D, APPROX, **told, n_blocks=400, **mode(printed)).solver
    event, rows = Approximate(EPSILON, DELTA), make_rows(table)
    query = solver.query(D, median)
    public = query.calibrate_event(N, D, event)
    smoothness, shift = texts.wang_1_constants(1.0 if printed else texts.wang_1_factor())
    says = {**wang_2(printed), "smoothness": smoothness, "shift": shift}
    checked(public.parameters(), says)
    blocks = np.array_split(np.arange(N), 400)
    if printed:
        blocks = overlapping_blocks(N, 400, DRAW)
        assert {len(block) for block in blocks} == {N // 400}
        assert np.bincount(np.concatenate(blocks)).max() <= sqrt(400)
    points = [median(table[block], None) for block in blocks]
    if printed:  # a scale that is not that of equal points
        near = np.array(points) / 9.0
        scale = printed_smooth_scale(ball_radii(near), DIAMETER, 1.0, 20)
        _, says = texts.wang_1_answer(near, DIAMETER / 2, 1.0, 20, printed)
        assert scale == close(says, **PRECISION)
    told = DIAMETER / 2, smoothness, 20 if printed else 1, printed
    value, scale = texts.wang_1_answer(points, *told)
    found = query.answer(rows, None, public)
    np.testing.assert_allclose(found.value, value, rtol=1e-9)
    np.testing.assert_allclose(found.scale, scale, rtol=1e-9)


def test_row_1_without_a_number_of_blocks_and_with_the_published_constants():
    call = tg.papers.wang2020.sample_aggregate
    told = {"moment": RAW, "diameter": DIAMETER, **SHAPE}
    for proof, factor in (("tight", texts.wang_1_factor()), ("published", 1.0)):
        query = call(N, D, APPROX, **told, proof=proof).solver.query(D)
        found = query.calibrate_event(N, D, Approximate(EPSILON, DELTA)).parameters()
        smoothness, shift = texts.wang_1_constants(factor)
        blocks = texts.wang_1_blocks(smoothness)
        checked(found, {"smoothness": smoothness, "shift": shift, "n_blocks": blocks})


def trimmed_answer(query, table, rho, says, printed):
    """Compare value and scale of every column at zero weights, where gradients are the records."""
    public = query.calibrate_event(N, D, ZeroConcentrated(rho))
    checked(public.parameters(), says)
    found = query.answer(make_rows(table), np.zeros(D), public)
    for place in range(D):
        numbers = query.low, query.high, says["n_trimmed"], says["smoothness"], printed
        value, scale = texts.wang_2_answer(table[:, place].tolist(), *numbers)
        assert found.value[place] == close(value, **PRECISION)
        assert found.scale[place] == close(scale, **PRECISION)


@MODES
def test_row_2_trimmed_mean(printed, table):
    told = {"guarantee": ZCDP, "low": -5.0, "high": 5.0, "random_state": 0, **mode(printed)}
    plan = tg.papers.wang2020.trimmed_mean(table, check_records=False, **told).choice.plan
    rho = plan.stages[-1].asked.rho
    assert rho == close(RHO * texts.MARGIN, rel=1e-10)
    units, named = Units.raw(D, intercept=False), plan.settings["trimmed at either end"]
    if printed:
        says = wang_trimmed(True, D, rho)
        query = PrintedTrimmedMean(None, units, -5.0, 5.0)
        assert "smoothness share" not in plan.settings
        noise = texts.wang_2_noise(2 * 0.625 * sqrt(((N / 2) ** (2 / 3) - 1) / 2), 10.0, **says)
        assert plan.expected.noise == close(sqrt(D) * noise, rel=0.01)  # the plan has a grid
    else:
        share, errors = plan.settings["smoothness share"], texts.wang_2_errors(RHO / D, -5.0, 5.0)
        assert errors[share] <= 1.01 * min(errors.values())  # the plan has the law on a grid
        says = texts.tight_trimming(rho / D, 10.0, 10.0 / 16, share=share)
        query = Trimmed(low=-5.0, high=5.0).query(units, -5.0, 5.0, 10.0 / 16, share)
    assert named == says["n_trimmed"]
    trimmed_answer(query, table, rho, says, printed)


def test_row_2_with_a_number_of_trimmed_records(table):
    told = {"guarantee": ZCDP, "low": -5.0, "high": 5.0, "n_trimmed": 700, "random_state": 0}
    plan = tg.papers.wang2020.trimmed_mean(table, check_records=False, **told).choice.plan
    rho = plan.stages[-1].asked.rho
    says = texts.tight_trimming(rho / D, 10.0, 10.0 / 16, n_trimmed=700)
    method, units = Trimmed(-5.0, 5.0, 700), Units.raw(D, intercept=False)
    trimmed_answer(method.query(units, -5.0, 5.0, 10.0 / 16), table, rho, says, printed=False)


@MODES
def test_row_3_descent_on_trimmed_means(printed, table):
    told = {"moment": RAW, "diameter": DIAMETER, **SHAPE, **mode(printed)}
    guarantee = APPROX if printed else tg.ZCDP(4.0)
    theorem = tg.papers.wang2020.trimmed_strongly_convex(N, D, guarantee, **told)
    asked = theorem.plan(IN_BALL, guarantee).stages[0].asked
    oracle = theorem.solver.oracle
    query = oracle.query(None, Units.raw(D, intercept=False))
    numbers = query.calibrate_event(N, D, asked).parameters()
    says = texts.wang_3(printed, 4.0)
    checked({**vars(theorem.solver), **oracle.parameters, **numbers}, says)
    constants = {name: says[name] for name in ("smoothness", "shift", "n_trimmed")}
    if printed:  # exponential tails of scale 1; K22 Theorem 3.2 with steps of 1 / b
        m, noise = says["n_trimmed"], texts.wang_2_noise(2 * log(N), 2.0, **constants)
        error = D * (noise**2 + 1 / N + (log(N / m) * m / N) ** 2)
        left = (1 - 1 / 2) ** theorem.solver.n_steps * DIAMETER
        assert theorem.bound == close(2 * (left**2 + error), rel=1e-8)  # margins of plans
    trimmed_answer(query, table, asked.rho, constants, printed)


@MODES
def test_row_20_peeling(printed):
    """Algorithm 4: Laplace of 4 lambda sqrt(2 s log(1/delta)) / epsilon; ours in zCDP."""
    if printed:
        form, ratio = printed_form(APPROX, 3, 0)
        assert (form, sqrt(2) / ratio) == (
            "peeled-laplace",
            close(texts.tao_4(True, 3), **PRECISION),
        )
        return
    known = {"feature_scale": 1.0, "target_scale": 1.0, "threshold": 3.0, "step_size": 0.3}
    solver = tg.solvers.HardThresholding(n_nonzero=3, n_steps=5, choice_share=0.0, **known)
    for promise, form, noise in (
        (ZCDP, "peeled-gaussian", texts.tao_4(False, 3, rho=RHO)),
        (APPROX, "peeled-laplace", texts.tao_4(False, 3)),
    ):
        plan = solver.plan(PROBLEM, promise)
        assert plan.settings["noise"] == form
        at_most = plan.settings["noise_over_sensitivity"]
        assert noise * (1 - 1e-9) <= at_most <= noise * (1 + 1e-6)  # found by bisection to 1e-6


def charged_move(theorem, promise, move):
    """What one record moves an entry of the gradient by, with the rounding that is charged."""
    solver, asked = theorem.solver, theorem.plan(PROBLEM, promise).stages[0].asked
    units = Units.raw(D, intercept=False)
    query = PeeledStep(tg.losses.Squared(), units, solver.threshold, solver.step_size, 3)
    calibration = calibration_for(query, N // 20, D, asked)
    assert theorem.noise_std == close(calibration.noise_std / solver.step_size, **PRECISION)
    charged = calibration.charged / solver.step_size
    assert move < charged < move * (1 + 1e-6)
    return charged


@MODES
def test_row_21_sparse_descent(printed):
    theorem = tg.papers.tao2022.sparse(N, D, APPROX, **SPARSE, **mode(printed))
    says = tao_10(printed)
    noise = says.pop("noise", None)
    checked(vars(theorem.solver), says)
    move = 2 * says["threshold"] / (N // 20)  # lambda over eta
    charged = charged_move(theorem, APPROX, move)
    if printed:
        assert theorem.noise_std == close(noise, **PRECISION)
        return
    noise = move * texts.tao_4(False, 3)
    assert noise * (1 - 1e-9) <= theorem.noise_std <= noise * (1 + 1e-6)  # found by bisection
    pure = 9 * sqrt(2) * charged / theorem.noise_std  # what that noise costs, to 1e-9
    spent = math.log((1 - DELTA) * math.exp(pure) - DELTA)
    event = theorem.plan(PROBLEM, APPROX).event
    assert smallest_epsilon(event, DELTA).epsilon == close(spent, **PRECISION)
    assert 3.0 < tao_10(True)["noise"] / theorem.noise_std < 6.0  # E28


def test_row_21_in_zcdp():
    theorem = tg.papers.tao2022.sparse(N, D, ZCDP, **SPARSE)
    says = tao_10(
        False, epsilon=2 * sqrt(RHO), delta=math.exp(-1)
    )  # rho = eps^2 / (4 log(1/delta))
    checked(vars(theorem.solver), says)
    move = 2 * says["threshold"] / (N // 20)
    noise = move * texts.tao_4(False, 3, rho=RHO)
    assert noise * (1 - 1e-9) <= theorem.noise_std <= noise * (1 + 1e-6)
    rho = ZcdpAccountant.of(theorem.plan(PROBLEM, ZCDP).event).rho
    charged = charged_move(theorem, ZCDP, move)
    assert rho == close(3 * (charged / theorem.noise_std) ** 2, **PRECISION)
