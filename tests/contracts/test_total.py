"""What every fit promises once budget is reserved: it ends, silently, with finite numbers.

The values of records never raise and never warn, however extreme they, their units and the loss's
parameters are. Plans may refuse, since they see public numbers only.
"""

import itertools

import numpy as np
import pytest

import tailguard as tg
from support.problems import example_of, promises
from support.registered import examples_of
from support.solvers import SOLVERS, make_solver
from tailguard.checks import InputError
from tailguard.gate import Gate
from tailguard.gate.engine import run
from tailguard.gate.plan import Problem
from tailguard.losses.registry import LOSSES
from tailguard.means.choice import MEANS
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


ENDS = (1e-100, 1e100)
EXTREMES = {
    "huber": [tg.losses.Huber(), *map(tg.losses.Huber, ENDS)],
    "lp": [tg.losses.LpLoss(p) for p in (2.0, 4.0, 16.0)],
    "pseudo_huber": [tg.losses.PseudoHuber(), *map(tg.losses.PseudoHuber, ENDS)],
    "quantile": [
        *(tg.losses.Quantile(0.5, width) for width in ENDS),
        *(tg.losses.Quantile(level) for level in (1e-300, 0.5, 1.0 - 1e-16)),
    ],
}
EXAMPLES = examples_of(LOSSES, EXTREMES)
every_loss = pytest.mark.parametrize(
    "loss", [loss for losses in EXAMPLES.values() for loss in losses], ids=repr
)
every_loss_by_default = pytest.mark.parametrize(
    "loss",
    [loss for loss in every_loss.args[1] if loss.link.residual or loss.quasi_likelihood],
    ids=repr,
)
every_solver = pytest.mark.parametrize("solver", SOLVERS)
IN_TURN = 8
"""Every loss tries every so many of the units, each loss others."""
every_method = pytest.mark.parametrize("method", [*MEANS, "auto"])

# Enough to be told from noise, so that a run takes all of its stages.
PLENTY = tg.GDP(300.0)
BUDGETS = (tg.GDP(1e-3), tg.GDP(1.0), PLENTY, tg.GDP(1e4))
BALLS = (tg.sets.L2Ball(1.0), tg.sets.L2Ball(1e-80), tg.sets.L2Ball(1e80), tg.sets.L1Ball(1e6))


def fit(loss, kind, units, guarantee, *, n_rows=200, intercept=True, constraint=None, **how):
    """Fit one kind of records in extreme units; None where the plan is refused."""
    X, y = in_units(loss, *records(kind, how.get("seed", 0), n_rows), *units)
    problem = Problem(loss, n_rows, 3, intercept, constraint)
    return survive(problem, X, y, guarantee, **how)


@pytest.mark.parametrize(
    ("loss", "first"),
    [(loss, n % IN_TURN) for n, loss in enumerate(every_loss_by_default.args[1])],
    ids=repr,
)
def test_the_default_method_ends_in_all_units(loss, first):
    """Kinds and budgets take turns over the units of features and target."""
    turns = itertools.cycle(itertools.product((PLENTY, tg.GDP(3.0)), KINDS))
    tried = zip(itertools.product(UNITS, UNITS), turns, strict=False)
    for units, (guarantee, kind) in itertools.islice(tried, first, None, IN_TURN):
        assert fit(loss, kind, units, guarantee, intercept=units[0] <= 1.0) is not None


@every_loss_by_default
def test_ordinary_records_never_leave_the_floats(loss):
    """The guards are for extremes: where nothing is extreme they stay out of the way."""
    for kind, guarantee in (("cauchy", PLENTY), ("line", tg.GDP(1.0))):
        solution = fit(loss, kind, (1.0, 1.0), guarantee, n_rows=2000)
        assert not any("overflowed" in note for note in solution.notes)


def run_of(solver, seed, loss):
    """One kind of records, units, promise and set, drawn by the seed."""
    rng = np.random.default_rng(seed)
    units, kind = rng.choice(UNITS, 2), KINDS[rng.integers(len(KINDS))]
    guarantee = BUDGETS[rng.integers(len(BUDGETS))]
    if tg.GDP not in map(type, promises(solver)):
        guarantee = tg.ApproxDP(rng.choice([0.3, 4.0]), 1e-6)
    own = example_of(solver).constraint
    allowed = BALLS if own is not None and own.diameter() < np.inf else (own,)
    constraint = allowed[rng.integers(len(allowed))]
    how = {"seed": seed, "solver": make_solver(solver), "constraint": constraint}
    return fit(loss, kind, units, guarantee, intercept=constraint is None, **how)


@every_solver
def test_every_solver_ends(solver):
    solutions = [run_of(solver, seed, tg.losses.Huber()) for seed in range(3)]
    assert any(solution is not None for solution in solutions)


@every_method
def test_every_mean_ends_in_all_units(method):
    for number, (unit, kind) in enumerate(zip(3 * UNITS, itertools.cycle(KINDS), strict=False)):
        mean_of(method, kind, unit, seed=number, n_rows=300)


def mean_of(method, kind, unit, *, seed, n_rows):
    """One mean with private scales, where every floating-point error raises."""
    X, _ = in_units(tg.losses.Squared(), *records(kind, seed, n_rows), unit, 1.0)
    with np.errstate(all="raise"):
        told = {"method": method, "random_state": seed, "check_records": False}
        result = tg.mean(X, epsilon=3.0, delta=1e-6, **told)
    assert np.isfinite(result.value).all()


@pytest.mark.audit
@every_loss_by_default
@pytest.mark.parametrize("guarantee", BUDGETS, ids=repr)
def test_the_default_method_ends_for_every_kind_and_seed(loss, guarantee):
    seeds = itertools.cycle(range(50))
    for units in itertools.product(UNITS, UNITS):
        for kind, n_rows in itertools.product(KINDS, (60, 3000)):
            solution = fit(loss, kind, units, guarantee, seed=next(seeds), n_rows=n_rows)
            # Of 60 or 3000 records the least budget shows not even a constant: plans refuse.
            assert (solution is None) == (guarantee == BUDGETS[0])


@pytest.mark.audit
@every_loss
@every_solver
def test_every_solver_ends_for_every_loss_and_seed(loss, solver):
    for seed in range(10):
        run_of(solver, seed, loss)


@pytest.mark.audit
@every_method
def test_every_mean_ends_for_every_seed(method):
    kinds = itertools.cycle(KINDS)
    for seed, unit in itertools.product(range(50), UNITS):
        mean_of(method, next(kinds), unit, seed=seed, n_rows=(150, 300, 3000)[seed % 3])
