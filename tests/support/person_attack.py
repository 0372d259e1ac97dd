"""Attacks that replace a person and all her rows: few or many, hostile, void or equal."""

import numpy as np

from support.adversary import EXTREMES, records
from support.attack import MU
from support.examples import query_examples
from support.query_example import N_FEATURES
from support.transcripts import check_noises
from tailguard.audit.gates import OverheardGate
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.keys import Persons
from tailguard.data.rows.persons import PersonRows
from tailguard.gate.plan import Problem
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.events import Gaussian
from tailguard.privacy.guarantees import GDP
from tailguard.privacy.unit import Unit
from tailguard.queries.base import calibration_for

N_PERSONS, REPLACED = 40, 7  # as many as rows elsewhere: some examples have 40 groups
AUDITED_PERSONS, AUDITED_ROWS, AUDITED_MU = 200, 5, 1.5
"""The number of persons in overheard runs, and the most rows of each."""
EXAMPLES = {e.name: e for e in query_examples() if getattr(e.query, "takes_persons", False)}
UNITS = [
    Unit(person="key", max_rows=1),
    Unit(person="key", max_rows=3),
    Unit(person="key", max_rows=40),
    Unit(person="key", max_rows=3, weight="row"),
]


def table(rng, width, kind):
    """Rows of some persons and their keys, which are unordered multiples of ten."""
    counts = rng.integers(1, 9, N_PERSONS)
    keys = np.repeat(10 * np.arange(N_PERSONS), counts)
    rows = records(rng, len(keys), width) if kind % 2 else rng.standard_normal((len(keys), width))
    order = rng.permutation(len(keys))
    return rows[order], keys[order]


def replacement(rng, width, old, most):
    """All rows of another person: few or many, hostile, void, repeated, or old ones."""
    count = int(rng.choice([1, 2, 3, 5, 40, most]))
    kind = int(rng.integers(5))
    if kind == 0:
        return np.full((count, width), rng.choice([np.nan, np.inf, -np.inf]))
    if kind == 1:
        return np.tile(records(rng, 1, width), (count, 1))
    if kind == 2:
        with np.errstate(all="ignore"):
            return -old[rng.integers(0, len(old), count)] * rng.choice([1.0, 1e-3, 1e300])
    if kind == 3:
        return rng.choice(EXTREMES, (count, width))
    return records(rng, count, width)


def neighbour(rng, rows, keys, width, most=100):
    """The table with one person replaced, with her key or a new one; some rows have no person.

    The new person may have up to ``most`` rows, which is above all caps of ``UNITS``.
    """
    own = keys == 10 * REPLACED
    other = replacement(rng, width, rows[own], most)
    key = 10 * REPLACED + int(rng.integers(0, 9))
    found = np.concatenate([rows[~own], other])
    told = np.concatenate([keys[~own], np.full(len(other), key)]).astype(object)
    nobody = records(rng, int(rng.integers(0, 50)), width)
    order = rng.permutation(len(found) + len(nobody))
    whose = np.concatenate([told, np.full(len(nobody), None, dtype=object)])[order]
    return np.concatenate([found, nobody])[order], list(whose)


def calibrated(example, unit, asked=None):
    told = asked or Gaussian(MU)
    return calibration_for(example.query, N_PERSONS, N_FEATURES, told, unit.max_rows)


def lattice(example, rows, calibration, order):
    rows = rows.in_order(order) if example.query.places == "random" else rows
    with np.errstate(all="ignore"):
        return example.query.answer(rows, example.state, calibration)


class OverheardPersons(OverheardGate):
    """Overhear runs on persons; one person is replaced with all her rows."""

    @classmethod
    def told(cls, solver, plan, pair, *, seed, loss=None):
        """Run on one of two tables (features, targets, keys); return the transcript."""
        unit = Unit(person="key", max_rows=AUDITED_ROWS)
        rows = [
            PersonRows(make_rows(X, y, loss=loss), Persons.of(keys, unit), SimulationSource(0))
            for X, y, keys in pair
        ]
        asked = {"guarantee": plan.guarantee, "neighbour": seed % 2 == 1, "seed": seed}
        gate = cls.over_rows(*rows, **asked)
        gate.reserve(plan.event, coordinates=plan.coordinates)
        with np.errstate(all="ignore"):
            solver.run(plan, gate)
        return gate.transcript


def audited_pair(others, *replaced):
    """Two tables with the same ``others``, of two rows each, and a different first person.

    The arguments state, for each table, the number of her rows and their common content.
    """
    keys = np.tile(np.arange(1, AUDITED_PERSONS), 2)
    for count, row in replaced:
        cells = np.concatenate([np.tile(row, (count, 1)), others])
        yield cells, None, np.append(np.zeros(count, dtype=np.int64), keys)


def overheard(statistics, pair, n_runs):
    """Runs of all releases of statistics, alternately on the two tables."""
    problem = Problem(None, AUDITED_PERSONS, pair[0][0].shape[1], max_rows=AUDITED_ROWS)
    plan = statistics.plan(problem, GDP(AUDITED_MU))
    return [OverheardPersons.told(statistics, plan, pair, seed=seed) for seed in range(n_runs)]


def check_overheard(told, n_queries):
    """Check that whole runs attain most of the claim for a person, and never more."""
    for one in told:
        assert 0.7 * AUDITED_MU <= one.mu <= AUDITED_MU * (1.0 + 1e-9)
    assert len({query.name for query in told[0].queries}) == n_queries
    check_noises(np.concatenate([one.noises for one in told]))
