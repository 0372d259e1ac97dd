"""Without noise and with clipping inactive, full-batch descent ends at scikit-learn's optimum."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import tailguard as tg
from support.problems import example_of
from support.solvers import SOLVERS, make_solver
from support.spy import GENEROUS, run_over
from tailguard.gate.plan import Problem

N_ROWS = 300
LOSSES = {"squared": tg.losses.Squared(), "logistic": tg.losses.Logistic()}
every_loss = pytest.mark.parametrize("loss", LOSSES)


def records(loss):
    rng = np.random.default_rng(11)
    X = rng.standard_normal((N_ROWS, 3))
    score = X @ np.array([0.5, -0.25, 0.1]) + 0.3
    if loss == "squared":
        return X, score + 0.1 * rng.standard_normal(N_ROWS)
    return X, (rng.random(N_ROWS) < 1.0 / (1.0 + np.exp(-score))).astype(float)


def optimum(X, y, loss, *, intercept):
    if loss == "squared":
        model = LinearRegression(fit_intercept=intercept)
    else:
        model = LogisticRegression(
            C=np.inf, fit_intercept=intercept, solver="newton-cholesky", tol=1e-12, max_iter=1000
        )
    fitted = model.fit(X, y)
    return np.append(fitted.coef_, fitted.intercept_)


def without_noise(solver, loss, *, intercept, constraint=None):
    X, y = records(loss)
    problem = Problem(LOSSES[loss], N_ROWS, 3, intercept, constraint)
    solution, *_ = run_over(solver, problem, X, y, GENEROUS)
    return np.append(solution.coef, solution.intercept), optimum(X, y, loss, intercept=intercept)


@every_loss
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", [name for name in SOLVERS if example_of(name).exact])
def test_full_batch_solvers_reach_the_optimum_of_scikit_learn(name, intercept, loss):
    solver = make_solver(name, **example_of(name).exact)
    ball = tg.sets.L2Ball(5.0)
    found, best = without_noise(solver, loss, intercept=intercept, constraint=ball)
    np.testing.assert_allclose(found, best, atol=1e-6)


@pytest.mark.parametrize(("loss", "distance"), [("logistic", 1e-6), ("squared", 2e-3)])
def test_the_default_method_nears_it_as_the_budget_grows(loss, distance):
    """Residuals are always clipped, which leaves a sixth of a standard error; labels are not."""
    X, y = records(loss)
    problem = Problem(LOSSES[loss], N_ROWS, 3, intercept=True)
    solution, *_ = run_over(make_solver("whitened-newton"), problem, X, y, tg.GDP(1e5))
    found = np.append(solution.coef, solution.intercept)
    np.testing.assert_allclose(found, optimum(X, y, loss, intercept=True), atol=distance)


def test_a_clip_that_binds_moves_the_answer_away():
    solver = make_solver(
        "noisy-gradient-descent", clip_norm=0.1, n_steps=600, step_size=1.0, iterate="last"
    )
    ball = tg.sets.L2Ball(5.0)
    found, best = without_noise(solver, "squared", intercept=False, constraint=ball)
    assert np.abs(found - best).max() > 1e-3
