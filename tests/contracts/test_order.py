"""The order of the records never matters: sorted ones are fitted as well as shuffled ones.

Everything is driven by the registries: estimators, means, solvers, and the means of gradients that
descent takes. Errors are compared with those on shuffled records at the same seed.
"""

from dataclasses import fields
from importlib import import_module

import numpy as np
import pytest

import tailguard as tg
from support.oracles import wide_oracle
from support.problems import problem_for
from support.registered import ESTIMATORS
from support.solvers import SOLVERS, make_solver
from support.spy import run_over
from tailguard.means.choice import MEANS
from tailguard.solvers.oracles import ORACLES

N_ROWS = 3_000
PROMISE = tg.ApproxDP(8.0, 1e-3)
TRUE = np.array([0.5, -0.25, 0.1])


def sorted_by_each(*columns):
    """Orders of the records: sorted by each column."""
    return [np.argsort(column, kind="stable") for column in columns]


def regression(noise, n_rows=N_ROWS):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 3))
    return X, X @ TRUE + noise * rng.standard_normal(n_rows)


def assert_as_good(of_sorted, of_shuffled, slack):
    """Errors on sorted records are within noise of the one on shuffled records."""
    assert max(of_sorted) <= 2.0 * of_shuffled + slack


def records_for(name, n_rows, seed=0):
    """Records that the estimator models, their true score, and what it is told."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 2))
    score = X[:, 0] - 0.5 * X[:, 1]
    told = {"n_nonzero": 2} if name.startswith("Sparse") else {}
    link = ESTIMATORS[name](**told)._loss().link
    if not link.scaled:
        return X, (score + rng.logistic(size=n_rows) > 0.0) * 1.0, score, told | {"classes": (0, 1)}
    if link.log:
        return X, np.exp(score) * rng.exponential(size=n_rows), score, told
    return X, score + 0.5 * rng.standard_normal(n_rows), score, told


def check_estimator(name, n_rows, guarantee, seed):
    X, y, score, told = records_for(name, n_rows, seed)
    model = ESTIMATORS[name](guarantee=guarantee, random_state=seed, **told)

    def error(order):
        model.fit(X[order], y[order])
        found = X @ np.ravel(model.coef_) + np.ravel(model.intercept_)
        return float(np.mean((found - score) ** 2) / np.var(score))

    shuffled = error(np.arange(n_rows))
    assert shuffled < 0.3
    assert_as_good([error(order) for order in sorted_by_each(*X.T, y)], shuffled, slack=0.02)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_fits_sorted_records_as_well_as_shuffled_ones(name):
    check_estimator(name, N_ROWS, tg.GDP(5.0), seed=1)


@pytest.mark.audit
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize(("n_rows", "mu"), [(2_000, 3.0), (20_000, 1.0), (250_000, 0.3)])
def test_an_estimator_fits_sorted_records_at_any_size(name, n_rows, mu):
    for seed in range(3):
        check_estimator(name, n_rows, tg.GDP(mu), seed)


def mean_cases():
    """Every method as it is, and with an odd number of groups where it has groups."""
    for name, place in MEANS.items():
        module, _, attribute = place.partition(":")
        options = [field.name for field in fields(getattr(import_module(module), attribute))]
        yield pytest.param(name, {}, id=name)
        if "n_groups" in options:
            yield pytest.param(name, {"n_groups": 25}, id=f"{name}-groups")
    yield pytest.param("auto", {}, id="auto")


@pytest.mark.parametrize(("name", "options"), list(mean_cases()))
def test_a_mean_of_sorted_records_is_that_of_shuffled_ones(name, options):
    rng = np.random.default_rng(0)
    X = np.column_stack([50.0 + rng.standard_t(3, N_ROWS), np.exp(rng.standard_normal(N_ROWS))])
    promise = {"epsilon": 8.0, "delta": 1e-3, "random_state": 3}
    shuffled, *others = (
        tg.mean(X[order], method=name, **promise, **options)
        for order in (np.arange(N_ROWS), *sorted_by_each(*X.T))
    )
    for result in others:
        assert (np.abs(result.value - shuffled.value) < 6.0 * shuffled.noise_std).all()
        np.testing.assert_allclose(result.noise_std, shuffled.noise_std, rtol=0.5)


def excess_risks(solver, problem, X, y, orders, guarantee=PROMISE):
    """Squared risk beyond the least one, over that of zero beyond it, in each order of records."""
    design = np.column_stack([X, np.ones(len(X))])
    least = np.mean((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2)
    for order in orders:
        found, *_ = run_over(solver, problem, X[order], y[order], guarantee, seed=1)
        risk = np.mean((y - X @ found.coef - found.intercept) ** 2)
        yield float((risk - least) / (np.mean(y**2) - least))


@pytest.mark.parametrize("name", SOLVERS)
def test_a_solver_fits_sorted_records_as_well_as_shuffled_ones(name):
    X, y = regression(noise=0.1)
    orders = (np.arange(N_ROWS), *sorted_by_each(*X.T, y))
    problem = problem_for(name, n_rows=N_ROWS)
    shuffled, *others = excess_risks(make_solver(name), problem, X, y, orders)
    assert shuffled < 0.5
    assert_as_good(others, shuffled, slack=0.01)


@pytest.mark.parametrize("name", ORACLES)
def test_descent_on_a_mean_of_sorted_gradients_goes_where_it_goes_on_shuffled_ones(name):
    X, y = regression(noise=1.0)
    orders = (np.arange(N_ROWS), *sorted_by_each(*X.T, y))
    oracle = wide_oracle(name, 3.0, n_groups=22)
    solver = make_solver("noisy-gradient-descent", n_steps=8, step_size=0.3, oracle=oracle)
    problem = problem_for("noisy-gradient-descent", n_rows=N_ROWS)
    shuffled, *others = excess_risks(solver, problem, X, y, orders, tg.ApproxDP(19.0, 1e-3))
    assert shuffled < 0.5
    assert_as_good(others, shuffled, slack=0.01)
