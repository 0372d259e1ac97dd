"""A gate for tests: zero noise, and a log of its books."""

import math

import tailguard as tg
from support.sources import QuietSource
from tailguard.audit.gates import KnownOrder
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.noise.sources import SimulationSource


def gate_over(problem, X, y, guarantee, *, seed=None):
    """A gate with zero noise, or with simulated noise if a seed is given, and its books."""
    source = QuietSource() if seed is None else SimulationSource(seed)
    rows = make_rows(X, y, loss=problem.loss)
    gate = Gate(rows, guarantee=guarantee, source=source)
    return gate, gate.books


def run_over(solver, problem, X, y, guarantee, *, seed=None, exposure=None):
    """Plan, reserve and run a solver on such a gate; return solution, gate and plan."""
    plan = solver.plan(problem, guarantee)
    gate, _ = gate_over(problem, X, y, guarantee)
    if seed is not None:
        known = {"loss": problem.loss, "exposure": exposure, "random_state": seed}
        gate = Gate.over(X, y, guarantee=guarantee, **known)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    return solver.run(plan, gate), gate, plan


def in_known_order(gate):
    """A gate that keeps the records in the given order, so an attacker knows it."""
    gate._partitions = KnownOrder(gate._rows, gate._source)
    return gate


def spent_mu(books):
    """Root of the sum of squared mu of all releases, recomputed from the plain numbers."""
    releases = books.releases
    assert all(release.mechanism == "gaussian" for release in releases)
    return math.sqrt(sum(r.times * (r.sensitivity / r.noise_std) ** 2 for r in releases))


GENEROUS = tg.GDP(2_000.0)
