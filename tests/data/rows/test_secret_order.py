"""The secret order of records is uniform over all orders, whatever their identifiers are."""

from itertools import permutations
from uuid import UUID

import numpy as np
import pytest
from scipy.stats import chi2

from tailguard.data.columns import identifiers_of
from tailguard.data.rows import unordered
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.unordered import UnorderedRows
from tailguard.noise.keyed_hash import KeyedHash
from tailguard.noise.sources import SimulationSource

N_ROWS, N_KEYS, FALSE_ALARM = 4, 400, 1e-6
ORDERS = {order: number for number, order in enumerate(permutations(range(N_ROWS)))}
IDENTIFIERS = {
    "different": np.array([3, 9, 2**40, -7]),
    "those of the first places": np.arange(N_ROWS),
    "all missing": [None] * N_ROWS,
    "all but one missing": [None, None, "p7", None],
    "one missing": ["p1", "p2", None, "p4"],
    "in pairs": ["p1", "p2", "p1", "p2"],
    "three equal": np.array([5, 5, 5, 6]),
    "rounded to floats": np.array([2.0**62 + k for k in range(N_ROWS)]),
    "UUIDs": [UUID(int=k) for k in range(N_ROWS)],
}


def counts_of_orders(ids):
    """How often each order of four records is drawn: of all, and of a sample of three."""
    features = np.arange(float(N_ROWS))[:, None]
    found = np.zeros((2, len(ORDERS)))
    for seed in range(N_KEYS):
        source = SimulationSource(seed)
        rows = UnorderedRows(make_rows(features), source, identifiers_of(ids))
        whole = rows.restricted(np.arange(N_ROWS))
        sample = rows.sample(KeyedHash(source), N_ROWS - 1)
        for row, some in enumerate((whole, sample)):
            order = some.block().features[:, 0].astype(int).tolist()
            found[row, ORDERS[(*order, *set(range(N_ROWS)) - set(order))]] += 1
    return found


def is_uniform(counts):
    """A chi-square test that rejects uniform orders with a chance of at most FALSE_ALARM."""
    expected = counts.sum() / len(counts)
    statistic = float(((counts - expected) ** 2).sum() / expected)
    return statistic < chi2.isf(FALSE_ALARM / 2, len(counts) - 1)


@pytest.mark.parametrize("name", IDENTIFIERS)
def test_every_order_is_as_likely_as_any_other(name):
    for counts in counts_of_orders(IDENTIFIERS[name]):
        assert is_uniform(counts)


STABLE = ("all missing", "in pairs", "three equal", "rounded to floats")
FAULTS = [*((name, True) for name in STABLE), ("in pairs", False), ("three equal", False)]


@pytest.mark.parametrize(("name", "stable"), FAULTS)
def test_equal_identifiers_that_stay_together_are_caught(name, stable, monkeypatch):
    """As they came, or in a random order of equal values, which is not enough."""
    monkeypatch.setattr(unordered, "all_differ", lambda values: True)
    if stable:
        monkeypatch.setattr(KeyedHash, "order", lambda _, values: np.argsort(values, kind="stable"))
    for counts in counts_of_orders(IDENTIFIERS[name]):
        assert not is_uniform(counts)


def test_orders_under_several_keys_are_independent():
    """Of four records with equal identifiers: the first of one order, and the first of another."""
    features, together = np.arange(float(N_ROWS))[:, None], np.zeros((N_ROWS, N_ROWS))
    for seed in range(N_KEYS):
        source = SimulationSource(seed)
        rows = UnorderedRows(make_rows(features), source, [None] * N_ROWS)
        firsts = [rows.sample(KeyedHash(source), 1), rows.restricted(np.arange(1))]
        together[tuple(int(first.block().features[0, 0]) for first in firsts)] += 1
    assert is_uniform(together.ravel())
