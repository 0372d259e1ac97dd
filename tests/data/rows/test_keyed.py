"""Rows with identifiers have one secret order, wherever they lie."""

import tracemalloc

import dask.dataframe as dd
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from support.count_below import CountBelow
from support.loops import gathered, loop
from tailguard.checks import InputError
from tailguard.data.readers.dask import DaskTable
from tailguard.data.readers.lazy import of_polars
from tailguard.data.rows import streams, unordered
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.base import CHUNK_ROWS
from tailguard.data.rows.reader import RecordReader
from tailguard.data.rows.streams import StreamRows
from tailguard.data.rows.unordered import ids_differ, in_keyed_order
from tailguard.data.schema import Schema
from tailguard.noise.keyed_hash import KeyedHash
from tailguard.noise.sources import CryptographicSource, SimulationSource, make_source
from tailguard.progress import LISTENER, listening

N_ROWS = 5_000
RNG = np.random.default_rng(5)
TABLE = pl.DataFrame(
    {
        "id": RNG.permutation(10**6)[:N_ROWS] - 400_000,
        "a": RNG.standard_normal(N_ROWS).astype(np.float32),
        "b": RNG.standard_t(3, N_ROWS).astype(np.float32),
        "y": RNG.standard_normal(N_ROWS),
    }
)
SCHEMA = Schema(features=["a", "b"], target="y", row_id="id")
ALL = gathered(N_ROWS, 3)


@pytest.fixture(params=["memory", "file"])
def place(request, monkeypatch):
    """Where the records are put in order."""
    monkeypatch.setattr(streams, "NUMBERS_KEPT", 0)
    if request.param == "file":
        monkeypatch.setattr(unordered, "NUMBERS_GATHERED", 0)
        monkeypatch.setattr(streams, "NUMBERS_GATHERED", 4 * 2**11)
        monkeypatch.setattr(streams, "NUMBERS_AT_ONCE", 3 * CHUNK_ROWS)
    return request.param


def rows_of(table, seed=3):
    source = CryptographicSource() if seed is None else SimulationSource(seed)
    rows = StreamRows(of_polars(table.lazy()), RecordReader(SCHEMA))
    return in_keyed_order(rows, KeyedHash(source), rows.n_rows)


def records(rows, kernel=ALL):
    """Rows of feature a, b and target."""
    return rows.reduce(kernel).view(np.float64).reshape(-1, 3)


def shuffled(seed):
    return TABLE[np.random.default_rng(seed).permutation(N_ROWS)]


def test_all_records_are_there_in_an_order_that_does_not_depend_on_theirs(place):
    found = records(rows_of(TABLE))
    expected = TABLE.select("a", "b", "y").to_numpy().astype(np.float64)
    np.testing.assert_array_equal(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)])
    assert (found != expected).any(axis=1).mean() > 0.99
    for seed in range(3):
        np.testing.assert_array_equal(records(rows_of(shuffled(seed))), found)
    values = KeyedHash(SimulationSource(3)).of(TABLE["id"].to_numpy())
    np.testing.assert_array_equal(found, expected[np.argsort(values)])


def test_the_order_is_that_of_the_key(place):
    one, other = (records(rows_of(TABLE, seed=None)) for _ in range(2))
    assert (one != other).any(axis=1).mean() > 0.99


def test_samples_and_orders_are_by_places_in_the_secret_order(place):
    rows = rows_of(shuffled(1))
    found = records(rows)
    places = np.random.default_rng(2).permutation(N_ROWS)
    some = gathered(700, 3)
    np.testing.assert_array_equal(records(rows.restricted(places[:700]), some), found[places[:700]])
    np.testing.assert_array_equal(records(rows.in_order(places)), found[places])


SHARED = {
    "all missing": pl.lit(None, dtype=pl.Int64),
    "all alike": pl.lit(7),
    "few": pl.col("id") % 5,
    "half missing": pl.when(pl.col("id") % 2 == 0).then(pl.col("id")),
}


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("count", [1, 500, 2499, N_ROWS])
def test_where_identifiers_repeat_places_in_the_table_stand_for_them(name, count, place):
    """In whatever memory they are put in order, and however the table is cut."""
    table = TABLE.with_columns(id=SHARED[name])
    hashed = KeyedHash(SimulationSource(3))
    chosen = np.argsort(hashed.of_places(0, N_ROWS))[:count]
    expected = table.select("a", "b", "y").to_numpy().astype(np.float64)[chosen]
    kernel = gathered(count, 3)
    parts = dd.from_pandas(table.to_pandas(), npartitions=7, sort=False)
    for source in (of_polars(table.lazy()), DaskTable(parts)):
        streamed = StreamRows(source, RecordReader(SCHEMA, alone=True))
        rows = in_keyed_order(streamed, hashed, count)
        assert rows.n_rows == count
        np.testing.assert_array_equal(records(rows, kernel), expected)
    arrays = make_rows(table.select("a", "b").to_numpy(), table["y"].to_numpy())
    found = in_keyed_order(arrays, hashed, count, table["id"].to_list())
    np.testing.assert_array_equal(records(found, kernel), expected)


def test_whether_identifiers_differ_is_told_by_all_of_them(place, monkeypatch):
    for pair in ((0, 1), (17, N_ROWS - 1), (N_ROWS - 2, N_ROWS - 1)):
        ids = TABLE["id"].to_numpy().copy()
        ids[pair[1]] = ids[pair[0]]
        table, hashed = TABLE.with_columns(id=pl.Series(ids)), KeyedHash(make_source(None))
        told = [
            ids_differ(StreamRows(of_polars(each.lazy()), RecordReader(SCHEMA)), hashed)
            for each in (TABLE, table)
        ]
        assert told == [True, False]


class Reads(list):
    """What a listener hears of passes."""

    def read(self, n_rows, n_all):
        self.append((n_rows, n_all))


@pytest.mark.parametrize("kind", [DaskTable, of_polars])
@pytest.mark.parametrize("count", [500, N_ROWS])
def test_what_is_told_of_passes_is_the_same_whether_identifiers_differ_or_not(kind, count, place):
    heard = []
    for table in (TABLE, TABLE.with_columns(id=pl.lit(7))):
        parts = dd.from_pandas(table.to_pandas(), npartitions=3, sort=False)
        source = DaskTable(parts) if kind is DaskTable else of_polars(table.lazy())
        streamed = StreamRows(source, RecordReader(SCHEMA, alone=True))
        with listening(Reads()):
            rows = in_keyed_order(streamed, KeyedHash(SimulationSource(3)), count)
            rows.reduce(gathered(count, 3))
            heard.append(list(LISTENER.get()))
    assert heard[0] == heard[1] != []


def test_so_many_equal_identifiers_that_a_part_is_long_are_not_put_in_order(monkeypatch):
    monkeypatch.setattr(unordered, "NUMBERS_GATHERED", 0)
    monkeypatch.setattr(unordered, "RecordFile", None)
    rows = StreamRows(of_polars(TABLE.with_columns(id=pl.lit(7)).lazy()), RecordReader(SCHEMA))
    assert not ids_differ(rows, KeyedHash(make_source(None)))


@pytest.mark.long
def test_a_sample_of_equal_identifiers_takes_no_more_memory_than_one_of_others(monkeypatch):
    monkeypatch.setattr(streams, "NUMBERS_KEPT", 0)
    monkeypatch.setattr(streams, "NUMBERS_AT_ONCE", 20 * CHUNK_ROWS)
    monkeypatch.setenv("TAILGUARD_NUM_THREADS", "1")
    n_rows, count, names = 200_000, 10_000, [f"x{j}" for j in range(20)]
    table = pl.DataFrame(dict.fromkeys(names, np.ones(n_rows)))
    peaks = []
    for ids in (np.arange(n_rows), np.zeros(n_rows, dtype=np.int64)):
        lazy = table.with_columns(id=pl.Series(ids)).lazy()
        reader = RecordReader(Schema(features=names, row_id="id"))
        streamed = StreamRows(of_polars(lazy), reader)
        tracemalloc.start()
        rows = in_keyed_order(streamed, KeyedHash(make_source(1)), count)
        rows.reduce(loop(CountBelow((0,)), [2.0]))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    sample = 8 * 20 * count
    assert peaks[0] < 4.0 * sample
    assert peaks[1] < peaks[0] + sample < 0.3 * 8 * 20 * n_rows


def test_a_disk_without_room_is_refused_before_anything_is_read(monkeypatch):
    monkeypatch.setattr(unordered, "NUMBERS_GATHERED", 0)
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1}))
    with pytest.raises(InputError, match=r"row_id needs .* GB in .* variable TMPDIR"):
        rows_of(TABLE)


def test_a_table_that_changes_between_its_readings_is_told(monkeypatch):
    monkeypatch.setattr(unordered, "NUMBERS_GATHERED", 0)
    lazy, calls = of_polars(TABLE.lazy()), []
    rows = StreamRows(lazy, RecordReader(SCHEMA))

    def batches(names, n_rows):
        calls.append(0)
        table = TABLE.with_columns(pl.col("id") + len(calls))
        yield pa.table(table.select(names).to_arrow())

    object.__setattr__(lazy, "read", batches)
    with pytest.raises(InputError, match="same rows"):
        in_keyed_order(rows, KeyedHash(SimulationSource(3)), N_ROWS)


def test_nothing_is_left_on_the_disk(place, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rows = rows_of(TABLE)
    records(rows)
    assert list(tmp_path.iterdir()) == []
