"""Kinds of cells are counted alike in every source that is read in batches, and where its rows are.

And a run over such a source stops, with the right column, whatever the source is.
"""

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import tailguard as tg
from support.batched import parquet_sources, small_memory
from support.loops import loop
from tailguard.data.inputs import read_inputs
from tailguard.data.readers.dask import DaskTable
from tailguard.data.readers.opening import opened
from tailguard.data.readers.parquet import ParquetFiles
from tailguard.data.rows.reader import RecordReader
from tailguard.data.rows.streams import StreamRows
from tailguard.data.rows.unordered import UnorderedRows
from tailguard.data.schema import Schema
from tailguard.gate import Gate
from tailguard.noise.sources import make_source
from tailguard.queries.usable_records import CellKinds

__all__ = ["small_memory"]
pytestmark = pytest.mark.usefixtures("small_memory")

N_ROWS = 6_000
SCHEMA = Schema(
    features=["age", "region", "km"],
    categorical={"region": ["north", "south"]},
    missing={"km": 7.0},
    target="claims",
    exposure="years",
)
COUNT = loop(CellKinds(5))


def columns():
    """Columns in which text, gaps and numbers out of range are mixed."""
    rng = np.random.default_rng(0)

    def mixed(numbers, strange):
        cells = [f"{x:.3f}" for x in numbers]
        for place, cell in zip(rng.integers(N_ROWS, size=2_000), 500 * strange, strict=False):
            cells[place] = cell
        return cells

    return {
        "age": mixed(rng.normal(50.0, 9.0, N_ROWS), ["old", None, "", "1,5"]),
        "region": rng.choice(["north", "moon", "", None], N_ROWS).tolist(),
        "km": mixed(rng.standard_t(3, N_ROWS), ["far", "inf", None]),
        "claims": mixed(rng.poisson(1.0, N_ROWS), ["-1", "none", None]),
        "years": mixed(rng.uniform(0.5, 2.0, N_ROWS), ["0", "-2", "", "long"]),
        "id": [str(number) for number in range(N_ROWS)],
    }


@pytest.fixture(scope="module")
def table():
    return pa.table({name: pa.array(cells, pa.string()) for name, cells in columns().items()})


@pytest.fixture(scope="module")
def expected(table):
    """Counts of the same table in memory, checked against what they must add up to."""
    counts = counted(table)
    assert (counts.sum(axis=1) == N_ROWS).all()
    assert (counts[:, [0, 2]] > 0)[[0, 2, 3, 4]].all()
    assert counts[1].tolist()[2] == 0  # text is a level
    assert counts[2, 1] == 0  # a constant stands for what is missing
    return counts


def counted(source, **how):
    """Counts of the cells of a source, as a fit of counts with exposures reads them."""
    table = read_inputs(source, schema=SCHEMA.with_declared(**how), exposure="years")
    gate = Gate.over(table, loss=tg.losses.Poisson(), guarantee=tg.GDP(1.0))
    return gate._rows.reduce(COUNT).reshape(5, 3)


def test_files_are_counted_as_the_table_in_memory(table, expected, tmp_path):
    sources = parquet_sources(table, tmp_path)
    table.to_pandas().to_csv(tmp_path / "table.csv", index=False)
    sources["csv"] = tmp_path / "table.csv"
    for name, source in sources.items():
        assert (counted(str(source)) == expected).all(), name


@pytest.mark.long
def test_other_libraries_are_counted_as_the_table_in_memory(table, expected, tmp_path):
    frame = table.to_pandas()
    path = parquet_sources(table, tmp_path)["folder"]
    relation = duckdb.connect().from_arrow(table)
    for source in (
        frame,
        pl.from_arrow(table),
        pl.from_arrow(table).lazy(),
        ds.dataset(table),
        relation,
        dd.from_pandas(frame, npartitions=3),
        dd.from_pandas(frame.astype(object), npartitions=7),
        table.to_reader,
    ):
        assert (counted(source) == expected).all(), type(source)
    files = StreamRows(
        DaskTable.of_files(ParquetFiles(path)), RecordReader(SCHEMA, tg.losses.Poisson())
    )
    assert (files.reduce(COUNT).reshape(5, 3) == expected).all()


def test_records_without_an_order_are_counted_alike(table, expected):
    assert (counted(table, row_id="id") == expected).all()
    assert (counted(ds.dataset(table), row_id="id") == expected).all()
    rows = StreamRows(opened(ds.dataset(table)), RecordReader(SCHEMA, tg.losses.Poisson()))
    unordered = UnorderedRows(rows, make_source(0))
    assert (unordered.reduce(COUNT).reshape(5, 3) == expected).all()


def test_cells_are_read_run_by_run_and_never_kept(table, monkeypatch):
    largest = []
    plain = RecordReader.marked

    def watched(reader, run):
        block = plain(reader, run)
        largest.append(block.n_rows)
        return block

    monkeypatch.setattr(RecordReader, "marked", watched)
    counted(ds.dataset(table))
    assert len(largest) > 1
    assert max(largest) < N_ROWS


@pytest.mark.parametrize("kind", ["csv", "folder", "dask", "lazy"])
def test_a_run_over_any_source_stops_and_names_the_column(kind, tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.standard_t(3, (N_ROWS, 2)), columns=["age", "cost"])
    frame["fuel"] = rng.choice(["gas", "SECRET"], N_ROWS)
    frame.to_csv(tmp_path / "table.csv", index=False)
    table = pa.Table.from_pandas(frame)
    source = {
        "csv": lambda: str(tmp_path / "table.csv"),
        "folder": lambda: str(parquet_sources(table, tmp_path)["folder"]),
        "dask": lambda: dd.from_pandas(frame, npartitions=3),
        "lazy": lambda: pl.from_pandas(frame).lazy(),
    }[kind]()
    for stop in (
        lambda: tg.LinearRegression(guarantee=tg.GDP(1.0)).fit(source, target="cost"),
        lambda: tg.mean(source, guarantee=tg.GDP(1.0)),
    ):
        with pytest.raises(tg.UnusableTableError, match="Column 'fuel' holds about 6,000 cells"):
            stop()


def test_a_source_that_fails_while_its_cells_are_read_is_told_to_nobody(monkeypatch):
    table = pa.table({"age": ["SECRET"] * N_ROWS})

    def fail(*_):
        raise ValueError("SECRET")

    monkeypatch.setattr(RecordReader, "marked", fail)
    with pytest.raises(tg.ReleaseError) as told:
        tg.mean(ds.dataset(table), guarantee=tg.GDP(1.0))
    assert type(told.value) is not tg.UnusableTableError
    assert "SECRET" not in str(told.value)
    assert (told.value.__cause__, told.value.__context__) == (None, None)
