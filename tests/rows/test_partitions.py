"""Rows of one block, and where partitions are remembered."""

import numpy as np
import pytest

from tailguard.checks import BudgetError, InputError
from tailguard.kernels.counts import BelowCount
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.blocks import Block, Blocks
from tailguard.rows.arrays import ArrayRows
from tailguard.rows.partitions import Partitions


def values_of(rows):
    return rows._records.features[:, 0].tolist()


def partitions(n_rows=10, seed=0):
    features = np.arange(float(n_rows))[:, None]
    rows = ArrayRows(features, 10.0 * features[:, 0], -features[:, 0], feature_names=("a",))
    return Partitions(rows, SimulationSource(seed))


def test_restricted_rows_keep_every_column_together():
    rows = partitions()._rows.restricted(np.array([7, 2, 5]))
    records = rows._records
    assert values_of(rows) == [7.0, 2.0, 5.0]
    assert records.target.tolist() == [70.0, 20.0, 50.0]
    assert records.offset.tolist() == [-7.0, -2.0, -5.0]
    assert (rows.n_rows, rows.feature_names) == (3, ("a",))
    assert records.features.flags.c_contiguous
    below = BelowCount(thresholds=[5.0], columns=(0,), paired=False, multiplier=1)
    assert rows.reduce(below).tolist() == [2]


def test_restricted_rows_keep_single_precision_and_void_records():
    rows = ArrayRows(np.array([[1.0], [np.nan]], np.float32), [1.0, 2.0], None, lambda y: y < 2)
    kept = rows.restricted(np.array([1, 0]))._records
    assert kept.features.dtype == np.float32
    np.testing.assert_array_equal(kept.target, [np.nan, 1.0])
    assert not rows.restricted(np.array([0])).has_offset


def test_blocks_hold_every_record_once_in_the_order_of_the_data():
    held = partitions()
    blocks = held.cut("m", (4, 6))
    found = [values_of(held.rows_of(block)) for block in blocks]
    assert sorted(found[0] + found[1]) == list(map(float, range(10)))
    assert all(part == sorted(part) for part in found)


def test_amplified_blocks_hold_their_records_in_random_order():
    """A rival in the place of a record leaves all others in theirs, and so in their chunks."""
    held = partitions(n_rows=2_000)
    parts = [
        values_of(held.rows_of(block)) for block in held.cut("s", (1_000,) * 2, amplified=True)
    ]
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


def test_a_sample_is_uniform_in_the_order_of_the_data_and_its_rows_are_kept():
    drawn = np.zeros(10)
    for seed in range(600):
        held = partitions(seed=seed)
        (block,) = held.cut("sample", (4,))
        rows = held.rows_of(block)
        values = values_of(rows)
        assert len(values) == 4
        assert values == sorted(values)
        assert held.rows_of(block) is rows
        drawn[np.array(values, dtype=int)] += 1
    assert np.abs(drawn - 240.0).max() < 5.0 * np.sqrt(600 * 0.4 * 0.6)


def test_a_block_of_more_than_half_of_the_records_is_copied_anew():
    held = partitions()
    (whole,) = held.cut("all", (10,))
    assert held.rows_of(whole) is not held.rows_of(whole)
