"""Noise that follows the records, in a descent and in sample and aggregate."""

import math

import numpy as np
import pytest

import tailguard as tg
from support.spy import gate_over, run_over
from support.stages import smooth
from tailguard.gate.plan import Problem
from tailguard.privacy.events import Parallel, Repeated
from tailguard.queries.block_minimiser import BlockMinimiser
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent
from tailguard.solvers.oracles import make_oracle
from tailguard.solvers.sample_and_aggregate import SampleAndAggregate

N_ROWS = 3_000


def records(outliers=0):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((N_ROWS, 2))
    y = X @ np.array([0.5, -0.3]) + 0.1 * rng.standard_normal(N_ROWS)
    y[:outliers] = 1e9
    return X, y


PROBLEM = Problem(tg.losses.Squared(), N_ROWS, 2, constraint=tg.sets.L2Ball(2.0))


def trimmed(schedule="full", **options):
    oracle = make_oracle("trimmed", low=-2.0, high=2.0, calibration="numerical")
    return NoisyGradientDescent(
        4, oracle=oracle, step_size=0.5, iterate="last", schedule=schedule, **options
    )


def run(solver, guarantee, *, seed=1, outliers=0):
    found, gate, plan = run_over(solver, PROBLEM, *records(outliers), guarantee, seed=seed)
    return found, plan, gate.certificate(), gate.books


@pytest.mark.parametrize(
    ("schedule", "guarantee"),
    [("full", tg.ZCDP(2.0)), ("full", tg.ApproxDP(8.0, 1e-5)), ("disjoint", tg.ZCDP(3.0))],
)
def test_trimmed_descent_spends_what_it_planned(schedule, guarantee):
    _, plan, certificate, books = run(trimmed(schedule), guarantee)
    assert sum(release.times for release in books.releases) == 4
    assert all(release.mechanism == "arsinh-normal" for release in books.releases)
    assert certificate.spent.rho == pytest.approx(certificate.total.rho)
    if isinstance(guarantee, tg.ZCDP):
        assert 0.999 * guarantee.rho <= certificate.total.rho <= guarantee.rho
    else:
        assert 0.999 * 8.0 <= certificate.total.epsilon <= 8.0
    kind = Parallel if schedule == "disjoint" else Repeated
    assert isinstance(plan.stage("descent").event, kind)
    assert "rho = " in plan.explain()


def test_a_few_far_records_do_not_move_a_trimmed_descent():
    clean, spoiled = (run(trimmed(), tg.ZCDP(50.0), outliers=k)[0].coef for k in (0, 5))
    np.testing.assert_allclose(clean, [0.5, -0.3], atol=0.15)
    np.testing.assert_allclose(spoiled, clean, atol=0.1)


@pytest.mark.parametrize("guarantee", [tg.GDP(1.0), tg.PureDP(1.0)])
def test_a_concentrated_cost_needs_a_promise_that_it_implies(guarantee):
    with pytest.raises(tg.InputError, match="guarantee must be ApproxDP or ZCDP"):
        trimmed().plan(PROBLEM, guarantee)


def test_what_a_trimmed_descent_refuses():
    with pytest.raises(tg.InputError, match="schedule must be 'full' or 'disjoint'"):
        trimmed("shuffled").plan(PROBLEM, tg.ZCDP(1.0))
    with pytest.raises(tg.InputError, match="n_rows must be above"):
        trimmed().plan(PROBLEM, tg.ZCDP(1e-4))
    with pytest.raises(tg.InputError, match="oracle 'trimmed' needs low, high"):
        make_oracle("trimmed", low=-1.0)


def test_groups_are_counted_among_what_is_released():
    oracle = make_oracle("iterative", clip_norm=5.0, n_groups=10, centre="median")
    solver = NoisyGradientDescent(3, oracle=oracle, step_size=0.5)
    _, plan, certificate, _ = run(solver, tg.ApproxDP(1.0, 1e-6))
    assert plan.coordinates == 3 * 10 * 2
    assert certificate.spent.epsilon == pytest.approx(certificate.total.epsilon)


def test_sample_and_aggregate_spends_its_budget_once_and_finds_the_weights():
    guarantee = tg.ApproxDP(4.0, 1e-6)
    found, plan, certificate, books = run(SampleAndAggregate(least_rows=10), guarantee)
    assert [release.mechanism for release in books.releases] == ["smooth-gaussian"]
    assert 0.999 * 4.0 <= certificate.spent.epsilon <= 4.0
    assert plan.settings["n_blocks"] == books.releases[0].parameters["n_blocks"]
    np.testing.assert_allclose(found.coef, [0.5, -0.3], atol=0.5)


@pytest.mark.parametrize(
    ("n_blocks", "layout", "overlap"), [(16, "disjoint", 1), (100, "overlapping", 10)]
)
def test_the_layout_that_is_used_is_told(n_blocks, layout, overlap):
    """Blocks overlap as asked, unless 50 draws find none, as for 16 blocks of 3000 records."""
    solver = SampleAndAggregate(n_blocks=n_blocks, layout="overlapping")
    _, plan, certificate, _ = run(solver, tg.ApproxDP(4.0, 1e-6))
    assert (plan.settings["layout"], plan.settings["overlap"]) == (layout, overlap)
    (remark,) = certificate.to_dict()["remarks"]
    assert f"(on {n_blocks} {layout} blocks, a record in at most {overlap})" in remark


@pytest.mark.parametrize("layout", ["disjoint", "overlapping"])
@pytest.mark.parametrize("calibration", ["tight", "numerical", "published"])
def test_sample_and_aggregate_hands_its_options_on(layout, calibration):
    solver = SampleAndAggregate(n_blocks=100, layout=layout, calibration=calibration)
    _, plan, certificate, books = run(solver, tg.ApproxDP(4.0, 1e-6))
    public = books.releases[0].parameters
    assert (public["layout"], public["calibration"]) == (layout, calibration)
    assert plan.settings["overlap"] == public["overlap"] == (1 if layout == "disjoint" else 10)
    assert certificate.mode == "simulation: NOT PRIVATE"  # only because of the seed
    assert certificate.total.epsilon <= 4.0
    assert (certificate.spent.epsilon >= 0.999 * 4.0) == (calibration != "published")


def central(fits):
    """The fit whose ball around more than half of all fits, two ranks on, is the smallest."""
    gaps = [sorted(np.linalg.norm(fit - other) for other in fits) for fit in fits]
    return fits[int(np.argmin([gap[math.ceil((len(fits) + 1) / 2)] for gap in gaps]))]


def least_squares(features, target):
    return np.linalg.lstsq(features, target, rcond=None)[0]


@pytest.mark.parametrize("n_blocks", [4, 9, 20])
def test_without_noise_it_is_the_central_one_of_the_blocks_minimisers(n_blocks):
    """Fits written apart; the ridge and the end of the minimisation move those of the solver."""
    solver = SampleAndAggregate(n_blocks=n_blocks)
    exact = solver.query(2, least_squares, diameter=4.0)
    X, y = records()
    blocks = np.array_split(np.arange(N_ROWS), n_blocks)  # of a quiet source, in order
    expected = central([least_squares(X[block], y[block]) for block in blocks])
    guarantee = tg.ApproxDP(4.0, 1e-6)
    found = run(solver, guarantee, seed=None)[0].coef
    np.testing.assert_allclose(found, expected, atol=1e-5)
    plan = solver.plan(PROBLEM, guarantee)
    gate, _ = gate_over(PROBLEM, X, y, guarantee)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    found = gate.ask(exact, None, smooth(plan.stages[0].asked))
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert np.abs(least_squares(X, y) - expected).max() > 1e-4  # it is not the fit of all records


def test_sample_and_aggregate_fits_an_intercept_and_labels():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 1))
    y = (rng.random(400) < 1.0 / (1.0 + np.exp(-1.0 - 2.0 * X[:, 0]))).astype(float)
    fit = BlockMinimiser(tg.losses.Logistic(), intercept=True, ridge=1e-9)(X, y)
    gradient = np.column_stack([X, np.ones(400)]).T @ (
        1 / (1 + np.exp(-X[:, 0] * fit[0] - fit[1])) - y
    )
    np.testing.assert_allclose(gradient / 400, 0.0, atol=1e-5)


@pytest.mark.parametrize("guarantee", [tg.GDP(1.0), tg.ZCDP(1.0)])
def test_sample_and_aggregate_needs_epsilon_and_delta(guarantee):
    with pytest.raises(tg.InputError, match="guarantee must be ApproxDP"):
        SampleAndAggregate().plan(PROBLEM, guarantee)
