"""Rows of one block, the random order of all rows, and where partitions are remembered."""

from types import SimpleNamespace

import numpy as np
import pytest

from tailguard.checks import BudgetError, InputError
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.keys import Persons
from tailguard.data.rows.partitions import Partitions
from tailguard.data.rows.persons import PersonRows
from tailguard.noise import orders
from tailguard.noise.sources import CryptographicSource, SimulationSource
from tailguard.privacy.books.blocks import Block, Blocks
from tailguard.privacy.unit import Unit


def values_of(rows):
    return rows._records.features[:, 0].tolist()


def partitions(n_rows=10, seed=0):
    features = np.arange(float(n_rows))[:, None]
    rows = make_rows(features, 10.0 * features[:, 0], offset=-features[:, 0])
    return Partitions(rows, SimulationSource(seed))


def test_restricted_rows_keep_single_precision_and_void_records():
    rows = make_rows(np.array([[1.0], [np.nan]], np.float32), [1.0, np.nan])
    kept = rows.restricted(np.array([1, 0]))._records
    assert kept.features.dtype == np.float32
    np.testing.assert_array_equal(kept.target, [np.nan, 1.0])
    assert not rows.restricted(np.array([0])).has_offset


@pytest.mark.parametrize("amplified", [False, True])
def test_blocks_hold_every_record_once_in_random_order(amplified):
    """A rival in the place of a record leaves all others in theirs, and so in their chunks; and
    neighbours in a block are none in the data."""
    held = partitions(n_rows=2_000)
    blocks = held.cut("s", (1_000,) * 2, amplified=amplified)
    parts = [values_of(held.rows_of(block)) for block in blocks]
    assert sorted(parts[0] + parts[1]) == list(map(float, range(2_000)))
    assert all(abs(np.corrcoef(part, range(1_000))[0, 1]) < 0.2 for part in parts)


def test_a_block_is_cut_within_itself():
    held = partitions()
    outer = held.cut("outer", (4, 6))
    inner = held.cut("inner", (3, 3), amplified=True, within=outer[1])
    whole = set(values_of(held.rows_of(outer[1])))
    parts = [values_of(held.rows_of(block)) for block in inner]
    assert set(parts[0] + parts[1]) == whole
    assert inner.facts()["outer_block"] == 1


def test_places_of_an_amplified_partition_are_forgotten_once_read():
    held = partitions()
    blocks = held.cut("secret", (5, 5), amplified=True)
    held.rows_of(blocks[0])
    with pytest.raises(BudgetError, match="at most once"):
        held.rows_of(blocks[0])
    held.rows_of(blocks[1])
    assert held._cuts["secret"].order.size == 0


def test_what_is_refused():
    held = partitions()
    blocks = held.cut("m", (5, 5))
    secret = held.cut("secret", (5, 5), amplified=True)
    inner = held.cut("inner", (2, 3), within=blocks[0])
    for cut in (
        lambda: held.cut("m", (5, 5)),
        lambda: held.cut("", (5, 5)),
        lambda: held.cut("a", (2, 2), within=secret[0]),
        lambda: held.cut("b", (1, 1), within=inner[0]),
        lambda: held.rows_of(partitions().cut("other", (5, 5))[0]),
        lambda: held.rows_of(Blocks("m", (4, 6))[0]),
        lambda: held.rows_of(0),
    ):
        with pytest.raises(InputError):
            cut()
    with pytest.raises(InputError):
        held.check(Block(blocks, 2))


def test_a_sample_is_uniform_and_in_random_order_and_its_rows_are_kept():
    drawn, rising = np.zeros(10), 0
    for seed in range(600):
        held = partitions(seed=seed)
        (block,) = held.cut("sample", (4,))
        rows = held.rows_of(block)
        values = values_of(rows)
        assert len(values) == 4
        rising += values[0] < values[1]
        assert held.rows_of(block) is rows
        drawn[np.array(values, dtype=int)] += 1
    assert np.abs(drawn - 240.0).max() < 5.0 * np.sqrt(600 * 0.4 * 0.6)
    assert abs(rising - 300.0) < 5.0 * np.sqrt(600 * 0.25)


def test_a_sample_of_very_many_records_keeps_a_key_and_no_places(monkeypatch):
    long = Partitions(SimpleNamespace(n_rows=10**13), SimulationSource(0))
    (block,) = long.cut("sample", (10**12,))
    assert long.check(block) == block
    monkeypatch.setattr(orders, "MOST_SAMPLED", 4)
    held = partitions(n_rows=1_000)
    (block,) = held.cut("sample", (300,))
    values = values_of(held.rows_of(block))
    assert len(set(values)) == 300
    assert values != sorted(values)
    held.cut("amplified", (300,), amplified=True)  # a price rests on how that is drawn
    kinds = [type(held._cuts[name].order) for name in ("sample", "amplified")]
    assert kinds == [orders.KeyedOrder, np.ndarray]
    (inner,) = held.cut("inner", (100,), within=block)
    assert set(values_of(held.rows_of(inner))) < set(values)


def test_orders_and_samples_of_persons_are_uniform_however_many_they_are(monkeypatch):
    """A person under a new key has another number, and so have those between: she is not replaced
    in her place, and a pseudo-random order of numbers would show it."""
    monkeypatch.setattr(orders, "MOST_SAMPLED", 4)
    monkeypatch.setattr(orders, "MOST_KEPT", 4)
    persons = Persons.of(range(1_000), Unit(person="key", max_rows=1))
    rows = PersonRows(make_rows(np.arange(1_000.0)[:, None]), persons, SimulationSource(0))
    held = Partitions(rows, SimulationSource(0))
    held.cut("sample", (300,))
    held.drawn_order()
    assert [type(order) for order in (held._cuts["sample"].order, held._order)] == [np.ndarray] * 2


def test_a_block_of_more_than_half_of_the_records_is_copied_anew():
    held = partitions()
    (whole,) = held.cut("all", (10,))
    assert held.rows_of(whole) is not held.rows_of(whole)


def order_of(held):
    return held.all_rows(random_order=True)._order


def test_all_rows_come_as_they_lie_unless_a_random_order_is_asked_for():
    held = partitions(n_rows=1_000)
    assert held.all_rows(random_order=False) is held._rows
    assert held._shuffled is None
    order = order_of(held)
    assert sorted(order.tolist()) == list(range(1_000))
    assert abs(np.corrcoef(order, range(1_000))[0, 1]) < 0.2


def test_the_order_is_that_of_one_gate_and_of_its_source():
    held = partitions(n_rows=1_000)
    assert held.all_rows(random_order=True) is held.all_rows(random_order=True)
    assert (order_of(partitions(n_rows=1_000)) == order_of(held)).all()
    assert (order_of(partitions(n_rows=1_000, seed=1)) != order_of(held)).any()
    fresh = [order_of(Partitions(held._rows, CryptographicSource())) for _ in range(2)]
    assert (fresh[0] != fresh[1]).any()


def test_the_order_depends_on_the_number_of_records_alone():
    orders = [
        order_of(Partitions(make_rows(features), SimulationSource(4)))
        for features in (np.zeros((50, 1)), np.full((50, 3), np.nan), np.arange(50.0)[:, None])
    ]
    assert (orders[0] == orders[1]).all()
    assert (orders[0] == orders[2]).all()
