"""What each registered solver is tried on: a problem that it takes, and promises that it makes."""

from functools import cache

import tailguard as tg
from support.registered import class_of
from support.solvers import SOLVERS, make_solver
from tailguard.gate.engine import SolverExample
from tailguard.gate.plan import Problem

PROMISES = (tg.GDP(1.0), tg.ApproxDP(1.0, 1e-6), tg.ZCDP(0.01), tg.GDP(0.3), tg.ApproxDP(4.0, 1e-9))


def example_of(name):
    """What the solver of that name is tried on."""
    return getattr(class_of(SOLVERS[name]), "example", SolverExample())


def problem_for(name, loss=None, n_rows=300):
    """A problem of three columns that the solver takes, with its constraint."""
    shown = example_of(name)
    return Problem(loss or tg.losses.Squared(), n_rows, 3, shown.intercept, shown.constraint)


def refusal_of(name, problem, guarantee):
    """What the solver says when it refuses to plan; empty if it plans."""
    try:
        make_solver(name).plan(problem, guarantee)
    except tg.InputError as refusal:
        return str(refusal)
    return ""


@cache
def promises(name):
    """Promises that the solver makes, the first one for tests that need just one."""
    refused = {promise: refusal_of(name, problem_for(name), promise) for promise in PROMISES}
    for promise, words in refused.items():  # in epsilon and delta everybody promises
        assert not words or ("ApproxDP" in words and not isinstance(promise, tg.ApproxDP))
    return tuple(promise for promise, words in refused.items() if not words)
