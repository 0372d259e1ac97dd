"""Records with extreme floats, and fits that must handle them without a warning."""

import numpy as np

from tailguard.checks import InputError
from tailguard.gate import Gate
from tailguard.gate.engine import run
from tailguard.privacy.events import Composed
from tailguard.solvers.registry import plan_for

UNITS = (1e-300, 1e-100, 1.0, 1e100, 1e300)
KINDS = ("cauchy", "line", "lognormal", "half void", "constant", "zero", "any float")


def records(kind, seed, n_rows, n_features=3):
    """Features and a target of one kind, in units of about 1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    y = X.sum(axis=1) + rng.standard_normal(n_rows)
    if kind == "cauchy":
        X, y = rng.standard_t(1.1, X.shape), y + rng.standard_t(1.1, n_rows)
    elif kind == "line":
        y = 10.0 * X[:, 0] + 1e3
    elif kind == "lognormal":
        y = np.exp(4.0 * y)
    elif kind == "half void":
        y = np.where(rng.random(n_rows) < 0.5, np.nan, y)
        X[rng.random(n_rows) < 0.1] = np.inf
    elif kind == "constant":
        X, y = np.ones_like(X), np.ones_like(y)
    elif kind == "zero":
        X, y = np.zeros_like(X), np.zeros_like(y)
    elif kind == "any float":
        words = rng.integers(0, 2**64, (n_rows, n_features + 1), dtype=np.uint64)
        X, y = words.view(np.float64)[:, :-1].copy(), words.view(np.float64)[:, -1].copy()
    return X, y


def in_units(loss, X, y, feature_unit, target_unit):
    """The records in other units, with targets that the loss accepts."""
    with np.errstate(all="ignore"):
        if not loss.link.scaled:
            return X * feature_unit, (y > 0.0).astype(float)
        if loss.link.log:
            y = np.floor(np.abs(y))
        return X * feature_unit, y * target_unit


def survive(problem, X, y, guarantee, *, solver="auto", seed=0):
    """Plan, reserve and run with every floating-point error raised; return the solution.

    Return None if the plan is refused before budget is reserved.
    """
    gate = Gate.over(X, y, guarantee=guarantee, loss=problem.loss, random_state=seed)
    try:
        with np.errstate(all="raise"):
            solution = run(*plan_for(solver, problem, guarantee), gate).solution
    except InputError:
        assert gate.books.reserved == Composed(())
        return None
    assert np.isfinite(solution.coef).all()
    assert np.isfinite(solution.intercept)
    return solution
