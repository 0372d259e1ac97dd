"""One run: a plan for other records than the gate's is refused before anything is reserved."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.gate import Gate
from tailguard.gate.engine import count_fit, run
from tailguard.gate.plan import Problem
from tailguard.privacy.events import Gaussian
from tailguard.report.content import Stated
from tailguard.solvers.hard_thresholding import HardThresholding
from tailguard.solvers.registry import make_solver
from tailguard.solvers.softmax_newton import SoftmaxNewton

GUARANTEE = tg.GDP(1.0)


@pytest.mark.parametrize(("n_rows", "n_features"), [(400, 1), (400, 59), (399, 60), (4_000, 60)])
@pytest.mark.parametrize("name", ["whitened-newton", "hard-thresholding"])
def test_a_plan_for_other_sizes_is_refused_with_nothing_reserved(name, n_rows, n_features):
    loss = tg.losses.Squared()
    solver = HardThresholding(1) if name == "hard-thresholding" else make_solver(name)
    plan = solver.plan(Problem(loss, n_rows, n_features), GUARANTEE)
    X, y = np.zeros((400, 60)), np.zeros(400)
    gate = Gate.over(X, y, guarantee=GUARANTEE, loss=loss, random_state=0)
    with pytest.raises(tg.InputError, match="plan must be for the gate's 400 records of 60"):
        run(solver, plan, gate)
    assert not gate.books.releases
    gate.reserve(plan.event, coordinates=plan.coordinates)  # a second reservation is an error


def test_what_no_lattice_carries_is_refused_in_the_plan():
    problem = Problem(tg.losses.Huber(1.0), 10_000, 10_000)
    with pytest.raises(tg.InputError, match="must be larger"):
        HardThresholding(1).plan(problem, tg.GDP(1e-3))


def test_bounds_of_features_and_trace_are_those_of_the_solution():
    loss, X = tg.losses.Squared(), np.random.default_rng(0).standard_t(2.0, (4_000, 3))
    solver = make_solver("whitened-newton")
    plan = solver.plan(Problem(loss, 4_000, 3), tg.GDP(4.0))
    gate = Gate.over(X, X[:, 0], guarantee=tg.GDP(4.0), loss=loss, random_state=0)
    solved = run(solver, plan, gate)
    assert solved.feature_bounds is solved.solution.feature_bounds
    assert solved.trace is solved.solution.trace
    low, high = solved.feature_bounds.T
    assert (low < 0.0).all()
    assert (high > 0.0).all()


@pytest.mark.parametrize("intercept", [True, False])
def test_the_report_of_a_run_shows_each_coefficient_beside_its_noise(intercept):
    X = np.random.default_rng(0).normal(size=(2_000, 2))
    solved = tg.minimize(
        tg.losses.Huber(), X, X[:, 0], intercept=intercept, guarantee=tg.GDP(9.0), random_state=0
    )
    told, found = solved._report(Stated()), solved.solution
    constant = ("(intercept)", found.intercept, found.intercept_noise_std)
    assert [(each.name, each.value, each.noise_std) for each in told.estimates] == [
        ("x0", found.coef[0], found.coef_noise_std[0]),
        ("x1", found.coef[1], found.coef_noise_std[1]),
        *([constant] if intercept else []),
    ]


def test_a_result_prints_its_coefficients_and_no_more():
    X = np.random.default_rng(0).standard_normal((2_000, 2))
    solved = tg.minimize(
        tg.losses.Squared(), X, X[:, 0], epsilon=1.0, delta=1e-6, intercept=True, random_state=0
    )
    heading, promise, header, *rows = repr(solved).splitlines()
    assert heading == "minimum of Squared, n = 2000, mode: simulation: NOT PRIVATE"
    assert promise == solved.certificate.guarantee.describe()
    assert header.split() == ["coef", "privacy", "noise"]
    assert [row.split()[0] for row in rows] == ["x0", "x1", "(intercept)"]
    assert float(rows[1].split()[1]) == pytest.approx(solved.coef[1], rel=1e-5)


def test_a_result_prints_whatever_the_noise_is_of():
    """A softmax states the noise of contrasts, which are fewer than its coefficients."""
    X = np.random.default_rng(0).normal(size=(2_000, 2))
    labels = np.clip(np.round(X[:, 0] + 1.0), 0.0, 2.0)
    solved = tg.minimize(
        tg.losses.Multinomial(3), X, labels,
        intercept=True, solver=SoftmaxNewton(), guarantee=tg.GDP(9.0), random_state=0,
    )  # fmt: skip
    assert solved.coef.size != solved.solution.coef_noise_std.size
    assert repr(solved).count(" nan") == solved.coef.size + 1


def test_a_printed_plan_is_its_explanation():
    plan = make_solver("whitened-newton").plan(Problem(tg.losses.Squared(), 1_000, 3), GUARANTEE)
    assert str(plan) == plan.explain()


@pytest.mark.parametrize(
    ("guarantee", "said"),
    [
        (tg.ApproxDP(1.0, 1e-6), r"epsilon = 1\.4\d+ at delta = 1e-06 together"),
        (tg.GDP(0.3), "mu = 0.4243 together"),
    ],
)
def test_the_second_fit_of_an_object_warns_of_what_both_cost_and_no_other_does(guarantee, said):
    event, fits = Gaussian(guarantee.gaussian_mu()), []
    count_fit(fits, event, guarantee)
    with pytest.warns(tg.BudgetWarning, match=said):
        count_fit(fits, event, guarantee)
    count_fit(fits, event, guarantee)
    assert fits == [event] * 3
