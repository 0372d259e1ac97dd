"""A person replaced with all of her rows: by few or many, hostile, void or alike, under any key."""

import numpy as np

from support.adversary import EXTREMES, records
from support.attack import MU
from support.examples import query_examples
from support.query_example import N_FEATURES
from tailguard.audit.gates import OverheardGate
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.keys import Persons
from tailguard.data.rows.persons import PersonRows
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.events import Gaussian
from tailguard.privacy.unit import Unit
from tailguard.queries.base import calibration_for

N_PERSONS, REPLACED = 40, 7  # as many as rows elsewhere: some examples have 40 groups
AUDITED_ROWS = 5  # most rows of a person in whole runs that are overheard
EXAMPLES = {e.name: e for e in query_examples() if getattr(e.query, "takes_persons", False)}
UNITS = [
    Unit(person="key", max_rows=1),
    Unit(person="key", max_rows=3),
    Unit(person="key", max_rows=40),
    Unit(person="key", max_rows=3, weight="row"),
]


def table(rng, width, kind):
    """Rows of some persons, and their keys: multiples of ten, in no order."""
    counts = rng.integers(1, 9, N_PERSONS)
    keys = np.repeat(10 * np.arange(N_PERSONS), counts)
    rows = records(rng, len(keys), width) if kind % 2 else rng.standard_normal((len(keys), width))
    order = rng.permutation(len(keys))
    return rows[order], keys[order]


def replacement(rng, width, old, most):
    """All rows of another person: few or many, hostile, void, one of them often, or old ones."""
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
    """The table with one person replaced, under her key or a new one, and some rows of nobody.

    ``most`` rows, above all caps of ``UNITS``, may be the new one's.
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
    rows = rows.in_order(order) if example.query.random_order else rows
    with np.errstate(all="ignore"):
        return example.query.answer(rows, example.state, calibration)


class OverheardPersons(OverheardGate):
    """Overhears runs on persons, of whom one is replaced with all of her rows."""

    @classmethod
    def told(cls, solver, plan, pair, *, seed, loss=None):
        """Run on one of two tables: features, targets, keys. Return how far releases differ."""
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
