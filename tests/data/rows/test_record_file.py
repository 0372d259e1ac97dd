"""Records in a file: each part is put in order, and is in memory once."""

import os
import tracemalloc

import numpy as np
import pytest

from tailguard.checks import InputError
from tailguard.data.rows import record_file
from tailguard.data.rows.base import RecordBlock
from tailguard.data.rows.record_file import RecordFile, check_room, record_type

N_ROWS = 2 * 2**15 + 1


def file_of(values, width=1):
    """A file of one part, and the records to fill it with: all features are their values."""
    file = RecordFile(record_type(width, "target"), np.array([len(values)]))
    features = np.repeat(values[:, None].astype(float), width, axis=1)
    block = RecordBlock(features, 2.0 * values)
    return file, [file.shared(block, values.astype(np.uint64), 0 * values)]


def test_a_part_is_put_in_order_in_hardly_more_memory_than_it_takes():
    file, shared = file_of(np.random.default_rng(0).permutation(N_ROWS), width=20)
    tracemalloc.start()
    file.fill(shared)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * N_ROWS * file.stored.itemsize
    block = file.block(0, N_ROWS)
    np.testing.assert_array_equal(block.features[:, 7], np.arange(N_ROWS))
    np.testing.assert_array_equal(block.target, 2.0 * np.arange(N_ROWS))


def test_a_file_may_take_all_the_room_that_there_is(monkeypatch):
    monkeypatch.setattr(record_file, "free_room", lambda: ("here", 10**9))
    check_room(10**9)
    with pytest.raises(InputError, match="row_id needs 1 GB in 'here'"):
        check_room(10**9 + 1)


def test_a_file_that_shrank_is_refused():
    file, shared = file_of(np.arange(4))
    file.fill(shared)
    os.ftruncate(file._file.fileno(), 3 * file.stored.itemsize)
    with pytest.raises(InputError, match="the same rows whenever it is read"):
        file.block(0, 4)


def test_records_in_another_order_are_read_few_times_over(monkeypatch):
    n_rows, read = 200_000, []
    file, shared = file_of(np.arange(n_rows))
    file.fill(shared)
    places = np.random.default_rng(0).permutation(n_rows)
    asked = RecordFile._read
    monkeypatch.setattr(RecordFile, "_read", lambda *told: read.append(told[2]) or asked(*told))
    picked = file.picked(lambda length: [places[:length], places[length:]])
    assert sum(read) < 2 * n_rows
    assert picked.block(0, n_rows).features[:, 0].tolist() == places.tolist()
