"""A Dask data frame has the bits of the array, however it is cut and whoever sums it."""

import pickle
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import pairwise
from multiprocessing import get_context

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import tailguard as tg
from support.batched import digest, small_memory
from support.loops import gathered, loop
from support.solvers import FEW_ROUNDS
from tailguard.data.readers import dask as dask_table
from tailguard.data.readers.dask import DaskTable
from tailguard.data.readers.parquet import ParquetFiles
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.reader import RecordReader
from tailguard.data.rows.streams import StreamRows
from tailguard.data.schema import Schema
from tailguard.privacy.books import MemoryBooks
from tailguard.queries.histograms import Bins, ColumnHistograms

__all__ = ["small_memory"]
pytestmark = pytest.mark.usefixtures("small_memory")

BUDGET = {"guarantee": tg.ApproxDP(8.0, 1e-6), "random_state": 0}
COLUMNS = ["a", "b"]
N_ROWS = 6000


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.standard_t(3, (N_ROWS, 3)), columns=[*COLUMNS, "cost"])
    frame.loc[7, "b"] = np.nan
    return frame


def cut(frame, lengths):
    """A Dask data frame whose partitions have these lengths."""
    edges = np.cumsum([0, *lengths]).tolist()
    parts = [dask.delayed(frame.iloc[start:stop]) for start, stop in pairwise(edges)]
    return dd.from_delayed(parts, meta=frame.iloc[:0], verify_meta=False)


def linear():
    """Few rounds read a table as often as it takes to tell one from another."""
    return tg.LinearRegression(solver=FEW_ROUNDS, **BUDGET)


@pytest.mark.long
def test_fits_have_the_bits_of_the_array(frame):
    expected = digest(linear().fit(frame[COLUMNS], frame["cost"]))
    for n_partitions, n_workers in ((1, 2), (2, 1), (7, 1), (7, 4)):
        source = dd.from_pandas(frame, npartitions=n_partitions)
        with dask.config.set(scheduler="threads", num_workers=n_workers):
            assert digest(linear().fit(source, target="cost")) == expected


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # a call of Dask
def test_small_files_that_dask_would_read_together_stay_apart(frame, tmp_path):
    """Dask joins files when it reads few of their columns, so parts would depend on columns."""
    wide = frame.assign(**{f"other_{k}": 0.5 for k in range(10)})
    for start in range(0, N_ROWS, 2000):
        wide[start : start + 2000].to_parquet(tmp_path / f"{start}.parquet", index=False)
    table = DaskTable(dd.read_parquet(tmp_path))
    for names in (COLUMNS, ["cost", *COLUMNS], list(wide)):
        assert [len(batch) for batch in table.batches(names, 1000)] == [2000] * 3
    schema = {"features": COLUMNS, "target": "cost"}
    fits = [
        linear().set_params(schema=schema).fit(source)
        for source in (wide, dd.read_parquet(tmp_path))
    ]
    assert fits[0].coef_.tobytes() == fits[1].coef_.tobytes()


class Watched(ProcessPoolExecutor):
    """Processes, and how many bytes each of their answers has."""

    sizes = ()

    def submit(self, *given, **named):
        answer = super().submit(*given, **named)
        answer.add_done_callback(lambda found: self.seen(found.result()))
        return answer

    def seen(self, answer):
        self.sizes = (*self.sizes, len(pickle.dumps(answer)))


@pytest.mark.long
def test_no_row_comes_here_from_a_pool_of_processes_but_for_edges_and_samples(frame, tmp_path):
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=2048)
    source = dd.read_parquet(tmp_path / "rows.parquet", split_row_groups=1)
    expected = digest(linear().fit(frame[COLUMNS], frame["cost"]))
    held = make_rows(frame[COLUMNS].to_numpy())
    with (
        Watched(2, get_context("spawn")) as pool,
        dask.config.set(scheduler="processes", pool=pool),
    ):
        for table in (DaskTable(source), DaskTable.of_files(ParquetFiles(tmp_path))):
            pool.sizes = []
            streamed = StreamRows(table, RecordReader(Schema(features=COLUMNS)))
            assert sum(pool.sizes) < 1000 * 3  # of each partition its length and types
            pool.sizes = []
            assert streamed.reduce(COUNT).tolist() == held.reduce(COUNT).tolist()
            # Edges are within a chunk: of these row groups but the last, which ends within one.
            assert 0 < sum(pool.sizes) < 2048 * 2 * 8
        assert digest(linear().fit(source, target="cost")) == expected


def test_partitions_that_have_work_in_common_are_left_to_dask(frame):
    source = dd.from_pandas(frame.assign(key=np.arange(N_ROWS) % 7), npartitions=3).shuffle("key")
    with dask.config.set(scheduler="processes"):
        parts = source.to_delayed()
        assert dask_table._for_pool(parts) is parts


def random_lengths(seed):
    rng = np.random.default_rng(seed)
    edges = np.sort([0, N_ROWS, *rng.integers(0, N_ROWS, 12), *rng.integers(1024, 1030, 4)])
    return np.diff(edges)


LENGTHS = {
    "one chunk each": [1024] * 5 + [880],
    "one row each side of a chunk": [1023, 1, 1, 1023, 1024, 2928],
    "tiny ones": [1] * 40 + [N_ROWS - 40],
    "an empty one": [0, 3000, 0, 3000, 0],
    **{f"at random, {seed}": random_lengths(seed) for seed in range(4)},
}
BINS = Bins("octaves", -8.0, 4.0, 8)  # few, so that sums are short beside rows
COUNT = loop(ColumnHistograms((0, 1), BINS, paired=True), (np.zeros(2), np.ones(2)))


class FloatSum:
    """A sum whose rounding depends on which records share a chunk."""

    size = 2
    together = "none"
    reads_cells = False

    def sum_block(self, block):
        chunks = range(0, block.n_rows, 1024)
        sums = [np.nan_to_num(block.features[i : i + 1024]).sum(axis=0) for i in chunks]
        return np.rint(1e3 * np.array(sums)).astype(np.int64).sum(axis=0)


@pytest.mark.parametrize("lengths", LENGTHS)
def test_partitions_may_end_anywhere(lengths, frame):
    table = DaskTable(cut(frame, LENGTHS[lengths]))
    streamed = StreamRows(table, RecordReader(Schema(features=COLUMNS)))
    held = make_rows(frame[COLUMNS].to_numpy())
    order = np.random.default_rng(1).permutation(N_ROWS)
    for kernel in (COUNT, FloatSum()):
        assert streamed.reduce(kernel).tolist() == held.reduce(kernel).tolist()
        shuffled = [rows.in_order(order).reduce(kernel).tolist() for rows in (streamed, held)]
        assert shuffled[0] == shuffled[1]


def test_what_a_worker_is_sent_can_be_sent(frame):
    work = partial(RecordReader(Schema(features=COLUMNS)).sum_of, COUNT)
    assert pickle.loads(pickle.dumps(work))(([frame], 0)).tolist() == work(([frame], 0)).tolist()


def test_partitions_that_change_are_told_to_nobody(frame):
    lengths = iter([500, 500, *[499] * 99])
    part = dask.delayed(lambda: frame.iloc[: next(lengths)], pure=False)()
    source = dd.from_delayed([part], meta=frame.iloc[:0], verify_meta=False)
    with pytest.raises(tg.ReleaseError) as told:
        tg.mean(source, epsilon=1.0, delta=1e-6, method="clipped")
    assert told.value.__cause__ is None


def test_a_partition_of_another_type_than_dask_keeps_is_refused_before_anything_is_spent(frame):
    parts = [dask.delayed(frame), dask.delayed(frame.astype({"b": "category"}))]
    source = dd.from_delayed(parts, meta=frame.iloc[:0], verify_meta=False)
    ledger = MemoryBooks()
    with pytest.raises(tg.InputError, match="Column 'b' of X must hold real numbers"):
        tg.mean(source, epsilon=1.0, delta=1e-6, method="clipped", ledger=ledger)
    assert ledger.reserved == MemoryBooks().reserved


def test_a_column_of_single_precision_is_widened_whatever_dask_keeps(frame):
    """The first partition says which type Dask keeps; the last has more digits than that."""
    wide = frame[["a"]] / 3
    parts = [dask.delayed(wide.astype(np.float32)), dask.delayed(wide)]
    source = dd.from_delayed(parts, meta=wide.iloc[:0].astype(np.float32), verify_meta=False)
    rows = StreamRows(DaskTable(source), RecordReader(Schema(features=["a"])))
    found = rows.in_order(np.arange(2 * len(wide))).reduce(gathered(2 * len(wide), 2))
    expected = np.concatenate([wide.astype(np.float32).astype(float), wide])[:, 0]
    np.testing.assert_array_equal(found.view(float).reshape(-1, 2)[:, 0], expected)


def test_columns_may_be_called_as_methods_are(frame):
    named = frame.rename(columns={"a": "slice", "b": "column"})
    source = dd.from_pandas(named, npartitions=2)
    held, spread = (
        tg.mean(X, columns=["slice", "column"], method="clipped", **BUDGET) for X in (named, source)
    )
    assert held.value.tobytes() == spread.value.tobytes()


def test_frames_are_refused_by_names_and_types(frame):
    days = frame.assign(day=pd.Categorical(["monday"] * len(frame)))
    for bad, words in (
        (frame.rename(columns={"a": 0}), "whose column names are text"),
        (days, "Column 'day' of X must hold real numbers"),
        (frame.iloc[:0], "X must have rows and columns; got 0 and 3"),
    ):
        with pytest.raises(tg.InputError, match=words):
            tg.LinearRegression(**BUDGET).fit(dd.from_pandas(bad, npartitions=1), target="cost")


@pytest.mark.parametrize("schema", [None, {"features": COLUMNS, "target": "cost"}])
def test_predictions_of_a_frame_say_to_compute_it(frame, schema):
    """It was no table, or an array whose columns have no names."""
    given = (frame,) if schema else (frame[COLUMNS], frame["cost"])
    model = tg.LinearRegression(schema=schema, **BUDGET).fit(*given)
    lazy = dd.from_pandas(frame[COLUMNS], npartitions=2)
    words = r"X must be in memory here; got a DataFrame of dask\.dataframe: .* by X\.compute\(\)"
    with pytest.raises(tg.InputError, match=words):
        model.predict(lazy)
    assert model.predict(lazy.compute()).shape == (N_ROWS,)
