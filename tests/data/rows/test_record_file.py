"""Records in a file: each part is put in order, and is in memory once."""

import tracemalloc

import numpy as np
import pytest

from tailguard.data.rows import record_file
from tailguard.data.rows.base import RecordBlock
from tailguard.data.rows.record_file import RecordFile

N_ROWS = 8 * 2**15 + 1


def test_a_part_is_put_in_order_in_hardly_more_memory_than_it_takes():
    stored = np.dtype([("value", "u8"), ("features", np.float64, (20,)), ("target", "f8")])
    file = RecordFile(stored, np.array([N_ROWS]))
    values = np.random.default_rng(0).permutation(N_ROWS)
    features = np.repeat(values[:, None].astype(float), 20, axis=1)
    shared = file.shared(RecordBlock(features, values * 2.0), values.astype(np.uint64), 0 * values)
    tracemalloc.start()
    file.fill([shared])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * N_ROWS * stored.itemsize
    block = file.block(0, N_ROWS)
    np.testing.assert_array_equal(block.features[:, 7], np.arange(N_ROWS))
    np.testing.assert_array_equal(block.target, 2.0 * np.arange(N_ROWS))


@pytest.mark.parametrize("values", ["different", "few", "equal", "last digits"])
def test_a_part_that_is_too_long_is_put_in_order_in_bounded_memory(values, monkeypatch):
    stored = np.dtype([("value", "u8"), ("features", np.float64, (20,)), ("target", "f8")])
    size = N_ROWS * stored.itemsize
    monkeypatch.setattr(record_file, "BYTES_SORTED", size // 20)
    monkeypatch.setattr(record_file, "RECORDS_WRITTEN", 2**10)
    drawn = np.random.default_rng(0).integers(2**64, size=N_ROWS, dtype=np.uint64)
    found = {"different": drawn, "few": drawn[np.arange(N_ROWS) % 3], "equal": 0 * drawn + 7}
    found["last digits"] = drawn % np.uint64(2**16)
    words, places = found[values], np.arange(N_ROWS)
    file = RecordFile(stored, np.array([N_ROWS]))
    features = np.repeat(places[:, None].astype(float), 20, axis=1)
    shared = file.shared(RecordBlock(features, places * 2.0), words, 0 * places)
    tracemalloc.start()
    file.fill([shared])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * size
    expected = np.argsort(words, kind="stable")
    np.testing.assert_array_equal(file.block(0, N_ROWS).target, 2.0 * expected)
