"""Test cases of each registered solver: a problem that it accepts, and its guarantees."""

from functools import cache

import tailguard as tg
from support.registered import class_of
from support.solvers import SOLVERS, make_solver
from tailguard.gate.engine import SolverExample
from tailguard.gate.plan import Problem

PROMISES = (tg.GDP(1.0), tg.ApproxDP(1.0, 1e-6), tg.ZCDP(0.01), tg.GDP(0.3), tg.ApproxDP(4.0, 1e-9))


def example_of(name):
    """The test case of the solver with this name."""
    return getattr(class_of(SOLVERS[name]), "example", SolverExample())


def problem_for(name, loss=None, n_rows=300):
    """A problem of three columns that the solver accepts, with its constraint."""
    shown = example_of(name)
    return Problem(loss or tg.losses.Squared(), n_rows, 3, shown.intercept, shown.constraint)


def planned(name, problem, guarantee):
    """The solver's plan and no words, or no plan and its message if it refuses to plan."""
    try:
        return make_solver(name).plan(problem, guarantee), ""
    except tg.InputError as refusal:
        return None, str(refusal)


def refusal_of(name, problem, guarantee):
    """The solver's message if it refuses to plan; empty if it plans."""
    return planned(name, problem, guarantee)[1]


@cache
def promises(name):
    """Guarantees that the solver supports; tests that need only one use the first."""
    refused = {promise: refusal_of(name, problem_for(name), promise) for promise in PROMISES}
    for promise, words in refused.items():  # all solvers support epsilon and delta
        assert not words or ("ApproxDP" in words and not isinstance(promise, tg.ApproxDP))
    return tuple(promise for promise, words in refused.items() if not words)
