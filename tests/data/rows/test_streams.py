"""Rows of a table in batches are those of the array, however the batches are cut."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

from support.batched import arrow_table, small_memory
from support.count_below import CountBelow
from support.loops import gathered, loop
from support.row_views import views
from tailguard.data.readers.lazy import LazyTable
from tailguard.data.rows import streams
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.reader import RecordReader
from tailguard.data.rows.streams import StreamRows
from tailguard.data.schema import Schema
from tailguard.losses.huber import Huber
from tailguard.noise.orders import KeyedOrder
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.units import Units

__all__ = ["small_memory"]
N_ROWS = 9000


def in_batches(X, reader, **beside):
    """Rows in batches that are cut at random, some of them empty."""
    rng, table = np.random.default_rng(0), arrow_table(X, **beside)
    edges = np.sort([0, *rng.integers(0, N_ROWS, 40), *rng.integers(0, 99, 9), N_ROWS])
    parts = [table[start:stop] for start, stop in pairwise(edges.tolist())]
    names = ("x0", "x1", *beside)
    lazy = LazyTable(names, N_ROWS, [table[:0]], lambda names, _: (p.select(names) for p in parts))
    return StreamRows(lazy, reader)


@pytest.fixture
def cut_anyhow(small_memory):
    """Rows in an array and in batches."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_t(2, (N_ROWS, 2)), rng.standard_normal(N_ROWS)
    reader = RecordReader(Schema(features=["x0", "x1"], target="y"))
    return make_rows(X, y), in_batches(X, reader, y=y)


GRADIENTS = loop(
    MeanClippedGradient(Huber(), Units.raw(2, intercept=True), clip_norm=2.0),
    np.array([0.3, -0.2, 0.1]),
    1e-3,
)
PAIRS = loop(CountBelow((0, 2), paired=True), [0.5, 0.7])
ORDER = np.random.default_rng(1).permutation(N_ROWS)
VIEWS = views(ORDER) | {
    "of several windows": lambda rows: rows.in_order(ORDER).restricted(np.arange(100, 8900)[::-1]),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("n_threads", [1, 3])
def test_sums_have_the_bits_of_the_array(view, n_threads, cut_anyhow):
    held, streamed = map(VIEWS[view], cut_anyhow)
    assert (held.n_rows, held.n_features) == (streamed.n_rows, streamed.n_features)
    for kernel in (GRADIENTS, PAIRS, gathered(held.n_rows, 3)):
        for _ in range(2):
            found = streamed.reduce(kernel, n_threads)
            assert found.tolist() == held.reduce(kernel, n_threads).tolist()


@pytest.mark.parametrize("view", VIEWS)
def test_weights_go_wherever_their_records_go(view, small_memory):
    rng = np.random.default_rng(0)
    X, y = rng.standard_t(2, (N_ROWS, 2)), rng.standard_normal(N_ROWS)
    w = np.where(rng.uniform(size=N_ROWS) < 0.1, np.nan, rng.uniform(0.0, 3.0, N_ROWS))
    schema = Schema(features=["x0", "x1"], target="y", weight="w", weight_bound=2.0)
    held = VIEWS[view](make_rows(X, y, sample_weight=w, weight_bound=2.0))
    streamed = VIEWS[view](in_batches(X, RecordReader(schema), y=y, w=w))
    assert held.has_weight
    assert streamed.has_weight
    found = held.reduce(GRADIENTS).tolist()
    assert streamed.reduce(GRADIENTS).tolist() == found
    plain = VIEWS[view](make_rows(X, np.where(np.isnan(w), np.nan, y)))
    assert plain.reduce(GRADIENTS).tolist() != found


@pytest.fixture
def passes(monkeypatch):
    """A list that grows by one with each pass over a table."""
    passes, runs = [], StreamRows.runs
    monkeypatch.setattr(StreamRows, "runs", lambda rows: passes.append(1) or runs(rows))
    return passes


def test_a_window_is_read_once(cut_anyhow, passes):
    some = cut_anyhow[1].restricted(ORDER[:800])
    for _ in range(5):
        some.reduce(PAIRS)
    assert len(passes) == 1


def test_several_windows_take_one_pass_and_a_file(cut_anyhow, passes):
    held, streamed = (rows.in_order(ORDER) for rows in cut_anyhow)
    for _ in range(3):  # 8192 records of 3 numbers fit into a window
        assert streamed.reduce(GRADIENTS).tolist() == held.reduce(GRADIENTS).tolist()
    assert len(passes) == 1


def test_without_room_for_a_file_each_window_takes_a_pass(cut_anyhow, passes, monkeypatch):
    monkeypatch.setattr(streams, "free_room", lambda: ("here", 2 * 9000 * (8 + 3 * 8) - 1))
    held, streamed = (rows.in_order(ORDER) for rows in cut_anyhow)
    for _ in range(2):  # the window that was read last is kept
        assert streamed.reduce(GRADIENTS).tolist() == held.reduce(GRADIENTS).tolist()
    assert len(passes) == 4


def test_a_keyed_order_takes_the_same_file(cut_anyhow, passes):
    order = KeyedOrder(N_ROWS, np.arange(8, dtype=np.uint64))
    held, streamed = (rows.in_order(order) for rows in cut_anyhow)
    for kernel in (GRADIENTS, PAIRS):
        assert streamed.reduce(kernel).tolist() == held.reduce(kernel).tolist()
    assert len(passes) == 1


@pytest.mark.parametrize("room", [True, False])
@pytest.mark.parametrize("length", [500, 8500])
def test_a_keyed_sample_takes_the_same_records(length, room, cut_anyhow, monkeypatch):
    """One window of the sample, or several of them in a file or in passes of their own."""
    if not room:
        monkeypatch.setattr(streams, "free_room", lambda: ("here", 0))
    sample = KeyedOrder(N_ROWS, np.arange(8, dtype=np.uint64), length)
    held, streamed = (rows.restricted(sample) for rows in cut_anyhow)
    exact = cut_anyhow[1].restricted(sample[:])
    assert held.n_rows == streamed.n_rows == length
    for kernel in (GRADIENTS, PAIRS):
        expected = held.reduce(kernel).tolist()
        assert streamed.reduce(kernel).tolist() == exact.reduce(kernel).tolist() == expected


PEAK = """
import resource, sys
import numpy as np, pyarrow as pa
from pyarrow.parquet import ParquetWriter
import tailguard as tg
from tailguard.noise import orders
from tailguard.data.rows import streams

path, *sizes = sys.argv[1:]
rng = np.random.default_rng(0)
schema = pa.schema([(name, pa.float32()) for name in ("a", "b", "c", "d", "e", "f", "g", "y")])
streams.NUMBERS_KEPT, streams.NUMBERS_GATHERED, orders.MOST_KEPT = 2**18, 2**20, 2**14
orders.MOST_SAMPLED = 2**14
streams.NUMBERS_AT_ONCE = 2**17
passes, runs = [], streams.StreamRows.runs
streams.StreamRows.runs = lambda rows, *names: passes.append(1) or runs(rows, *names)
for n_rows in map(int, sizes):
    with ParquetWriter(path, schema) as file:
        for _ in range(n_rows // 50_000):
            columns = rng.standard_normal((8, 50_000), np.float32)
            file.write_table(pa.Table.from_arrays(list(map(pa.array, columns)), schema=schema))
    passes.clear()
    tg.HuberRegression(epsilon=1.0, delta=1e-9).fit(path, target="y")
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, len(passes))
"""


@pytest.mark.long
def test_neither_memory_nor_passes_grow_with_the_table(tmp_path):
    """The longer table has 32 MB of floats more; half of that is left for chance.

    It is six windows of a random order, the shorter one is two; samples are a tenth of them. Rounds
    may settle earlier or later, but passes do not triple.
    """
    told = [sys.executable, "-c", PEAK, str(tmp_path / "rows.parquet"), "200_000", "700_000"]
    done = subprocess.run(told, capture_output=True, text=True, check=True)
    told_of = [[int(number) for number in line.split()] for line in done.stdout.splitlines()]
    (small, few), (large, many) = told_of
    assert (large - small) / 1024 < 16, told_of
    assert many < 2 * few, told_of
